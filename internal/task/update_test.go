package task

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
)

// Every field is stored and read back.
func TestUpdate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		by := makeUser(t, d, "cto", actor.Agent, true)
		made := makeTask(t, s, "Ship it")
		ctx := actor.With(t.Context(), by)
		change := Change{
			Title: new("Ship it now"), Description: new("soon"), Status: new(InProgress), Priority: new(Urgent), Type: new(Bug),
			Tags: &[]Tag{"web"}, Assignee: patch.Set("cto"), Blocked: patch.Set(BlockedReason{Reason: "No key"}),
			SessionKey: patch.Set("agent:cto:main"), Branch: patch.Set("main"), PRURL: patch.Set("https://x.example/1"),
			DueAt: patch.Set(clock.At(tuesday)),
		}
		got, err := s.at(tuesday).Update(ctx, "task-1", change, &made.Version)
		if err != nil {
			t.Fatal(err)
		}
		want := Task{
			ID: made.ID, Key: "TASK-1", number: 1, Title: "Ship it now", Description: "soon",
			Status: InProgress, Priority: Urgent, Type: Bug, Tags: []Tag{"web"}, DependsOn: []string{}, Criteria: []Criterion{}, Checks: []string{}, Position: "000000000001", AssigneeID: &by.ID,
			Blocked:    &Blocked{Reason: "No key", Since: clock.At(tuesday), By: "CTO"},
			SessionKey: new("agent:cto:main"), Branch: new("main"), PRURL: new("https://x.example/1"),
			DueAt: clock.Ptr(tuesday), StartedAt: clock.Ptr(tuesday), MovedAt: clock.At(tuesday), CreatedAt: clock.At(monday), UpdatedAt: clock.At(tuesday), Version: 2,
		}
		if d := cmp.Diff(want, got, unexported); d != "" {
			t.Errorf("changed (-want +got):\n%s", d)
		}
		stored, err := s.Get(asService(t), made.ID)
		if d := cmp.Diff(got, stored, unexported); d != "" || err != nil {
			t.Errorf("stored: %v (-want +got):\n%s", err, d)
		}

		empty := Change{
			Assignee: patch.Clear[string](), Blocked: patch.Clear[BlockedReason](), SessionKey: patch.Clear[string](),
			Branch: patch.Clear[string](), PRURL: patch.Clear[string](), DueAt: patch.Clear[clock.Time](),
		}
		got, err = s.at(tuesday).Update(ctx, made.ID, empty, nil)
		want.AssigneeID, want.Blocked, want.SessionKey, want.Branch, want.PRURL, want.DueAt, want.Version = nil, nil, nil, nil, nil, nil, 3
		if d := cmp.Diff(want, got, unexported); d != "" || err != nil {
			t.Errorf("emptied: %v (-want +got):\n%s", err, d)
		}
		if _, err := s.Update(ctx, "TASK-2", change, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("of a task that is not there: %v", err)
		}
	})
}

// A change based on an old version is refused with the current version.
func TestUpdateStale(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		made := makeTask(t, s, "Ship it")
		if _, err := s.Update(asService(t), made.ID, Change{Title: new("First")}, &made.Version); err != nil {
			t.Fatal(err)
		}
		_, err := s.Update(asService(t), made.ID, Change{Title: new("Second")}, &made.Version)
		if f := fault.Of(err); !errors.Is(err, ErrStale) || f.Facts["current_version"] != int64(2) {
			t.Errorf("the second: %v, want ErrStale with version 2", err)
		}
		if _, err := s.Update(asService(t), made.ID, Change{Title: new("Third")}, new(int64(3))); !errors.Is(err, ErrStale) {
			t.Errorf("of a version that is not there yet: %v", err)
		}
		// An old version is refused even if the change has no effect.
		if _, err := s.Update(asService(t), made.ID, Change{Title: new("First")}, &made.Version); !errors.Is(err, ErrStale) {
			t.Errorf("of the same title: %v", err)
		}
		got, err := s.Get(asService(t), made.ID)
		if err != nil || got.Title != "First" || got.Version != 2 {
			t.Errorf("stored %q at version %d, %v; want First at 2", got.Title, got.Version, err)
		}
	})
}

