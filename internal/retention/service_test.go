package retention

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is on the day after the end of summer time in Berlin.
var noon = time.Date(2026, 10, 26, 11, 0, 0, 0, time.UTC)

// border is the start of the previous day in Berlin, which has 25 hours.
var border = time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)

// newService returns a service with the policy for activity, after one day in Berlin. Its queue
// does not run.
func newService(t testing.TB, d *db.DB) *Service {
	t.Helper()
	zone, err := clock.Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s := &Service{DB: d, Jobs: job.New(d, log, clock.Now), Log: log, Now: func() time.Time { return noon }, Zone: zone}
	s.Jobs.Poll = 10 * time.Millisecond
	s.Policies = []Policy{{
		Name: "activity", Setting: "ACTIVITY_LOG_RETENTION_DAYS", Days: 1, Does: "Activity goes.",
		Count: func(ctx context.Context, before time.Time) (int64, time.Time, error) {
			return event.CountPurgeable(ctx, d, before)
		},
		Apply: event.Purge,
	}}
	return s
}

// run runs the queue until the test ends.
func (s *Service) run(t testing.TB) {
	t.Helper()
	s.Jobs.Kinds[JobKind] = s.Kind()
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		if err := s.Jobs.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); working.Wait() })
}

// byAda returns a context of an admin.
func byAda(t testing.TB) context.Context {
	return actor.With(t.Context(), actor.Actor{ID: "ada", Name: "Ada", Role: actor.Admin})
}

// once starts a run and waits for its end.
func (s *Service) once(t testing.TB) Run {
	t.Helper()
	r, err := s.Run(byAda(t))
	for errors.Is(err, ErrRunning) { // the job of the last run is about to end
		r, err = s.Run(byAda(t))
	}
	if err == nil {
		r, err = s.AwaitEnd(t.Context(), r.ID, 5*time.Minute, nil)
	}
	if err != nil || r.Status != Done || r.FinishedAt == nil {
		t.Fatalf("the run: %+v, %v", r, err)
	}
	return r
}

