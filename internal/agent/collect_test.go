package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/clock"
	"wardroom/internal/session"
	"wardroom/internal/usage"
)

// TestGrouped checks that ten runs of one job do not push everything else off the page, and that no
// active run is hidden.
func TestGrouped(t *testing.T) {
	t.Parallel()
	all := []session.Session{{Key: "agent:cto:cron:J1:run:9", Active: true}}
	for _, key := range slices.Concat(
		[]string{"agent:cto:subagent:x", "agent:cto:cron:j1:run:8"}, slices.Repeat([]string{"agent:cto:cron:j1:run:x"}, 12),
		[]string{"agent:cto:task:task-7", "agent:cto:task:TASK-7:x", "agent:cto:cron:j2", "agent:cto:main", "odd"},
	) {
		all = append(all, session.Session{Key: key})
	}
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
	run := func(key string, since *clock.Time) session.Session {
		return session.Session{Key: key, Active: true, StartedAt: since}
	}
	for want, sessions := range map[string][]session.Session{
		"long": {
			run("agent:cto:subagent:x", at(0)), run("unknown", nil), run("short", at(5)), run("long", at(1)), {Key: "done"},
		},
		"new":   {run("new", nil), {Key: "done"}},
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
		spend := map[string]usage.Recent{"cto": {Last7Days: usage.Sums{Runs: runs}}}
		return collection{spend: spend, failures: map[string][]Failure{"cto": failures}}.outcome("cto")
	}
	failed, missed := Failure{Ran: true}, Failure{}
	if got := of(5, failed, missed); got != (Outcome{4, 1}) {
		t.Errorf("%+v", got)
	}
	if got := of(1, failed, failed); got != (Outcome{0, 2}) {
		t.Errorf("%+v", got)
	}
}
