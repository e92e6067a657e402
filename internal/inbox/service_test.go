package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
)

var monday = time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)

// fixture is an inbox with a clock that moves only when the test sets it.
type fixture struct {
	*Service
	t   testing.TB
	now time.Time
	me  actor.Actor
	ctx context.Context
}

func newDesk(t testing.TB, d *db.DB) *fixture {
	t.Helper()
	k := &fixture{t: t, now: monday}
	k.Service = &Service{DB: d, Now: func() time.Time { return k.now }}
	k.me = makeUser(t, d, "ada", actor.User, true)
	k.ctx = actor.With(t.Context(), k.me)
	return k
}

// makeUser adds an account with the email name@example.com. An agent's ID is
// its name.
func makeUser(t testing.TB, d *db.DB, name string, role actor.Role, active bool) actor.Actor {
	t.Helper()
	a := actor.Actor{ID: db.NewID(), Name: strings.ToUpper(name), Role: role}
	var agentID *string
	if role == actor.Agent {
		a.AgentID, agentID = name, &name
	}
	email := name + "@example.com"
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `
			INSERT INTO users (id, email, email_key, name, name_key, role, agent_id, active, password_hash, created_at, updated_at, version)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, 1)`, a.ID, email, email, a.Name, name, role, agentID, active, monday, monday)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// blocked returns an ordinary input for an item.
func blocked(cause string, severity Severity) NewItem {
	return NewItem{
		Cause: cause, Kind: OldBlocker, Severity: severity, Title: "No access to " + cause,
		Detail: "For **three** days.", Subject: event.Subject{Kind: "task", ID: "t-1", Name: "TASK-1"},
	}
}

func (k *fixture) raise(m NewItem) Item {
	k.t.Helper()
	k.tx(func(tx *db.Tx) error { return k.Raise(k.t.Context(), tx, m) })
	return k.of(m.Cause)
}

func (k *fixture) resolveCause(cause, why string) {
	k.t.Helper()
	k.tx(func(tx *db.Tx) error { return k.ResolveCause(k.t.Context(), tx, cause, why) })
}

func (k *fixture) tx(fn func(tx *db.Tx) error) {
	k.t.Helper()
	if err := k.DB.Tx(k.t.Context(), fn); err != nil {
		k.t.Fatal(err)
	}
}

// of returns the item of a cause as users see it now.
func (k *fixture) of(cause string) Item {
	k.t.Helper()
	i, err := ofCause(k.t.Context(), k.DB, cause)
	if err != nil {
		k.t.Fatal(err)
	}
	return i.at(k.now)
}

// log returns the inbox's events as "actor kind: changed fields", oldest first.
func (k *fixture) log() []string {
	k.t.Helper()
	var lines []string
	for _, e := range k.events() {
		var data struct{ Changes map[string]any }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			k.t.Fatal(err)
		}
		var fields []string
		for field := range data.Changes {
			fields = append(fields, field)
		}
		slices.Sort(fields)
		lines = append(lines, strings.TrimSpace(e.Actor.Name+" "+strings.TrimPrefix(e.Kind, "inbox.")+": "+strings.Join(fields, " ")))
	}
	return lines
}

func (k *fixture) events() []event.Event {
	k.t.Helper()
	part, err := event.Read(k.t.Context(), k.DB, event.Filter{Class: event.Activity, SubjectKind: "inbox"}, page.Want{Query: page.Query{Limit: 1000}})
	if err != nil {
		k.t.Fatal(err)
	}
	slices.Reverse(part.Rows)
	return part.Rows
}

// want compares the item that an action returned with the stored one and with
// the expected values.
func (k *fixture) want(i Item, err error, state State, count, version int64) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
	if i.State != state || i.Count != count || i.Version != version {
		k.t.Errorf("it is %s, counted %d, at version %d; want %s, %d, %d", i.State, i.Count, i.Version, state, count, version)
	}
	stored := k.of(i.cause)
	if diff := cmp.Diff(i, stored, cmp.AllowUnexported(Item{})); diff != "" {
		k.t.Errorf("what is answered is not what is stored:\n%s", diff)
	}
	if (i.State == Resolved) != (i.Resolution != nil) || (i.State == Snoozed) != (i.SnoozedUntil != nil) {
		k.t.Errorf("%s with the resolution %v and snoozed until %v", i.State, i.Resolution, i.SnoozedUntil)
	}
}

