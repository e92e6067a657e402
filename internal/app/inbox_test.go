package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
)

// raise raises an inbox item with the cause, as a feature does in its own transaction,
// and returns it.
func (h *house) raise(a *app.App, cause string) inbox.Item {
	h.t.Helper()
	ctx := actor.With(context.Background(), actor.System)
	err := a.DB.Tx(ctx, func(tx *db.Tx) error {
		return a.Inbox.Raise(ctx, tx, inbox.NewItem{
			Cause: cause, Kind: inbox.Escalation, Severity: inbox.High, Title: "About " + cause, Detail: "Somebody has to look.",
			Subject: event.Subject{Kind: "task", ID: "t", Name: "TASK-1"},
		})
	})
	if err != nil {
		h.t.Fatal(err)
	}
	part, err := a.Inbox.List(ctx, inbox.Filter{States: inbox.States()}, page.Want{Query: page.Query{Limit: 500}, Sort: "-last"})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, i := range part.Rows {
		if i.Title == "About "+cause {
			return i
		}
	}
	h.t.Fatalf("there is no item of %s among %d", cause, len(part.Rows))
	return inbox.Item{}
}

// settle resolves the item of a cause.
func (h *house) settle(a *app.App, cause string) {
	h.t.Helper()
	ctx := actor.With(context.Background(), actor.System)
	if err := a.DB.Tx(ctx, func(tx *db.Tx) error { return a.Inbox.ResolveCause(ctx, tx, cause, "It ended.") }); err != nil {
		h.t.Fatal(err)
	}
}

// Dashboards on every replica receive each change of an inbox item, from its creation
// until it is resolved. Agents do not receive them.
func TestInbox(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		cto := s.login("cto@example.com")
		watched, spied := owner.follow("/api/v1/events?topics=inbox"), cto.follow("/api/v1/events")
		watched.until("hello", "")
		spied.until("hello", "")
		list := func(query string) []inbox.Item {
			t.Helper()
			return decode[[]inbox.Item](owner.get("/api/v1/inbox" + query).want(http.StatusOK))
		}

		i := h.raise(s.App, "walk/1")
		if f := watched.until("inbox.raised", i.ID); !strings.Contains(f["data"], `"state":"open"`) {
			t.Errorf("the stream has %s", f["data"])
		}
		h.raise(s.App, "walk/1")
		watched.until("inbox.repeated", `"count":2`)
		at := "/api/v1/inbox/" + i.ID
		owner.post(at+"/ack", nil).want(http.StatusOK)
		watched.until("inbox.acked", nameOf(owner))
		if got := list(""); len(got) != 1 || got[0].State != inbox.Acked || got[0].Count != 2 {
			t.Errorf("the inbox has %+v", got)
		}
		owner.post(at+"/snooze", map[string]any{"until": time.Now().Add(6 * time.Second)}).want(http.StatusOK)
		watched.until("inbox.snoozed", i.ID)
		watched.until("inbox.woken", `"state":"open"`) // by the timer, without a request
		owner.post(at+"/assign", map[string]any{"assignee": ownerEmail}).want(http.StatusOK)
		watched.until("inbox.assigned", i.ID)
		h.settle(s.App, "walk/1")
		watched.until("inbox.resolved", "It ended.")
		if got := list(""); len(got) != 0 {
			t.Errorf("the inbox still has %+v", got)
		}
		if got := list("?state=resolved&assignee=me"); len(got) != 1 || got[0].Resolution.By.ID != actor.System.ID {
			t.Errorf("resolved items are %+v", got)
		}
		h.raise(s.App, "walk/1")
		watched.until("inbox.reopened", `"count":3`)

		cto.get("/api/v1/inbox").wantProblem(http.StatusForbidden, "forbidden")
		owner.post("/api/v1/tasks", map[string]any{"title": "The end"}).want(http.StatusCreated)
		for kind := ""; kind != "task.created"; {
			f := <-spied.frames
			if kind = f["event"]; strings.HasPrefix(kind, "inbox.") {
				t.Errorf("an agent received %s", f["data"])
			}
		}
		about := func(c caller, query string) []event.Event {
			return decode[[]event.Event](c.get("/api/v1/activity?" + query).want(http.StatusOK))
		}
		if n, spied := len(about(owner, "kind=inbox.*")), len(about(cto, "kind=inbox.*"))+len(about(cto, "subject_kind=inbox"))+len(about(cto, "subject_id="+i.ID)); n != 8 || spied != 0 {
			t.Errorf("of 8 events people see %d and agents %d", n, spied)
		}
	})
}

// nameOf returns the caller's name in events.
func nameOf(c caller) string {
	return decode[struct{ Name string }](c.get("/api/v1/auth/me").want(http.StatusOK)).Name
}

// Resolved items are deleted after the retention period, and open items are kept.
func TestInboxIsRetained(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start()
	owner := s.login(ownerEmail)
	for n := range 3 {
		h.raise(s.App, fmt.Sprint("old/", n))
	}
	h.settle(s.App, "old/0")
	h.settle(s.App, "old/1")
	err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE inbox_items SET resolved_at = ?, first_at = ? WHERE cause <> 'old/1'`, time.Now().AddDate(0, 0, -32), time.Now().AddDate(0, 0, -32))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	policy := owner.retention().Policies[3]
	if policy.Name != "inbox" || policy.Setting != "HISTORY_RETENTION_DAYS" || policy.Preview.Count != 1 {
		t.Fatalf("the policy is %+v, %+v", policy, policy.Preview)
	}
	owner.send(http.MethodPost, "/api/v1/retention/run", nil, "Prefer", "wait=30").want(http.StatusOK)
	left := decode[[]inbox.Item](owner.get("/api/v1/inbox?state=open,acked,snoozed,resolved").want(http.StatusOK))
	if len(left) != 2 || left[0].Title != "About old/1" && left[1].Title != "About old/1" {
		t.Errorf("the remaining items are %+v", left)
	}
}
