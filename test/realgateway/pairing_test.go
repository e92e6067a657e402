//go:build journey

package realgateway

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// pairing is the answer of /api/v1/agentrt/pairing.
type pairing struct {
	State  string `json:"state"`
	Detail string `json:"detail"`
	Device *struct {
		ID        string `json:"device_id"`
		PublicKey string `json:"public_key"`
	} `json:"device"`
	Connection  string       `json:"connection"`
	Auth        string       `json:"auth"`
	TokenSince  *time.Time   `json:"token_since"`
	Request     *request     `json:"request"`
	Connections []connection `json:"connections"`
	Missing     []struct {
		Scope     string   `json:"scope"`
		NeededFor []string `json:"needed_for"`
	} `json:"scopes_missing"`
	Next *struct {
		Device struct {
			ID string `json:"device_id"`
		} `json:"device"`
		Request *request `json:"request"`
		Error   string   `json:"error"`
	} `json:"next"`
	Replaced *struct {
		Remove string `json:"remove_command"`
	} `json:"replaced"`
}

// up reports whether the connection with the purpose is up.
func (p pairing) up(purpose string) bool {
	return slices.ContainsFunc(p.Connections, func(c connection) bool { return c.Purpose == purpose && c.State == "connected" })
}

type connection struct {
	Purpose string `json:"purpose"`
	State   string `json:"state"`
}

type request struct {
	Command string `json:"command"`
}

const pairingPath = "/api/v1/agentrt/pairing"

func (j *journey) pairing(t *testing.T) (p pairing) {
	t.Helper()
	j.owner.Get(t, pairingPath).Into(t, http.StatusOK, &p)
	return p
}

