package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/redact"
)

func newService(d *db.DB) *Service {
	return serviceAt(d, func() time.Time { return monday })
}

// serviceAt returns a board with a clock.
func serviceAt(d *db.DB, now func() time.Time) *Service {
	return &Service{
		DB: d, Now: now, Inbox: &inbox.Service{DB: d, Now: now}, Redact: redact.New(),
		Withdraw:    func(context.Context, *db.Tx, Task, bool) (*Dispatch, error) { return nil, nil },
		Send:        func(context.Context, *db.Tx, string, string) error { return nil },
		EndBlockers: func(context.Context, *db.Tx, string, string) error { return nil },
		Reported:    func(context.Context, *db.Tx, Task, string) error { return nil },
		Judged:      func(context.Context, *db.Tx, string, Verdict) error { return nil },
	}
}

// at returns the same board at another time.
func (s *Service) at(now time.Time) *Service {
	return serviceAt(s.DB, func() time.Time { return now })
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
	email := fmt.Sprintf("%s@example.com", name)
	if !active {
		email = a.ID + email
	}
	err := d.Tx(asService(t), func(tx *db.Tx) error {
		_, err := tx.Exec(asService(t), `
			INSERT INTO users (id, email, email_key, name, name_key, role, agent_id, active, password_hash, created_at, updated_at, version)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, 1)`, a.ID, email, email, a.Name, strings.ToLower(a.Name), role, agentID, active, monday, monday)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func makeTask(t testing.TB, s *Service, title string) Task {
	t.Helper()
	made, err := s.Create(asService(t), New{Title: title})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// told returns the board's events as "id actor kind key", oldest first.
func told(t testing.TB, d *db.DB) []string {
	t.Helper()
	var lines []string
	for _, e := range slices.Backward(events(t, d)) {
		lines = append(lines, fmt.Sprint(e.ID, " ", e.Actor.Name, " ", e.Kind, " ", e.Subject.Name))
	}
	return lines
}

// events returns the board's events, newest first.
func events(t testing.TB, d *db.DB) []event.Event {
	t.Helper()
	part, err := event.Read(asService(t), d, event.Filter{Class: event.Activity, SubjectKind: "task"}, want(1000, "", ""))
	list := part.Rows
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// race runs fn n times concurrently and counts the outcomes by error code.
func race(n int, fn func(i int) error) map[string]int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	counts := map[string]int{}
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			key, err := "won", fn(i)
			if f := fault.Of(err); f != nil {
				key = f.Code
			} else if err != nil {
				key = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			counts[key]++
		})
	}
	close(start)
	wg.Wait()
	return counts
}

// want returns the options for a page.
func want(limit int, sort, cursor string) page.Want {
	return page.Want{Query: page.Query{Limit: limit, Cursor: cursor}, Sort: sort}
}

// List returns one page of the tasks that match the filter, as their cards show them.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Task], error) {
	cards, err := s.Cards(ctx, f, want, false)
	tasks := page.Part[Task]{Rows: make([]Task, len(cards.Rows)), Next: cards.Next, Total: cards.Total}
	for i, c := range cards.Rows {
		if tasks.Rows[i], err = c.Task(); err != nil {
			break
		}
	}
	return tasks, err
}

func keys(tasks []Task) string {
	list := make([]string, len(tasks))
	for i, t := range tasks {
		list[i] = strings.TrimPrefix(t.Key, "TASK-")
	}
	return strings.Join(list, " ")
}

var unexported = cmp.AllowUnexported(Task{})

// A task is read back unchanged on both engines.
func TestCreate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		by, cto := makeUser(t, d, "ada", actor.User, true), makeUser(t, d, "cto", actor.Agent, true)
		due := clock.At(time.Date(2026, 12, 24, 17, 30, 0, 123e6, time.FixedZone("", 8*3600)))
		made, err := s.Create(actor.With(t.Context(), by), New{
			Title: "Ship it — 出荷", Description: "# Why\n\n'quoted' ? <b>", Priority: High, Type: Bug,
			Tags: []Tag{"web", "api"}, Assignee: new("cto"), DueAt: &due, Origin: "standup:2026-11-16",
		})
		if err != nil {
			t.Fatal(err)
		}
		want := Task{
			ID: made.ID, Key: "TASK-1", number: 1, Title: "Ship it — 出荷", Description: "# Why\n\n'quoted' ? <b>",
			Status: Todo, Priority: High, Type: Bug, Tags: []Tag{"web", "api"}, DependsOn: []string{}, Criteria: []Criterion{}, Checks: []string{}, Position: "000000000001", AssigneeID: &cto.ID, ReporterID: &by.ID,
			Origin: new("standup:2026-11-16"), DueAt: &due,
			MovedAt: clock.At(monday), CreatedAt: clock.At(monday), UpdatedAt: clock.At(monday), Version: 1,
		}
		if d := cmp.Diff(want, made, unexported); d != "" {
			t.Errorf("made (-want +got):\n%s", d)
		}
		for _, ref := range []string{made.ID, strings.ToUpper(made.ID), "TASK-1", "task-1", "Task-1"} {
			got, err := s.Get(asService(t), ref)
			if d := cmp.Diff(want, got, unexported); d != "" || err != nil {
				t.Errorf("Get(%q): %v (-want +got):\n%s", ref, err, d)
			}
		}
		for _, ref := range []string{"TASK-2", "TASK-01", db.NewID(), "", "%", "1"} {
			if _, err := s.Get(asService(t), ref); !errors.Is(err, ErrNotFound) {
				t.Errorf("Get(%q) = %v, want ErrNotFound", ref, err)
			}
		}
	})
}