// seed adds n events about standups, one second apart; the last one is at the given time.
func seed(t testing.TB, d *db.DB, n int, last time.Time) {
	t.Helper()
	const portion = 100
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		var from int64
		if err := tx.QueryRow(t.Context(), `UPDATE event_counter SET last = last + ? RETURNING last`, n).Scan(&from); err != nil {
			return err
		}
		from -= int64(n)
		for i := 0; i < n; i += portion {
			many := min(portion, n-i)
			args := make([]any, 0, 3*many)
			for j := i; j < i+many; j++ {
				args = append(args, from+int64(j)+1, last.Add(time.Duration(j+1-n)*time.Second), db.NewID())
			}
			_, err := tx.Exec(t.Context(), `
				INSERT INTO events (id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data) VALUES `+
				strings.TrimSuffix(strings.Repeat(`(?, ?, 'activity', 'standup.opened', 'ada', 'Ada', 'standup', ?, '2026-10-20', '{"status":"running","facilitator":"coo"}'),`, many), ","), args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// told returns the audit events about retention, oldest first, except for requests.
func told(t testing.TB, d *db.DB) []event.Event {
	t.Helper()
	rows, err := d.Query(t.Context(), `
		SELECT kind, actor_id, subject_id, data FROM events
		WHERE subject_kind = 'retention' AND class = 'audit' AND kind <> 'retention.requested' ORDER BY id`)
	list, err := db.All(rows, err, func(row db.Row) (e event.Event, err error) {
		var data string
		err = row.Scan(&e.Kind, &e.Actor.ID, &e.Subject.ID, &data)
		e.Data = json.RawMessage(data)
		return e, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (s *Service) left(t testing.TB) (n int64) {
	t.Helper()
	if err := s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE kind = 'standup.opened'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *Service) overview(t testing.TB) Overview {
	t.Helper()
	o, err := s.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestRun checks that a run deletes exactly what the preview shows, also with a day of 25
// hours, and records it in the audit log.
func TestRun(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		s.run(t)
		seed(t, d, 300, border.Add(99*time.Second)) // 100 at the border or later
		before := s.overview(t).Policies[0]
		if p := before.Preview; p == nil || p.Count != 200 || !p.Before.Equal(border) || p.OldestAt == nil || !p.OldestAt.Equal(border.Add(-200*time.Second)) {
			t.Fatalf("the preview: %+v", p)
		}
		if want := time.Date(2026, 10, 27, 2, 15, 0, 0, time.UTC); before.NextRunAt == nil || !before.NextRunAt.Equal(want) || before.LastRun != nil {
			t.Errorf("next at %v, last %+v; want next at %s and none", before.NextRunAt, before.LastRun, want)
		}
		r := s.once(t)
		if n := s.left(t); n != 100 {
			t.Errorf("%d are left, want the 100 of the border and later", n)
		}
		if len(r.Policies) != 1 || r.Policies[0].Count != 200 || r.Policies[0].Error != nil || r.Policies[0].FinishedAt == nil || !r.Policies[0].Before.Equal(border) {
			t.Errorf("it says %+v", r)
		}
		after := s.overview(t)
		if st := after.Policies[0]; st.Preview.Count != 0 || st.Preview.OldestAt != nil || st.LastRun == nil || st.LastRun.RunID != r.ID || st.LastRun.Count != 200 || after.Running != nil {
			t.Errorf("afterwards: %+v", after)
		}
		events := told(t, d)
		if len(events) != 1 || events[0].Kind != "retention.ran" || events[0].Subject.ID != "activity" || events[0].Actor.ID != actor.System.ID {
			t.Fatalf("the audit has %+v", events)
		}
		var data struct {
			Policy, Before string
			Count          int64
			Took           *int64 `json:"took_ms"`
			Run            string `json:"run_id"`
		}
		if err := json.Unmarshal(events[0].Data, &data); err != nil || data.Count != 200 || data.Before != "2026-10-24T22:00:00.000Z" || data.Took == nil || data.Policy != "activity" || data.Run != r.ID {
			t.Errorf("it was told as %s, %v", events[0].Data, err)
		}
		again := s.once(t)
		if st := s.overview(t).Policies[0]; st.LastRun.RunID != again.ID || st.LastRun.Count != 0 {
			t.Errorf("a run without work is the last as well: %+v", st.LastRun)
		}
		if n := len(told(t, d)); n != 1 || s.left(t) != 100 {
			t.Errorf("a second run with nothing to do: %d events", n)
		}
	})
}

// TestOffAndNotYet checks that 0 days keep the data forever, and the state of policies without data.
func TestOffAndNotYet(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		s.Policies[0].Days = 0
		s.Policies = append(s.Policies, Policy{Name: "sessions", Days: 30, NotYet: "There are none."})
		s.run(t)
		seed(t, d, 10, border.AddDate(-50, 0, 0))
		if r := s.once(t); len(r.Policies) != 0 || s.left(t) != 10 || len(told(t, d)) != 0 {
			t.Errorf("it did %+v", r)
		}
		o := s.overview(t)
		if off := o.Policies[0]; off.State != Off || off.Preview != nil || off.NextRunAt != nil || off.LastRun != nil || off.Note != nil {
			t.Errorf("off: %+v", off)
		}
		if none := o.Policies[1]; none.State != NotYet || none.Preview != nil || none.NextRunAt != nil || none.Note == nil || *none.Note != "There are none." {
			t.Errorf("not yet: %+v", none)
		}
	})
}

// TestRunFails checks that a failed policy is recorded without its cause, does not stop the others,
// and is retried by the next run.
func TestRunFails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		var log bytes.Buffer
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
		broken := s.Policies[0]
		broken.Name = "broken"
		broken.Apply = func(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
			// A transaction may run twice, so the failure depends on the rows and not on the number of calls.
			var left int
			if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM events WHERE kind = 'standup.opened'`).Scan(&left); err != nil {
				return 0, err
			}
			if left == 200-firstBatch {
				return 0, errors.New("cause-4711")
			}
			return event.Purge(ctx, tx, before, limit)
		}
		s.Policies = slices.Insert(s.Policies, 0, broken)
		s.run(t)
		seed(t, d, 200, border.Add(-time.Second))
		r := s.once(t)
		if len(r.Policies) != 2 || r.Policies[0].Count != 150 || r.Policies[1].Policy != "broken" || r.Policies[1].Count != firstBatch ||
			r.Policies[1].Error == nil || r.Policies[1].FinishedAt == nil || strings.Contains(*r.Policies[1].Error, "4711") {
			t.Errorf("it says %+v", r.Policies)
		}
		if !strings.Contains(log.String(), "cause-4711") || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("the log says %s", &log)
		}
		events := told(t, d)
		if len(events) != 2 || events[0].Kind != "retention.failed" || !strings.Contains(string(events[0].Data), `"count":50`) || strings.Contains(string(events[0].Data), "4711") {
			t.Errorf("the audit has %+v", events)
		}
		seed(t, d, 20, border.Add(-time.Second))
		if r := s.once(t); r.Policies[1].Count != 20 || r.Policies[1].Error != nil || r.Policies[0].Count != 0 {
			t.Errorf("the next run: %+v", r.Policies)
		}
	})
}

// TestRunGoesOn checks that another process continues an interrupted run with the same days, and
// records the total once.
func TestRunGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		done, calls := s.Policies[0], 0
		done.Name, done.Apply = "done", func(context.Context, *db.Tx, time.Time, int) (int64, error) { calls++; return 0, nil }
		s.Policies = slices.Insert(s.Policies, 0, done)
		seed(t, d, 30, border.AddDate(0, 0, -1))
		seed(t, d, 10, border.Add(-time.Second))
		r, err := s.Run(byAda(t))
		if err != nil {
			t.Fatal(err)
		}
		// The state after a process died on the previous day: two policies had started, one was
		// finished, and 70 events were deleted.
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE jobs SET state = 'running', attempt = 1, owner = 'dead', lease_until = ? WHERE id = ?`, time.Now().Add(-time.Minute), r.ID)
			if err != nil {
				return err
			}
			for _, policy := range []string{"done", "activity"} {
				if _, err := begin(t.Context(), tx, Outcome{Policy: policy, RunID: r.ID, Before: clock.At(border.AddDate(0, 0, -1).Add(time.Second)), StartedAt: clock.At(noon.AddDate(0, 0, -1))}); err != nil {
					return err
				}
			}
			if _, err := end(t.Context(), tx, "done", noon, nil); err != nil {
				return err
			}
			return add(t.Context(), tx, "activity", 70)
		})
		if err != nil {
			t.Fatal(err)
		}
		if o := s.overview(t); o.Running == nil || o.Running.ID != r.ID || len(o.Running.Policies) != 2 {
			t.Errorf("before it goes on: %+v", o.Running)
		}
		s.run(t)
		if r, err = s.AwaitEnd(t.Context(), r.ID, time.Minute, nil); err != nil || r.Status != Done {
			t.Fatalf("%+v, %v", r, err)
		}
		if n := s.left(t); n != 10 || calls != 0 {
			t.Errorf("%d are left, want the 10 that are older only today; what was done was done %d times more", n, calls)
		}
		if events := told(t, d); len(events) != 1 || !strings.Contains(string(events[0].Data), `"count":100`) {
			t.Errorf("the audit has %+v, want one that tells of 100", events)
		}
	})
}

