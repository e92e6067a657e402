package ask_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/ask"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// scripted is a gateway that gives prepared answers.
type scripted struct {
	boot    string
	traces  map[string]gateway.Trace   // by run ID
	later   []map[string]gateway.Trace // replace traces one after the other, at each look for run-2
	refused error                      // of Find and Stop
	starts  []gateway.Started          // one for each Start; then the question is accepted
	waits   []gateway.Answer           // one for each Wait; then the run is in progress
	sent    []string                   // the run IDs of questions
}

func (s *scripted) Status() link.Status                   { return link.Status{BootID: s.boot} }
func (s *scripted) Await(context.Context) (string, error) { return s.boot, nil }

func (s *scripted) Start(_ context.Context, q gateway.Question) (gateway.Started, error) {
	s.sent = append(s.sent, q.RunID)
	if len(s.starts) == 0 {
		return gateway.Started{BootID: s.boot}, nil
	}
	next := s.starts[0]
	s.starts = s.starts[1:]
	return next, nil
}

func (s *scripted) Wait(context.Context, string, time.Duration) (gateway.Answer, error) {
	if len(s.waits) == 0 {
		return gateway.Answer{Outcome: gateway.Running}, nil
	}
	next := s.waits[0]
	s.waits = s.waits[1:]
	return next, nil
}

func (s *scripted) Find(_ context.Context, _, run string) (gateway.Trace, error) {
	if run == "run-2" && len(s.later) > 0 {
		s.traces, s.later = s.later[0], s.later[1:]
	}
	return s.traces[run], s.refused
}

func (s *scripted) Stop(context.Context, string, string) (bool, error) { return false, s.refused }

// memory is a feature that stores its question in memory.
type memory struct {
	q    ask.Question
	left time.Duration
}

var errPatience = errors.New("the patience is over")

func (m *memory) Question() ask.Question                         { return m.q }
func (m *memory) Left() time.Duration                            { return m.left }
func (m *memory) Sending(context.Context) (time.Duration, error) { return m.left, nil }
func (m *memory) Back(context.Context, time.Duration) error      { return nil }

func (m *memory) Accepted(_ context.Context, boot string) error {
	m.q.Accepted, m.q.BootID = true, boot
	return nil
}

func (m *memory) Replace(context.Context, bool) error {
	m.q.Former, m.q.RunID, m.q.Accepted = slices.Insert(m.q.Former, 0, m.q.RunID), "run-2", false
	return nil
}

func (m *memory) Unavailable(context.Context, time.Time, error) (time.Duration, error) {
	return 0, errPatience
}

// script is a question, a gateway and the expected result.
type script struct {
	g        scripted
	change   func(m *memory) // of a question that the gateway "boot-1" accepted a minute ago
	want     gateway.Outcome
	sent     string // the run IDs of the questions that the gateway receives
	orphaned bool
	err      error
}

func ended(o gateway.Outcome) gateway.Answer { return gateway.Answer{Outcome: o} }

func late(m *memory)   { m.left = -time.Second }
func unsent(m *memory) { m.q.Sent, m.q.Accepted = false, false }

