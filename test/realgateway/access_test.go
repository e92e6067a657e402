//go:build journey

package realgateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// access is the gateway connection as /api/v1/agentrt/status shows it.
type access struct {
	State   string `json:"state"`
	Error   string `json:"error"`
	Auth    string `json:"auth"` // which credential it uses
	Pairing struct {
		Command string `json:"command"`
	} `json:"pairing"`
	Certificate struct {
		Fingerprint string `json:"fingerprint"`
	} `json:"certificate"`
}

func (j *journey) access(t *testing.T) access {
	t.Helper()
	var a access
	j.owner.Get(t, "/api/v1/agentrt/status").Into(t, http.StatusOK, &a)
	return a
}

// becomes waits for a state of the connection and returns the status.
func (j *journey) becomes(t *testing.T, state string, limit time.Duration) access {
	t.Helper()
	var a access
	begin := time.Now()
	WaitFor(t, limit, "the state "+state, func() bool {
		a = j.access(t)
		return a.State == state
	})
	t.Logf("%s after %s: %s", state, time.Since(begin).Round(100*time.Millisecond), a.Error)
	return a
}

// restart restarts the service with changed settings; an empty value removes a setting.
func (j *journey) restart(t *testing.T, settings map[string]string) {
	t.Helper()
	j.server.Stop(t)
	maps.Copy(j.server.Env, settings)
	maps.DeleteFunc(j.server.Env, func(_, value string) bool { return value == "" })
	j.server.Start(t)
}

// In production, the gateway often has a self-signed certificate or requires an approved
// device. The service's errors must lead the operator through the setup, and the
// connection must fail until it is done.
func TestAccess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the gateway many times")
	}
	bin, model := Build(t), StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model, Access{TLS: true, BehindProxy: true})

	t.Run("to the gateway's own certificate, by its fingerprint", func(t *testing.T) {
		// A standup waits this long for a gateway that was never connected.
		j := startJourney(t, bin, model, gateway, "2026-09", map[string]string{"AGENTRT_GATEWAY_TIMEOUT_MS": "2000"})
		j.trusts(t)
		j.hides(t, gateway.Token, agentPassword, OwnerPassword)
	})
	t.Run("from elsewhere, as a device that the gateway's operator approves", func(t *testing.T) {
		proxy, device := StartProxy(t, gateway), NewDevice(t)
		j := startJourney(t, bin, model, gateway, "2026-08", map[string]string{
			"AGENTRT_GATEWAY_URL":     proxy.URL,
			"AGENTRT_GATEWAY_CA_FILE": proxy.CAFile,
			"DATABASE_URL":            PostgresDatabase(t),
		})
		token := j.pairs(t, proxy, device)
		j.hides(t, gateway.Token, device.PrivateKey, token, agentPassword, OwnerPassword)
	})
}

var fingerprint = regexp.MustCompile(`\b[0-9A-F]{2}(:[0-9A-F]{2}){31}\b`)

// trusts goes from an untrusted certificate to a pinned one by following the errors.
func (j *journey) trusts(t *testing.T) {
	own := Fingerprint(j.gateway.Certificate(t))
	other := Fingerprint([]byte("another certificate"))
	var named, id string

	j.scene(t, "without a pin it is untrusted, and the rest of the service answers", func(t *testing.T) {
		said := j.becomes(t, "untrusted", time.Minute)
		named = fingerprint.FindString(said.Error)
		if named != own || said.Certificate.Fingerprint != own || !strings.Contains(said.Error, "AGENTRT_GATEWAY_TLS_PIN="+own) {
			t.Fatalf("the error %q names %q; want the fingerprint %q and the setting for it", said.Error, named, own)
		}
		j.lists(t, false)
	})
	j.scene(t, "the doctor finds the certificate, and names the same pin", func(t *testing.T) {
		j.doctor(t, "tls", "AGENTRT_GATEWAY_TLS_PIN="+own)
	})
	j.scene(t, "a standup says so", func(t *testing.T) {
		id = j.open(t, "02")
		j.run(t, id)
		s := j.end(t, id, "error", "pending", "pending", "pending")
		if s.Error == nil || s.Error.Code != "gateway_unreachable" || !strings.Contains(s.Error.Detail, own) {
			t.Errorf("error %+v, want gateway_unreachable with the fingerprint", s.Error)
		}
		j.wantCalls(t, map[string]int{"cto": 0})
	})
	j.scene(t, "with the pin of another certificate it is untrusted, and both are named", func(t *testing.T) {
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_TLS_PIN": other})
		said := j.becomes(t, "untrusted", time.Minute)
		if !strings.Contains(said.Error, own) || !strings.Contains(said.Error, other) {
			t.Errorf("the error %q does not name both %s and %s", said.Error, own, other)
		}
	})
	j.scene(t, "with the pin that the error named it connects, and holds the standup", func(t *testing.T) {
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_TLS_PIN": named, "AGENTRT_GATEWAY_TIMEOUT_MS": ""})
		j.becomes(t, "connected", time.Minute)
		j.lists(t, true)
		j.run(t, id)
		j.end(t, id, "completed", "answered", "answered", "answered")
		j.wantCalls(t, map[string]int{"cto": 1, "cpo": 1, "cmo": 1, "coo": 1})
	})
	j.scene(t, "then the doctor finds nothing", func(t *testing.T) { j.doctor(t, "", "") })
	j.scene(t, "with another token it is the token that the doctor finds", func(t *testing.T) {
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_TOKEN": "not-the-token-of-this-gateway"})
		j.becomes(t, "unauthorized", noticed)
		j.doctor(t, "auth", "AGENTRT_GATEWAY_TOKEN")
	})
}

