package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/settings"
	"wardroom/test/faults"
)

const settingsPath = "/api/v1/settings"

func (c caller) settings() settings.Settings {
	c.house.t.Helper()
	return decode[settings.Settings](c.get(settingsPath).want(http.StatusOK))
}

// gatewayIs returns the body of a change of the gateway's settings.
func gatewayIs(password string, values map[string]any) map[string]any {
	return map[string]any{"gateway": values, "current_password": password}
}

// without removes the gateway from the settings, so that people set it in the dashboard.
func without(r *config.Raw) { r.GatewayURL, r.GatewayToken = "", "" }

// hurried makes the client retry fast.
func hurried(h *house) {
	h.backoff = link.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond, Quick: 20 * time.Millisecond, Pairing: 20 * time.Millisecond}
}

// testsCandidates tests settings that are not in use: the answer says whether they work, and
// nothing is stored.
func testsCandidates(t *testing.T, owner caller, url string) {
	t.Helper()
	try := func(values map[string]any) link.Examination {
		return decode[link.Examination](owner.post(settingsPath+"/test", gatewayIs(password, values)).want(http.StatusOK))
	}
	before := string(owner.get(settingsPath).body)
	if found := try(map[string]any{"url": url, "token": gatewayToken}); !found.Healthy {
		t.Errorf("the right settings: %+v", found.Failure)
	}
	if found := try(map[string]any{"url": url, "token": "wrong-token-5c2d"}); found.Healthy || found.Failure.Layer != link.LayerAuth || strings.Contains(found.Failure.Fix, "AGENTRT_") {
		t.Errorf("a wrong token: %+v", found.Failure)
	}
	owner.post(settingsPath+"/test", gatewayIs(password, map[string]any{"url": "gopher://x"})).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
	elsewhere := map[string]any{"url": "ws://127.0.0.1:1"}
	owner.post(settingsPath+"/test", map[string]any{"gateway": elsewhere}).wantProblem(http.StatusForbidden, "password_required")
	owner.post(settingsPath+"/test", gatewayIs("a wrong password", elsewhere)).wantProblem(http.StatusForbidden, "wrong_password")
	if after := string(owner.get(settingsPath).body); after != before {
		t.Errorf("a test changed %s to %s", before, after)
	}
}

