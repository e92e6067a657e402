package task

import (
	"context"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A task that is handed to its agent in the very moment in which somebody puts it
// away must be taken back from the agent like any other.
func TestArchiveOfTaskHandedOverMeanwhile(t *testing.T) {
	d := dbtest.Open(t, dbtest.URL(t, db.Postgres)) // SQLite has one writer
	s := newService(d)
	makeTask(t, s, "Ship it")
	ada := actor.With(t.Context(), makeUser(t, d, "ada", actor.User, true))
	was, err := s.Get(ada, "TASK-1")
	if err != nil {
		t.Fatal(err)
	}
	withdrawn := 0
	s.Withdraw = func(context.Context, *db.Tx, Task, bool) (*Dispatch, error) {
		withdrawn++
		return &Dispatch{State: Failed, Since: clock.At(tuesday), Error: &DispatchError{Code: "withdrawn"}}, nil
	}
	now, handed := s.Now, false
	s.Now = func() time.Time {
		if !handed { // between reading the task and writing it
			handed = true
			if err := d.Tx(ada, func(tx *db.Tx) error { return s.Show(ada, tx, was.ID, Dispatch{State: Queued}) }); err != nil {
				t.Error(err)
			}
		}
		return now()
	}
	put, err := s.Archive(ada, "TASK-1", nil)
	if err != nil || put.ArchivedAt == nil || withdrawn != 1 || put.Dispatch == nil || put.Dispatch.State != Failed {
		t.Errorf("put away: %+v, %v; taken back %d times", put, err, withdrawn)
	}
}
