package task

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

// What was put away must come back as it was, and stay untouched until then.
func TestArchive(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		by := makeUser(t, d, "ada", actor.User, true)
		ada := actor.With(t.Context(), by)
		if _, err := s.Create(ada, New{Title: "Ship it", Status: Done, Tags: []Tag{"web"}}); err != nil {
			t.Fatal(err)
		}
		makeTask(t, s, "Another")
		was, err := s.Get(ada, "TASK-1")
		if err != nil {
			t.Fatal(err)
		}
		put, err := s.at(tuesday).Archive(ada, "TASK-1", &was.Version)
		if err != nil || put.ArchivedAt == nil || !put.ArchivedAt.Equal(tuesday) || put.Version != 2 {
			t.Fatalf("put away: %+v, %v", put, err)
		}
		if again, err := s.Archive(ada, "TASK-1", &was.Version); err != nil || again.Version != 2 {
			t.Errorf("put away again: version %d, %v", again.Version, err)
		}
		for archived, want := range map[bool]string{false: "2", true: "1"} {
			if got, err := s.List(ada, Filter{Archived: archived}, page.Want{}); err != nil || keys(got.Rows) != want {
				t.Errorf("archived=%t lists %q, %v", archived, keys(got.Rows), err)
			}
		}
		for what, err := range map[string]error{
			"a title":   second(s.Update(ada, "TASK-1", Change{Title: new("x")}, nil)),
			"a move":    second(s.Update(ada, "TASK-1", to(Todo), nil)),
			"nothing":   second(s.Update(ada, "TASK-1", Change{}, nil)),
			"a claim":   second(s.Claim(ada, "TASK-1", Ask{})),
			"a release": second(s.Release(ada, "TASK-1", Ask{})),
			"a report":  second(s.Report(ada, "TASK-1", Report{Kind: Finished})),
		} {
			if !errors.Is(err, ErrArchived) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.Restore(ada, "TASK-1", &was.Version); !errors.Is(err, ErrStale) {
			t.Errorf("restored from an old version: %v", err)
		}
		later := tuesday.AddDate(0, 1, 0)
		back, err := s.at(later).Restore(ada, "TASK-1", nil)
		was.Version, was.UpdatedAt, was.archiveFrom = 3, clock.At(later), clock.Ptr(later)
		if d := cmp.Diff(was, back, unexported); d != "" || err != nil {
			t.Errorf("restored: %v (-want +got):\n%s", err, d)
		}
		if again, err := s.Restore(ada, "TASK-1", nil); err != nil || again.Version != 3 {
			t.Errorf("restored again: version %d, %v", again.Version, err)
		}
		if d := cmp.Diff([]string{
			"1 ADA task.created TASK-1", "2 Wardroom task.created TASK-2", "3 ADA task.archived TASK-1", "4 ADA task.restored TASK-1",
		}, told(t, d)); d != "" {
			t.Errorf("the log (-want +got):\n%s", d)
		}
	})
}

// What somebody works on is not put away under their hands.
func TestArchiveClaimed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		cto, ada := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, true)), actor.With(t.Context(), makeUser(t, d, "ada", actor.User, true))
		makeTask(t, s, "Ship it")
		if _, err := s.Claim(cto, "TASK-1", Ask{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Archive(ada, "TASK-1", nil); !errors.Is(err, ErrClaimed) {
			t.Errorf("by another: %v", err)
		}
		if got, err := s.Archive(cto, "TASK-1", nil); err != nil || got.Claim != nil || got.Status != Todo {
			t.Errorf("by the holder: %+v, %v", got, err)
		}
	})
}

// A task goes, and what was done to it must still be known, as must be what
// became of those that needed it.
func TestDelete(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		by := makeUser(t, d, "ada", actor.Admin, true)
		ada := actor.With(t.Context(), by)
		for _, title := range []string{"Gone", "Needs it", "Is a part of it", "Stays"} {
			makeTask(t, s, title)
		}
		gone, err := s.Update(ada, "TASK-1", Change{Tags: &[]Tag{"web"}, DependsOn: &[]Name{"TASK-4"}}, nil)
		_, err2 := s.Update(ada, "TASK-2", dependOn("TASK-1", "TASK-4"), nil)
		_, err3 := s.Update(ada, "TASK-3", Change{Parent: patch.Set("TASK-1")}, nil)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ada, "TASK-1", new(int64(1))); !errors.Is(err, ErrStale) {
			t.Errorf("of an old version: %v", err)
		}
		if err := s.Delete(ada, "TASK-1", &gone.Version); err != nil {
			t.Fatal(err)
		}
		audit, err := event.Read(ada, d, event.Filter{Class: event.Audit}, page.Want{})
		if err != nil || len(audit.Rows) != 1 || audit.Rows[0].Kind != "task.deleted" || audit.Rows[0].Subject.Name != "TASK-1" || audit.Rows[0].Actor.ID != by.ID {
			t.Errorf("the audit has %+v, %v", audit.Rows, err)
		}
		for _, ref := range []string{"TASK-1", gone.ID} {
			if _, err := s.Get(ada, ref); !errors.Is(err, ErrNotFound) {
				t.Errorf("Get(%s): %v", ref, err)
			}
			var lines []string
			for next := ""; ; {
				part, err := s.History(ada, ref, want(2, "", next))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range part.Rows {
					lines = append(lines, e.Actor.Name+" "+e.Kind)
				}
				if next = part.Next; next == "" {
					break
				}
			}
			if got := fmt.Sprint(lines); got != "[ADA task.deleted ADA task.changed Wardroom task.created]" {
				t.Errorf("the history of %s is %s", ref, got)
			}
		}
		needs, err := s.Get(ada, "TASK-2")
		if err != nil || fmt.Sprint(needs.DependsOn, needs.WaitingOn) != "[TASK-4] 1" {
			t.Errorf("what needed it depends on %v, waits for %d, %v", needs.DependsOn, needs.WaitingOn, err)
		}
		if part, err := s.Get(ada, "TASK-3"); err != nil || part.ParentID != nil {
			t.Errorf("what was a part of it is a part of %v, %v", part.ParentID, err)
		}
		changed := events(t, d)[2]
		if changed.Kind != "task.changed" || changed.Subject.Name != "TASK-2" {
			t.Fatalf("told %s of %s", changed.Kind, changed.Subject.Name)
		}
		wantData(t, changed, `{"changes":{"depends_on":[["TASK-1","TASK-4"],["TASK-4"]]},"deleted":"TASK-1"}`)
		if err := s.Delete(ada, "TASK-1", nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("deleted again: %v", err)
		}
		if made := makeTask(t, s, "New"); made.Key != "TASK-5" {
			t.Errorf("the next is %s", made.Key)
		}
		if _, err := s.History(ada, "TASK-9", page.Want{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("the history of none: %v", err)
		}
		if part, err := s.History(ada, "TASK-5", page.Want{}); err != nil || len(part.Rows) != 1 || part.Rows[0].Kind != "task.created" {
			t.Errorf("the history of one that is there: %v, %v", part.Rows, err)
		}
	})
}
