package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	monday = time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	ada    = actor.Actor{ID: "ada", Name: "Ada", Role: actor.User}
	task1  = Subject{Kind: "task", ID: "1", Name: "TASK-1"}
)

// record appends one event of its own by ada.
func record(t testing.TB, d *db.DB, at time.Time, class Class, kind string, about Subject, data any) {
	t.Helper()
	ctx := actor.With(t.Context(), ada)
	err := d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, at, class, kind, about, data) })
	if err != nil {
		t.Fatal(err)
	}
}

// after reads the ids above last as a reader that resumes does: in their order.
func after(ctx context.Context, d *db.DB, last int64) ([]int64, error) {
	rows, err := d.Query(ctx, `SELECT id FROM events WHERE id > ? ORDER BY id`, last)
	return db.All(rows, err, func(row db.Row) (id int64, err error) { return id, row.Scan(&id) })
}

func ids(events []Event) string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = fmt.Sprint(e.ID)
	}
	return strings.Join(list, " ")
}

// Nothing happens by nobody: a caller that was lost on the way must show at once.
func TestRecordByNobody(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		return Record(t.Context(), tx, monday, Activity, "task.changed", task1, nil)
	})
	if err == nil {
		t.Error("an event without an actor was taken")
	}
}

// What was recorded must come back the same from either engine.
func TestRecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, monday.In(time.FixedZone("", 8*3600)), Activity, "task.changed", task1, map[string]any{"why": "'quoted' ? — 出荷"})
		record(t, d, monday, Activity, "task.changed", task1, map[string]any(nil))
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			return Record(actor.With(t.Context(), ada), tx, monday, Activity, "task.changed", task1, make(chan int))
		})
		if err == nil {
			t.Error("what JSON cannot say was recorded")
		}
		part, err := Read(t.Context(), d, Filter{Class: Activity}, page.Want{})
		got := part.Rows
		want := []Event{
			{ID: 2, At: clock.At(monday), Class: Activity, Kind: "task.changed", Actor: Author{"ada", "Ada"}, Subject: task1, Data: json.RawMessage(`{}`)},
			{ID: 1, At: clock.At(monday), Class: Activity, Kind: "task.changed", Actor: Author{"ada", "Ada"}, Subject: task1, Data: json.RawMessage(`{"why":"'quoted' ? — 出荷"}`)},
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("read %v (-want +got):\n%s", err, d)
		}
	})
}

// A reader that has seen id 2 never asks for id 1 again. So while one
// transaction holds an id, the next must not commit a later one.
func TestRecordWaits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(actor.With(t.Context(), actor.System), 30*time.Second) // or the wait below has no end
		defer cancel()
		second := make(chan error, 1)
		err := d.Tx(ctx, func(tx *db.Tx) error {
			if err := Record(ctx, tx, monday, Activity, "first", task1, nil); err != nil {
				return err
			}
			go func() {
				second <- d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, monday, Activity, "second", task1, nil) })
			}()
			for waiting := false; !waiting; {
				select {
				case err := <-second:
					second <- err
					t.Errorf("the second did not wait: %v", err)
					return nil
				default:
				}
				waiting = d.Pools()[1].Waits > 0
			}
			if seen, err := after(ctx, d, 0); err != nil || len(seen) > 0 {
				t.Errorf("saw %v before anything was committed, %v", seen, err)
			}
			return nil
		})
		if err := errors.Join(err, <-second); err != nil {
			t.Fatal(err)
		}
		part, err := Read(ctx, d, Filter{Class: Activity}, page.Want{})
		events := part.Rows
		if err != nil || ids(events) != "2 1" || events[0].Kind != "second" {
			t.Errorf("read %+v, %v; want the second above the first", events, err)
		}
	})
}

