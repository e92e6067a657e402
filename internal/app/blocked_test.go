package app_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// A task that stays blocked for two days is raised in the inbox, once, until it is
// unblocked.
func TestBlockedTasksReachTheInbox(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start()
		owner := s.login(ownerEmail)
		system := actor.With(t.Context(), actor.System)
		watch := func() {
			t.Helper()
			if err := s.Tasks.WatchBlocked(system); err != nil {
				t.Fatal(err)
			}
		}
		// since makes a task that has been blocked for the given number of hours.
		since := func(made task.Task, hours int) {
			t.Helper()
			at := clock.At(time.Now().Add(-time.Duration(hours) * time.Hour))
			owner.patch("/api/v1/tasks/"+made.Key, map[string]any{"blocked": map[string]any{"reason": "No\n# key"}}).want(http.StatusOK)
			if err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `UPDATE tasks SET blocked_since = ? WHERE id = ?`, at, made.ID)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		blocked := func(title string, hours int) task.Task {
			t.Helper()
			made := decode[task.Task](owner.post("/api/v1/tasks", map[string]any{"title": title}).want(http.StatusCreated))
			since(made, hours)
			return made
		}
		// open returns the severity of each task's open inbox item.
		open := func() map[string]string {
			t.Helper()
			all := map[string]string{}
			for _, i := range owner.inboxOf(inbox.TaskBlocked, "open") {
				all[i.Subject.Name] = string(i.Severity)
			}
			return all
		}
		wants := func(when string, want map[string]string) {
			t.Helper()
			watch()
			if got := open(); !maps.Equal(got, want) {
				t.Errorf("%s: open are %v, want %v", when, got, want)
			}
		}

		blocked("Since yesterday", 47)
		old, older, told, gone := blocked("Old", 49), blocked("Older", 8*24), blocked("Told", 1), blocked("Gone", 49)
		err := s.DB.Tx(system, func(tx *db.Tx) error {
			return s.Inbox.Raise(system, tx, inbox.NewItem{
				Cause: "told", Kind: inbox.Escalation, Severity: "high", Title: "A standup has brought it up.",
				Subject: event.Subject{Kind: "task", ID: told.ID, Name: told.Key},
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		since(told, 49) // the service checks at the same time
		wants("at first", map[string]string{old.Key: "medium", older.Key: "high", gone.Key: "medium"})
		wants("at the second look", map[string]string{old.Key: "medium", older.Key: "high", gone.Key: "medium"})
		items := owner.inboxOf(inbox.TaskBlocked, "open")
		if i := slices.IndexFunc(items, func(i inbox.Item) bool { return i.Subject.Name == old.Key }); items[i].Count != 1 || items[i].Title != old.Key+" is still blocked: No # key" {
			t.Errorf("the inbox item is %+v", items[i])
		} else if !strings.Contains(items[i].Detail, "\n> No\n> # key\n") {
			t.Errorf("its detail is %q", items[i].Detail)
		}

		since(old, 8*24)
		owner.patch("/api/v1/tasks/"+older.Key, map[string]any{"blocked": nil}).want(http.StatusOK)
		owner.send(http.MethodDelete, "/api/v1/tasks/"+gone.Key, nil).want(http.StatusNoContent)
		wants("a week later", map[string]string{old.Key: "high"})
		notes := map[string]string{}
		for _, i := range owner.inboxOf(inbox.TaskBlocked, "resolved") {
			notes[i.Subject.Name] = i.Resolution.Note
		}
		if want := map[string]string{older.Key: older.Key + " is no longer blocked.", gone.Key: gone.Key + " was deleted."}; !maps.Equal(notes, want) {
			t.Errorf("resolved with %v, want %v", notes, want)
		}

		// A resolved item is not raised again.
		item := owner.inboxOf(inbox.TaskBlocked, "open")[0]
		owner.post("/api/v1/inbox/"+item.ID+"/resolve", nil).want(http.StatusOK)
		wants("after somebody has resolved it", map[string]string{})
		owner.patch("/api/v1/tasks/"+old.Key, map[string]any{"blocked": nil}).want(http.StatusOK)
		watch()
		since(old, 0)
		moveInbox(t, s.DB, item.ID, -10*24*time.Hour)
		since(old, 49)
		wants("blocked once more", map[string]string{old.Key: "medium"})
	})
}

// moveInbox moves the times of an inbox item into the past.
func moveInbox(t *testing.T, d *db.DB, id string, by time.Duration) {
	t.Helper()
	at := clock.At(time.Now().Add(by))
	if err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(context.Background(), `UPDATE inbox_items SET last_at = ? WHERE id = ?`, at, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