// Repeats count on one item, which reopens when its cause recurs or its
// severity rises, and stays quiet otherwise.
func TestLife(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		const cause = "blocker/1"
		first := k.raise(blocked(cause, Medium))
		k.want(first, nil, Open, 1, 1)
		k.now = k.now.Add(time.Hour)
		again := k.raise(blocked(cause, Medium))
		k.want(again, nil, Open, 2, 1) // a mere repeat
		if again.ID != first.ID || !again.FirstAt.Equal(monday) || !again.LastAt.Equal(k.now) {
			t.Errorf("the repeat is %+v", again)
		}
		seen, err := k.Ack(k.ctx, first.ID, nil)
		k.want(seen, err, Acked, 2, 2)
		k.want(k.raise(blocked(cause, Medium)), nil, Acked, 3, 2)
		k.want(k.raise(blocked(cause, Low)), nil, Acked, 4, 2)
		if got := k.of(cause).Severity; got != Medium {
			t.Errorf("it is %s now; the worst was medium", got)
		}
		k.want(k.raise(blocked(cause, High)), nil, Open, 5, 3) // higher severity
		put, err := k.Snooze(k.ctx, first.ID, k.now.Add(2*time.Hour), nil)
		k.want(put, err, Snoozed, 5, 4)
		k.want(k.raise(blocked(cause, High)), nil, Snoozed, 6, 4)
		k.want(k.raise(blocked(cause, Urgent)), nil, Open, 7, 5) // higher severity
		mine, err := k.Assign(k.ctx, first.ID, &k.me.ID, nil)
		k.want(mine, err, Open, 7, 6)
		done, err := k.Resolve(k.ctx, first.ID, "Gave them access", nil)
		k.want(done, err, Resolved, 7, 7)
		if want := (&Resolution{clock.At(k.now), event.Author{ID: k.me.ID, Name: "ADA"}, "Gave them access"}); !cmp.Equal(done.Resolution, want) {
			t.Errorf("resolved as %+v, want %+v", done.Resolution, want)
		}
		k.now = k.now.Add(24 * time.Hour)
		back := k.raise(blocked(cause, Low))
		k.want(back, nil, Open, 8, 8)
		if back.Severity != Low || back.Assignee == nil || *back.Assignee != (Assignee{k.me.ID, "ADA"}) || !back.FirstAt.Equal(monday) {
			t.Errorf("it came back as %+v", back)
		}
		k.resolveCause(cause, "The task goes on.")
		ended := k.of(cause)
		k.want(ended, nil, Resolved, 8, 9)
		if r := ended.Resolution; r.By.ID != actor.System.ID || r.Note != "The task goes on." {
			t.Errorf("it ended by itself as %+v", r)
		}
		k.resolveCause(cause, "Once more.")
		k.resolveCause("blocker/unknown", "Nothing.")
		opened, err := k.Reopen(k.ctx, first.ID, nil)
		k.want(opened, err, Open, 8, 10)
		want := []string{
			"Wardroom raised:", "Wardroom repeated:", "ADA acked: state", "Wardroom repeated:", "Wardroom repeated:",
			"Wardroom reopened: severity state", "ADA snoozed: snoozed_until state", "Wardroom repeated:", "Wardroom reopened: severity snoozed_until state",
			"ADA assigned: assignee", "ADA resolved: state", "Wardroom reopened: severity state", "Wardroom resolved: state", "ADA reopened: state",
		}
		if diff := cmp.Diff(want, k.log()); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}