// A reader that follows the log while many write must get every event once and
// in order: what commits below an id that it has seen is lost to it for ever.
func TestFollow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const writers, each = 16, 8
		ctx := actor.With(t.Context(), actor.System)
		undone := errors.New("undone")
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					err := d.Tx(ctx, func(tx *db.Tx) error {
						if err := Record(ctx, tx, monday, Activity, "kept", task1, map[string]int{"writer": w}); err != nil {
							return err
						}
						if i%4 == 3 {
							return undone
						}
						return Record(ctx, tx, monday, Audit, "kept", task1, nil)
					})
					if i%4 == 3 != errors.Is(err, undone) {
						t.Error(err)
					}
				}
			})
		}
		finished := make(chan struct{})
		go func() { wg.Wait(); close(finished) }()

		var seen []int64
		for last, over := int64(0), false; !over; {
			select {
			case <-finished:
				over = true // and once more, for what came since
			default:
			}
			fresh, err := after(ctx, d, last)
			if err != nil {
				t.Error(err)
				<-finished
				return
			}
			if seen = append(seen, fresh...); len(seen) > 0 {
				last = seen[len(seen)-1]
			}
		}
		all, err := after(ctx, d, 0)
		if err != nil || len(all) != writers*each*3/2 {
			t.Fatalf("%d events are in the log, want %d; %v", len(all), writers*each*3/2, err)
		}
		if !slices.Equal(seen, all) {
			t.Errorf("the reader saw %d events of %d: %v", len(seen), len(all), seen)
		}
		for i, id := range all {
			if id != int64(i)+1 {
				t.Fatalf("the event at %d has id %d: a number is missing", i, id)
			}
		}
	})
}

func TestRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		standup := Subject{Kind: "standup", ID: "1", Name: "2026-11-16"}
		record(t, d, monday, Activity, "task.created", task1, nil)
		record(t, d, monday.Add(time.Hour), Activity, "task.changed", task1, nil)
		record(t, d, monday.Add(2*time.Hour), Audit, "user.created", Subject{Kind: "user", ID: "1", Name: "Ada"}, nil)
		record(t, d, monday.Add(3*time.Hour), Activity, "standup.opened", standup, nil)
		ctx := actor.With(t.Context(), actor.System)
		err := d.Tx(ctx, func(tx *db.Tx) error {
			return Record(ctx, tx, monday.Add(4*time.Hour), Activity, "task.created", Subject{Kind: "task", ID: "2", Name: "TASK-2"}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		tests := []struct {
			name   string
			filter Filter
			want   string
		}{
			{"all activity", Filter{Class: Activity}, "5 4 2 1"},
			{"all audit", Filter{Class: Audit}, "3"},
			{"no class", Filter{}, ""},
			{"of a kind of thing", Filter{Class: Activity, SubjectKind: "task"}, "5 2 1"},
			{"of one thing", Filter{Class: Activity, SubjectKind: "task", SubjectID: "1"}, "2 1"},
			{"of an id", Filter{Class: Activity, SubjectID: "1"}, "4 2 1"},
			{"of somebody", Filter{Class: Activity, ActorIDs: []string{"ada"}}, "4 2 1"},
			{"of the service", Filter{Class: Activity, ActorIDs: []string{"system"}}, "5"},
			{"of some kinds", Filter{Class: Activity, Kinds: []string{"task.created", "standup.opened"}}, "5 4 1"},
			{"of one kind", Filter{Class: Activity, Kinds: []string{"task.changed"}}, "2"},
			{"since a time, in any zone", Filter{Class: Activity, Since: monday.Add(time.Hour).In(time.FixedZone("", 8*3600))}, "5 4 2"},
			{"until a time", Filter{Class: Activity, Until: monday.Add(time.Hour)}, "1"},
			{"between two times", Filter{Class: Activity, Since: monday.Add(time.Hour), Until: monday.Add(4 * time.Hour)}, "4 2"},
			{"of kinds that begin so", Filter{Class: Activity, Kinds: []string{"task.*"}}, "5 2 1"},
			{"of such and others", Filter{Class: Activity, Kinds: []string{"task.ch*", "stand%.*", "standup.opened", "task_changed"}}, "4"},
			{"of several people", Filter{Class: Activity, ActorIDs: []string{"system", "ada"}}, "5 4 2 1"},
			{"everything at once", Filter{
				Class: Activity, SubjectKind: "task", SubjectID: "1", ActorIDs: []string{"ada", "bob"}, Kinds: []string{"task.changed", "task.created"},
				Since: monday, Until: monday.Add(time.Minute),
			}, "1"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				part, err := Read(t.Context(), d, tt.filter, page.Want{})
				got := part.Rows
				if err != nil || ids(got) != tt.want || got == nil {
					t.Errorf("got %q, %v; want %q", ids(got), err, tt.want)
				}
			})
		}
		if got, err := Read(t.Context(), d, Filter{Class: Activity}, page.Want{Query: page.Query{Limit: 2}}); err != nil || ids(got.Rows) != "5 4" {
			t.Errorf("two of them: %q, %v", ids(got.Rows), err)
		}
	})
}

