package standup_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
	"wardroom/test/faults"
)

var updateMinutes = flag.Bool("update", false, "write the minutes in testdata/minutes anew; read them as the person who runs the team")

// trouble is a failure during a standup and its expected outcome.
type trouble struct {
	name    string
	begin   func(t *testing.T, o *office)                    // before the standup
	during  func(t *testing.T, o *office, m standup.Standup) // while it runs
	code    string                                           // of the failure; empty if it completes
	reports []standup.ReportStatus
	asked   map[string]int // number of questions per agent
	// again describes the retry after the failure is fixed.
	mend  func(t *testing.T, o *office)
	again []standup.ReportStatus
	total map[string]int // number of questions including the retry
}

const (
	answered = standup.Answered
	timedOut = standup.TimedOut
	askedYet = standup.Asked
	pending  = standup.Pending
)

// lost restarts the gateway when a question arrives, so that the question is lost.
func lost(o *office, run string, down time.Duration) {
	var restarted atomic.Bool
	o.runtime.Watch(func(q faults.Request) bool {
		if q.Method != "agent" || !strings.HasSuffix(q.RunID, run) || !restarted.CompareAndSwap(false, true) {
			return true
		}
		go o.runtime.Restart(down)
		return false
	})
}

func there(t *testing.T, o *office) {
	t.Helper()
	wait(t, "the runtime", func() bool { return o.client.Status().State == link.Connected })
}

// said waits until an agent's answer is in its session.
func said(t *testing.T, answers <-chan struct{}) {
	t.Helper()
	select {
	case <-answers:
	case <-time.After(time.Minute):
		t.Fatal("the agent does not answer")
	}
}

