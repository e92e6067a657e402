package task

import (
	"fmt"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// What is done must leave the board on its day: not before, not what is still
// open, and not what somebody has just brought back.
func TestArchiveDone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada := actor.With(t.Context(), makeUser(t, d, "ada", actor.User, true))
		for i, status := range []Status{Done, Done, Done, Todo, Done, Done} {
			if _, err := s.Create(ada, New{Title: fmt.Sprint("Task ", i+1), Status: status}); err != nil {
				t.Fatal(err)
			}
		}
		week := monday.AddDate(0, 0, 7)
		if _, err := s.at(week).Create(ada, New{Title: "Just done", Status: Done}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Archive(ada, "TASK-2", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Archive(ada, "TASK-3", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.at(week).Restore(ada, "TASK-3", nil); err != nil { // its days count anew
			t.Fatal(err)
		}
		if _, err := s.Update(ada, "TASK-5", to(Review), nil); err != nil {
			t.Fatal(err)
		}
		if n, _, err := s.CountArchivable(ada, monday); n != 0 || err != nil {
			t.Errorf("%d tasks are to go in the moment in which they were done, %v", n, err)
		}
		before := monday.Add(time.Millisecond)
		if n, oldest, err := s.CountArchivable(ada, before); n != 2 || !oldest.Equal(monday) || err != nil {
			t.Errorf("%d tasks are to go, the oldest of %s, %v; want TASK-1 and TASK-6", n, oldest, err)
		}
		for _, want := range []int64{1, 1, 0} { // one by one
			var n int64
			err := d.Tx(ada, func(tx *db.Tx) (err error) {
				n, err = s.at(week).ArchiveDone(ada, tx, before, 1)
				return err
			})
			if n != want || err != nil {
				t.Errorf("archived %d, want %d, %v", n, want, err)
			}
		}
		if got, err := s.List(ada, Filter{Archived: true}, page.Want{}); err != nil || keys(got.Rows) != "6 2 1" {
			t.Errorf("the archive has %q, %v", keys(got.Rows), err)
		}
		one, err := s.Get(ada, "TASK-6")
		if err != nil || !one.ArchivedAt.Equal(week) || one.Status != Done || one.Version != 2 {
			t.Errorf("archived: %+v, %v", one, err)
		}
		if told, err := event.Read(ada, d, event.Filter{Class: event.Activity, Kinds: []string{"task.archived"}}, page.Want{}); err != nil || len(told.Rows) != 4 {
			t.Errorf("%d tasks were told to be archived, %v; want the two by hand, and these two", len(told.Rows), err)
		}
	})
}
