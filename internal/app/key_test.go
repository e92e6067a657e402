package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// key creates an API key of an agent user.
func (c caller) key(email string, body map[string]any) (caller, account.Key) {
	c.house.t.Helper()
	made := decode[struct {
		account.Key
		Secret string `json:"key"`
	}](c.post("/api/v1/users/"+url.PathEscape(email)+"/keys", body).want(http.StatusCreated))
	c.house.secretOf(made.Secret, "an API key")
	return caller{c.service, made.Secret}, made.Key
}

// A revoked key stops working at once on every replica; other keys keep working.
func TestKeys(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		const email = "cto@example.com"
		leaked, k := owner.key(email, map[string]any{"name": "leaked"})
		kept, _ := owner.key(email, map[string]any{"name": "kept"})
		other := s
		if engine == db.Postgres {
			other = h.start()
		}
		leaked.post("/api/v1/tasks", map[string]any{"title": "By the key"}).want(http.StatusCreated)
		leaked.at(other).get("/api/v1/auth/me").want(http.StatusOK)
		leaked.get("/api/v1/users").wantProblem(http.StatusForbidden, "forbidden")
		live, still := leaked.at(other).follow("/api/v1/events"), kept.follow("/api/v1/events")
		live.until("hello", "")
		still.until("hello", "")

		owner.send(http.MethodDelete, "/api/v1/users/"+email+"/keys/"+k.ID, nil).want(http.StatusNoContent)
		for _, replica := range []*service{other, s} {
			leaked.at(replica).get("/api/v1/auth/me").wantProblem(http.StatusUnauthorized, "token_invalid")
		}
		live.until("end", "token_invalid")
		kept.at(other).post("/api/v1/tasks", map[string]any{"title": "Goes on"}).want(http.StatusCreated)
		still.until("task.created", "TASK-2")

		brief, _ := owner.key(email, map[string]any{"name": "brief", "expires_at": time.Now().Add(10 * time.Second)})
		watching := brief.follow("/api/v1/events")
		watching.until("end", "token_invalid")
		brief.get("/api/v1/auth/me").wantProblem(http.StatusUnauthorized, "token_invalid")

		for _, one := range []*service{s, other} {
			one.stop()
		}
		h.secret("another-"+jwtSecret, "JWT_SECRET")
		h.raw.JWTSecret = config.Secret("another-" + jwtSecret)
		s = h.start()
		owner.at(s).get("/api/v1/auth/me").wantProblem(http.StatusUnauthorized, "token_invalid")
		kept.at(s).get("/api/v1/auth/me").want(http.StatusOK)
		for _, k := range decode[[]account.Key](s.login(ownerEmail).get("/api/v1/users/" + email + "/keys").want(http.StatusOK)) {
			if k.LastUsedAt == nil || strings.Contains(k.Hint, leaked.token) {
				t.Errorf("the list has %+v", k)
			}
		}
	})
}