// TestRunIsGivenUp checks that a run that crashes every process is abandoned and
// recorded.
func TestRunIsGivenUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		seed(t, d, 10, border.Add(-time.Second))
		r, err := s.Run(byAda(t))
		if err != nil {
			t.Fatal(err)
		}
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE jobs SET failures = 5 WHERE id = ?`, r.ID)
			if err != nil {
				return err
			}
			_, err = begin(t.Context(), tx, Outcome{Policy: "activity", RunID: r.ID, Before: clock.At(border), StartedAt: clock.At(noon)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.run(t)
		r, err = s.AwaitEnd(t.Context(), r.ID, time.Minute, nil)
		if err != nil || r.Status != Failed || len(r.Policies) != 1 || r.Policies[0].Error == nil || r.Policies[0].FinishedAt == nil {
			t.Errorf("%+v, %v", r, err)
		}
		if events := told(t, d); len(events) != 1 || events[0].Kind != "retention.failed" || events[0].Actor.ID != actor.System.ID {
			t.Errorf("the audit has %+v", events)
		}
		if r := s.once(t); r.Policies[0].Count != 10 || r.Policies[0].Error != nil {
			t.Errorf("the next run: %+v", r)
		}
	})
}

// TestOneRun checks that replicas start one run per night. On SQLite there is one process, and a
// second one takes over its jobs.
func TestOneRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		seed(t, d, 500, border.Add(-time.Second))
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO job_timers (name, next_at) VALUES ('retention', ?)`, time.Now().AddDate(0, 0, -3))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		first := newService(t, d)
		replicas := []*Service{first}
		if d.Engine() == db.Postgres {
			replicas = append(replicas, newService(t, d))
		}
		for _, s := range replicas {
			timer, err := s.Timer()
			if err != nil {
				t.Fatal(err)
			}
			s.Jobs.Timers = []job.Timer{timer}
			s.run(t)
		}
		for end := time.Now().Add(time.Minute); first.overview(t).Policies[0].LastRun.open() || first.left(t) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the night's run did not come")
			}
		}
		if events := told(t, d); len(events) != 1 || !strings.Contains(string(events[0].Data), `"count":500`) {
			t.Errorf("the audit has %+v", events)
		}
		var runs int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs WHERE kind = 'retention'`).Scan(&runs); err != nil || runs != 1 {
			t.Errorf("there were %d runs, %v", runs, err)
		}
	})
}

func (o *Outcome) open() bool { return o == nil || o.FinishedAt == nil }

// TestRunOverHTTP checks that a second request fails and returns the progress of the run.
func TestRunOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		api := web.New(web.Options{Title: "Retention", Version: "test", Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
			return actor.Actor{ID: token, Name: token, Role: actor.Role(token)}, nil
		}})
		s.Mount(api)
		site := api.Handler()
		ask := func(role, method, path string, headers ...string) (int, map[string]any) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), method, web.Prefix+path, http.NoBody)
			r.Header.Set("Authorization", "Bearer "+role)
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			w := httptest.NewRecorder()
			site.ServeHTTP(w, r)
			var body map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("%s %s: %d %q", method, path, w.Code, w.Body)
			}
			return w.Code, body
		}
		seed(t, d, 60, border.Add(-time.Second))
		for _, role := range []string{"user", "agent"} {
			if code, _ := ask(role, http.MethodGet, "/retention"); code != http.StatusForbidden {
				t.Errorf("%s may look: %d", role, code)
			}
			if code, _ := ask(role, http.MethodPost, "/retention/run"); code != http.StatusForbidden {
				t.Errorf("%s may run it: %d", role, code)
			}
		}
		code, run := ask("admin", http.MethodPost, "/retention/run")
		if code != http.StatusAccepted || run["status"] != "running" || run["id"] == "" {
			t.Fatalf("%d %v", code, run)
		}
		code, refused := ask("owner", http.MethodPost, "/retention/run")
		if under, _ := refused["run"].(map[string]any); code != http.StatusConflict || refused["code"] != "retention_running" || under["id"] != run["id"] {
			t.Errorf("the second: %d %v", code, refused)
		}
		code, o := ask("owner", http.MethodGet, "/retention")
		if running, _ := o["running"].(map[string]any); code != http.StatusOK || running["id"] != run["id"] || o["timezone"] != "Europe/Berlin" {
			t.Errorf("meanwhile: %d %v", code, o)
		}
		s.run(t)
		id, _ := run["id"].(string)
		if _, err := s.AwaitEnd(t.Context(), id, time.Minute, nil); err != nil {
			t.Fatal(err)
		}
		seed(t, d, 60, border.Add(-time.Second))
		code, run = ask("owner", http.MethodPost, "/retention/run", "Prefer", "wait=60")
		if did, _ := run["policies"].([]any); code != http.StatusOK || run["status"] != "done" || len(did) != 1 || s.left(t) != 0 {
			t.Errorf("waited for: %d %v", code, run)
		}
		var asked int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE kind = 'retention.requested' AND actor_id IN ('admin', 'owner')`).Scan(&asked); err != nil || asked != 2 {
			t.Errorf("the audit knows %d who asked, %v; want 2", asked, err)
		}
	})
}

