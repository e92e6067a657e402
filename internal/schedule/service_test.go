package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
)

// TestChangeRace checks that of two concurrent changes, one fails and returns the current
// job.
func TestChangeRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.r.race = func() {
			h.r.change(func() {
				h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.Name, j.Revision = "Theirs", "r2" })
			})
		}
		mine := "Mine"
		_, err := h.Change(h.ctx(), "j", Change{Name: &mine})
		f := fault.Of(err)
		if f == nil || f.Code != "job_changed" || f.Facts["expected_revision"] != "r1" || f.Facts["current_revision"] != "r2" {
			t.Fatalf("told %+v", f)
		}
		if is, ok := f.Facts["current"].(gateway.Job); !ok || is.Name != "Theirs" {
			t.Errorf("shown %+v", f.Facts["current"])
		}
	})
}

// deeds returns actions on the job j by the kind of their events.
func (h *fixture) deeds() map[string]func(context.Context) error {
	name := "Another"
	return map[string]func(context.Context) error{
		"job.made": func(ctx context.Context) error {
			_, err := h.Make(ctx, Draft{Name: "n", AgentID: "cto", Schedule: Times{Expr: "* * * * *"}, Payload: Payload{Message: "m"}})
			return err
		},
		"job.changed": func(ctx context.Context) error { _, err := h.Change(ctx, "j", Change{Name: &name}); return err },
		"job.removed": func(ctx context.Context) error { return h.Remove(ctx, "j", "") },
		"job.started": func(ctx context.Context) error { _, err := h.Start(ctx, "j"); return err },
	}
}

// audited returns the audit events since the last call, newest first, and whether they are
// unconfirmed.
func (h *fixture) audited() (kinds []string) {
	h.t.Helper()
	list, err := event.Read(h.ctx(), h.DB, event.Filter{Class: event.Audit}, page.Want{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range list.Rows[:len(list.Rows)-h.heard] {
		if strings.Contains(string(e.Data), `"confirmed":false`) {
			e.Kind += "?"
		}
		kinds = append(kinds, e.Kind)
	}
	h.heard = len(list.Rows)
	return kinds
}

// TestChangesWithoutAnAnswer checks that a change without a response is reported as possibly made.
func TestChangesWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const maybe = "may have been made"
	h := newFixture(t, dbtest.New(t), hourly(nil))
	h.at("08:30:00")
	for kind, ask := range h.deeds() {
		h.r.change(func() {
			h.r.lost = errors.Join(link.ErrTimeout.With("It had no answer within 15s."), link.ErrUnsure)
		})
		if f := fault.Of(ask(h.ctx())); f == nil || f.Code != "gateway_timeout" || !strings.Contains(f.Detail, "15s. The change "+maybe) {
			t.Errorf("%s, not answered: %+v", kind, f)
		}
		if got := h.audited(); len(got) != 1 || got[0] != kind+"?" {
			t.Errorf("%s, not answered, is told as %v", kind, got)
		}
		h.r.change(func() { h.r.lost, h.r.jobs["j"] = link.ErrRefused.With("It says: no."), hourly(nil) })
		if f := fault.Of(ask(h.ctx())); f == nil || f.Code != "gateway_refused" || strings.Contains(f.Detail, maybe) {
			t.Errorf("%s, refused: %+v", kind, f)
		}
		h.r.change(func() { h.r.lost, h.r.away = nil, link.ErrUnreachable })
		if f := fault.Of(ask(h.ctx())); f == nil || f.Code != "gateway_unreachable" || strings.Contains(f.Detail, maybe) {
			t.Errorf("%s, while it is away: %+v", kind, f)
		}
		if got := h.audited(); len(got) > 0 {
			t.Errorf("%s, not done, is told as %v", kind, got)
		}
		h.r.change(func() {
			h.r.away = nil
			h.r.jobs["j"] = hourly(nil)
		})
	}
}

// TestChangesOfWhoLeft checks that a change is recorded even if the client has disconnected.
func TestChangesOfWhoLeft(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		for _, lost := range []error{nil, errors.Join(context.Canceled, link.ErrUnsure)} {
			for kind, ask := range h.deeds() {
				ctx, leave := context.WithCancel(h.ctx())
				h.r.change(func() { h.r.lost, h.r.sent, h.r.jobs["j"] = lost, leave, hourly(nil) })
				err := ask(ctx)
				want := kind
				if lost != nil {
					want += "?"
				}
				if got := h.audited(); len(got) != 1 || got[0] != want || (err != nil) != (lost != nil) {
					t.Errorf("%s, answered with %v, is told as %v, %v", kind, lost, got, err)
				}
				h.r.change(func() { h.r.sent = nil })
				h.at("08:30:00")
			}
		}
	})
}