// noticed is how long the service may take to notice a change by the gateway's operator
// without a restart.
const noticed = 15 * time.Second

var approval = regexp.MustCompile(`openclaw devices approve [A-Za-z0-9-]+`)

// pairs has the gateway's operator approve the service as its errors say, and then remove
// it again. It returns the token that the gateway gave the device.
func (j *journey) pairs(t *testing.T, proxy *Proxy, device *Device) (token string) {
	approve := func(t *testing.T) {
		t.Helper()
		said := j.becomes(t, "unpaired", noticed)
		command := approval.FindString(said.Error)
		if command == "" || said.Pairing.Command != command {
			t.Fatalf("the error %q names the command %q, and the status %q", said.Error, command, said.Pairing.Command)
		}
		j.gateway.Operate(t, command+" --json")
		j.becomes(t, "connected", noticed)
	}
	remove := func(t *testing.T) {
		t.Helper()
		j.gateway.Operate(t, "openclaw devices remove "+device.ID+" --json")
	}

	j.scene(t, "without a device it is let in and granted nothing, and says so", func(t *testing.T) {
		said := j.becomes(t, "missing_scopes", noticed)
		if !strings.Contains(said.Error, "Pair Wardroom") {
			t.Errorf("the error %q does not lead to a device", said.Error)
		}
	})
	j.scene(t, "as a device it asks for approval, and is connected once it has it", func(t *testing.T) {
		j.restart(t, device.Settings())
		j.becomes(t, "unpaired", noticed)
		j.waits(t, device)
		j.doctor(t, "pairing", "openclaw devices approve ")
		approve(t)
		j.connects(t)
		j.doctor(t, "", "")
	})
	j.scene(t, "it holds a standup", func(t *testing.T) {
		id := j.open(t, "02")
		j.run(t, id)
		j.end(t, id, "completed", "answered", "answered", "answered")
	})
	j.scene(t, "when the device is removed it asks again", func(t *testing.T) {
		remove(t)
		approve(t)
	})
	j.scene(t, "after a restart the approval still counts", func(t *testing.T) {
		j.restart(t, nil)
		if said := j.becomes(t, "connected", noticed); said.Auth != "token" {
			t.Errorf("the credential is %q, want the shared token", said.Auth)
		}
	})
	j.scene(t, "with the device's token it needs no shared one", func(t *testing.T) {
		token = device.Token(t, proxy, j.gateway)
		j.restart(t, map[string]string{"AGENTRT_DEVICE_TOKEN": token, "AGENTRT_GATEWAY_TOKEN": ""})
		if said := j.becomes(t, "connected", noticed); said.Auth != "device_token" {
			t.Errorf("the credential is %q, want the device's token", said.Auth)
		}
		j.connects(t)
	})
	j.scene(t, "when the device is removed the token is refused, and it says what to do", func(t *testing.T) {
		remove(t)
		said := j.becomes(t, "unauthorized", noticed)
		for _, part := range []string{"AGENTRT_DEVICE_TOKEN", "set the token", "Settings → Gateway"} { // no variable sets the shared token
			if !strings.Contains(said.Error, part) {
				t.Errorf("the error %q does not contain %q", said.Error, part)
			}
		}
	})
	return token
}

// waits checks that the gateway's operator sees the service's request with its device and
// scopes.
func (j *journey) waits(t *testing.T, device *Device) {
	t.Helper()
	var list struct {
		Pending []struct {
			DeviceID string   `json:"deviceId"`
			Scopes   []string `json:"scopes"`
			RemoteIP string   `json:"remoteIp"`
		} `json:"pending"`
	}
	out := j.gateway.Operate(t, "openclaw devices list --json")
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("decode the list of devices: %v\n%s", err, out)
	}
	if len(list.Pending) != 1 || list.Pending[0].DeviceID != device.ID || list.Pending[0].RemoteIP != Elsewhere {
		t.Errorf("the operator sees %s, want one request of %s from %s", out, device.ID, Elsewhere)
	}
}