// Only active accounts can be assigned.
func TestAssignee(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		gone, cto := makeUser(t, d, "cto", actor.Agent, false), makeUser(t, d, "cto", actor.Agent, true)
		left, ada := makeUser(t, d, "left", actor.User, false), makeUser(t, d, "ada", actor.User, true)
		made := makeTask(t, s, "Whose is it?")
		for ref, want := range map[string]string{
			"cto": cto.ID, cto.ID: cto.ID, strings.ToUpper(cto.ID): cto.ID, "Ada@Example.com": ada.ID, "CTO@example.com": cto.ID,
			gone.ID: "", left.ID: "", "left": "", "CTO": "", "nobody": "", "": "", "%": "", "ada": "",
		} {
			got, err := s.Create(asService(t), New{Title: "For " + ref, Assignee: &ref})
			changed, failed := s.Update(asService(t), made.ID, Change{Assignee: patch.Set(ref)}, nil)
			if want == "" {
				if !errors.Is(err, ErrAssignee) || !errors.Is(failed, ErrAssignee) {
					t.Errorf("%q: %v and %v, want ErrAssignee", ref, err, failed)
				}
				continue
			}
			if err != nil || failed != nil || *got.AssigneeID != want || *changed.AssigneeID != want {
				t.Errorf("%q: %v and %v, want %s", ref, err, failed, want)
			}
		}
		got, err := s.Update(asService(t), made.ID, Change{Assignee: patch.Clear[string]()}, nil)
		if err != nil || got.AssigneeID != nil {
			t.Errorf("taken away: %v, %v", got.AssigneeID, err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		cto, left := makeUser(t, d, "cto", actor.Agent, true), makeUser(t, d, "left", actor.User, true)
		for i, status := range []Status{Backlog, Todo, InProgress, Review, Done, Todo} {
			made, err := s.Create(asService(t), New{Title: "A task", Status: status, Assignee: []*string{nil, &cto.ID, &left.ID}[i%3]})
			if err == nil && i%2 == 1 {
				_, err = s.Update(asService(t), made.ID, Change{Blocked: patch.Set(BlockedReason{Reason: "No key"})}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		err := d.Tx(asService(t), func(tx *db.Tx) error {
			_, err := tx.Exec(asService(t), `UPDATE users SET active = FALSE WHERE id = ?`, left.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tests := []struct {
			name   string
			filter Filter
			want   string
		}{
			{"everything, the newest first", Filter{}, "6 5 4 3 2 1"},
			{"one column", Filter{Statuses: []Status{Todo}}, "6 2"},
			{"several columns", Filter{Statuses: []Status{Todo, Done, Backlog}}, "6 5 2 1"},
			{"by agent_id", Filter{Assignee: "cto"}, "5 2"},
			{"by email", Filter{Assignee: "CTO@example.com"}, "5 2"},
			{"of somebody who left", Filter{Assignee: Person(left.ID)}, "6 3"},
			{"blocked", Filter{Blocked: new(true)}, "6 4 2"},
			{"not blocked", Filter{Blocked: new(false)}, "5 3 1"},
			{"all filters at once", Filter{Statuses: []Status{Todo, Review}, Assignee: "cto", Blocked: new(true), Text: "t"}, "2"},
			{"nothing", Filter{Statuses: []Status{Done}, Blocked: new(true)}, ""},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				got, err := s.List(asService(t), tt.filter, page.Want{})
				if err != nil || keys(got.Rows) != tt.want || got.Rows == nil {
					t.Errorf("got %q, %v; want %q", keys(got.Rows), err, tt.want)
				}
			})
		}
		if got, err := s.List(asService(t), Filter{}, want(2, "", "")); err != nil || keys(got.Rows) != "6 5" {
			t.Errorf("two of them: %q, %v", keys(got.Rows), err)
		}
		if _, err := s.List(asService(t), Filter{Assignee: "nobody"}, page.Want{}); !errors.Is(err, ErrAssignee) {
			t.Errorf("of nobody: %v, want ErrAssignee", err)
		}
	})
}

// Tasks created while a client pages neither repeat nor hide rows.
func TestListPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		const old, size = 25, 4
		for range old {
			makeTask(t, s, "Old")
		}
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for range 5 {
					if _, err := s.Create(asService(t), New{Title: "New"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var seen []int64
		for next := ""; len(seen) < 100; {
			got, err := s.List(asService(t), Filter{}, want(size, "", next))
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range got.Rows {
				seen = append(seen, task.number)
			}
			if next = got.Next; next == "" {
				break
			}
		}
		writers.Wait()
		for i, n := range seen {
			if want := seen[0] - int64(i); n != want {
				t.Fatalf("after %v came %d, want %d", seen[:i], n, want)
			}
		}
		if len(seen) < old || seen[len(seen)-1] != 1 {
			t.Errorf("saw %d tasks down to %d, want at least %d down to 1", len(seen), seen[len(seen)-1], old)
		}
	})
}

// Task numbers are unique and without gaps.
func TestKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		undone := errors.New("undone")
		got := race(16, func(i int) error {
			if i%4 == 0 {
				err := d.Tx(asService(t), func(tx *db.Tx) error {
					_, err := s.CreateIn(asService(t), tx, New{Title: "Never was"})
					return errors.Join(err, undone)
				})
				if !errors.Is(err, undone) {
					t.Errorf("the rollback: %v", err)
				}
			}
			_, err := s.Create(asService(t), New{Title: fmt.Sprint("Task ", i)})
			return err
		})
		if got["won"] != 16 {
			t.Errorf("outcomes are %v, want 16 made", got)
		}
		part, err := s.List(asService(t), Filter{}, page.Want{})
		tasks := part.Rows
		if want := "16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1"; err != nil || keys(tasks) != want {
			t.Errorf("keys are %s, %v; want %s", keys(tasks), err, want)
		}
	})
}

// Every change is recorded with its actor, and refused changes are not.
func TestEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada, cto := makeUser(t, d, "ada", actor.User, true), makeUser(t, d, "cto", actor.Agent, true)
		made, err := s.Create(actor.With(t.Context(), ada), New{Title: "Ship it", Assignee: new("cto")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.at(tuesday).Update(actor.With(t.Context(), cto), made.Key, Change{Status: new(Done), Description: new("done")}, nil); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"no title":      second(s.Create(asService(t), New{})),
			"no assignee":   second(s.Create(asService(t), New{Title: "x", Assignee: new("nobody")})),
			"bad status":    second(s.Update(asService(t), made.ID, Change{Status: new(Status("?"))}, nil)),
			"stale":         second(s.Update(asService(t), made.ID, Change{Title: new("x")}, new(int64(1)))),
			"to nobody":     second(s.Update(asService(t), made.ID, Change{Title: new("x"), Assignee: patch.Set("nobody")}, nil)),
			"no such task":  second(s.Update(asService(t), "TASK-9", Change{Title: new("x")}, nil)),
			"by a stranger": second(s.Create(actor.With(t.Context(), actor.Actor{ID: "no-account", Role: actor.User}), New{Title: "x"})),
		} {
			if err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		if d := cmp.Diff([]string{"1 ADA task.created TASK-1", "2 CTO task.changed TASK-1"}, told(t, d)); d != "" {
			t.Errorf("the log (-want +got):\n%s", d)
		}
		newest, first := events(t, d)[0], events(t, d)[1]
		if newest.Subject.ID != made.ID || newest.Actor.ID != cto.ID || !newest.At.Equal(tuesday) {
			t.Errorf("the change is told as %+v", newest)
		}
		wantData(t, first, `{"title":"Ship it","status":"todo","assignee_id":"`+cto.ID+`"}`)
		wantData(t, newest, `{"changes":{"description":[0,4],"status":["todo","review"]}}`)
	})
}

