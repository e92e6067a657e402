package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
)

// A comment must be found as it was written, counted, and told of without its text.
func TestComment(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada, cto := makeUser(t, d, "ada", actor.User, true), makeUser(t, d, "cto", actor.Agent, true)
		boss := makeUser(t, d, "boss", actor.Admin, true)
		asAda, asCTO, asBoss := actor.With(t.Context(), ada), actor.With(t.Context(), cto), actor.With(t.Context(), boss)
		makeTask(t, s, "Ship it")
		first, err := s.Comment(asAda, "task-1", CommentText{Body: "Ask @cto"})
		if err != nil || !slices.Equal(first.Mentions, []string{cto.ID}) || *first.AuthorID != ada.ID || first.AuthorName != "ADA" {
			t.Fatal(first, err)
		}
		second, err := s.at(monday.Add(time.Minute)).Comment(asService(t), "TASK-1", CommentText{Body: "By itself"})
		if err != nil || second.AuthorID != nil {
			t.Fatal(second, err)
		}
		edited, err := s.at(monday.Add(time.Hour)).EditComment(asAda, "TASK-1", first.ID, CommentText{Body: "Ask @boss"}, &first.Version)
		if err != nil || edited.EditedAt == nil || !slices.Equal(edited.Mentions, []string{boss.ID}) {
			t.Fatal(edited, err)
		}
		if part, err := s.Comments(asAda, "TASK-1", page.Want{Total: true}); err != nil || !cmp.Equal(part.Rows, []Comment{edited, second}) || *part.Total != 2 {
			t.Errorf("%+v, %v", part, err)
		}
		other := makeTask(t, s, "Another")
		for name, refused := range map[string]struct {
			err  func() error
			want error
		}{
			"somebody else edits": {func() error {
				_, err := s.EditComment(asBoss, "TASK-1", first.ID, CommentText{Body: "x"}, nil)
				return err
			}, ErrNotAuthor},
			"somebody else deletes": {func() error { return s.DeleteComment(asCTO, "TASK-1", first.ID, nil) }, ErrNotAuthor},
			"an old version": {func() error {
				_, err := s.EditComment(asAda, "TASK-1", first.ID, CommentText{Body: "x"}, new(int64(1)))
				return err
			}, ErrCommentChanged},
			"an old version goes":    {func() error { return s.DeleteComment(asAda, "TASK-1", first.ID, new(int64(1))) }, ErrCommentChanged},
			"another task's comment": {func() error { return s.DeleteComment(asAda, other.Key, first.ID, nil) }, ErrCommentNotFound},
			"no comment":             {func() error { return s.DeleteComment(asAda, "TASK-1", "x", nil) }, ErrCommentNotFound},
			"no task":                {func() error { _, err := s.Comment(asAda, "TASK-9", CommentText{Body: "x"}); return err }, ErrNotFound},
		} {
			if err := refused.err(); !errors.Is(err, refused.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if same, err := s.EditComment(asAda, "TASK-1", first.ID, CommentText{Body: "Ask @boss"}, nil); err != nil || same.Version != 2 {
			t.Errorf("an edit that changes nothing: %+v, %v", same, err)
		}
		if err := s.DeleteComment(asBoss, "TASK-1", first.ID, &edited.Version); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(asAda, "TASK-1"); err != nil || got.Comments != 1 || got.Version != 1 {
			t.Errorf("the task counts %d comments at version %d, %v", got.Comments, got.Version, err)
		}
		var said []string
		for _, e := range slices.Backward(events(t, d)) {
			if e.Kind != "task.created" {
				said = append(said, fmt.Sprint(e.Actor.Name, " ", e.Kind, " ", e.Subject.Name, " ", string(e.Data)))
			}
		}
		want := []string{
			fmt.Sprintf(`ADA task.commented TASK-1 {"comment_id":"%s","length":8,"mentions":["%s"]}`, first.ID, cto.ID),
			fmt.Sprintf(`Wardroom task.commented TASK-1 {"comment_id":"%s","length":9,"mentions":[]}`, second.ID),
			fmt.Sprintf(`ADA comment.changed TASK-1 {"comment_id":"%s","length":9,"mentions":["%s"]}`, first.ID, boss.ID),
			fmt.Sprintf(`BOSS comment.deleted TASK-1 {"author_id":"%s","author_name":"ADA","comment_id":"%s"}`, ada.ID, first.ID),
		}
		if !slices.Equal(said, want) {
			t.Errorf("the log says\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		audit, err := event.Read(asService(t), d, event.Filter{Class: event.Audit, Kinds: []string{"comment.deleted"}}, page.Want{})
		if err != nil || len(audit.Rows) != 1 {
			t.Errorf("the audit has %v, %v", audit.Rows, err)
		}
	})
}

// What is in the archive is not changed any more; but what should not stand
// there can still be taken out. With the task its comments go.
func TestCommentsOfTasksThatGo(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		ada := actor.With(t.Context(), makeUser(t, d, "ada", actor.User, true))
		makeTask(t, s, "Ship it")
		var made []Comment
		for range 2 {
			c, err := s.Comment(ada, "TASK-1", CommentText{Body: "x"})
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, c)
		}
		if _, err := s.Archive(ada, "TASK-1", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Comment(ada, "TASK-1", CommentText{Body: "late"}); !errors.Is(err, ErrArchived) {
			t.Errorf("comment: %v", err)
		}
		if _, err := s.EditComment(ada, "TASK-1", made[0].ID, CommentText{Body: "late"}, nil); !errors.Is(err, ErrArchived) {
			t.Errorf("edit: %v", err)
		}
		if err := s.DeleteComment(ada, "TASK-1", made[0].ID, nil); err != nil {
			t.Errorf("delete: %v", err)
		}
		if err := s.Delete(asService(t), "TASK-1", nil); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM comments`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d comments are left, %v", left, err)
		}
		if _, err := s.Comments(ada, "TASK-1", page.Want{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("list: %v", err)
		}
	})
}

// The count on the card must be that of the comments, whoever is faster.
func TestCommentCountRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeTask(t, s, "Ship it")
		makeTask(t, s, "Goes")
		first, err := s.Comment(asService(t), "TASK-1", CommentText{Body: "x"})
		if err != nil {
			t.Fatal(err)
		}
		boss := actor.With(t.Context(), makeUser(t, d, "boss", actor.Owner, true))
		got := race(24, func(i int) error {
			switch {
			case i%3 == 0:
				return s.DeleteComment(boss, "TASK-1", first.ID, nil)
			case i == 1:
				return s.Delete(boss, "TASK-2", nil)
			case i%3 == 1:
				_, err := s.Comment(boss, "TASK-2", CommentText{Body: "x"})
				return err
			}
			_, err := s.Comment(boss, "TASK-1", CommentText{Body: "x"})
			return err
		})
		var rows, counted int64
		err = d.QueryRow(t.Context(), `SELECT (SELECT COUNT(*) FROM comments), comment_count FROM tasks WHERE number = 1`).Scan(&rows, &counted)
		if err != nil || rows != 8 || counted != 8 || got["won"]+got["task_not_found"]+got["comment_not_found"] != 24 || got["comment_not_found"] != 7 {
			t.Errorf("%d comments, %d counted, %v, %v", rows, counted, got, err)
		}
	})
}

// Comments must come in the order in which they were said, page by page, from
// an index.
func TestCommentsPaging(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		makeTask(t, s, "Ship it")
		var want4, got []string
		for i := range 5 {
			c, err := s.at(monday.Add(time.Duration(i/2)*time.Minute)).Comment(asService(t), "TASK-1", CommentText{Body: fmt.Sprint(i)})
			if err != nil {
				t.Fatal(err)
			}
			want4 = append(want4, c.Body)
		}
		w := want(2, "", "")
		for {
			part, err := s.Comments(t.Context(), "TASK-1", w)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range part.Rows {
				got = append(got, c.Body)
			}
			if w.Cursor = part.Next; w.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want4) {
			t.Errorf("%q, want %q", got, want4)
		}
	})
}

// The routes must say what the service says.
func TestCommentRoutes(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	makeTask(t, s.Service, "Ship it")
	const at = "/tasks/TASK-1/comments"
	made := s.ask(t, "agent", "POST", at, `{"body":"For @user"}`, "Idempotency-Key", "k")
	made.want(t, "comment", 201, "")
	mentions, _ := made.body["mentions"].([]any)
	if len(mentions) != 1 || mentions[0] != s.users["user"].ID || made.header.Get("ETag") == "" {
		t.Errorf("made %v, %v", made.body, made.header)
	}
	one := fmt.Sprint(at, "/", made.body["id"])
	if got := made.header.Get("Location"); got != "/api/v1"+one {
		t.Errorf("it is at %s", got)
	}
	if again := s.ask(t, "agent", "POST", at, `{"body":"For @user"}`, "Idempotency-Key", "k"); again.body["id"] != made.body["id"] || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %v", again.body)
	}
	s.ask(t, "user", "POST", at, `{"body":""}`).want(t, "empty", 422, "invalid_input", "/body")
	s.ask(t, "user", "POST", at, `{"body":" \n"}`).want(t, "blank", 422, "invalid_input", "/body")
	s.ask(t, "user", "POST", at, `{"body":"`+strings.Repeat("ä", 10_001)+`"}`).want(t, "long", 422, "invalid_input", "/body")
	s.ask(t, "user", "POST", at, `{"body":"`+strings.Repeat("ä", 10_000)+`"}`).want(t, "as long as can be", 201, "")
	s.ask(t, "user", "POST", "/tasks/TASK-9/comments", `{"body":"x"}`).want(t, "no task", 404, "task_not_found")
	s.ask(t, "", "GET", at, "").want(t, "nobody", 401, "sign_in_required")
	s.ask(t, "owner", "PATCH", one, `{"body":"Mine"}`).want(t, "the owner edits", 403, "not_the_author")
	tag := made.header.Get("ETag")
	s.ask(t, "agent", "PATCH", one, `{"body":"Other words"}`, "If-Match", tag).want(t, "edit", 200, "")
	s.ask(t, "agent", "PATCH", one, `{"body":"Late"}`, "If-Match", tag).want(t, "late", 412, "comment_changed")
	list := s.ask(t, "user", "GET", at+"?limit=1&total=true", "")
	if list.want(t, "list", 200, ""); len(list.list) != 1 || list.header.Get("X-Total-Count") != "2" || list.header.Get("Link") == "" {
		t.Errorf("list %v, %v", list.list, list.header)
	}
	s.ask(t, "user", "DELETE", one, "").want(t, "a user deletes", 403, "not_the_author")
	s.ask(t, "admin", "DELETE", one, "").want(t, "an admin deletes", 204, "")
	s.ask(t, "admin", "DELETE", one, "").want(t, "again", 404, "comment_not_found")
	s.ask(t, "agent", "POST", at, `{"body":"For @user"}`, "Idempotency-Key", "k").want(t, "it is gone", 409, "idempotency_gone")
	if got := s.ask(t, "user", "GET", "/tasks/TASK-1", ""); got.body["comment_count"] != 1.0 {
		t.Errorf("the task counts %v", got.body["comment_count"])
	}
}
