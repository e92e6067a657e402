package standup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/standup"
)

func as(t *testing.T, agentID string) context.Context {
	t.Helper()
	return actor.With(t.Context(), actor.Actor{ID: "u-" + agentID, Name: strings.ToUpper(agentID), Role: actor.Agent, AgentID: agentID})
}

const handedIn = "Yesterday: filed it\nToday: more\nBlockers: TASK-7 waits"

func (o *office) file(t *testing.T, id, agentID string) standup.Report {
	t.Helper()
	r, err := o.File(as(t, agentID), id, agentID, standup.Filing{Text: handedIn})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Who has handed in their report before the meeting is not asked, and what they
// wrote is treated like an answer.
func TestFileBefore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		m := o.open(t)
		r := o.file(t, m.ID, "cpo")
		if r.Status != standup.Answered || *r.Yesterday != "filed it" || *r.Blockers != "TASK-7 waits" || *r.Text != handedIn || r.Evidence == nil || *r.FiledBy != "CPO" {
			t.Fatalf("filed as %+v", r)
		}
		before, err := o.Get(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		o.file(t, m.ID, "cpo")
		again, err := o.Get(t.Context(), m.ID)
		if err != nil || again.Version != before.Version || len(again.Transcript) != len(before.Transcript) {
			t.Errorf("filed twice: version %d, then %d; %d lines, then %d; %v", before.Version, again.Version, len(before.Transcript), len(again.Transcript), err)
		}
		work(t, o.Service)
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 0, "cmo": 1, "coo": 1})
		if len(m.Blockers) == 0 || m.Blockers[0].AgentID != "cpo" || !strings.Contains(*m.Digest, "cpo (filed)") {
			t.Errorf("blockers %+v, digest:\n%s", m.Blockers, *m.Digest)
		}
		if _, err := o.File(as(t, "cpo"), m.ID, "cpo", standup.Filing{Text: "Today: late"}); !errors.Is(err, standup.ErrEnded) {
			t.Errorf("filed after the end: %v, want ErrEnded", err)
		}
	})
}

// A report that is handed in while its agent is being asked counts; the run is
// stopped, and nobody is asked twice.
func TestFileWhileAsked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.runtime.Silence("cpo", true)
		work(t, o.Service)
		m := o.open(t)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		o.asked(t, "cpo")
		o.file(t, m.ID, "cpo")
		m = o.end(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
		if r := m.Reports[1]; *r.Text != handedIn || r.FiledAt == nil {
			t.Errorf("the report is %q, want what was handed in", *r.Text)
		}
		if o.runtime.Calls("chat.abort") == 0 {
			t.Error("the run was not stopped")
		}
		var state string
		if err := d.QueryRow(t.Context(), `SELECT state FROM standup_questions WHERE agent_id = 'cpo'`).Scan(&state); err != nil || state != "dropped" {
			t.Errorf("its question is %q, %v; want it dropped, which is no failure of the agent", state, err)
		}
		for _, l := range m.Transcript {
			if l.Kind == "failure" || l.Kind == "timeout" {
				t.Errorf("the transcript has a %s of %s: %s", l.Kind, l.From, l.Text)
			}
		}
	})
}

// unstoppable is a runtime that stops no run.
type unstoppable struct{ standup.Runtime }

func (unstoppable) Stop(context.Context, string, string) (bool, error) {
	return false, gateway.ErrUnreachable
}

// The runtime does not stop the run: the meeting goes on all the same, and does
// not wait for as long as the agent would have had.
func TestFileWhileRunCannotBeStopped(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.runtime.Silence("cpo", true)
	o.Runtime = unstoppable{o.client}
	work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	o.asked(t, "cpo")
	o.file(t, m.ID, "cpo")
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	if took := m.CompletedAt.Sub(m.StartedAt.Time); took >= o.AgentTimeout {
		t.Errorf("the meeting took %s, as long as the agent might have", took)
	}
	if r := m.Reports[1]; *r.Text != handedIn {
		t.Errorf("the report is %q", *r.Text)
	}
}

// The runtime is away in that moment: the meeting does not wait for it on
// behalf of an agent that has reported, and does not ask it when it is back.
func TestFileWhileRuntimeIsAway(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Grace = time.Minute
	o.runtime.Silence("cmo", true)
	work(t, o.Service)
	m := o.open(t)
	if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	o.asked(t, "cmo")
	o.runtime.Restart(longAway)
	wait(t, "the connection to break", func() bool { return o.client.Status().State != "connected" })
	o.file(t, m.ID, "cmo")
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	if m.Reports[2].FiledAt == nil {
		t.Error("the filed report is gone")
	}
}

// Agents hand in while they are being asked, while another is, and answer all
// the same: the filed report is what counts, and the record is whole.
func TestFileRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		m := o.open(t)
		file := func(agent string) {
			if _, err := o.File(as(t, agent), m.ID, agent, standup.Filing{Text: handedIn}); err != nil {
				t.Errorf("%s: %v", agent, err)
			}
		}
		// While cto is asked, cmo hands in, who is next but one, and then cto.
		o.runtime.Answer("cto", func(demo.Question) string {
			file("cmo")
			file("cto")
			return "Today: something else"
		})
		o.runtime.Answer("cpo", func(demo.Question) string {
			go file("cpo") // at the same time as the answer
			return "Today: something else"
		})
		// The review gives the last one its time.
		o.runtime.Answer("coo", func(demo.Question) string {
			wait(t, "cpo's report", func() bool {
				now, err := o.Get(t.Context(), m.ID)
				return err == nil && now.Reports[1].FiledAt != nil
			})
			return review
		})
		work(t, o.Service)
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 0, "coo": 1})
		for _, r := range m.Reports {
			if r.Status != standup.Answered || *r.Text != handedIn || r.FiledAt == nil {
				t.Errorf("the report of %s is %s %q\n%s", r.AgentID, r.Status, *r.Text, minutes(m))
			}
		}
		for i, l := range m.Transcript {
			if l.Seq != i+1 {
				t.Errorf("line %d has the number %d", i+1, l.Seq)
			}
		}
	})
}

