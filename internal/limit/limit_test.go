package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/event"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/money"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtime is one in which every stop succeeds, and that cannot be asked for its sessions.
type runtime struct {
	session.Runtime // the rest is not used

	stop func(sessionKey string)
}

func (r *runtime) StopSession(_ context.Context, sessionKey, _ string) (ids []string, stopped bool, err error) {
	r.stop(sessionKey)
	return nil, true, nil
}

func (*runtime) Connection() (any, error) { return nil, errors.New("not connected") }

// newService returns a service that watches its own ledger. Its runs are stopped while its queue runs.
func newService(d *db.DB) *Service {
	log, rt := slog.New(slog.DiscardHandler), &runtime{stop: func(string) {}}
	s := &Service{
		DB: d, Now: time.Now, Zone: time.UTC, Inbox: &inbox.Service{DB: d, Now: time.Now}, Jobs: job.New(d, log, time.Now), Runtime: rt,
		Holds:    &hold.Service{DB: d, Now: time.Now, Log: log, Jobs: job.New(d, log, time.Now)},
		Standups: &standup.Service{DB: d, Facilitator: "coo", Participants: []string{"cto", "cpo"}},
	}
	s.Usage = &usage.Service{
		DB: d, Now: time.Now, Log: log, Zone: time.UTC, Events: &event.Service{DB: d}, Changed: func() {}, Grew: s.Evaluate, Urgent: s.Urgent,
	}
	s.Sessions = &session.Service{DB: d, Now: time.Now, Log: log, Runtime: rt, Patience: time.Minute}
	s.Jobs.Kinds[KindStop], s.Jobs.Poll = s.Kind(), 50*time.Millisecond
	return s
}

// stopsRuns runs the queue until the test ends. It calls stop for each session whose runs are stopped.
func stopsRuns(t *testing.T, s *Service, stop func(sessionKey string)) {
	t.Helper()
	s.Runtime = &runtime{stop: stop}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Jobs.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s for a minute", what)
		}
	}
}

func system(t *testing.T) context.Context { return actor.With(t.Context(), actor.System) }

func cents(n int64) *money.Nano {
	cost := money.Nano(n * 10_000_000)
	return &cost
}

// spend adds an ended run of the CTO to the ledger. Without a cost it has no price.
func spend(t *testing.T, s *Service, runID string, at time.Time, cost *money.Nano) {
	t.Helper()
	note(t, s, usage.Run{
		RunID: runID, AgentID: "cto", SessionKey: "agent:cto:main", StartedAt: at, EndedAt: at,
		Parts: []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1000}, Cost: cost}},
	})
}

func note(t *testing.T, s *Service, r usage.Run) {
	t.Helper()
	err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := s.Usage.Note(t.Context(), tx, r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// progress is the usage so far of a run in progress.
type progress struct {
	nano  int64 // dollars
	took  time.Duration
	calls int
}

// grow stores the usage so far of a run of the CTO, and compares it with the limits.
func (s *Service) grow(ctx context.Context, run string, is progress) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO usage_going (run_id, provider, model, read_at, at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price, calls, took)
			VALUES (?, 'p', 'm', ?, 0, 'cto', ?, ?, 'human', '', '', '', 1, 0, 0, 0, 0, ?, 'runtime', ?, ?)
			ON CONFLICT (run_id, provider, model) DO UPDATE SET cost_nano = excluded.cost_nano, calls = excluded.calls, took = excluded.took`,
			run, clock.At(time.Now()), "agent:cto:"+run, run, is.nano, is.calls, is.took.Milliseconds())
		if err != nil {
			return err
		}
		r := usage.Run{RunID: run, AgentID: "cto", SessionKey: "agent:cto:" + run, EndedAt: time.Now()}
		return s.Evaluate(ctx, tx, r, true)
	})
}

// grows is grow for a run that has cost the given nano-dollars.
func grows(t *testing.T, s *Service, run string, nano int64) {
	t.Helper()
	if err := s.grow(t.Context(), run, progress{nano: nano}); err != nil {
		t.Fatal(err)
	}
}

// create adds a limit.
func create(t *testing.T, s *Service, n New) Limit {
	t.Helper()
	l, err := s.Create(system(t), n)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// acts counts the entries of the audit log about limits and holds by kind.
func acts(t *testing.T, d *db.DB) map[string]int {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT kind FROM events WHERE class = 'audit' AND (kind LIKE 'limit.%' OR kind = 'agent.held')`)
	kinds, err := db.All(rows, err, func(r db.Row) (kind string, err error) { return kind, r.Scan(&kind) })
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int{}
	for _, k := range kinds {
		by[k]++
	}
	return by
}

