package task

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
)

// The ETag of a list changes with every change that the list shows.
func TestUnchangedList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		at := time.Now().UTC().Truncate(time.Millisecond)
		s.Now = func() time.Time { return at }
		ctx := actor.With(t.Context(), s.users["user"])
		for range 2 {
			if _, err := s.Create(ctx, New{Title: "Order paper"}); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(role, path, tag string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, web.Prefix+path, nil)
			r.Header.Set("Authorization", "Bearer "+role)
			r.Header.Set("If-None-Match", tag)
			w := httptest.NewRecorder()
			s.api.ServeHTTP(w, r)
			return w
		}
		tag := ask("user", "/tasks", "").Header().Get("ETag")
		if tag == "" {
			t.Fatal("the list has no ETag")
		}
		if w := ask("user", "/tasks", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
			t.Errorf("unchanged it is %d with %s and the tag %s", w.Code, w.Body, w.Header().Get("ETag"))
		}
		for name, other := range map[string][2]string{
			"of another caller": {"admin", "/tasks"}, "of another filter": {"user", "/tasks?status=done"}, "of another page": {"user", "/tasks?limit=1"},
		} {
			if w := ask(other[0], other[1], tag); w.Code != http.StatusOK {
				t.Errorf("the list %s is %d", name, w.Code)
			}
		}
		if w := ask("user", "/tasks?colour=red", "*"); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("what is wrong is %d to who takes anything", w.Code)
		}
		record := func(class event.Class, kind, about string) func(context.Context) error {
			return func(ctx context.Context) error {
				return d.Tx(ctx, func(tx *db.Tx) error {
					return event.Record(ctx, tx, at, class, kind, event.Subject{Kind: about, ID: "1", Name: "1"}, nil)
				})
			}
		}
		changes := []struct {
			name string
			do   func(context.Context) error
		}{
			{"a change", func(ctx context.Context) error {
				_, err := s.Update(ctx, "TASK-1", Change{Title: new("New")}, nil)
				return err
			}},
			{"a claim", func(ctx context.Context) error {
				_, err := s.Claim(ctx, "TASK-1", ClaimOptions{Lease: time.Hour})
				return err
			}},
			{"a claim that is renewed", func(ctx context.Context) error {
				_, err := s.Claim(ctx, "TASK-1", ClaimOptions{Lease: 2 * time.Hour})
				return err
			}},
			{"a second claim", func(ctx context.Context) error {
				_, err := s.Claim(ctx, "TASK-2", ClaimOptions{Lease: 3 * time.Hour})
				return err
			}},
			// No write happens here: the claim expires by itself.
			{"a claim that has ended", func(context.Context) error { at = at.Add(2*time.Hour + time.Minute); return nil }},
			{"another that has ended", func(context.Context) error { at = at.Add(2 * time.Hour); return nil }},
			{"ends that are noted", func(ctx context.Context) error {
				if d.Engine() == db.Postgres { // uses its own clock, which has not moved
					_, err := s.Update(ctx, "TASK-1", Change{Title: new("Newer")}, nil)
					return err
				}
				return s.EndLeases(ctx)
			}},
			{"a task that is gone", func(ctx context.Context) error { return s.Delete(ctx, "TASK-2", nil) }},
			{"a new name of an account", record(event.Audit, "user.changed", event.TopicUser)},
			{"a change of a project", record(event.Activity, "project.changed", event.TopicProject)},
		}
		for _, c := range changes {
			if err := c.do(ctx); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			w := ask("user", "/tasks", tag)
			if next := w.Header().Get("ETag"); w.Code != http.StatusOK || next == tag || next == "" {
				t.Errorf("after %s it is %d with %s, as before", c.name, w.Code, next)
			}
			tag = w.Header().Get("ETag")
			if w := ask("user", "/tasks", tag); w.Code != http.StatusNotModified {
				t.Errorf("after %s, asked again, it is %d", c.name, w.Code)
			}
		}
		for name, do := range map[string]func(context.Context) error{
			"a login": record(event.Audit, "login.succeeded", event.TopicUser), "an inbox item": record(event.Activity, "inbox.raised", event.TopicInbox),
			"a standup": record(event.Activity, "standup.opened", event.TopicStandup),
		} {
			if err := do(ctx); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if w := ask("user", "/tasks", tag); w.Code != http.StatusNotModified {
				t.Errorf("after %s it is %d, although no task has changed", name, w.Code)
			}
		}
	})
}

// The ETag changes when a restored database reuses event IDs.
func TestMarkOfAnotherTime(t *testing.T) {
	t.Parallel()
	marks := map[string]bool{}
	for range 2 {
		d := dbtest.Open(t, dbtest.URL(t, db.SQLite))
		s := newService(d)
		by := actor.With(t.Context(), makeUser(t, d, "user", actor.User, true))
		s.Now = func() time.Time { return time.Date(2026, 11, 20, 8, 0, len(marks), 0, time.UTC) }
		if _, err := s.Create(by, New{Title: "Order paper"}); err != nil {
			t.Fatal(err)
		}
		m, err := s.listETag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		marks[m] = true
	}
	if len(marks) != 2 {
		t.Errorf("two histories have the same mark: %v", marks)
	}
}