// site is the log behind the real API. A token is the name of a role.
func newSite(t testing.TB, d *db.DB) http.Handler {
	t.Helper()
	api := web.New(web.Options{
		Title: "Log", Version: "test",
		Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
			return actor.Actor{ID: token, Name: token, Role: actor.Role(token)}, nil
		},
	})
	(&Service{DB: d}).Mount(api)
	return api.Handler()
}

// ask reads path, which stands behind the prefix already when it is a Link's.
func ask(t testing.TB, site http.Handler, role, path string) (status int, header http.Header, body any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, web.Prefix+strings.TrimPrefix(path, web.Prefix), nil)
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+role)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s answered %d %q: %v", path, w.Code, w.Body, err)
	}
	return w.Code, w.Header(), body
}

// What guards the accounts is nobody's business but the admins', and there is
// no route for it yet.
func TestActivityHidesAudit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, monday, Audit, "user.created", Subject{Kind: "user", ID: "u", Name: "Ada"}, map[string]string{"role": "admin"})
		record(t, d, monday, Activity, "task.created", task1, map[string]string{"title": "Ship it"})
		site := newSite(t, d)
		want := []any{map[string]any{
			"id": 2.0, "at": "2026-11-16T08:00:00.000Z", "kind": "task.created", "actor": map[string]any{"id": "ada", "name": "Ada"},
			"subject": map[string]any{"kind": "task", "id": "1", "name": "TASK-1"}, "data": map[string]any{"title": "Ship it"},
		}}
		for _, role := range actor.Roles() {
			status, _, body := ask(t, site, string(role), "/activity")
			if d := cmp.Diff(want, body); status != 200 || d != "" {
				t.Errorf("%s got %d (-want +got):\n%s", role, status, d)
			}
		}
		if status, _, body := ask(t, site, "owner", "/activity?subject_id=u"); status != 200 || !cmp.Equal(body, []any{}) {
			t.Errorf("of the account: %d %v, want nothing", status, body)
		}
		if status, _, _ := ask(t, site, "", "/activity"); status != 401 {
			t.Errorf("nobody got %d, want 401", status)
		}
	})
}

// Whoever follows the Link headers must see each event that matches once, in
// order, although more are recorded meanwhile.
func TestActivityPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i := range 11 {
			about := task1
			if i%3 == 0 {
				about = Subject{Kind: "standup", ID: "s", Name: "2026-11-16"}
			}
			record(t, d, monday, Activity, "x", about, nil)
		}
		site := newSite(t, d)
		for _, tt := range []struct{ path, want string }{
			{"/activity?limit=3", "11 10 9 | 8 7 6 | 5 4 3 | 2 1"},
			{"/activity?limit=2&subject_kind=standup", "10 7 | 4 1"},
			{"/activity?subject_kind=task&subject_id=1&limit=3", "11 9 8 | 6 5 3 | 2"},
			{"/activity?subject_kind=task&subject_id=2", ""},
			{"/activity?limit=2&kind=standup,x&subject_kind=standup", "10 7 | 4 1"},
		} {
			if got := follow(t, d, site, tt.path); got != tt.want {
				t.Errorf("%s: pages are %q, want %q", tt.path, got, tt.want)
			}
			forget(t, d, "later")
		}
	})
}

