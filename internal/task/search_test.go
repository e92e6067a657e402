package task

import (
	"fmt"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/search"
)

func searched(t testing.TB, d *db.DB, text string, archived *bool) string {
	t.Helper()
	list, err := (&search.Service{DB: d}).Find(asService(t), text, search.Filter{Archived: archived}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range list {
		lines = append(lines, fmt.Sprint(r.Kind, " ", *r.TaskKey, " ", r.Archived, " ", r.Snippet))
	}
	return strings.Join(lines, "; ")
}

// Search results reflect the current tasks and comments.
func TestSearch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeTask(t, s, "Count the chairs")
		if _, err := s.Create(asService(t), New{Title: "Paint", Description: "The chairs are red"}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Comment(asService(t), "TASK-2", CommentText{Body: "Six chairs"})
		if err != nil {
			t.Fatal(err)
		}
		hold := func(text string, archived *bool, want string) {
			t.Helper()
			if got := searched(t, d, text, archived); got != want {
				t.Errorf("%q finds %q, want %q", text, got, want)
			}
		}
		hold("chair", nil, "task TASK-1 false ; comment TASK-2 false Six chairs; task TASK-2 false The chairs are red")
		if _, err := s.Update(asService(t), "TASK-2", Change{Description: new("Nothing")}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Archive(asService(t), "TASK-1", nil); err != nil {
			t.Fatal(err)
		}
		hold("chair", nil, "task TASK-1 true ; comment TASK-2 false Six chairs")
		hold("chair", new(true), "task TASK-1 true ")
		hold("chair", new(false), "comment TASK-2 false Six chairs")
		if err := d.Tx(asService(t), func(tx *db.Tx) error {
			c.Body, c.Version = "Seven tables", 2
			return updateComment(asService(t), tx, c)
		}); err != nil {
			t.Fatal(err)
		}
		hold("six", nil, "")
		hold("seven", nil, "comment TASK-2 false Seven tables")
		// The comments are archived and restored with the task.
		if _, err := s.Archive(asService(t), "TASK-2", nil); err != nil {
			t.Fatal(err)
		}
		hold("seven", new(true), "comment TASK-2 true Seven tables")
		hold("seven", new(false), "")
		if _, err := s.Restore(asService(t), "TASK-2", nil); err != nil {
			t.Fatal(err)
		}
		hold("seven", new(true), "")
		hold("seven", new(false), "comment TASK-2 false Seven tables")
		hold("paint", new(false), "task TASK-2 false Nothing")
		if err := s.Delete(asService(t), "TASK-2", nil); err != nil {
			t.Fatal(err)
		}
		hold("paint", nil, "")
		hold("seven", nil, "")
	})
}
