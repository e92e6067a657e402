package standup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
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

const handedIn = "Yesterday: submitted it\nToday: more\nBlockers: TASK-7 waits"

func (o *office) submitReport(t *testing.T, id, agentID string) standup.Report {
	t.Helper()
	r, err := o.SubmitReport(as(t, agentID), id, agentID, standup.Submission{Text: handedIn})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A participant whose report was submitted before the standup is not asked, and the report
// is treated like an answer.
func TestFileBefore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		m := o.open(t)
		r := o.submitReport(t, m.ID, "cpo")
		if r.Status != standup.Answered || *r.Yesterday != "submitted it" || *r.Blockers != "TASK-7 waits" || *r.Text != handedIn || r.Evidence == nil || *r.SubmittedBy != "CPO" {
			t.Fatalf("submitted as %+v", r)
		}
		before, err := o.Get(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		o.submitReport(t, m.ID, "cpo")
		again, err := o.Get(t.Context(), m.ID)
		if err != nil || again.Version != before.Version || len(again.Transcript) != len(before.Transcript) {
			t.Errorf("submitted twice: version %d, then %d; %d lines, then %d; %v", before.Version, again.Version, len(before.Transcript), len(again.Transcript), err)
		}
		work(t, o.Service)
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 0, "cmo": 1, "coo": 1})
		if len(m.Blockers) == 0 || m.Blockers[0].AgentID != "cpo" || !strings.Contains(*m.Digest, "cpo (submitted)") {
			t.Errorf("blockers %+v, digest:\n%s", m.Blockers, *m.Digest)
		}
		if _, err := o.SubmitReport(as(t, "cpo"), m.ID, "cpo", standup.Submission{Text: "Today: late"}); !errors.Is(err, standup.ErrEnded) {
			t.Errorf("submitted after the end: %v, want ErrEnded", err)
		}
	})
}

// A report submitted while its agent is being asked counts, and the run is stopped.
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
		o.submitReport(t, m.ID, "cpo")
		m = o.end(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
		if r := m.Reports[1]; *r.Text != handedIn || r.SubmittedAt == nil {
			t.Errorf("the report is %q, want what was handed in", *r.Text)
		}
		wait(t, "the run to be stopped", func() bool { return o.runtime.Busy() == 0 })
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

// unstoppable is a runtime that cannot stop runs.
type unstoppable struct{ standup.Runtime }

func (unstoppable) Stop(context.Context, string, string) (bool, error) {
	return false, link.ErrUnreachable
}

// If the run cannot be stopped, the standup still continues without waiting for it.
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
	o.submitReport(t, m.ID, "cpo")
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	if took := m.CompletedAt.Sub(m.StartedAt.Time); took >= o.AgentTimeout {
		t.Errorf("the meeting took %s, as long as the agent might have", took)
	}
	if r := m.Reports[1]; *r.Text != handedIn {
		t.Errorf("the report is %q", *r.Text)
	}
}

// If the runtime is unavailable, the standup does not wait for an agent whose report was
// submitted.
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
	o.submitReport(t, m.ID, "cmo")
	m = o.end(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	if m.Reports[2].SubmittedAt == nil {
		t.Error("the submitted report is gone")
	}
}

