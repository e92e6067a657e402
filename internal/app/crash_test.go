package app_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// underWay starts a standup in which the CTO has answered and the CPO thinks until speak
// is called.
func underWay(t *testing.T, s *service, owner caller) (m meeting, speak func()) {
	t.Helper()
	h := s.house
	word := make(chan struct{})
	h.runtime.Answer("cpo", func(demo.Question) string { <-word; return "Yesterday: a\nToday: b\nBlockers: none" })
	m = owner.open()
	owner.post("/api/v1/standups/"+m.ID+"/run", nil).want(http.StatusAccepted)
	waitFor(t, "the question to the CPO", func() bool { return h.runtime.Asked("cpo") == 1 })
	return m, func() { close(word) }
}

// wantWhole waits for the end of an interrupted standup and checks that nothing was lost
// or repeated.
func wantWhole(t *testing.T, owner caller, id string) {
	t.Helper()
	var m meeting
	waitFor(t, "the end of the meeting", func() bool {
		m = decode[meeting](owner.get("/api/v1/standups/" + id).want(http.StatusOK))
		return m.Status != standup.Running
	})
	if m.Status != standup.Completed || m.Attempt != 1 {
		t.Fatalf("the standup is %s, %+v, attempt %d", m.Status, m.Failure, m.Attempt)
	}
	for _, agent := range []string{"cto", "cpo", "cmo", "coo"} {
		if n := owner.house.runtime.Asked(agent); n != 1 {
			t.Errorf("%s was asked %d times", agent, n)
		}
	}
	for _, r := range m.Reports {
		if r.Status != standup.Answered {
			t.Errorf("%s's report is %s", r.AgentID, r.Status)
		}
	}
	var kinds []string
	for i, line := range m.Transcript {
		if line.Seq != i+1 {
			t.Errorf("line %d of the transcript has the number %d", i+1, line.Seq)
		}
		kinds = append(kinds, line.Kind)
	}
	want := strings.Fields("note note note question answer question answer question answer question summary note")
	if !slices.Equal(kinds, want) {
		t.Errorf("the transcript has %v,\nwant %v; all of it:\n%+v", kinds, want, m.Transcript)
	}
	seen := map[string]bool{}
	for _, item := range m.ActionItems {
		if item.Task == nil || seen[*item.Task] {
			t.Errorf("the action item %q has the task %v", item.Title, item.Task)
			continue
		}
		seen[*item.Task] = true
	}
}

// If the process stops or crashes during a standup, the next one continues it, and no
// agent is asked twice.
func TestStandupSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*service){"stopped": (*service).stop, "killed": (*service).crash} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, engine db.Engine) {
				h := newHouse(t, engine, nil)
				h.lease = 3 * time.Second
				first := h.start().connected()
				owner := first.login(ownerEmail)
				owner.hire("coo", "cto", "cpo", "cmo")
				m, speak := underWay(t, first, owner)
				end(first)
				speak() // while no service runs
				wantWhole(t, owner.at(h.start()), m.ID)
			})
		})
	}
}

// With two replicas, a standup whose replica is stopped continues on the other one at once.
func TestStandupMovesToAnotherReplica(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.Postgres, nil)
	first := h.start().connected()
	owner := first.login(ownerEmail)
	owner.hire("coo", "cto", "cpo", "cmo")
	m, speak := underWay(t, first, owner) // the first replica is alone, so it runs the standup
	second := h.start().connected()
	there := owner.at(second)
	if seen := decode[meeting](there.get("/api/v1/standups/" + m.ID)); seen.Reports[1].Status != standup.Asked {
		t.Errorf("the second replica sees the CPO's report as %s", seen.Reports[1].Status)
	}
	there.post("/api/v1/standups/"+m.ID+"/run", nil).wantProblem(http.StatusConflict, "already_running")
	first.stop()
	h.board.CompareAndSwap(nil, second.App)
	speak()
	wantWhole(t, there, m.ID)
}

// At shutdown, waiting clients are answered, the standup is returned to the queue and
// no goroutine is left. The test is not parallel, so all goroutines are its own.
func TestShutdown(t *testing.T) {
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			h := newHouse(t, engine, nil)
			before := goleak.IgnoreCurrent()
			s := h.start().connected()
			owner := s.login(ownerEmail)
			owner.hire("coo", "cto", "cpo", "cmo")
			h.runtime.Silence("cto", true)
			m := owner.open()
			answers := make(chan answer, 1)
			failed := make(chan error, 1)
			go func() {
				a, err := owner.try(http.MethodPost, "/api/v1/standups/"+m.ID+"/run", nil, "Prefer", "wait=50")
				answers <- a
				failed <- err
			}()
			waitFor(t, "the question to the CTO", func() bool { return h.runtime.Asked("cto") == 1 })
			began := time.Now()
			s.stop()
			if took := time.Since(began); took > 40*time.Second {
				t.Errorf("it took %s to stop", took)
			}
			a := <-answers
			if err := <-failed; err != nil {
				t.Fatalf("the waiting client got no answer: %v", err)
			}
			if got := decode[meeting](a.want(http.StatusAccepted)); got.ID != m.ID || got.Status != standup.Running {
				t.Errorf("the waiting client got %s, %s", got.ID, got.Status)
			}
			waitFor(t, "the end of the connection at the runtime", func() bool { return h.runtime.Connections() == 0 })
			// The silent agent belongs to the runtime.
			if err := goleak.Find(before, goleak.IgnoreTopFunction("wardroom/internal/gateway/demo.(*Runtime).think")); err != nil {
				t.Error(err)
			}
			if state, owner := h.jobOf(m.ID); state != "ready" || owner != nil {
				t.Errorf("the meeting's job is %s of %v, want it back in the queue", state, owner)
			}
			if _, err := owner.try(http.MethodGet, "/health", nil); err == nil {
				t.Error("the port still answers")
			}
		})
	}
}

// jobOf reads the job of a standup while the service is stopped.
func (h *house) jobOf(id string) (state string, owner *string) {
	h.t.Helper()
	cfg, _, err := h.raw.Check()
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := db.Open(context.Background(), cfg.DatabaseURL.Reveal())
	if err != nil {
		h.t.Fatal(err)
	}
	defer d.Close()
	if err := d.QueryRow(context.Background(), `SELECT state, owner FROM jobs WHERE kind = 'standup' AND key = ?`, id).Scan(&state, &owner); err != nil {
		h.t.Fatal(err)
	}
	return state, owner
}