// Events contain the whole item except its detail, so that a stream can show it
// without another request.
func TestEventsHaveTheItem(t *testing.T) {
	t.Parallel()
	k := newDesk(t, dbtest.New(t))
	m := blocked("blocker/1", High)
	m.Detail = strings.Repeat("x", 9000)
	item := k.raise(m)
	item, err := k.Assign(k.ctx, item.ID, &k.me.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, e := range k.events() {
		var data struct{ Item map[string]any }
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if e.Subject != (event.Subject{Kind: "inbox", ID: item.ID, Name: item.Title}) || data.Item["id"] != item.ID || data.Item["severity"] != "high" ||
			data.Item["title"] != item.Title || data.Item["version"] != float64(n+1) || data.Item["state"] != "open" || len(e.Data) > 1500 {
			t.Errorf("%s %+v: %.2000s", e.Kind, e.Subject, e.Data)
		}
		if _, ok := data.Item["detail"]; ok {
			t.Errorf("%s has the detail", e.Kind)
		}
	}
}

// Repeated or late actions fail only if necessary, and without effect they
// record nothing.
func TestDeeds(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		agent := makeUser(t, d, "cto", actor.Agent, true)
		gone := makeUser(t, d, "gone", actor.User, false)
		i := k.raise(blocked("a", Low))
		deeds := map[string]func(version *int64) (Item, error){
			"ack":     func(v *int64) (Item, error) { return k.Ack(k.ctx, i.ID, v) },
			"snooze":  func(v *int64) (Item, error) { return k.Snooze(k.ctx, i.ID, monday.Add(time.Hour), v) },
			"assign":  func(v *int64) (Item, error) { return k.Assign(k.ctx, i.ID, new("ADA@example.com"), v) },
			"resolve": func(v *int64) (Item, error) { return k.Resolve(k.ctx, i.ID, "", v) },
			"reopen":  func(v *int64) (Item, error) { return k.Reopen(k.ctx, i.ID, v) },
		}
		for _, name := range []string{"ack", "snooze", "assign", "resolve", "reopen"} {
			before := k.of("a").Version
			if _, err := deeds[name](new(before + 1)); !errors.Is(err, ErrStale) || fault.Of(err).Facts["current_version"] != before {
				t.Errorf("%s of another version: %v", name, err)
			}
			did, err := deeds[name](&before)
			if err != nil || did.Version != before+1 {
				t.Fatalf("%s: %+v, %v", name, did, err)
			}
			events := len(k.events())
			again, err := deeds[name](nil)
			if err != nil || again.Version != did.Version || len(k.events()) != events {
				t.Errorf("%s again: version %d after %d, %d events, %v", name, again.Version, did.Version, len(k.events())-events, err)
			}
			if name != "resolve" {
				continue
			}
			for _, late := range []string{"ack", "snooze", "assign"} {
				if _, err := deeds[late](nil); !errors.Is(err, ErrResolved) || fault.Of(err).Facts["resolution"] == nil {
					t.Errorf("%s of what is resolved: %v", late, err)
				}
			}
		}
		for name, ref := range map[string]string{"an agent": agent.ID, "an agent's name": "cto", "who has left": gone.ID, "nobody": "x", "a blank": " ", "a wildcard": "%"} {
			if _, err := k.Assign(k.ctx, i.ID, &ref, nil); !errors.Is(err, ErrAssignee) {
				t.Errorf("assigned to %s: %v", name, err)
			}
		}
		if none, err := k.Assign(k.ctx, i.ID, nil, nil); err != nil || none.Assignee != nil {
			t.Errorf("assigned to nobody: %+v, %v", none.Assignee, err)
		}
		for name, until := range map[string]time.Time{"now": k.now, "the past": k.now.Add(-time.Hour), "91 days": k.now.AddDate(0, 0, 91), "nothing": {}, "a microsecond": k.now.Add(time.Microsecond)} {
			if _, err := k.Snooze(k.ctx, i.ID, until, nil); !errors.Is(err, fault.ErrInvalid) {
				t.Errorf("put off until %s: %v", name, err)
			}
		}
		if _, err := k.Resolve(k.ctx, i.ID, strings.Repeat("ä", maxNote+1), nil); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("a note that is too long: %v", err)
		}
		for _, id := range []string{db.NewID(), "", "x"} {
			if _, err := k.Ack(k.ctx, id, nil); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v, want ErrNotFound", id, err)
			}
		}
	})
}

// A snoozed item is open at its time, and one event is recorded, however many
// replicas end snoozes.
func TestSnoozesEnd(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		const many = batch + 20
		end := monday.Add(time.Hour)
		for n := range many {
			if _, err := k.Snooze(k.ctx, k.raise(blocked(fmt.Sprint(n), Low)).ID, end, nil); err != nil {
				t.Fatal(err)
			}
		}
		later, err := k.Snooze(k.ctx, k.raise(blocked("later", Low)).ID, end.Add(time.Millisecond), nil)
		if err != nil {
			t.Fatal(err)
		}
		wake := func() {
			t.Helper()
			for _, err := range atOnce(3, func(int) error { return k.EndSnoozes(actor.With(t.Context(), actor.System)) }) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		count := func(f Filter) (n int64) {
			t.Helper()
			part, err := k.List(k.ctx, f, page.Want{Query: page.Query{Limit: 1}, Total: true})
			if err != nil {
				t.Fatal(err)
			}
			return *part.Total
		}
		before := len(k.events())
		k.now = end.Add(-time.Millisecond)
		wake()
		if n := count(Filter{}); n != 0 || len(k.events()) != before {
			t.Errorf("%d came back too early, with %d events", n, len(k.events())-before)
		}
		k.now = end
		if n, off := count(Filter{States: []State{Open}}), count(Filter{States: []State{Snoozed}}); n != many || off != 1 {
			t.Errorf("at its time, before the timer: %d are open and %d snoozed", n, off)
		}
		if i, err := k.Get(k.ctx, k.of("0").ID); err != nil || i.State != Open || i.SnoozedUntil != nil {
			t.Errorf("one of them is %+v, %v", i, err)
		}
		wake()
		woken := k.log()[before:]
		if len(woken) != many || slices.ContainsFunc(woken, func(line string) bool { return line != "Wardroom woken: snoozed_until state" }) {
			t.Errorf("%d events of %d items: %v", len(woken), many, slices.Compact(woken))
		}
		if i := k.of("later"); i.ID != later.ID || i.State != Snoozed || count(Filter{}) != many {
			t.Errorf("the later one is %s, and %d are listed", i.State, count(Filter{}))
		}
	})
}