// With concurrent submissions and answers, the submitted report counts and the record is
// consistent.
func TestFileRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		m := o.open(t)
		file := func(agent string) {
			if _, err := o.SubmitReport(as(t, agent), m.ID, agent, standup.Submission{Text: handedIn}); err != nil {
				t.Errorf("%s: %v", agent, err)
			}
		}
		// While cto is being asked, cmo's report is submitted, then cto's.
		o.runtime.Answer("cto", func(demo.Question) string {
			file("cmo")
			file("cto")
			return "Today: something else"
		})
		o.runtime.Answer("cpo", func(demo.Question) string {
			go file("cpo") // at the same time as the answer
			return "Today: something else"
		})
		// The review leaves time for the last one.
		o.runtime.Answer("coo", func(demo.Question) string {
			wait(t, "cpo's report", func() bool {
				now, err := o.Get(t.Context(), m.ID)
				return err == nil && now.Reports[1].SubmittedAt != nil
			})
			return review
		})
		work(t, o.Service)
		m = o.hold(t, m.ID)
		wantEnd(t, m, standup.Completed, "")
		o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 0, "coo": 1})
		for _, r := range m.Reports {
			if r.Status != standup.Answered || *r.Text != handedIn || r.SubmittedAt == nil {
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

// Submitting a report checks permissions and returns the documented errors.
func TestFileRefuses(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	m := o.open(t)
	some := standup.Submission{Text: "Today: x"}
	for name, c := range map[string]struct {
		ctx       context.Context
		id, agent string
		f         standup.Submission
		want      error
	}{
		"another agent's":   {as(t, "cto"), m.ID, "cpo", some, standup.ErrNotOwnReport},
		"nobody's meeting":  {signedIn(t), "no-such", "cto", some, standup.ErrNotFound},
		"no participant":    {signedIn(t), m.ID, "cfo", some, standup.ErrParticipant},
		"the facilitator's": {as(t, "coo"), m.ID, "coo", some, standup.ErrParticipant},
		"nothing":           {signedIn(t), m.ID, "cto", standup.Submission{Text: " \n"}, nil},
		"both":              {signedIn(t), m.ID, "cto", standup.Submission{Text: "x", Today: "y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.SubmitReport(c.ctx, c.id, c.agent, c.f)
			if c.want != nil && !errors.Is(err, c.want) || c.want == nil && (fault.Of(err) == nil || len(fault.Of(err).Fields) != 1) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	r, err := o.SubmitReport(signedIn(t), m.ID, "cto", standup.Submission{Yesterday: "## Today\nwas long", Blockers: "None"})
	if err != nil || *r.Yesterday != "## Today\nwas long" || r.Today != nil || r.Blockers != nil || *r.SubmittedBy != "Owner" {
		t.Errorf("the owner submitted %+v, %v", r, err)
	}
}

// A retry keeps reports submitted before the failed attempt.
func TestFiledIsKeptByRetry(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	o.Runtime = o.connect(t, "")
	stop := work(t, o.Service)
	m := o.open(t)
	o.submitReport(t, m.ID, "cto")
	m = o.hold(t, m.ID)
	wantEnd(t, m, standup.Error, standup.GatewayNotConfigured)
	stop()
	o.Service = o.service(o.DB)
	o.runtime.Answer("cto", func(demo.Question) string { t.Error("cto is asked"); return "" })
	work(t, o.Service)
	m = o.hold(t, m.ID)
	wantEnd(t, m, standup.Completed, "")
	if m.Reports[0].SubmittedAt == nil || *m.Reports[0].Text != handedIn {
		t.Errorf("the report is %+v", m.Reports[0])
	}
}

// A report submitted during the review counts for the blockers: those it mentions stay open, and the
// review's numbers are those that the facilitator was asked with.
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
				if _, err := o.SubmitReport(actor.With(t.Context(), by), m.ID, "cpo", standup.Submission{Today: "b", Blockers: "- the printer is broken\n- No access to the billing system."}); err != nil {
					t.Error(err)
				}
				return `{"summary":"Fine.","resolutions":[{"blocker":` + fmt.Sprint(i+1) + `,"resolution":"ops grants it"}]}`
			})
			m = o.hold(t, m.ID)
			wantEnd(t, m, standup.Completed, "")
			if len(m.Blockers) != 2 || *m.Blockers[1].ID != *first.Blockers[0].ID || m.Blockers[1].AgeDays != i+1 || len(m.Blockers[1].Days) != i+2 || m.Blockers[1].Status != standup.BlockerOpen {
				t.Errorf("on %s the blockers are %+v", day, m.Blockers)
			}
			if got := m.Blockers[1-i].Resolution; got == nil || *got != "ops grants it" || m.Blockers[i].Resolution != nil {
				t.Errorf("on %s the resolutions are %+v", day, m.Blockers)
			}
		}
		inbox.want(t, "old_blocker x1 open cpo is blocked: No access to the billing system.")
	})
}

// The number of reports per agent and standup is limited.
func TestFiledTooOften(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		m := o.open(t)
		var last string
		for n := range 30 {
			last = fmt.Sprintf("Yesterday: a\nToday: walnut %d\nBlockers: none", n)
			if _, err := o.SubmitReport(as(t, "cto"), m.ID, "cto", standup.Submission{Text: last}); err != nil {
				t.Fatalf("submission %d: %v", n+1, err)
			}
		}
		if _, err := o.SubmitReport(as(t, "cto"), m.ID, "cto", standup.Submission{Text: "Today: one more"}); !errors.Is(err, standup.ErrTooManySubmissions) {
			t.Errorf("the next one: %v", err)
		}
		if _, err := o.SubmitReport(as(t, "cto"), m.ID, "cto", standup.Submission{Text: last}); err != nil {
			t.Errorf("the same again: %v", err)
		}
		o.submitReport(t, m.ID, "cpo")
		if m, err := o.Get(signedIn(t), m.ID); err != nil || *m.Reports[0].Text != last {
			t.Errorf("the report is %q, %v", *m.Reports[0].Text, err)
		}
	})
}