func second[T any](_ T, err error) error { return err }

func wantData(t *testing.T, e event.Event, want string) {
	t.Helper()
	var got, wanted any
	if err := errors.Join(json.Unmarshal(e.Data, &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wanted, got); d != "" {
		t.Errorf("data of %s (-want +got):\n%s", e.Kind, d)
	}
}

// Rolling back the caller's transaction removes tasks, events, and numbers.
func TestCreateIn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ctx := actor.With(t.Context(), actor.System)
		undone := errors.New("undone")
		both := func(result error) error {
			return d.Tx(ctx, func(tx *db.Tx) error {
				for _, title := range []string{"One", "Two"} {
					made, err := s.CreateIn(ctx, tx, New{Title: title, Origin: "standup:2026-11-16"})
					if err != nil {
						return err
					}
					if made.ReporterID != nil {
						t.Errorf("the service reported as %q", *made.ReporterID)
					}
				}
				return result
			})
		}
		if err := both(undone); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		part, err := s.List(ctx, Filter{}, page.Want{})
		tasks := part.Rows
		if err != nil || len(tasks) > 0 || len(told(t, d)) > 0 {
			t.Errorf("after the rollback there are %q and %q, %v", keys(tasks), told(t, d), err)
		}
		if err := both(nil); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"1 Wardroom task.created TASK-1", "2 Wardroom task.created TASK-2"}, told(t, d)); d != "" {
			t.Errorf("the log (-want +got):\n%s", d)
		}
		// After a refused assignee, the same transaction can still create the
		// task.
		err = d.Tx(ctx, func(tx *db.Tx) error {
			if _, err := s.CreateIn(ctx, tx, New{Title: "Three", Assignee: new("nobody")}); !errors.Is(err, ErrAssignee) {
				t.Errorf("for nobody: %v", err)
			}
			_, err := s.CreateIn(ctx, tx, New{Title: "Three"})
			return err
		})
		if got := told(t, d); err != nil || len(got) != 3 || got[2] != "3 Wardroom task.created TASK-3" {
			t.Errorf("without the assignee: %v, %q", err, got)
		}
	})
}