// TestChangeAsks checks that invalid changes, and changes that alter nothing, are not
// sent.
func TestChangeAsks(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(nil), hourly(func(j *gateway.Job) { j.ID, j.Schedule = "e", gateway.JobSchedule{Kind: "every", EveryMS: 1000} }))
	h.at("08:30:00")
	text, off := "Another", false
	t.Run("the definition of another kind is not touched", func(t *testing.T) {
		if _, err := h.Change(h.ctx(), "e", Change{Name: &text}); !errors.Is(err, ErrKind) {
			t.Errorf("it is %v", err)
		}
		if j, err := h.Change(h.ctx(), "e", Change{Enabled: &off}); err != nil || j.Enabled {
			t.Errorf("disabled it is %+v, %v", j, err)
		}
	})
	t.Run("the same is not sent", func(t *testing.T) {
		before := h.r.calls["change"]
		same := "Hourly"
		if j, err := h.Change(h.ctx(), "j", Change{Name: &same, Schedule: &TimesChange{Expr: new(" 0  * * * *")}}); err != nil || j.Name != same || h.r.calls["change"] != before {
			t.Errorf("it is %+v, %v, after %d changes", j, err, h.r.calls["change"]-before)
		}
	})
	t.Run("a zone that is left out stays", func(t *testing.T) {
		if j, err := h.Change(h.ctx(), "j", Change{Schedule: &TimesChange{Expr: new("0 9 * * *")}}); err != nil || j.Schedule.Zone != "UTC" || j.NextRuns[0].Local != "2026-11-20T09:00:00Z" {
			t.Errorf("it is %+v, %v", j, err)
		}
	})
	t.Run("a job that the runtime does not start is no run", func(t *testing.T) {
		s := h.replica(h.DB)
		s.Runtime = busy{h.r}
		if _, err := s.Start(h.ctx(), "j"); !errors.Is(err, ErrGoing) {
			t.Errorf("it is %v", err)
		}
	})
}

// busy is a runtime in which all jobs are running.
type busy struct{ *runtime }

func (busy) RunJob(context.Context, string) (string, string, error) {
	return "", "already-running", nil
}

// TestMakeOnce checks that a repeated request creates one job.
func TestMakeOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d)
		h.at("08:30:00")
		draft := Draft{Name: "Once", AgentID: "cto", Schedule: Times{Expr: "0 9 * * *", Zone: "Europe/Berlin"}, Payload: Payload{Message: "Go"}}
		var wg sync.WaitGroup
		var mu sync.Mutex
		ids := map[string]bool{}
		for range 8 {
			wg.Go(func() {
				j, err := h.Make(once.With(h.ctx(), once.New("me", "jobs", "k", []byte("the same"))), draft)
				mu.Lock()
				defer mu.Unlock()
				if ids[j.ID] = true; err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(ids) != 1 || len(h.r.jobs) != 1 {
			t.Errorf("made %v, and the runtime has %d", ids, len(h.r.jobs))
		}
		draft.Name = "Another"
		if _, err := h.Make(once.With(h.ctx(), once.New("me", "jobs", "k", []byte("another"))), draft); !errors.Is(err, once.ErrConflict) || len(h.r.jobs) != 1 {
			t.Errorf("with the key of another request: %v, and the runtime has %d", err, len(h.r.jobs))
		}
	})
}