// An item that was snoozed while the clock was wrong must not stay hidden for years.
func TestSnoozeOfAWrongClock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		item := k.raise(blocked("hidden", Low))
		k.now = monday.AddDate(10, 0, 0)
		if _, err := k.Snooze(k.ctx, item.ID, k.now.Add(time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		k.now = monday.Add(time.Minute)
		if i, err := k.Get(k.ctx, item.ID); err != nil || i.State != Open {
			t.Errorf("it is %s, %v", i.State, err)
		}
		if err := k.EndSnoozes(actor.With(t.Context(), actor.System)); err != nil {
			t.Fatal(err)
		}
		if i := k.of("hidden"); i.State != Open || i.SnoozedUntil != nil {
			t.Errorf("after the timer it is %+v", i)
		}
	})
}

// Purging deletes only items that were resolved long ago.
func TestPurgeResolved(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		for n := range 6 {
			k.raise(blocked(fmt.Sprint(n), Low))
		}
		for n := range 4 {
			k.now = monday.Add(time.Duration(n) * time.Hour)
			k.resolveCause(fmt.Sprint(n), "done")
		}
		if _, err := k.Reopen(k.ctx, k.of("0").ID, nil); err != nil {
			t.Fatal(err)
		}
		border := monday.Add(3 * time.Hour) // items 1 and 2 are old enough, 3 is not
		purge := func(limit int) (n int64) {
			t.Helper()
			k.tx(func(tx *db.Tx) (err error) {
				n, err = k.PurgeResolved(t.Context(), tx, border, limit)
				return err
			})
			return n
		}
		left := func() (causes []string) {
			t.Helper()
			part, err := k.List(k.ctx, Filter{States: States()}, page.Want{})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range part.Rows {
				causes = append(causes, i.cause)
			}
			return causes
		}
		if n, oldest, err := k.CountResolved(t.Context(), border); err != nil || n != 2 || !oldest.Equal(monday.Add(time.Hour)) {
			t.Errorf("%d would go, the oldest of %s, %v", n, oldest, err)
		}
		if n := purge(1); n != 1 || !slices.Equal(left(), []string{"0", "2", "3", "4", "5"}) {
			t.Errorf("%d went, %v are left", n, left())
		}
		if n := purge(5); n != 1 || !slices.Equal(left(), []string{"0", "3", "4", "5"}) {
			t.Errorf("%d went, %v are left", n, left())
		}
		if n, oldest, err := k.CountResolved(t.Context(), border); err != nil || n != 0 || !oldest.IsZero() {
			t.Errorf("%d would still go, the oldest of %s, %v", n, oldest, err)
		}
		if i := k.raise(blocked("1", Low)); i.Count != 1 {
			t.Errorf("what is gone comes back counted %d", i.Count)
		}
	})
}

// An item names the run that it is about, until it is raised about another one.
func TestItemOfRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := newDesk(t, d)
		m := blocked("a", High)
		m.Run = &Run{SessionKey: "agent:cto:cron:\u202ej", RunID: "r-1"}
		if i := k.raise(m); i.Run == nil || *i.Run != (Run{SessionKey: "agent:cto:cron:j", RunID: "r-1"}) {
			t.Errorf("raised: %+v", i.Run)
		}
		m.Run = &Run{SessionKey: "agent:cto:cron:j", RunID: "r-2"}
		if i := k.raise(m); i.Run == nil || i.Run.RunID != "r-2" || i.Count != 2 || i.Version != 2 {
			t.Errorf("raised again: %+v, %+v", i, i.Run)
		}
		m.Run = nil
		if i := k.raise(m); i.Run != nil {
			t.Errorf("raised without a run: %+v", i.Run)
		}
	})
}