func scripts() map[string]script {
	const same, next = "boot-1", "boot-2"
	run := func(t gateway.Trace) map[string]gateway.Trace { return map[string]gateway.Trace{"run-1": t} }
	asked, active := run(gateway.Trace{Asked: true}), run(gateway.Trace{Asked: true, Active: true})
	resuming := run(gateway.Trace{Asked: true, Other: true})
	answered := gateway.Trace{Asked: true, Answered: true, Answer: ended(gateway.Finished)}
	finished := []gateway.Answer{ended(gateway.Finished)}
	return map[string]script{
		"it is answered": {g: scripted{boot: same, waits: finished}, change: unsent, want: gateway.Finished, sent: "run-1"},
		"ok, but the history has the failure": {
			g: scripted{boot: same, waits: finished, traces: run(gateway.Trace{Asked: true, Answer: ended(gateway.Failed)})}, change: unsent, want: gateway.Failed, sent: "run-1",
		},
		"its answer is in the history":         {g: scripted{boot: next, traces: run(answered)}, want: gateway.Finished},
		"a lost run was answered after all":    {g: scripted{boot: next, traces: map[string]gateway.Trace{"run-0": answered}}, change: func(m *memory) { m.q.Former = []string{"run-0"} }, want: gateway.Finished},
		"its run goes on":                      {g: scripted{boot: same, traces: active, waits: finished}, want: gateway.Finished},
		"it is queued behind another run":      {g: scripted{boot: same, traces: run(gateway.Trace{Other: true}), waits: finished}, want: gateway.Finished},
		"somebody stops its run":               {g: scripted{boot: same, traces: active, waits: []gateway.Answer{ended(gateway.Stopped)}}, want: gateway.Stopped},
		"Wardroom stopped it and then died":    {g: scripted{boot: same, traces: asked, waits: []gateway.Answer{ended(gateway.Stopped)}}, change: late, want: gateway.TimedOut},
		"its run cannot be stopped":            {g: scripted{boot: same, traces: active}, change: late, want: gateway.TimedOut, orphaned: true},
		"the resumed turn takes too long":      {g: scripted{boot: next, traces: resuming}, change: late, want: gateway.TimedOut, orphaned: true},
		"it ended without an answer":           {g: scripted{boot: same, traces: asked}, want: ask.Unsure},
		"the history has the failure":          {g: scripted{boot: same, traces: run(gateway.Trace{Asked: true, Answer: ended(gateway.Failed)})}, want: gateway.Failed},
		"it is not in the history yet":         {g: scripted{boot: same, waits: finished}, want: gateway.Finished, sent: "run-1"},
		"it is not in the history any more":    {g: scripted{boot: same}, change: func(m *memory) { m.q.AskedAt = time.Now().Add(-time.Hour) }, want: ask.Unsure},
		"it never arrived":                     {g: scripted{boot: next, waits: finished}, want: gateway.Finished, sent: "run-1"},
		"it never arrived, and its time is up": {g: scripted{boot: next}, change: late, want: gateway.TimedOut, orphaned: true},
		"its run was lost in the restart":      {g: scripted{boot: next, traces: asked, waits: finished}, want: gateway.Finished, sent: "run-2"},
		"its lost run is resumed and answers just before it is sent again": {
			g: scripted{boot: next, traces: asked, later: []map[string]gateway.Trace{{"run-2": {Other: true}}, {"run-2": {Other: true}}, run(answered)}}, want: gateway.Finished,
		},
		"the history is refused": {g: scripted{boot: same, refused: link.ErrRefused}, orphaned: true},
		"the gateway shuts down": {
			g: scripted{boot: same, starts: []gateway.Started{{Answer: &gateway.Answer{NotBegun: true}}}}, change: unsent, sent: "run-1", err: errPatience,
		},
		"the gateway drops it for a resumed turn, which does not answer": {
			g:      scripted{boot: same, starts: []gateway.Started{{Answer: &gateway.Answer{Overtaken: true}}}, waits: finished},
			change: unsent, want: gateway.Finished, sent: "run-1 run-2",
		},
	}
}

// Whatever happened to a question, the agent is not asked twice, and the result says how
// the question ended.
func TestOnce(t *testing.T) {
	t.Parallel()
	for name, s := range scripts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &memory{left: time.Minute, q: ask.Question{
				Orphan: ask.Orphan{SessionKey: "agent:cto:q", RunID: "run-1"}, AgentID: "cto", BootID: "boot-1", Sent: true, Accepted: true, AskedAt: time.Now().Add(-time.Minute),
			}}
			if s.change != nil {
				s.change(m)
			}
			r, err := ask.Once(t.Context(), &s.g, time.Now, m)
			if !errors.Is(err, s.err) || r.Outcome != s.want || r.Orphaned != s.orphaned || !errors.Is(r.Rejected, s.g.refused) {
				t.Errorf("%+v, %v, want %q, %t, %v", r, err, s.want, s.orphaned, s.err)
			}
			if sent := strings.Join(s.g.sent, " "); sent != s.sent {
				t.Errorf("the gateway received %q, want %q", sent, s.sent)
			}
		})
	}
}