// Who may hand in what, and what is refused.
func TestFileRefuses(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	m := o.open(t)
	some := standup.Filing{Text: "Today: x"}
	for name, c := range map[string]struct {
		ctx       context.Context
		id, agent string
		f         standup.Filing
		want      error
	}{
		"another agent's":   {as(t, "cto"), m.ID, "cpo", some, standup.ErrNotYours},
		"nobody's meeting":  {signedIn(t), "no-such", "cto", some, standup.ErrNotFound},
		"no participant":    {signedIn(t), m.ID, "cfo", some, standup.ErrParticipant},
		"the facilitator's": {as(t, "coo"), m.ID, "coo", some, standup.ErrParticipant},
		"nothing":           {signedIn(t), m.ID, "cto", standup.Filing{Text: " \n"}, nil},
		"both":              {signedIn(t), m.ID, "cto", standup.Filing{Text: "x", Today: "y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.File(c.ctx, c.id, c.agent, c.f)
			if c.want != nil && !errors.Is(err, c.want) || c.want == nil && (fault.Of(err) == nil || len(fault.Of(err).Fields) != 1) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	r, err := o.File(signedIn(t), m.ID, "cto", standup.Filing{Yesterday: "## Today\nwas long", Blockers: "None"})
	if err != nil || *r.Yesterday != "## Today\nwas long" || r.Today != nil || r.Blockers != nil || *r.FiledBy != "Owner" {
		t.Errorf("the owner filed %+v, %v", r, err)
	}
}

// What was handed in before a meeting that failed is there for its retry.
func TestFiledIsKeptByRetry(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Runtime = o.connect(t, "")
	stop := work(t, o.Service)
	m := o.open(t)
	o.file(t, m.ID, "cto")
	m = o.hold(t, m.ID)
	wantEnd(t, m, standup.Error, standup.GatewayNotConfigured)
	stop()
	o.Service = o.service(o.DB)
	o.runtime.Answer("cto", func(demo.Question) string { t.Error("cto is asked"); return "" })
	work(t, o.Service)
	m = o.hold(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	if m.Reports[0].FiledAt == nil || *m.Reports[0].Text != handedIn {
		t.Errorf("the report is %+v", m.Reports[0])
	}
}

// A report that is filed while the facilitator reads the others counts for the
// blockers: what it names goes on, and has not ended because nobody was heard.
func TestFileWhileReviewed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, inbox := quiet(t, d)
		work(t, o.Service)
		o.says("cpo", "no access to the billing system")
		o.on(t, "2027-03-01", 9)
		first := o.meet(t)
		for i, day := range []string{"2027-03-02", "2027-03-03"} {
			o.on(t, day, 9)
			o.runtime.Fail("cpo", "no credit")
			m := o.open(t)
			o.runtime.Answer("coo", func(demo.Question) string {
				by := actor.Actor{ID: "cpo", Name: "CPO", Role: actor.Agent, AgentID: "cpo"}
				if _, err := o.File(actor.With(t.Context(), by), m.ID, "cpo", standup.Filing{Today: "b", Blockers: "still no access to the billing system"}); err != nil {
					t.Error(err)
				}
				return nothing
			})
			m = o.hold(t, m.ID)
			wantEnd(t, m, standup.Completed, "")
			if len(m.Blockers) != 1 || *m.Blockers[0].ID != *first.Blockers[0].ID || m.Blockers[0].AgeDays != i+1 || len(m.Blockers[0].Days) != i+2 || m.Blockers[0].Status != standup.BlockerOpen {
				t.Errorf("on %s the blockers are %+v", day, m.Blockers)
			}
		}
		inbox.want(t, "old_blocker x1 open cpo is held up: still no access to the billing system")
	})
}

// The transcript keeps each report whole, and does not grow for ever.
func TestFiledTooOften(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		m := o.open(t)
		var last string
		for n := range 30 {
			last = fmt.Sprintf("Yesterday: a\nToday: walnut %d\nBlockers: none", n)
			if _, err := o.File(as(t, "cto"), m.ID, "cto", standup.Filing{Text: last}); err != nil {
				t.Fatalf("filing %d: %v", n+1, err)
			}
		}
		if _, err := o.File(as(t, "cto"), m.ID, "cto", standup.Filing{Text: "Today: one more"}); !errors.Is(err, standup.ErrFilings) {
			t.Errorf("the next one: %v", err)
		}
		if _, err := o.File(as(t, "cto"), m.ID, "cto", standup.Filing{Text: last}); err != nil {
			t.Errorf("the same again: %v", err)
		}
		o.file(t, m.ID, "cpo")
		if m, err := o.Get(signedIn(t), m.ID); err != nil || *m.Reports[0].Text != last {
			t.Errorf("the report is %q, %v", *m.Reports[0].Text, err)
		}
	})
}
