package app_test

import (
	"net/http"
	"testing"

	"wardroom/internal/account"
	"wardroom/internal/platform/db"
)

// A signed-out device loses access at once on every replica, its streams end, and nobody can sign
// out somebody else's.
func TestDevices(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start()
		other := s
		if engine == db.Postgres {
			other = h.start()
		}
		const devices = "/api/v1/auth/me/sessions"
		list := func(c caller) []account.Device {
			return decode[[]account.Device](c.get(devices).want(http.StatusOK))
		}
		owner := s.login(ownerEmail)
		owner.hire("cto")
		key, _ := owner.key("cto@example.com", map[string]any{"name": "kept"})
		lost, third := s.login(ownerEmail), s.login(ownerEmail)
		live := lost.at(other).follow("/api/v1/events")
		live.until("hello", "")
		all := list(owner)
		if len(all) != 3 || !all[2].Current || all[0].Current || all[1].Name != "Go program" {
			t.Fatalf("devices: %+v", all)
		}
		for _, id := range []string{list(s.login("cto@example.com"))[0].ID, "nothing"} {
			owner.send(http.MethodDelete, devices+"/"+id, nil).wantProblem(http.StatusNotFound, "device_not_found")
		}
		owner.send(http.MethodDelete, devices+"/"+all[1].ID, nil).want(http.StatusNoContent)
		for _, replica := range []*service{other, s} {
			lost.at(replica).get("/api/v1/auth/me").wantProblem(http.StatusUnauthorized, "token_invalid")
			third.at(replica).get("/api/v1/auth/me").want(http.StatusOK)
		}
		live.until("end", "token_invalid")
		owner.send(http.MethodDelete, devices, nil).want(http.StatusNoContent)
		third.at(other).get("/api/v1/auth/me").wantProblem(http.StatusUnauthorized, "token_invalid")
		owner.at(other).get("/api/v1/auth/me").want(http.StatusOK)
		owner.send(http.MethodDelete, devices+"?include_current=true", nil).want(http.StatusNoContent)
		owner.at(other).get("/api/v1/auth/me").wantProblem(http.StatusUnauthorized, "token_invalid")
		key.at(other).get("/api/v1/auth/me").want(http.StatusOK)
	})
}