// follow turns the pages from path to the last and returns their ids. While it
// does, more is recorded.
func follow(t *testing.T, d *db.DB, site http.Handler, path string) string {
	t.Helper()
	var pages []string
	for path != "" && len(pages) < 12 {
		status, header, body := ask(t, site, "user", path)
		rows, ok := body.([]any)
		if status != 200 || !ok {
			t.Fatalf("%s answered %d %v", path, status, body)
		}
		var page []string
		for _, row := range rows {
			event, _ := row.(map[string]any)
			page = append(page, fmt.Sprint(event["id"]))
		}
		pages = append(pages, strings.Join(page, " "))
		next, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), ">")
		path = next
		record(t, d, monday, Activity, "later", Subject{Kind: "task", ID: "later", Name: "TASK-9"}, nil)
	}
	return strings.Join(pages, " | ")
}

// forget takes away the events of a kind.
func forget(t *testing.T, d *db.DB, kind string) {
	t.Helper()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `DELETE FROM events WHERE kind = ?`, kind)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// People ask who did what and when; each filter must hold, and the total be of all that match.
func TestActivityFilters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO users (id, email, email_key, name, role, agent_id, active, password_hash, created_at, updated_at, version)
				VALUES ('ada', 'Ada@example.com', 'ada@example.com', 'Ada', 'agent', 'cto', FALSE, '', ?, ?, 1)`, monday, monday)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		record(t, d, monday, Activity, "task.created", task1, nil)
		record(t, d, monday.Add(time.Hour), Audit, "user.created", Subject{Kind: "user", ID: "u", Name: "U"}, nil)
		ctx := actor.With(t.Context(), actor.System)
		err = d.Tx(ctx, func(tx *db.Tx) error {
			return Record(ctx, tx, monday.Add(2*time.Hour), Activity, "standup.opened", Subject{Kind: "standup", ID: "s", Name: "x"}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		record(t, d, monday.Add(3*time.Hour), Activity, "task.changed", task1, nil)
		site := newSite(t, d)
		for query, want := range map[string]string{
			"": "4 3 1", "actor=ada": "4 1", "actor=ADA@example.com as admin": "4 1", "actor=ADA@example.com": "", "actor=cto": "4 1", "actor=system": "3", "actor=me": "",
			"kind=task.created": "1", "kind=task.created,standup.opened": "3 1", "kind=task.*&kind=standup.opened": "4 3 1", "kind=task.*": "4 1", "kind=user.*": "",
			"since=2026-11-16T10:00:00Z": "4 3", "until=2026-11-16T10:00:00Z": "1", "since=2026-11-16T11:00:00%2B01:00&until=2026-11-16T11:00:00Z": "3",
			"kind=task.*&actor=cto&since=2026-11-16T09:00:00Z": "4", "subject_kind=task&subject_id=1": "4 1",
		} {
			query, asAdmin := strings.CutSuffix(query, " as admin")
			by := "user"
			if asAdmin { // who alone may look for others by their emails
				by = "admin"
			}
			status, header, body := ask(t, site, by, "/activity?limit=500&total=true&"+query)
			rows, _ := body.([]any)
			var got []string
			for _, row := range rows {
				event, _ := row.(map[string]any)
				got = append(got, fmt.Sprint(event["id"]))
			}
			if total := header.Get("X-Total-Count"); status != 200 || strings.Join(got, " ") != want || total != fmt.Sprint(len(got)) {
				t.Errorf("%s: %d %v of %s, want %s", query, status, got, total, want)
			}
		}
	})
}

func TestActivityRefuses(t *testing.T) {
	t.Parallel()
	site := newSite(t, dbtest.New(t))
	for path, code := range map[string]string{
		"/activity?subject_kind=user":                      "invalid_input", // accounts are audit
		"/activity?limit=0":                                "invalid_input",
		"/activity?subject=1":                              "invalid_input",
		"/activity?cursor=x":                               "invalid_cursor",
		"/activity?cursor=1WyJ4Il0":                        "invalid_cursor", // of another list
		"/activity?actor=nobody":                           "actor_unknown",
		"/activity?since=yesterday":                        "invalid_input",
		"/activity?subject_id=" + "x%00":                   "invalid_url",
		"/activity?subject_id=" + strings.Repeat("x", 513): "invalid_input",
	} {
		status, _, body := ask(t, site, "user", path)
		problem, _ := body.(map[string]any)
		if status < 400 || status >= 500 || problem["code"] != code {
			t.Errorf("%s: %d %v, want %s", path, status, problem["code"], code)
		}
	}
}