var troubles = []trouble{
	{
		name:    "all are silent",
		begin:   func(_ *testing.T, o *office) { o.runtime.Silence("", true); o.AgentTimeout = 400 * time.Millisecond },
		code:    standup.AgentsTimedOut,
		reports: []standup.ReportStatus{timedOut, timedOut, timedOut}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 0},
		mend:  func(_ *testing.T, o *office) { o.runtime.Silence("", false); o.AgentTimeout = 20 * time.Second },
		again: []standup.ReportStatus{answered, answered, answered}, total: map[string]int{"cto": 2, "cpo": 2, "cmo": 2, "coo": 1},
	},
	{
		name:    "the facilitator is silent",
		begin:   func(_ *testing.T, o *office) { o.runtime.Silence("coo", true); o.AgentTimeout = shortTime },
		code:    standup.FacilitatorTimedOut,
		reports: []standup.ReportStatus{answered, answered, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
		mend:  func(_ *testing.T, o *office) { o.runtime.Silence("coo", false); o.AgentTimeout = 20 * time.Second },
		again: []standup.ReportStatus{answered, answered, answered}, total: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 2},
	},
	{
		name: "the gateway is away at the start",
		begin: func(t *testing.T, o *office) {
			o.Runtime, o.Patience, o.Grace = o.connect(t, "http://127.0.0.1:9"), shortPatience, time.Hour
		},
		code:    standup.GatewayUnreachable,
		reports: []standup.ReportStatus{pending, pending, pending}, asked: map[string]int{"cto": 0},
		mend:  func(_ *testing.T, o *office) { o.Runtime = o.client },
		again: []standup.ReportStatus{answered, answered, answered}, total: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name: "the gateway goes away at the third question",
		begin: func(_ *testing.T, o *office) {
			o.Grace = 400 * time.Millisecond
			lost(o, "-cmo-1", longAway)
		},
		code:    standup.GatewayUnreachable,
		reports: []standup.ReportStatus{answered, answered, askedYet}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 0, "coo": 0},
		mend:  there,
		again: []standup.ReportStatus{answered, answered, answered}, total: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name: "the gateway goes away at the review",
		begin: func(_ *testing.T, o *office) {
			o.Grace = 400 * time.Millisecond
			lost(o, "-coo-1", longAway)
		},
		code:    standup.GatewayUnreachable,
		reports: []standup.ReportStatus{answered, answered, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 0},
		mend:  there,
		again: []standup.ReportStatus{answered, answered, answered}, total: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name:    "the gateway restarts under a question that never arrived",
		begin:   func(_ *testing.T, o *office) { o.Grace = time.Minute; lost(o, "-cpo-1", longAway) },
		reports: []standup.ReportStatus{answered, answered, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name:    "the gateway restarts after an answer that nobody heard",
		begin:   unheard,
		reports: []standup.ReportStatus{answered, answered, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name:  "the gateway restarts under an agent that thinks",
		begin: func(_ *testing.T, o *office) { o.runtime.Silence("cto", true) },
		during: func(t *testing.T, o *office, _ standup.Standup) {
			o.asked(t, "cto")
			o.runtime.Silence("cto", false)
			o.runtime.Restart(300 * time.Millisecond)
		},
		reports: []standup.ReportStatus{answered, answered, answered}, asked: map[string]int{"cto": 2, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name:    "an agent answers after its time",
		begin:   late,
		reports: []standup.ReportStatus{answered, timedOut, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name:    "the gateway is too busy for good to show what became of a question",
		begin:   unread,
		reports: []standup.ReportStatus{answered, timedOut, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1},
	},
	{
		name:    "an agents account is deactivated between two days",
		begin:   func(t *testing.T, o *office) { o.yesterday(t); o.deactivate(t, "cmo") },
		reports: []standup.ReportStatus{answered, answered, standup.Missing}, asked: map[string]int{"cto": 2, "cpo": 2, "cmo": 1, "coo": 2},
	},
	{
		name: "an agent is removed from the runtime between two days",
		begin: func(t *testing.T, o *office) {
			o.yesterday(t)
			o.without(t, "cmo")
		},
		reports: []standup.ReportStatus{answered, answered, standup.Failed}, asked: map[string]int{"cto": 1, "cpo": 1, "coo": 1},
	},
	{
		name: "the facilitator is removed from the runtime between two days",
		begin: func(t *testing.T, o *office) {
			o.yesterday(t)
			o.without(t, "coo")
		},
		code:    standup.FacilitatorTimedOut,
		reports: []standup.ReportStatus{answered, answered, answered}, asked: map[string]int{"cto": 1, "cpo": 1, "cmo": 1},
	},
}

// unheard lets the CTO answer while Wardroom is disconnected, and restarts the gateway
// before it reconnects. Only the session's history has the answer.
func unheard(t *testing.T, o *office) {
	word, spoken := make(chan struct{}), make(chan struct{})
	o.runtime.Answer("cto", func(demo.Question) string {
		<-word
		return report
	})
	var cut atomic.Bool
	o.runtime.Watch(func(q faults.Request) bool {
		if q.Method != "agent.wait" || !cut.CompareAndSwap(false, true) {
			return true
		}
		o.runtime.Starting(true) // rejects connections
		go func() {
			o.runtime.Drop()
			close(word)
			wait(t, "the answer", func() bool { return o.runtime.Busy() == 0 })
			o.runtime.Restart(0)
			o.runtime.Starting(false)
			close(spoken)
		}()
		return false
	})
	t.Cleanup(func() { said(t, spoken) })
}

const report = "Yesterday: a\nToday: b\nBlockers: none"

// late lets the CPO answer after its timeout, although its run was stopped.
func late(t *testing.T, o *office) {
	word, spoken := make(chan struct{}), make(chan struct{})
	o.AgentTimeout = shortTime
	o.runtime.Answer("cpo", func(demo.Question) string {
		<-word
		defer close(spoken)
		return "Yesterday: a\nToday: too late\nBlockers: none"
	})
	o.Runtime = &flaky{Runtime: o.client, stop: func(context.Context, string, string) (bool, error) {
		return false, link.ErrRefused.With("not yours")
	}}
	o.runtime.Watch(func(q faults.Request) bool {
		if q.Method == "agent" && q.AgentID == "cmo" { // asked after the CPO
			close(word)
			said(t, spoken)
		}
		return true
	})
}

// unread breaks the connection during the CPO's run and makes its session's history
// unavailable.
func unread(_ *testing.T, o *office) {
	o.AgentTimeout = shortTime
	o.runtime.Silence("cpo", true)
	o.Runtime = &flaky{Runtime: o.client, find: func(ctx context.Context, key, run string) (gateway.Trace, error) {
		if strings.HasPrefix(key, "agent:cpo:") {
			return gateway.Trace{}, link.ErrBusy.With("It says: the store is locked")
		}
		return o.client.Find(ctx, key, run)
	}}
	var cut atomic.Bool
	o.runtime.Watch(func(q faults.Request) bool {
		if q.Method == "agent.wait" && strings.Contains(q.RunID, "-cpo-") && cut.CompareAndSwap(false, true) {
			go o.runtime.Drop()
			return false
		}
		return true
	})
}

// yesterday runs a standup with all participants on the day before.
func (o *office) yesterday(t *testing.T) {
	t.Helper()
	stop := work(t, o.Service)
	wantEnd(t, o.hold(t, o.open(t).ID), standup.Completed, "")
	stop()
	o.sleep(24 * time.Hour)
	o.Service = o.service(o.DB)
}

// without restarts the runtime without one agent.
func (o *office) without(t *testing.T, agent string) {
	t.Helper()
	var left []demo.Agent
	for _, a := range demo.DefaultAgents() {
		if a.ID != agent {
			left = append(left, a)
		}
	}
	address := strings.TrimPrefix(o.runtime.URL(), "http://")
	if err := o.runtime.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := faults.Start(t.Context(), demo.Options{Token: "secret-of-the-runtime", Addr: address, Agents: left})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Close() })
	o.runtime = next
	o.brief()
	there(t, o)
}