// People connect, move and remove the gateway without a restart, in every replica, with
// their password, and nothing shows the token.
func TestGatewaySettings(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, without)
		hurried(h)
		h.secret("wrong-token-5c2d", "a token that was tried")
		const otherToken = "other-gateway-token-81be"
		h.secret(otherToken, "the other gateway's token")
		s := h.start()
		owner := s.login(ownerEmail)
		owner.hire("cto")
		for _, method := range []string{http.MethodGet, http.MethodPatch} {
			s.login("cto@example.com").send(method, settingsPath, nil).wantProblem(http.StatusForbidden, "forbidden")
		}
		if is := owner.settings(); is.Gateway.URL.Source != settings.None || !is.Gateway.URL.Editable || is.Gateway.Token.Set || owner.status().State != link.NotConfigured {
			t.Errorf("at first: %+v", is)
		}
		h.ticking()
		testsCandidates(t, owner, h.runtime.URL())
		if st := owner.status(); st.State != link.NotConfigured {
			t.Errorf("after a test the gateway is %s", st.State)
		}

		live := owner.follow("/api/v1/events")
		right := map[string]any{"url": h.runtime.URL(), "token": gatewayToken}
		owner.patch(settingsPath, map[string]any{"gateway": right}).wantProblem(http.StatusForbidden, "password_required")
		owner.patch(settingsPath, gatewayIs("a wrong password", right)).wantProblem(http.StatusForbidden, "wrong_password")
		is := decode[settings.Settings](owner.patch(settingsPath, gatewayIs(password, right)).want(http.StatusOK))
		if is.Gateway.URL.Value != link.ShownURL(h.runtime.URL()) || is.Gateway.URL.Source != settings.Stored || !is.Gateway.Token.Set || is.Gateway.Token.Source != settings.Stored {
			t.Errorf("the settings are %+v", is)
		}
		live.until("agentrt.status", `"connected"`)
		s.connected()
		if st, is := owner.status(), owner.settings(); st.URL != is.Gateway.URL.Value || !strings.HasPrefix(st.URL, "ws://") {
			t.Errorf("the address is %s in the status and %s in the settings", st.URL, is.Gateway.URL.Value)
		}
		// Another form of the same address needs no other token.
		same := gatewayIs(password, map[string]any{"url": link.ShownURL(h.runtime.URL())})
		if is := decode[settings.Settings](owner.patch(settingsPath, same).want(http.StatusOK)); !is.Gateway.Token.Set {
			t.Error("the token is gone after the same address was set in another form")
		}
		if agents := decode[[]map[string]any](owner.get("/api/v1/agents").want(http.StatusOK)); len(agents) != 4 {
			t.Errorf("%d agents", len(agents))
		}
		replica := owner
		if engine == db.Postgres {
			replica = owner.at(h.start().connected())
		}
		if found, err := app.Examine(t.Context(), h.config(), nil); err != nil || !found.Healthy || len(found.Warnings) > 0 {
			t.Errorf("the doctor command finds %+v, %+v, %v", found.Failure, found.Warnings, err)
		}

		other, err := faults.Start(t.Context(), demo.Options{Token: otherToken})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		owner.patch(settingsPath, gatewayIs(password, map[string]any{"url": other.URL()})).wantProblem(http.StatusUnprocessableEntity, "invalid_input")
		a := owner.send(http.MethodPatch, settingsPath, gatewayIs(password, map[string]any{"token": nil}), "If-Match", `"1"`)
		a.wantProblem(http.StatusPreconditionFailed, "settings_changed")
		owner.patch(settingsPath, gatewayIs(password, map[string]any{"url": other.URL(), "token": otherToken})).want(http.StatusOK)
		for _, c := range []caller{owner, replica} {
			waitFor(t, "the other gateway", func() bool {
				st := c.status()
				return st.State == link.Connected && sameHost(st.URL, other.URL())
			})
		}
		owner.wantSealed(otherToken)

		s.stop()
		s = h.start().connected()
		owner = owner.at(s)
		callers := []caller{owner}
		if engine == db.Postgres {
			callers = append(callers, replica)
		}
		if st := owner.status(); !sameHost(st.URL, other.URL()) {
			t.Errorf("after a restart the gateway is at %s", st.URL)
		}
		owner.patch(settingsPath, gatewayIs(password, map[string]any{"url": nil})).want(http.StatusOK)
		for _, c := range callers {
			waitFor(t, "no gateway", func() bool { return c.status().State == link.NotConfigured })
		}
		// Neither the first start nor a later one is a change, and a change names the address.
		log := h.logged()
		if first, _, _ := strings.Cut(log, "state=connected"); strings.Count(first, "token was changed") != 1 {
			t.Errorf("the log of the first start tells of another change:\n%s", first)
		}
		if strings.Contains(log, `changed" url=""`) || !strings.Contains(log, "address was removed") {
			t.Errorf("the log does not tell that the gateway was removed:\n%s", log)
		}
		owner.wantAudited()
	})
}

// sameHost reports whether two addresses name the same host and port.
func sameHost(a, b string) bool {
	host := func(url string) string {
		_, rest, _ := strings.Cut(url, "://")
		return strings.TrimSuffix(rest, "/")
	}
	return host(a) == host(b)
}

// wantSealed checks that the database contains the token only in encrypted form.
func (c caller) wantSealed(token string) {
	c.house.t.Helper()
	var sealed string
	if err := c.DB.QueryRow(c.house.t.Context(), `SELECT gateway_token FROM settings`).Scan(&sealed); err != nil {
		c.house.t.Fatal(err)
	}
	if !strings.HasPrefix(sealed, "v1.") || strings.Contains(sealed, token) {
		c.house.t.Errorf("stored is %q", sealed)
	}
}