// queuedStops counts the jobs that stop runs.
func queuedStops(t *testing.T, d *db.DB) (n int) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs WHERE kind = ?`, KindStop).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// items returns an expression over the columns of each inbox item, sorted by title.
func items(t *testing.T, d *db.DB, columns string) []string {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT `+columns+` FROM inbox_items ORDER BY title, first_at`)
	all, err := db.All(rows, err, func(r db.Row) (line string, err error) { return line, r.Scan(&line) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A limit warns at 80 percent and acts once at 100; people can allow more, which ends the alert.
func TestLimit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := newService(d), system(t)
		n := New{Scope: Agent, ScopeID: "cto", Measure: Dollars, Amount: "1", Window: PerDay, Action: Tell}
		tells, now := create(t, s, n).ID, time.Now().UTC()
		item := func(when, want string) {
			t.Helper()
			if got := items(t, d, `kind || ', ' || severity || ', ' || state`); !slices.Equal(got, []string{"limit_reached, " + want}) {
				t.Errorf("%s the items are %q, want %q", when, got, want)
			}
		}
		spend(t, s, "limit-1", now, cents(79))
		if got := acts(t, d); got["limit.warned"] != 0 {
			t.Errorf("it warns at 79 percent: %v", got)
		}
		spend(t, s, "limit-2", now, cents(1))
		item("at 80 percent", "medium, open")
		for i := range 3 {
			spend(t, s, fmt.Sprint("limit-over-", i), now, cents(10))
		}
		item("over the limit", "urgent, open")
		if got := acts(t, d); got["limit.warned"] != 1 || got["limit.reached"] != 1 {
			t.Errorf("it acted more than once: %v", got)
		}
		l, err := s.Allow(ctx, tells, "2")
		if err != nil || *l.Used != "1.1" || l.Allowed != "3" || !l.Measurable || l.ResetsAt == nil || !l.ResetsAt.After(now) {
			t.Errorf("after $2 more: %+v, %v", l, err)
		}
		item("after $2 more", "urgent, resolved")
		spend(t, s, "limit-far", now, cents(200))
		if got := acts(t, d); got["limit.reached"] != 2 {
			t.Errorf("it does not act at the raised amount: %v", got)
		}
		var last string
		if err := d.QueryRow(ctx, `SELECT data FROM events WHERE kind = 'limit.reached' ORDER BY id DESC LIMIT 1`).Scan(&last); err != nil ||
			!strings.Contains(last, `"overshoot":"0.1"`) || !strings.Contains(last, `"run_id":"limit-far"`) {
			t.Errorf("the audit log tells %s, %v", last, err)
		}
		spend(t, s, "limit-unpriced", now, nil)
		if l, err = s.Get(ctx, tells); err != nil || l.Measurable || l.Unpriced != 1 || *l.Used != "3.1" {
			t.Errorf("usage without a price counts as $0: %+v, %v", l, err)
		}
		nine := "9"
		if _, err := s.Change(ctx, tells, Change{Amount: &nine}, nil); err != nil {
			t.Fatal(err)
		}
		item("after a higher amount", "urgent, resolved")
		n.Scope, n.ScopeID = Team, "nobody"
		if _, err := s.Create(ctx, n); fault.Of(err) == nil || fault.Of(err).Code != "invalid_input" {
			t.Errorf("a limit for an unknown team: %v", err)
		}
		if err := s.Delete(ctx, tells, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, tells); !errors.Is(err, ErrNotFound) {
			t.Errorf("after the deletion: %v", err)
		}
	})
}

// A limit holds an agent until a person releases it, whatever happens to the limit.
func TestLimitHolds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, ctx := newService(d), system(t)
		n := New{Scope: Agent, ScopeID: "cto", Measure: Dollars, Amount: "1", Window: PerDay, Action: Tell}
		create(t, s, n)
		spend(t, s, "before the limit", time.Now(), cents(310))
		n.Action = Hold
		l := create(t, s, n)
		spend(t, s, "after it", time.Now(), cents(1))
		amount := "50"
		for step, do := range []func() error{
			func() error { return nil },
			func() error { _, err := s.Allow(ctx, l.ID, "5"); return err },
			func() error { _, err := s.Change(ctx, l.ID, Change{Amount: &amount}, nil); return err },
			func() error { return s.Delete(ctx, l.ID, nil) },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
			held, err := s.Holds.Find(ctx, d, "cto")
			if err != nil || held == nil || held.State != hold.Held || held.By != actor.System.Name || held.Reason != "Limit reached: $1.00 per day for agent cto" {
				t.Errorf("after step %d the hold is %+v, %v", step, held, err)
			}
		}
	})
}

// Spend that is far above what is usual reaches people without a limit, once an hour, as soon as two
// weeks are known.
func TestUnusualSpend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		zone, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 3, 10, 15, 10, 0, 0, time.UTC) // two days after the clocks changed
		s.Zone, s.Now, s.Usage.Now = zone, func() time.Time { return now }, func() time.Time { return now }
		raised := func() []string {
			t.Helper()
			return items(t, d, `kind || ': ' || title || ' ' || count || ' ' || detail`)
		}
		follow := func(since time.Time) {
			err := d.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE usage_state SET since = ? WHERE name = 'ledger'`, clock.At(since))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		// The same hour of the clock was an hour later in UTC before the change.
		spend(t, s, "a week before", time.Date(2026, 3, 3, 16, 50, 0, 0, time.UTC), cents(50))
		spend(t, s, "two weeks before", time.Date(2026, 2, 24, 16, 5, 0, 0, time.UTC), cents(30))
		follow(now.AddDate(0, 0, -13))
		spend(t, s, "usual", now, cents(160)) // 4 times the median of 40 cents
		spend(t, s, "too early to tell", now, cents(1))
		follow(now.AddDate(0, 0, -15))
		if got := raised(); len(got) > 0 {
			t.Errorf("before two weeks are known: %q", got)
		}
		spend(t, s, "unusual", now, cents(9))
		spend(t, s, "still unusual", now, cents(30))
		spend(t, s, "of an earlier hour", now.Add(-time.Hour), cents(500))
		if got := raised(); len(got) != 1 || got[0] != "spend_unusual: Unusual spend: $1.70 in an hour 1 Since 2026-03-10 15:00 UTC, agents have spent $1.70. The median of this hour on the last 2 Tuesdays is $0.40." {
			t.Errorf("above 4 times the median: %q", got)
		}
		now = now.Add(time.Hour)
		spend(t, s, "a dollar is never unusual", now, cents(100))
		if got := raised(); len(got) != 1 {
			t.Errorf("at $1: %q", got)
		}
		spend(t, s, "the next hour", now, cents(1))
		if got := raised(); len(got) != 2 {
			t.Errorf("in the next hour: %q", got)
		}
	})
}
