package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/clock"
)

// TestGrouped checks that ten runs of one job do not push everything else off the page, and that no
// active run is hidden.
func TestGrouped(t *testing.T) {
	t.Parallel()
	all := []Session{{Key: "agent:cto:cron:J1:run:9", Active: true}, {Key: "agent:cto:subagent:x"}, {Key: "agent:cto:cron:j1:run:8"}}
	for range 12 {
		all = append(all, Session{Key: "agent:cto:cron:j1:run:x"})
	}
	all = append(all, Session{Key: "agent:cto:task:task-7"}, Session{Key: "agent:cto:task:TASK-7:x"}, Session{Key: "agent:cto:cron:j2"}, Session{Key: "agent:cto:main"}, Session{Key: "odd"})
	type row struct {
		Key     string
		Earlier int
	}
	var got []row
	for _, s := range grouped(all) {
		got = append(got, row{s.Key, s.Earlier})
	}
	want := []row{{"agent:cto:cron:J1:run:9", 0}, {"agent:cto:cron:j1:run:8", 12}, {"agent:cto:task:task-7", 1}, {"agent:cto:cron:j2", 0}, {"agent:cto:main", 0}, {"odd", 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCurrent checks that the run that an agent works on longest is shown, not the session that
// changed last, and that an idle agent is not shown as working.
func TestCurrent(t *testing.T) {
	t.Parallel()
	at := func(minute int) *clock.Time { return clock.Ptr(time.Date(2026, 11, 20, 8, minute, 0, 0, time.UTC)) }
	run := func(since *clock.Time) *Run { return &Run{Since: since} }
	for want, sessions := range map[string][]Session{
		"long":  {{Key: "agent:cto:subagent:x", Run: run(at(0))}, {Key: "unknown", Run: run(nil)}, {Key: "short", Run: run(at(5))}, {Key: "long", Run: run(at(1))}, {Key: "done"}},
		"new":   {{Key: "new", Run: run(nil)}, {Key: "done"}},
		"later": {{Key: "later"}, {Key: "failed"}},
		"":      nil,
	} {
		got := current(sessions)
		if got == nil && want != "" || got != nil && got.Key != want {
			t.Errorf("of %v: %+v, want %q", sessions, got, want)
		}
	}
}

// TestOutcome checks that missed jobs do not count as runs, and that runs that failed before they
// used anything do not make the number of succeeded runs negative.
func TestOutcome(t *testing.T) {
	t.Parallel()
	of := func(runs int64, failures ...Failure) Outcome {
		return collection{spend: map[string]Spend{"cto": {Week: Spent{Runs: runs}}}, failures: map[string][]Failure{"cto": failures}}.outcome("cto")
	}
	failed, missed := Failure{Ran: true}, Failure{}
	if got := of(5, failed, missed); got != (Outcome{4, 1}) {
		t.Errorf("%+v", got)
	}
	if got := of(1, failed, failed); got != (Outcome{0, 2}) {
		t.Errorf("%+v", got)
	}
}