// wantAudited checks that the audit log has each change with its address.
func (c caller) wantAudited() {
	t := c.house.t
	t.Helper()
	var got []string
	for _, e := range c.audit("kind=settings.changed") {
		var data struct {
			Changes map[string]struct{ Before, After string }
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Changes["gateway_url"].Before == data.Changes["gateway_url"].After || e.Actor.Name == "" {
			t.Errorf("audited %s, %v", e.Data, err)
		}
		got = append(got, data.Changes["gateway_token"].Before+" to "+data.Changes["gateway_token"].After)
	}
	if want := []string{" to [secret]", "[secret] to [new secret]", "[secret] to "}; !slices.Equal(got, want) {
		t.Errorf("the audit log says %q of the token, want %q", got, want)
	}
}

// What the environment sets is shown as such, and a change names the variable.
func TestGatewaySettingsInTheEnvironment(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	is := owner.settings().Gateway
	if is.URL.Source != settings.Environment || is.URL.Editable || is.Token.Source != settings.Environment || is.Token.Editable || !strings.Contains(is.URL.Detail, "AGENTRT_GATEWAY_URL") {
		t.Errorf("the settings are %+v", is)
	}
	for field, variable := range map[string]string{"url": "AGENTRT_GATEWAY_URL", "token": "AGENTRT_GATEWAY_TOKEN"} {
		values := map[string]any{field: "ws://127.0.0.1:1"}
		for _, a := range []answer{
			owner.patch(settingsPath, gatewayIs(password, values)),
			owner.post(settingsPath+"/test", gatewayIs(password, values)),
		} {
			a.wantProblem(http.StatusConflict, "setting_in_environment")
			if p := decode[struct{ Variable, Detail string }](a); p.Variable != variable || !strings.Contains(p.Detail, variable) {
				t.Errorf("%s: %+v", field, p)
			}
		}
	}
}

// A paired device and its token belong to their gateway: after a change of the address,
// neither gateway gets the other's token, and the first one is used again without approval.
func TestGatewaySettingsWithADevice(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, without)
		hurried(h)
		h.runtime.RequirePairing(true)
		owner := h.start().login(ownerEmail)
		first := map[string]any{"url": h.runtime.URL(), "token": gatewayToken}
		owner.patch(settingsPath, gatewayIs(password, first)).want(http.StatusOK)
		waitFor(t, "the first refusal", func() bool { return owner.status().State == link.Unpaired })
		device := h.pairs(owner).Device.ID
		issued := h.runtime.DeviceToken(device)
		other, err := faults.Start(t.Context(), demo.Options{Token: gatewayToken})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		var leaked atomic.Bool
		other.WatchLogins(func(in demo.Login) {
			if in.Auth.DeviceToken == issued || in.Auth.Token == issued {
				leaked.Store(true)
			}
		})
		owner.patch(settingsPath, gatewayIs(password, map[string]any{"url": other.URL(), "token": gatewayToken})).want(http.StatusOK)
		waitFor(t, "the other gateway", func() bool {
			st := owner.status()
			return st.State == link.Connected && sameHost(st.URL, other.URL())
		})
		other.Drop()
		waitFor(t, "the other gateway again", func() bool { return owner.status().State == link.Connected })
		if leaked.Load() {
			t.Error("the other gateway was sent the token of the first one")
		}
		owner.patch(settingsPath, gatewayIs(password, first)).want(http.StatusOK)
		waitFor(t, "the first gateway", func() bool {
			st := owner.status()
			return st.State == link.Connected && sameHost(st.URL, h.runtime.URL())
		})
		if st := owner.status(); st.DeviceID != device {
			t.Errorf("connected as %q", st.DeviceID)
		}
	})
}
