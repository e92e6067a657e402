package task

import (
	"errors"
	"fmt"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/patch"
)

// Of many tasks each must be told for itself: a person who believes that all
// were changed does not look for the one that was not.
func TestBulk(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		makeUser(t, d, "cto", actor.Agent, true)
		cmo := actor.With(t.Context(), makeUser(t, d, "cmo", actor.Agent, true))
		var refs []string
		for i := range 60 { // more than one batch
			refs = append(refs, makeTask(t, s, fmt.Sprint("Task ", i)).Key)
		}
		_, err := s.Claim(cmo, "TASK-3", Ask{})
		_, err2 := s.Update(cmo, "TASK-5", dependOn("TASK-60"), nil)
		_, err3 := s.Archive(cmo, "TASK-7", nil)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, "TASK-99", "task-1")
		before := len(eventsOf(t, d, "task.changed"))
		got, err := s.Bulk(asService(t), refs, Change{Status: new(InProgress), Assignee: patch.Set("cto")})
		if err != nil || len(got) != len(refs) {
			t.Fatalf("%d outcomes, %v", len(got), err)
		}
		wrong := map[string]string{
			"TASK-3": "", "TASK-5": ErrWaiting.Code, "TASK-7": ErrArchived.Code, "TASK-99": ErrNotFound.Code,
		}
		for i, o := range got {
			code := ""
			if o.Error != nil {
				code = o.Error.Code
			}
			if o.Task != refs[i] || code != wrong[o.Task] || (o.Version == nil) != (code != "") || (o.Key == nil) != (code == ErrNotFound.Code) {
				t.Errorf("%s: %+v", refs[i], o)
			}
		}
		if n := len(eventsOf(t, d, "task.changed")) - before; n != 58 {
			t.Errorf("%d events, want 58", n)
		}
		if is, err := s.Get(cmo, "TASK-60"); err != nil || is.Status != InProgress || is.AssigneeID == nil {
			t.Errorf("the last is %+v, %v", is, err)
		}
		got, err = s.Bulk(asService(t), []string{"TASK-3"}, to(Done))
		if err != nil || got[0].Error == nil || got[0].Error.Code != ErrClaimed.Code {
			t.Errorf("of a claimed one: %+v, %v", got, err)
		}
	})
}

// Two people who change the same many tasks at once, each in their own order,
// must not wait for each other for ever.
func TestBulkRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		var refs, back []string
		for i := range 20 {
			refs = append(refs, makeTask(t, s, fmt.Sprint("Task ", i)).Key)
			back = append([]string{refs[i]}, back...)
		}
		got := race(4, func(i int) error {
			_, err := s.Bulk(asService(t), [][]string{refs, back}[i%2], Change{Branch: patch.Set(fmt.Sprint("b", i)), Tags: &[]Tag{Tag(fmt.Sprint("t", i))}})
			return err
		})
		if got["won"] != 4 {
			t.Errorf("outcomes are %v", got)
		}
	})
}
