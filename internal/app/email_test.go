package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
)

// A filter must not reveal whether an account with an email exists to callers who may not
// list accounts.
func TestFiltersTellNoEmails(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		for _, name := range []string{"ada", "idle"} {
			owner.post("/api/v1/users", map[string]any{"email": name + "@example.com", "name": name, "password": password, "role": "user"}).want(http.StatusCreated)
		}
		ada, cto := s.login("ada@example.com"), s.login("cto@example.com")
		for email, by := range map[string]caller{ownerEmail: owner, "ada@example.com": ada, "cto@example.com": cto} {
			by.post("/api/v1/tasks", map[string]any{"title": "x", "assignee_id": email}).want(http.StatusCreated)
		}
		item := h.raise(s.App, "emails/1")
		owner.post("/api/v1/inbox/"+item.ID+"/assign", map[string]any{"assignee": ownerEmail}).want(http.StatusOK)

		lists := []string{"/api/v1/activity?actor=", "/api/v1/tasks?assignee=", "/api/v1/tasks?reporter=", "/api/v1/tasks?total=true&assignee="}
		for who, by := range map[string]caller{"a user": ada, "an agent": cto} {
			for _, list := range append(lists, "/api/v1/inbox?assignee=") {
				if who == "an agent" && strings.Contains(list, "inbox") {
					continue // the role may not use this list
				}
				unknown := by.get(list + "nobody@example.com").want(http.StatusOK)
				if len(decode[[]any](unknown)) != 0 {
					t.Errorf("%s: an unknown email is answered with %s", list, unknown.body)
				}
				for _, email := range []string{ownerEmail, "OWNER@example.com", "idle@example.com", "@", "x@y@z"} {
					known := by.get(list + url.QueryEscape(email))
					if known.status != unknown.status || string(known.body) != string(unknown.body) || known.header.Get("X-Total-Count") != unknown.header.Get("X-Total-Count") {
						t.Errorf("%s as %s: %s is answered with %d %s, an unknown email with %d %s", list, who, email, known.status, known.body, unknown.status, unknown.body)
					}
				}
			}
		}
		// Callers may find their own email, and those who may list accounts may find all.
		for _, list := range lists {
			for who, by := range map[string]caller{"ada": ada, "the owner": owner} {
				if len(decode[[]any](by.get(list+"Ada@example.com").want(http.StatusOK))) == 0 {
					t.Errorf("%s: %s finds nothing of ada", list, who)
				}
			}
			owner.get(list + "nobody@example.com").want(http.StatusUnprocessableEntity)
			ada.get(list + "nobody").want(http.StatusUnprocessableEntity)
		}
	})
}
