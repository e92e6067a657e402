package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// A login must be read as the gateway sends it, or nobody is warned before the agents stop.
func TestLogins(t *testing.T) {
	t.Parallel()
	r := recorded[map[string]json.RawMessage](t, "logins.json")
	static := gateway.Login{Provider: "stub", Name: "stub", State: "static"}
	ends := clock.At(at(1795398812253).Time)
	for name, test := range map[string]struct {
		response any
		want     gateway.Login
	}{
		"a token that ends":   {r["ends"], gateway.Login{Provider: "anthropic", Name: "Claude", State: "expiring", EndsAt: &ends}},
		"no login":            {r["missing"], gateway.Login{Provider: "anthropic", Name: "Claude", State: "missing"}},
		"one that is renewed": {renewed(t, r["ends"]), gateway.Login{Provider: "anthropic", Name: "Claude", State: "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := answering(t, "models.authStatus", test.response)
			got, err := c.Logins(within(t), "cpo")
			if diff := cmp.Diff([]gateway.Login{test.want, static}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			wantAsked(t, <-asked, map[string]any{"agentId": "cpo"})
		})
	}
}

// renewed turns the recorded token into an OAuth login, which renews itself.
func renewed(t *testing.T, response json.RawMessage) any {
	t.Helper()
	var r struct {
		Payload struct{ Providers []any }
	}
	if err := json.Unmarshal(response, &r); err != nil || len(r.Payload.Providers) != 2 {
		t.Fatal(err)
	}
	oauth := with(t, with(t, r.Payload.Providers[0], "status", "ok"), "profiles", []any{map[string]any{"type": "oauth"}})
	return with(t, response, "payload.providers", []any{oauth, r.Payload.Providers[1]})
}