// Of two concurrent changes with a version, one is refused with the current
// version.
func TestUpdateRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		made := makeTask(t, s, "Shared")
		got := race(8, func(i int) error {
			_, err := s.Update(asService(t), made.ID, Change{Title: new(fmt.Sprint("Mine ", i))}, &made.Version)
			if f := fault.Of(err); f != nil && f.Facts["current_version"] != int64(2) {
				t.Errorf("told %v, want current_version 2", f.Facts)
			}
			return err
		})
		if d := cmp.Diff(map[string]int{"won": 1, ErrStale.Code: 7}, got); d != "" {
			t.Errorf("outcomes (-want +got):\n%s", d)
		}
		if n := len(events(t, d)); n != 2 {
			t.Errorf("%d events, want 2: made and changed once", n)
		}
	})
}

// A change that waits for another transaction sees what that one committed, and
// does not overwrite it.
func TestUpdateOvertaken(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(asService(t), 30*time.Second) // bounds the wait below
		defer cancel()
		s := newService(d)
		made := makeTask(t, s, "Shared")
		told, before := make(chan error, 2), d.Pools()[1].Waits
		err := d.Tx(ctx, func(tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE tasks SET title = 'Mine', version = 2 WHERE id = ?`, made.ID); err != nil {
				return err
			}
			for _, version := range []*int64{&made.Version, nil} {
				go func() {
					_, err := s.Update(ctx, made.ID, Change{Branch: patch.Set("yours")}, version)
					told <- err
				}()
			}
			for d.Pools()[1].Waits < before+2 {
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		first, second := <-told, <-told
		if err != nil {
			t.Fatal(err)
		}
		if second != nil {
			first, second = second, first
		}
		if f := fault.Of(first); second != nil || !errors.Is(first, ErrStale) || f.Facts["current_version"] == nil {
			t.Errorf("with a version: %v, without: %v; want ErrStale with current_version, and nil", first, second)
		}
		if is, err := s.Get(ctx, made.ID); err != nil || is.Title != "Mine" || is.Branch == nil || is.Version != 3 {
			t.Errorf("it is %+v, %v; want both changes at version 3", is, err)
		}
	})
}

// Concurrent changes without a version are all applied.
func TestUpdateRaceWithoutVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		made := makeTask(t, s, "Shared")
		changes := []Change{
			{Title: new("Mine")},
			{Description: new("mine")},
			{Status: new(Review)},
			{Priority: new(Urgent)},
			{Type: new(Bug)},
			{Tags: &[]Tag{"mine"}},
			{Branch: patch.Set("mine")},
			{SessionKey: patch.Set("mine")},
		}
		got := race(len(changes), func(i int) error {
			_, err := s.Update(asService(t), made.ID, changes[i], nil)
			return err
		})
		if got["won"] != len(changes) {
			t.Errorf("outcomes are %v, want %d won", got, len(changes))
		}
		is, err := s.Get(asService(t), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(made, is); len(d) != len(changes) || is.Version != int64(1+len(changes)) {
			t.Errorf("at version %d it differs in %v, want all %d changes", is.Version, d, len(changes))
		}
	})
}

// A change without effect writes no event.
func TestUpdateNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		made, err := s.Create(asService(t), New{Title: "Ship it", Tags: []Tag{"web"}, DueAt: clock.Ptr(tuesday)})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []Change{
			{},
			{Title: new(" Ship it "), Status: new(Todo), Tags: &[]Tag{"WEB"}, DueAt: patch.Set(clock.At(tuesday)), Branch: patch.Clear[string]()},
		} {
			got, err := s.at(tuesday).Update(asService(t), made.ID, c, &made.Version)
			if d := cmp.Diff(made, got, unexported); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		}
		if got := told(t, d); len(got) != 1 {
			t.Errorf("the log says %q, want only that it was made", got)
		}
	})
}