// Of returns exactly the tasks that a standup compares a report with.
func TestOf(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		before := makeUser(t, d, "cto", actor.Agent, false)
		cto, cmo := makeUser(t, d, "cto", actor.Agent, true), makeUser(t, d, "cmo", actor.Agent, true)
		ctx := actor.With(t.Context(), actor.System)
		add := func(who *string, status Status, at time.Time) {
			t.Helper()
			if _, err := s.at(at).Create(ctx, New{Title: "A task", Status: status, Assignee: who}); err != nil {
				t.Fatal(err)
			}
		}
		add(&cto.ID, Todo, monday.Add(-24*time.Hour))
		add(&cto.ID, Done, monday.Add(-time.Millisecond))
		add(&cto.ID, Done, monday)
		add(&cto.ID, Review, monday)
		add(&cmo.ID, Todo, monday)
		add(nil, Todo, monday)
		add(&cto.ID, Backlog, tuesday)
		inherited := makeTask(t, s, "From an account that was given up")
		err := d.Tx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE tasks SET assignee_id = ? WHERE id = ?`, before.ID, inherited.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for agentID, want := range map[string]string{"cto": "8 7 4 3 1", "cmo": "5", "cpo": "", "": ""} {
			got, err := s.Of(context.WithoutCancel(ctx), agentID, monday.In(time.FixedZone("", 8*3600)))
			if err != nil || keys(got) != want {
				t.Errorf("Of(%q) = %q, %v; want %q", agentID, keys(got), err, want)
			}
		}
	})
}

// asService returns a context in which Wardroom itself is the actor.
func asService(t testing.TB) context.Context {
	t.Helper()
	return actor.With(t.Context(), actor.System)
}