// brief tells the agents how to answer.
func (o *office) brief() {
	o.runtime.Answer("", func(demo.Question) string { return report })
	o.runtime.Answer("coo", func(demo.Question) string { return review })
}

// After each failure the standup ends as documented, sends no more questions than
// necessary, and has a transcript that explains the failure and the fix. The transcripts
// are recorded in testdata.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for _, c := range troubles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // mostly waits
			o := newOffice(t, dbtest.New(t))
			o.brief()
			c.begin(t, o)
			stop := work(t, o.Service)
			m := o.open(t)
			if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
				t.Fatal(err)
			}
			if c.during != nil {
				c.during(t, o, m)
			}
			m = o.end(t, m.ID)
			wantEnd(t, m, ending(c.code), c.code)
			wantReports(t, m, c.reports...)
			o.wantAsked(t, c.asked)
			if c.mend != nil {
				stop()
				c.mend(t, o)
				o.Service = o.renewed()
				work(t, o.Service)
				m = o.hold(t, m.ID)
				wantEnd(t, m, standup.Completed, "")
				wantReports(t, m, c.again...)
				o.wantAsked(t, c.total)
			}
			wantMinutes(t, c.name, m)
		})
	}
}

func ending(code string) standup.Status {
	if code == "" {
		return standup.Completed
	}
	return standup.Error
}

// renewed returns the service as in a new process.
func (o *office) renewed() *standup.Service {
	s := o.service(o.DB)
	s.Runtime, s.AgentTimeout, s.Grace = o.Runtime, o.AgentTimeout, o.Grace
	return s
}

var (
	clocks = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	dates  = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)
	ports  = regexp.MustCompile(`127\.\d+\.\d+\.\d+:\d+`)
	gaps   = regexp.MustCompile(`unavailable for \d+s`)
	more   = regexp.MustCompile(`\(and \d+ more lines\)`)
)

// wantMinutes compares the transcript with the recorded one.
func wantMinutes(t *testing.T, name string, m standup.Standup) {
	t.Helper()
	var b strings.Builder
	for _, l := range m.Transcript {
		b.WriteString(l.Minutes(m.Timezone))
	}
	text := b.String()
	for _, vary := range []struct {
		what *regexp.Regexp
		as   string
	}{{clocks, "hh:mm:ss"}, {dates, "2026-11-20"}, {ports, "127.0.0.1:1"}, {gaps, "unavailable for 3s"}, {more, "(and more)"}} {
		text = vary.what.ReplaceAllString(text, vary.as)
	}
	file := filepath.Join("testdata", "minutes", strings.NewReplacer(" ", "-", "'", "").Replace(name)+".txt")
	if *updateMinutes {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("the minutes are others (-read +now):\n%s", diff)
	}
}

// An answer of two million characters is accepted and cut.
func TestAnswerOfTwoMegabytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	o := newOffice(t, dbtest.New(t))
	o.runtime.Answer("cto", func(demo.Question) string { return report + "\n" + strings.Repeat("all work and no play ", 100_000) })
	work(t, o.Service)
	m := o.hold(t, o.open(t).ID)
	wantEnd(t, m, standup.Completed, "")
	wantReports(t, m, standup.Answered, standup.Answered, standup.Answered)
	o.wantAsked(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	kept := *m.Reports[0].Text
	if n := len([]rune(kept)); n != 200_000 || !strings.HasPrefix(kept, report) || !strings.HasSuffix(kept, "[cut]") {
		t.Errorf("%d characters are kept, from %.20q to %q; want the first 200,000 with a mark", n, kept, kept[max(0, len(kept)-20):])
	}
	for _, l := range m.Transcript {
		if n := len(l.Minutes(m.Timezone)); n > 5000 {
			t.Errorf("line %d of the minutes has %d bytes, which nobody reads", l.Seq, n)
		}
	}
}
