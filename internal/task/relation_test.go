package task

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

func dependOn(refs ...Name) Change { return Change{DependsOn: &refs} }

func to(status Status) Change { return Change{Status: &status} }

// A task cannot start before its dependencies are done.
func TestDependencies(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for _, title := range []string{"Foundation", "Walls", "Roof"} {
			makeTask(t, s, title)
		}
		change := func(key string, c Change) error { return second(s.Update(asService(t), key, c, nil)) }
		got, err := s.Update(asService(t), "TASK-3", dependOn("task-2", "TASK-1", "TASK-2"), nil)
		if err != nil || fmt.Sprint(got.DependsOn, got.WaitingOn) != "[TASK-1 TASK-2] 2" {
			t.Fatalf("depends on %v, waits for %d, %v", got.DependsOn, got.WaitingOn, err)
		}
		for _, status := range []Status{InProgress, Review, Done} {
			f := fault.Of(change("TASK-3", to(status)))
			want := []Related{{"TASK-1", "Foundation", Todo}, {"TASK-2", "Walls", Todo}}
			if f == nil || f.Code != ErrWaiting.Code || cmp.Diff(want, f.Facts["blocking"]) != "" {
				t.Errorf("to %s: %+v", status, f)
			}
		}
		if err := change("TASK-3", to(Backlog)); err != nil {
			t.Errorf("to the backlog: %v", err)
		}
		hold := func(waiting int64) {
			t.Helper()
			if is, err := s.Get(asService(t), "TASK-3"); err != nil || is.WaitingOn != waiting {
				t.Errorf("waits for %d, %v; want %d", is.WaitingOn, err, waiting)
			}
		}
		if err := change("TASK-1", to(Done)); err != nil {
			t.Fatal(err)
		}
		hold(1)
		if err := change("TASK-1", to(Review)); err != nil {
			t.Fatal(err)
		}
		hold(2)
		if err := errors.Join(change("TASK-1", to(Done)), change("TASK-2", to(Done))); err != nil {
			t.Fatal(err)
		}
		hold(0)
		wantData(t, events(t, d)[0], `{"changes":{"status":["todo","done"]},"unblocked":["TASK-3"]}`)
		// A done task still counts as done after it is archived.
		if _, err := s.Archive(asService(t), "TASK-1", nil); err != nil {
			t.Fatal(err)
		}
		if err := change("TASK-3", to(InProgress)); err != nil {
			t.Errorf("with all done: %v", err)
		}
		if _, err := s.Create(asService(t), New{Title: "x", DependsOn: []Name{"TASK-3"}, Status: InProgress}); !errors.Is(err, ErrWaiting) {
			t.Errorf("made as begun: %v", err)
		}
		made, err := s.Create(asService(t), New{Title: "x", DependsOn: []Name{"TASK-3", "TASK-1"}})
		if err != nil || made.WaitingOn != 1 {
			t.Errorf("made to wait for %d, %v", made.WaitingOn, err)
		}
		if err := change(made.Key, dependOn()); err != nil {
			t.Error(err)
		}
		if is, err := s.Get(asService(t), made.Key); err != nil || len(is.DependsOn) > 0 || is.WaitingOn != 0 {
			t.Errorf("without dependencies: %v, %d, %v", is.DependsOn, is.WaitingOn, err)
		}
	})
}