// TestSlotsPages checks that pages have each slot once, from past to future.
func TestSlotsPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var jobs []gateway.Job
		for n := range 3 {
			jobs = append(jobs, hourly(func(j *gateway.Job) { j.ID = fmt.Sprint("j", n) }))
		}
		jobs = append(jobs, hourly(func(j *gateway.Job) { j.ID, j.Enabled = "off", false }))
		h := newFixture(t, d, jobs...)
		h.at("08:30:00")
		h.at("10:30:00")
		f := SlotFilter{From: at("09:30:00"), To: at("13:00:00")}
		var got []string
		var after *slotKey
		for {
			page, err := h.Slots(h.ctx(), f, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page {
				got = append(got, s.DueAt.Format("15")+s.JobID+string(s.State)[:1])
			}
			if len(page) < 2 {
				break
			}
			last := page[len(page)-1].key()
			after = &last
		}
		want := strings.Fields("10j0m 10j1m 10j2m 11j0p 11j1p 11j2p 12j0p 12j1p 12j2p")
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for _, bad := range []SlotFilter{{From: at("10:00:00"), To: at("10:00:00")}, {From: at("10:00:00"), To: at("11:00:00").AddDate(0, 0, 31)}} {
			if _, err := h.Slots(h.ctx(), bad, nil, 1); !errors.Is(err, ErrSpan) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// TestSlotsFarAhead checks slots in the far future, beyond the range of time.Duration.
func TestSlotsFarAhead(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(func(j *gateway.Job) {
		j.Schedule, j.State.NextRunAt = gateway.JobSchedule{Kind: "every", EveryMS: time.Hour.Milliseconds()}, clock.Ptr(at("09:20:00"))
	}))
	h.at("08:30:00")
	for _, year := range []int{2026, 2317, 2319, 2400, 3500, 9998} {
		from := time.Date(year, 12, 1, 0, 0, 0, 0, time.UTC)
		slots, err := h.Slots(h.ctx(), SlotFilter{From: from, To: from.Add(3 * time.Hour)}, nil, 10)
		if err != nil || len(slots) != 3 || !slots[0].DueAt.Equal(from.Add(20*time.Minute)) {
			t.Errorf("in %d: %+v, %v", year, slots, err)
		}
	}
}

// TestCallsDoNotGrow checks that the number of requests to the gateway does not depend on the
// number of clients, and that several events cause one read.
func TestCallsDoNotGrow(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(nil))
	ctx, stop := context.WithCancel(h.ctx())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	h.Receive(mirror.Event{Event: link.Event{Resync: true}})
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if jobs, _, err := h.List(ctx, Filter{}, "", 10); err != nil || len(jobs) != 1 { // waits for the first read
		t.Fatalf("%+v, %v", jobs, err)
	}
	before := h.r.count()
	var readers sync.WaitGroup
	for range 500 {
		readers.Go(func() {
			_, _, err := h.List(ctx, Filter{}, "", 10)
			if _, again := h.Get(ctx, "j"); err != nil || again != nil {
				t.Error(err, again)
			}
		})
	}
	readers.Wait()
	if n := h.r.count() - before; n != 0 {
		t.Errorf("500 readers made %d calls", n)
	}
	h.r.change(func() {
		h.r.now = h.r.now.Add(time.Minute)
		h.r.jobs["j"] = hourly(func(j *gateway.Job) { j.Name = "Renamed" })
	})
	for range 100 {
		h.Receive(mirror.Event{Event: link.Event{Name: "cron"}})
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		j, err := h.Get(ctx, "j")
		if err != nil || time.Now().After(end) {
			t.Fatal("the change is not seen", err)
		}
		if j.Name == "Renamed" {
			break
		}
	}
	if n := h.r.count() - before; n > 4 {
		t.Errorf("100 events made %d calls", n)
	}
}

// TestReaderAsksAtDeadlines checks that one replica reads the runtime after a deadline, even
// without an event.
func TestReaderAsksAtDeadlines(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(nil))
	h.at("08:59:30")
	r := reader{s: h.Service, last: at("09:04:00"), tried: at("09:04:00")}
	h.r.change(func() { h.r.now = at("09:04:30") })
	if err := h.Judge(h.ctx()); err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]bool{"09:04:59": false, "09:05:01": true} {
		h.r.change(func() { h.r.now = at(when) })
		if r.due(h.ctx()) != want {
			t.Errorf("at %s: due %t", when, !want)
		}
	}
	h.at("09:05:02")
	h.r.change(func() { h.r.now = at("09:05:30") })
	if r.due(h.ctx()) {
		t.Error("once more, although it is known")
	}
	r.last, r.tried = at("09:05:02").AddDate(10, 0, 0), at("09:05:02").AddDate(10, 0, 0)
	if !r.due(h.ctx()) {
		t.Error("never again, because the clock was ahead")
	}
}