// People see what another number of days would delete, and runs use the number in use.
func TestOtherDays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(t, d)
		seed(t, d, 3, border.Add(-time.Second))
		seed(t, d, 4, border.Add(-25*time.Hour))
		due := func(days int, want int64) {
			t.Helper()
			got, err := s.Due(t.Context(), "ACTIVITY_LOG_RETENTION_DAYS", days)
			if err != nil || len(got) != 1 || got[0].Policy != "activity" || got[0].Count != want {
				t.Errorf("%d days: %+v, %v; want %d", days, got, err, want)
			}
		}
		due(1, 7)
		due(2, 4)
		due(30, 0)
		due(0, 0)
		if got, err := s.Due(t.Context(), "ARCHIVE_AFTER_DAYS", 1); err != nil || len(got) != 0 {
			t.Errorf("a setting without policies: %+v, %v", got, err)
		}
		s.Days = func(context.Context) (map[string]int, error) {
			return map[string]int{"ACTIVITY_LOG_RETENTION_DAYS": 2}, nil
		}
		if o, err := s.Overview(t.Context()); err != nil || o.Policies[0].Days != 2 || o.Policies[0].Preview.Count != 4 {
			t.Errorf("overview: %+v, %v", o, err)
		}
		s.run(t)
		if r := s.once(t); r.Policies[0].Count != 4 {
			t.Errorf("the run: %+v", r.Policies)
		}
	})
}