// Cycles of dependencies and of parents are refused.
func TestCycles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for range 4 {
			makeTask(t, s, "A task")
		}
		change := func(key string, c Change) error { return second(s.Update(asService(t), key, c, nil)) }
		part := func(of string) Change { return Change{Parent: patch.Set(of)} }
		if err := errors.Join(
			change("TASK-2", dependOn("TASK-1")), change("TASK-3", dependOn("TASK-2")), change("TASK-2", part("TASK-1")), change("TASK-3", part("TASK-2")),
		); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"on itself":       change("TASK-1", dependOn("TASK-1")),
			"on its child":    change("TASK-1", dependOn("TASK-2")),
			"on a grandchild": change("TASK-1", dependOn("TASK-4", "TASK-3")),
			"part of itself":  change("TASK-1", part("TASK-1")),
			"part of a part":  change("TASK-1", part("TASK-3")),
		} {
			if !errors.Is(err, ErrCycle) || fault.Of(err).Facts["through"] == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := errors.Join(change("TASK-3", dependOn("TASK-1", "TASK-2")), change("TASK-4", dependOn("TASK-3")), change("TASK-1", part("TASK-4"))); err != nil {
			t.Errorf("what is no circle: %v", err)
		}
		for name, err := range map[string]error{"dependency": change("TASK-1", dependOn("TASK-9")), "parent": change("TASK-1", part("x"))} {
			if f := fault.Of(err); f == nil || f.Code != name+"_unknown" {
				t.Errorf("an unknown %s: %v", name, err)
			}
		}
	})
}

// Two concurrent changes cannot create a cycle together.
func TestCycleRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for range 2 {
			makeTask(t, s, "A task")
		}
		for round := range 10 {
			got := race(2, func(i int) error {
				_, err := s.Update(asService(t), fmt.Sprint("TASK-", 1+i), dependOn(Name(fmt.Sprint("TASK-", 2-i))), nil)
				return err
			})
			if got["won"] != 1 || got[ErrCycle.Code] != 1 {
				t.Fatalf("round %d: outcomes are %v", round, got)
			}
			for i := range 2 {
				if _, err := s.Update(asService(t), fmt.Sprint("TASK-", 1+i), dependOn(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// waiting_on stays correct while tasks are finished and dependencies change
// concurrently.
func TestWaitingRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		const n = 6
		for range 2 * n {
			makeTask(t, s, "A task")
		}
		got := race(2*n, func(i int) error {
			if i < n { // tasks 1 to 6 are finished while tasks 7 to 12 begin to depend on them
				return second(s.Update(asService(t), fmt.Sprint("TASK-", 1+i), to(Done), nil))
			}
			return second(s.Update(asService(t), fmt.Sprint("TASK-", 1+i), dependOn("TASK-1", "TASK-3", "TASK-6"), nil))
		})
		part, err := s.List(asService(t), Filter{}, want(100, "", ""))
		for _, row := range part.Rows {
			if row.WaitingOn != 0 {
				t.Errorf("%s waits for %d of %v", row.Key, row.WaitingOn, row.DependsOn)
			}
		}
		if err != nil || got["won"] != 2*n {
			t.Errorf("outcomes are %v, %v", got, err)
		}
	})
}

// makeProject adds a project. Tasks cannot be added to an archived one.
func makeProject(t testing.TB, d *db.DB, key string, archived bool) string {
	t.Helper()
	id := db.NewID()
	err := d.Tx(asService(t), func(tx *db.Tx) error {
		_, err := tx.Exec(asService(t), `INSERT INTO projects (id, key, name, description, created_at, updated_at, version) VALUES (?, ?, ?, '', ?, ?, 1)`,
			id, key, key, monday, monday)
		if archived && err == nil {
			_, err = tx.Exec(asService(t), `UPDATE projects SET archived_at = ? WHERE id = ?`, monday, id)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Tasks are assigned to projects and found by them.
func TestProjects(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		web := makeProject(t, d, "WEB", false)
		makeProject(t, d, "OLD", true)
		made, err := s.Create(asService(t), New{Title: "x", Project: new("web")})
		if err != nil || made.ProjectID == nil || *made.ProjectID != web {
			t.Fatalf("made in %v, %v", made.ProjectID, err)
		}
		for _, ref := range []string{"OLD", "none", "", web + "x"} {
			if _, err := s.Update(asService(t), made.ID, Change{Project: patch.Set(ref)}, nil); !errors.Is(err, ErrProject) {
				t.Errorf("%q: %v", ref, err)
			}
		}
		got, err := s.Update(asService(t), made.ID, Change{Project: patch.Clear[string]()}, nil)
		if err != nil || got.ProjectID != nil {
			t.Errorf("taken out: %v, %v", got.ProjectID, err)
		}
	})
}
