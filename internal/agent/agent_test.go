package agent

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/hold"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/patch"
	"wardroom/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestJoin checks how agents are listed that have only an account or are only in the runtime.
func TestJoin(t *testing.T) {
	t.Parallel()
	yes, no, emoji, model := true, false, "🧭", "stub/stub-1"
	list := []gateway.Agent{{ID: "coo", Name: "COO", IdentityName: "Navigator", Emoji: emoji, Model: model}, {ID: "qa", Name: "QA"}}
	users := []account.AgentUser{
		{UserID: "u1", AgentID: "coo", Name: "Operations"}, {UserID: "u2", AgentID: "cmo", Name: "Marketing"},
	}

	at := clock.At(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	got := join(roster{list, at, true}, users)
	want := []Agent{
		{AgentID: "coo", Name: "Navigator", Emoji: &emoji, Model: &model, Runtime: &yes, AsOf: &at, Account: &Account{"u1", "Operations"}},
		{AgentID: "qa", Name: "QA", Runtime: &yes, AsOf: &at},
		{AgentID: "cmo", Name: "Marketing", Runtime: &no, Account: &Account{"u2", "Marketing"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("joined (-want +got):\n%s", d)
	}

	away := join(roster{list, at, false}, users)
	for i, a := range away {
		if a.Runtime != nil {
			t.Errorf("%s: in_runtime is %v while the runtime is away, want null", a.AgentID, *a.Runtime)
		}
		if (a.AsOf != nil) != (want[i].AsOf != nil) {
			t.Errorf("%s: as of %v", a.AgentID, a.AsOf)
		}
	}
	if len(away) != 3 {
		t.Errorf("%d agents while the runtime is away, want the 3 that were known", len(away))
	}
	if only := join(roster{}, users); len(only) != 2 || only[0].AsOf != nil {
		t.Errorf("of a runtime that never said anything: %+v, want the two accounts", only)
	}
}

// TestPresence checks that the presence is never wrong: unknown is not reported as offline or
// idle.
func TestPresence(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	now := clock.At(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	since := clock.At(now.Add(-90*time.Second - 600*time.Millisecond))
	age := int64(90)
	away := link.Status{Since: since}
	seen := func(a session.Activity) evidence {
		return evidence{asOf: now, activities: map[string]session.Activity{"cto": a}}
	}
	for name, tt := range map[string]struct {
		e         evidence
		inRuntime *bool
		want      *Presence
	}{
		"one run":      {seen(session.Activity{Active: 1, Key: "agent:cto:main", Since: since}), &yes, &Presence{Active, "A run is in progress in agent:cto:main.", &since, &age, now, false, nil}},
		"several runs": {seen(session.Activity{Active: 3, Key: "agent:cto:main", Since: since}), &yes, &Presence{Active, "Runs are in progress in 3 sessions, the first in agent:cto:main.", &since, &age, now, false, nil}},
		"one run, stalled": {
			seen(session.Activity{Active: 1, Key: "agent:cto:main", Since: since, Stalled: 1, Silent: now}), &yes,
			&Presence{Active, "A run is in progress in agent:cto:main, without activity since 08:00:00 UTC.", &since, &age, now, true, &now},
		},
		"one of several stalled": {
			seen(session.Activity{Active: 3, Key: "agent:cto:main", Since: since, Stalled: 1, Silent: now}), &yes,
			&Presence{Active, "Runs are in progress in 3 sessions, the first in agent:cto:main. Stalled: 1, the first at 08:00:00 UTC.", &since, &age, now, true, &now},
		},
		"unknown start":           {seen(session.Activity{Active: 1, Key: "agent:cto:main", Since: clock.Time{}}), &yes, &Presence{Active, "A run is in progress in agent:cto:main.", nil, nil, now, false, nil}},
		"no run":                  {seen(session.Activity{Since: since}), &yes, &Presence{Idle, "No run is in progress.", &since, &age, now, false, nil}},
		"never ran":               {evidence{asOf: now}, &yes, &Presence{Idle, "The agent has not run yet.", nil, nil, now, false, nil}},
		"unknown to the runtime":  {seen(session.Activity{Active: 1, Key: "agent:cto:main", Since: since}), &no, &Presence{Offline, "The runtime does not have this agent.", nil, nil, now, false, nil}},
		"unknown, and no session": {evidence{err: link.ErrMissingScope}, &no, &Presence{Offline, "The runtime does not have this agent.", nil, nil, now, false, nil}},
		"the gateway is away": {
			evidence{err: link.ErrUnreachable.With("Nothing listens."), status: away},
			nil,
			&Presence{Offline, "Wardroom could not reach the gateway. Nothing listens.", &since, &age, now, false, nil},
		},
		"the gateway does not answer": {
			evidence{err: link.ErrTimeout, status: link.Status{Since: since, ConnectedAt: &since}},
			&yes,
			&Presence{Offline, "The gateway did not answer in time.", nil, nil, now, false, nil},
		},
		"the gateway has just come back": {
			evidence{err: link.ErrUnreachable.With("Nothing listens."), status: link.Status{Since: since, ConnectedAt: &since}},
			&yes,
			nil,
		},
		"the gateway does not let us see": {evidence{err: link.ErrMissingScope, status: away}, &yes, nil},
		"something of ours is broken":     {evidence{err: errors.New("broken")}, nil, nil},
	} {
		if d := cmp.Diff(tt.want, tt.e.presence("cto", tt.inRuntime, now.Time)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	later := clock.At(now.Add(time.Second))
	if p := seen(session.Activity{Since: later}).presence("cto", &yes, now.Time); *p.Age != 0 {
		t.Errorf("with a clock that is behind the age is %d", *p.Age)
	}
}

// team is a fake runtime, in which the agent cto has a run in progress.
type team struct {
	session.Runtime // nil; the mirror of the sessions calls only the methods below
	roster          []gateway.Agent
	err             error // of reading the agents
	seen            error // of reading the sessions
}

func (*team) Watch(ctx context.Context, _ func(link.Status)) { <-ctx.Done() }

func (*team) Examine(context.Context, func(link.Step)) (link.Examination, error) {
	return link.Examination{}, nil
}

func (r *team) Status() link.Status { return link.Status{} }

func (r *team) Agents(context.Context) ([]gateway.Agent, error) { return r.roster, r.err }

func (r *team) Connection() (any, error) {
	if errors.Is(r.seen, link.ErrUnreachable) {
		return nil, r.seen
	}
	return 1, nil
}

func (r *team) SubscribeSessions(context.Context) error { return nil }

func (r *team) ListSessions(context.Context, int) (gateway.Sessions, error) {
	return gateway.Sessions{Rows: []gateway.Session{{Key: "agent:cto:main", AgentID: "cto", Active: true}}}, r.seen
}

// newService returns a service with the services that List uses, which follow the sessions of the runtime until the
// test ends.
func newService(t *testing.T, d *db.DB, r *team, now func() time.Time) *Service {
	s := &Service{
		DB: d, Log: slog.New(slog.DiscardHandler), Runtime: r, Now: now,
		Accounts: &account.Service{DB: d, Now: now, Cost: bcrypt.MinCost}, Holds: &hold.Service{DB: d, Now: now},
		Sessions: &session.Service{
			Runtime: r, Log: slog.New(slog.DiscardHandler), Now: clock.Now, Patience: time.Minute,
			Events: &event.Service{}, Lists: &mirror.Sessions{},
		},
	}
	var following sync.WaitGroup
	following.Go(func() { _ = s.Sessions.Run(t.Context()) })
	t.Cleanup(following.Wait)
	s.Sessions.Doubt() // makes it read, as a new connection does
	return s
}

// TestService checks that the roster and the activities are read together, and that a failure of one
// is not hidden by the other.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := func() time.Time { return time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC) }
		states := func(s *Service) string {
			agents, err := s.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, a := range agents {
				state := "null"
				if a.Presence != nil {
					state = string(a.Presence.State)
				}
				all = append(all, a.AgentID+" "+state)
			}
			return strings.Join(all, ", ")
		}
		agents := []gateway.Agent{{ID: "cto"}, {ID: "coo"}}
		there := &team{roster: agents}
		away, late, barred := link.ErrUnreachable, link.ErrTimeout, link.ErrMissingScope
		s := newService(t, d, there, now)
		for _, id := range []string{"cto", "intern"} {
			_, err := s.Accounts.Create(actor.With(t.Context(), actor.System), account.NewUser{
				Email: id + "@example.com", Password: "long enough to be allowed", Role: actor.Agent, AgentID: patch.Set(id),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for name, tt := range map[string]struct {
			runtime *team
			want    string
		}{
			"there":                      {there, "cto active, coo idle, intern offline"},
			"there, without any agent":   {&team{}, "cto offline, intern offline"},
			"away":                       {&team{err: away, seen: away}, "cto offline, intern offline"},
			"gone between the questions": {&team{err: away}, "cto offline, intern offline"},
			"without sessions":           {&team{roster: agents, seen: late}, "cto offline, coo offline, intern offline"},
			"not allowed to see":         {&team{roster: agents, seen: barred}, "cto null, coo null, intern offline"},
		} {
			if got := states(newService(t, d, tt.runtime, now)); got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
		if a, err := s.Get(t.Context(), "coo"); err != nil || a.AgentID != "coo" || a.Presence.State != Idle {
			t.Errorf("one: %+v, %v", a, err)
		}
		if _, err := s.Get(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

// TestUnrecorded checks that a failed run that is recorded and in a session is listed once, and
// that other failures of the session are listed.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) *clock.Time { return clock.Ptr(noon.Add(time.Duration(minutes) * time.Minute)) }
	failed, done := "failed", "done"
	records := []Failure{
		{Kind: "job_failed", What: "Backup", At: *at(0), Session: "agent:cto:cron:b1"},
		{Kind: "job_missed", What: "Backup", At: *at(-60)},
		{Kind: "dispatch", What: "TASK-1", At: *at(2), Session: "agent:cto:task:task-1"},
		{Kind: "standup", What: "2026-11-20", At: *at(-200), Session: "agent:cto:standup:2026-11-20"},
	}
	sessions := []session.Session{
		{Key: "agent:cto:cron:b1:run:y", Status: &failed, UpdatedAt: at(150)}, // a second run, started manually
		{Key: "agent:cto:cron:b1:run:x", Status: &failed, UpdatedAt: at(90)},
		{Key: "agent:cto:cron:b1:run:w", Status: &failed, UpdatedAt: at(-30)}, // before the slot
		{Key: "agent:cto:cron:b12:run:x", Status: &failed, UpdatedAt: at(3)},
		{Key: "agent:cto:task:TASK-1", Status: &failed, UpdatedAt: at(1)},
		{Key: "agent:cto:task:task-12", Status: &failed, UpdatedAt: at(1)},
		{Key: "agent:cto:standup:2026-11-20", Status: &failed, UpdatedAt: at(-20)}, // a manual retry hours later
		{Key: "agent:cto:main", Status: &done, UpdatedAt: at(5)},
	}
	var got []string
	for _, f := range unrecorded(records, sessions, noon.AddDate(0, 0, -7)) {
		got = append(got, f.What)
	}
	want := []string{
		"agent:cto:cron:b1:run:w", "agent:cto:standup:2026-11-20", "agent:cto:task:task-12", "agent:cto:cron:b12:run:x", "agent:cto:cron:b1:run:y",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("told besides the records (-want +got):\n%s", d)
	}
	var known []string
	for _, r := range records {
		if r.Key != nil {
			known = append(known, *r.Key)
		}
	}
	if d := cmp.Diff([]string{"agent:cto:cron:b1:run:x", "agent:cto:task:TASK-1"}, known); d != "" {
		t.Errorf("the sessions of the records (-want +got):\n%s", d)
	}
}

// TestLastKnownRoster checks that the stored roster is used while the runtime is unreachable, even
// by a new process.
func TestLastKnownRoster(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		runtime := &team{roster: []gateway.Agent{{ID: "cto", Name: "CTO", Emoji: "🔧"}, {ID: "coo"}}}
		runtime.seen = link.ErrUnreachable // a List needs no sessions
		start := func() *Service { return newService(t, d, runtime, func() time.Time { return now }) }
		want := func(s *Service, want string) {
			t.Helper()
			agents, err := s.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, a := range agents {
				all = append(all, a.AgentID+" "+a.AsOf.Format("15:04:05"))
			}
			if got := strings.Join(all, ", "); got != want {
				t.Errorf("the team is %q, want %q", got, want)
			}
		}
		runtime.err = link.ErrUnreachable
		s := start()
		want(s, "")
		runtime.err = nil
		s.storeRoster(t.Context())
		want(s, "cto 08:00:00, coo 08:00:00")
		now = now.Add(30 * time.Second) // requests store nothing
		want(s, "cto 08:00:30, coo 08:00:30")
		now = now.Add(time.Hour)
		runtime.err = link.ErrUnreachable
		want(s, "cto 08:00:00, coo 08:00:00")
		want(start(), "cto 08:00:00, coo 08:00:00")
		runtime.err, runtime.roster = nil, runtime.roster[1:]
		s.storeRoster(t.Context())
		want(s, "coo 09:00:30")
		runtime.err, now = link.ErrUnreachable, now.Add(time.Second)
		want(start(), "coo 09:00:30")
		runtime.err, runtime.roster = nil, nil // an empty roster is not an unreachable runtime
		s.storeRoster(t.Context())
		want(s, "")
		runtime.err = link.ErrUnreachable
		want(start(), "")
	})
}
