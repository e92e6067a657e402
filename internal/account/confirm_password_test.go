package account

import (
	"fmt"
	"net/http"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// TestConfirmedChanges checks that a stolen token is not enough to grant or keep the permission to
// manage accounts.
func TestConfirmedChanges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		owner := makeUser(t, s.Service, "owner", actor.Owner)
		admin := makeUser(t, s.Service, "admin", actor.Admin)
		other := makeUser(t, s.Service, "other", actor.Admin)
		ada := makeUser(t, s.Service, "ada", actor.User)
		for _, by := range []User{owner, admin} {
			found := s.login(t, by)
			for _, c := range []struct{ method, path, change string }{
				{"POST", "/users", `"email":"second@example.com","role":"admin","password":"` + goodPassword + `"`},
				{"PATCH", "/users/" + ada.ID, `"role":"admin"`},
				{"PATCH", "/users/" + by.ID, `"email":"mine@example.com"`},
				{"PATCH", "/users/" + other.ID, `"email":"mine@example.com"`},
				{"PATCH", "/users/" + other.Email, `"role":"user"`},
				{"PATCH", "/users/" + other.ID, `"active":false`},
				{"PATCH", "/users/" + other.ID, `"password":"a password of mine"`},
			} {
				what := fmt.Sprintf("as %s, %s %s %s", by.Role, c.method, c.path, c.change)
				s.ask(t, found, c.method, c.path, `{`+c.change+`}`).want(t, what, http.StatusForbidden, "password_required")
				s.ask(t, found, c.method, c.path, `{`+c.change+`,"current_password":""}`).want(t, what, http.StatusForbidden, "wrong_password")
				s.ask(t, found, c.method, c.path, `{`+c.change+`,"current_password":"`+goodPassword+` "}`).want(t, what, http.StatusForbidden, "wrong_password")
				s.putBack(t, owner, admin, other, ada)
				before := asJSON(t, s.users(t, found))
				if got := s.ask(t, found, c.method, c.path, `{`+c.change+`,"current_password":"`+goodPassword+`"}`); got.status >= 300 {
					t.Errorf("%s, with the password: %d %v", what, got.status, got.body)
				}
				if asJSON(t, s.users(t, found)) == before {
					t.Errorf("%s changed nothing", what)
				}
				s.putBack(t, owner, admin, other, ada)
			}
			// Changes to accounts that cannot manage others need no password.
			for _, change := range []string{`{"role":"agent","agent_id":"ada"}`, `{"active":false}`, `{"email":"lovelace@example.com"}`, `{"password":"another passphrase"}`} {
				if got := s.ask(t, found, "PATCH", "/users/"+ada.ID, change); got.status != http.StatusOK {
					t.Errorf("as %s, %s: %d %v", by.Role, change, got.status, got.body)
				}
				s.putBack(t, owner, admin, other, ada)
			}
			if got := s.ask(t, found, "PATCH", "/users/"+other.ID, `{"name":"Other","role":"admin"}`); got.status != http.StatusOK {
				t.Errorf("as %s, a name: %d %v", by.Role, got.status, got.body)
			}
			s.putBack(t, owner, admin, other, ada)
		}
	})
}

// TestConfirmationIsThrottled checks that a wrong password for a change counts as a failed login,
// and a correct one does not, even if the change fails.
func TestConfirmationIsThrottled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		admin := makeUser(t, s.Service, "admin", actor.Admin)
		ada := makeUser(t, s.Service, "ada", actor.User)
		found := s.login(t, admin)
		for range 2 * freeOfAccount {
			s.ask(t, found, "PATCH", "/users/"+ada.ID, `{"role":"owner","current_password":"`+goodPassword+`"}`).want(t, "another owner", http.StatusConflict, "one_owner")
		}
		for range freeOfAccount {
			s.ask(t, found, "PATCH", "/users/"+ada.ID, `{"role":"admin","current_password":"guess"}`).want(t, "a guess", http.StatusForbidden, "wrong_password")
		}
		s.ask(t, found, "PATCH", "/users/"+ada.ID, `{"role":"admin","current_password":"`+goodPassword+`"}`).want(t, "one guess more", http.StatusTooManyRequests, "too_many_logins")
		if u, err := s.Get(t.Context(), ada.ID); err != nil || u.Role != actor.User {
			t.Errorf("ada is %+v, %v", u, err)
		}
	})
}

// users returns all accounts as the API lists them for a token.
func (s *site) users(t *testing.T, token string) any {
	t.Helper()
	return s.ask(t, token, "GET", "/users?sort=email", nil).list
}

// putBack restores accounts and deletes failed logins.
func (s *site) putBack(t *testing.T, users ...User) {
	t.Helper()
	err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
		for _, statement := range []string{`DELETE FROM users WHERE email = 'second@example.com'`, `DELETE FROM login_failures`} {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				return err
			}
		}
		for _, u := range users {
			if _, err := tx.Exec(t.Context(), `UPDATE users SET email = ?, email_key = ?, name = ?, role = ?, agent_id = ?, active = ? WHERE id = ?`,
				u.Email, u.Email, u.Name, u.Role, u.AgentID, u.Active, u.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