// paired waits until ok accepts the pairing.
func (j *journey) paired(t *testing.T, what string, ok func(pairing) bool) (p pairing) {
	t.Helper()
	begin, end := time.Now(), time.Now().Add(noticed)
	for p = j.pairing(t); !ok(p); p = j.pairing(t) {
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s; the pairing is %+v\n%s", noticed, what, p, j.server.Log())
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s after %s: %s %s", what, time.Since(begin).Round(100*time.Millisecond), p.State, p.Detail)
	return p
}

// A service on another machine than the gateway can be paired with one request and one
// command. Nothing has to be copied between the machines.
func TestPairing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the gateway many times")
	}
	bin, model := Build(t), StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model, Access{BehindProxy: true, Strict: true})
	proxy := StartProxy(t, gateway)
	elsewhere := map[string]string{"AGENTRT_GATEWAY_URL": proxy.URL, "AGENTRT_GATEWAY_CA_FILE": proxy.CAFile}
	j := startJourney(t, bin, model, gateway, "2026-07", elsewhere)
	var secrets []string

	j.scene(t, "without a device it says what is missing, what for, and what to do", func(t *testing.T) {
		j.becomes(t, "missing_scopes", noticed)
		p := j.pairing(t)
		if p.State != "none" || !strings.Contains(p.Detail, "Pair Wardroom") || len(p.Missing) < 2 || len(p.Missing[0].NeededFor) == 0 {
			t.Errorf("the pairing is %+v", p)
		}
	})
	j.scene(t, "a device is made, and is connected once the command that is shown was run", func(t *testing.T) {
		j.owner.Post(t, pairingPath, nil).Want(t, http.StatusCreated)
		p := j.paired(t, "the request", func(p pairing) bool { return p.State == "pending" && p.Request != nil })
		if approval.FindString(p.Request.Command) != p.Request.Command {
			t.Fatalf("the command is %q", p.Request.Command)
		}
		out := j.gateway.Operate(t, "openclaw devices list --json")
		if !strings.Contains(string(out), p.Device.ID) || !strings.Contains(string(out), p.Device.PublicKey) {
			t.Errorf("the gateway lists %s, want %+v", out, p.Device)
		}
		j.doctor(t, "pairing", p.Request.Command)
		j.gateway.Operate(t, p.Request.Command+" --json")
		j.paired(t, "paired", func(p pairing) bool {
			return p.State == "paired" && p.Connection == "connected" && p.TokenSince != nil
		})
		j.connects(t)
		j.owner.Post(t, pairingPath, nil).Want(t, http.StatusOK)
		secrets = append(secrets, j.sealed(t)...)
	})
	j.scene(t, "after a restart the device's token is enough", func(t *testing.T) {
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_TOKEN": ""})
		j.paired(t, "connected", func(p pairing) bool { return p.Connection == "connected" && p.Auth == "device_token" })
		j.connects(t)
		j.doctor(t, "", "")
		j.owner.Post(t, pairingPath+"/rotate", nil).Want(t, http.StatusConflict)
	})
	j.scene(t, "a token that the gateway's operator replaces is got anew", func(t *testing.T) {
		was := j.pairing(t)
		j.gateway.Operate(t, "openclaw devices rotate --device "+was.Device.ID+" --role operator --json")
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_TOKEN": gateway.Token})
		j.paired(t, "another token", func(p pairing) bool {
			return p.Connection == "connected" && p.TokenSince != nil && p.TokenSince.After(*was.TokenSince)
		})
		secrets = append(secrets, j.sealed(t)...)
	})
	j.scene(t, "the device is replaced without a gap", func(t *testing.T) {
		was := j.pairing(t)
		j.owner.Post(t, pairingPath+"/rotate", nil).Want(t, http.StatusAccepted)
		p := j.paired(t, "the next one's request", func(p pairing) bool { return p.Next != nil && p.Next.Request != nil })
		if p.State != "paired" || p.Connection != "connected" || p.Device.ID != was.Device.ID {
			t.Errorf("during the rotation the pairing is %+v", p)
		}
		j.gateway.Operate(t, p.Next.Request.Command+" --json")
		next := p.Next.Device.ID
		p = j.paired(t, "replaced", func(p pairing) bool {
			return p.Device.ID == next && p.State == "paired" && p.Connection == "connected" && p.TokenSince != nil
		})
		j.gateway.Operate(t, p.Replaced.Remove+" --json")
		j.restart(t, nil)
		j.paired(t, "connected", func(p pairing) bool { return p.Connection == "connected" && p.Auth == "device_token" })
		secrets = append(secrets, j.sealed(t)...)
		id := j.open(t, "02")
		j.run(t, id)
		j.end(t, id, "completed", "answered", "answered", "answered")
	})
	j.scene(t, "a device that is to have operator.admin works without it until that is approved", func(t *testing.T) {
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_SCOPES": "operator.read,operator.write,operator.admin"})
		p := j.paired(t, "the request for more", func(p pairing) bool {
			return p.State == "pending" && p.Request != nil && p.Connection == "missing_scopes" && p.up("start_runs")
		})
		if p.up("manage") || len(p.Missing) != 1 || p.Missing[0].Scope != "operator.admin" {
			t.Errorf("the pairing is %+v", p)
		}
		j.owner.Post(t, sessionPath("agent:cpo:standup:2026-07-02")+"/messages", map[string]string{"text": "Count the keys."}).Want(t, http.StatusAccepted)
		WaitFor(t, time.Minute, "the message to reach its agent", func() bool { return len(model.Ever("cpo", "Count the keys.")) > 0 })
		j.doctor(t, "pairing", p.Request.Command)
		j.gateway.Operate(t, p.Request.Command+" --json")
		j.paired(t, "both connections", func(p pairing) bool {
			return p.State == "paired" && p.Connection == "connected" && p.up("start_runs") && p.up("manage") && p.TokenSince != nil
		})
		j.restart(t, nil)
		j.paired(t, "both connections of one token", func(p pairing) bool { return p.Connection == "connected" && p.Auth == "device_token" })
		j.doctor(t, "", "")
		secrets = append(secrets, j.sealed(t)...)
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_SCOPES": ""})
		j.connects(t)
	})
	j.scene(t, "forgotten, it goes on with the shared token, and says how the gateway forgets it", func(t *testing.T) {
		var gone struct {
			Devices []struct {
				Remove string `json:"remove_command"`
			} `json:"devices"`
		}
		j.owner.Do(t, http.MethodDelete, pairingPath, nil, nil).Into(t, http.StatusOK, &gone)
		j.becomes(t, "missing_scopes", noticed)
		j.gateway.Operate(t, gone.Devices[0].Remove+" --json")
	})
	j.scene(t, "on the gateway's own host no approval is needed", func(t *testing.T) {
		j.restart(t, map[string]string{"AGENTRT_GATEWAY_URL": gateway.URL, "AGENTRT_GATEWAY_CA_FILE": ""})
		j.becomes(t, "connected", noticed)
		j.owner.Post(t, pairingPath, nil).Want(t, http.StatusCreated)
		p := j.paired(t, "let in", func(p pairing) bool { return p.State != "made" && p.Connection == "connected" })
		if p.State != "local" || p.TokenSince != nil || !strings.Contains(p.Detail, "without approval") {
			t.Errorf("the pairing is %+v", p)
		}
	})
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	if len(secrets) != 2*4+2 {
		t.Errorf("%d secrets, want those of two devices, and another token of each", len(secrets))
	}
	j.hides(t, append(secrets, gateway.Token)...)
	j.keepsSealed(t, append(secrets, gateway.Token))
}

// sealed returns the stored secrets of the service's device, decrypted with its key file.
func (j *journey) sealed(t *testing.T) (secrets []string) {
	t.Helper()
	v, err := vault.Source{File: filepath.Join(j.server.Dir, "encryption.key")}.Find()
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.OpenReadOnly(t.Context(), filepath.Join(j.server.Dir, "wardroom.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var id, key, token string
	if err := d.QueryRow(t.Context(), `SELECT device_id, sealed_key, sealed_token FROM pairing_devices WHERE place = 'current'`).Scan(&id, &key, &token); err != nil {
		t.Fatal(err)
	}
	seed, err := v.Open("pairing/device-key/"+id, key)
	if err != nil {
		t.Fatal(err)
	}
	given, err := v.Open("pairing/device-token/"+id, token)
	if err != nil {
		t.Fatal(err)
	}
	return []string{string(given), string(seed), base64.RawURLEncoding.EncodeToString(seed), hex.EncodeToString(seed)}
}

// keepsSealed checks that the stored data does not contain the secrets.
func (j *journey) keepsSealed(t *testing.T, secrets []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(j.server.Dir, "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("the service has stored %v, %v", files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, secret := range secrets {
			if secret == "" || strings.Contains(string(data), secret) {
				t.Errorf("secret %d is empty, or in %s", i, filepath.Base(name))
			}
		}
	}
}
