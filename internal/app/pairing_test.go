package app_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

const pairingPath = "/api/v1/agentrt/pairing"

func (c caller) pairing() pairing.Pairing {
	c.house.t.Helper()
	return decode[pairing.Pairing](c.get(pairingPath).want(http.StatusOK))
}

// pairingIs waits until ok accepts the pairing.
func (c caller) pairingIs(what string, ok func(pairing.Pairing) bool) (is pairing.Pairing) {
	c.house.t.Helper()
	waitFor(c.house.t, what, func() bool { is = c.pairing(); return ok(is) })
	return is
}

// settled is a client that ignores device changes, so that tests with thousands of
// requests do not wait for reconnects.
type settled struct{ *gateway.Client }

func (settled) SetIdentity(link.Identity) {}

// letIn records, as the gateway client does, that the device was approved.
func letIn(t *testing.T, a *app.App) {
	t.Helper()
	p, err := a.Pairing.Show(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Device == nil || p.State == pairing.Local {
		return
	}
	a.Pairing.HandleEvent(link.DeviceEvent{DeviceID: p.Device.ID, Kind: link.AcceptedLocally, Gateway: a.Gateway.Address()})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Pairing.Run(ctx) }()
	waitFor(t, "the record", func() bool {
		p, err := a.Pairing.Show(ctx)
		return err == nil && p.State == pairing.Local
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// usePairing uses the routes of the pairing with a gateway that approves devices
// automatically.
func usePairing(s *service, owner caller) {
	owner.post(pairingPath, nil).want(http.StatusCreated)
	owner.pairingIs("the device to be let in", func(p pairing.Pairing) bool { return p.State == pairing.Local })
	s.house.runtime.RequirePairing(true)
	owner.post(pairingPath+"/rotate", nil).want(http.StatusAccepted)
	is := owner.pairingIs("the next one to be asked for", func(p pairing.Pairing) bool { return p.Next != nil && p.Next.Request != nil })
	owner.send(http.MethodDelete, pairingPath+"/rotate", nil).want(http.StatusOK)
	s.house.runtime.RequirePairing(false)
	owner.post(pairingPath+"/rotate", nil).want(http.StatusAccepted)
	owner.pairingIs("it to be replaced", func(p pairing.Pairing) bool { return p.Next == nil && p.Device.ID != is.Device.ID })
	owner.send(http.MethodDelete, pairingPath, nil).want(http.StatusOK)
	s.connected()
}

// pairs creates a device over the API and approves it as the gateway's operator does. The
// device's token is a secret from then on.
func (h *house) pairs(owner caller) pairing.Pairing {
	h.t.Helper()
	owner.post(pairingPath, nil).want(http.StatusCreated)
	is := owner.pairingIs("the request", func(p pairing.Pairing) bool { return p.State == pairing.Pending && p.Request != nil })
	h.approve(is.Request)
	return h.isPaired(owner, is.Device.ID)
}

// approve does the same as the command shown to the operator.
func (h *house) approve(r *link.Pairing) {
	h.t.Helper()
	id, ok := strings.CutPrefix(r.Command, "openclaw devices approve ")
	if !ok || !h.runtime.Approve(id) {
		h.t.Fatalf("the command %q approves nothing", r.Command)
	}
}

func (h *house) isPaired(owner caller, deviceID string) pairing.Pairing {
	h.t.Helper()
	is := owner.pairingIs("the device to be paired", func(p pairing.Pairing) bool {
		return p.State == pairing.Paired && p.Device.ID == deviceID && p.TokenSince != nil && p.Connection == link.Connected
	})
	h.secret(h.runtime.DeviceToken(deviceID), "the device's token")
	return is
}

// ticking makes the runtime send events until the test ends, because the doctor waits up
// to 30 s for one.
func (h *house) ticking() {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
				h.runtime.Inject([]byte(`{"type":"event","event":"tick","payload":{"ts":1}}`), false)
			}
		}
	}()
	h.t.Cleanup(func() { close(over); <-ended })
}

// Pairing takes one request and one command on the gateway's host. It must survive
// restarts, work on every replica and not leak the token.
func TestPairing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		h.backoff = link.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond, Quick: 20 * time.Millisecond, Pairing: 20 * time.Millisecond}
		h.runtime.RequirePairing(true)
		h.ticking()
		s := h.start()
		owner := s.login(ownerEmail)
		live := owner.follow("/api/v1/events")
		owner.hire("cto")
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			s.login("cto@example.com").send(method, pairingPath, nil).wantProblem(http.StatusForbidden, "forbidden")
		}
		owner.send(http.MethodDelete, pairingPath, nil).wantProblem(http.StatusNotFound, "pairing_none")
		owner.post(pairingPath+"/rotate", nil).wantProblem(http.StatusNotFound, "pairing_none")
		waitFor(t, "the refusal", func() bool { return owner.status().State == link.Unpaired })
		if st := owner.status(); !strings.Contains(st.LastError, "Settings → Gateway") || strings.Contains(st.LastError, pairingPath) {
			t.Errorf("without a device the error is %q", st.LastError)
		}
		is := h.pairs(owner)
		live.until("agentrt.status", "connected")
		owner.post(pairingPath, nil).want(http.StatusOK)
		if found := owner.doctor(); !found.Healthy {
			t.Errorf("the doctor finds %+v", found.Failure)
		}
		if found, err := app.Examine(t.Context(), h.config(), nil); err != nil || !found.Healthy || len(found.Warnings) > 0 {
			t.Errorf("the doctor command finds %+v, %+v, %v", found.Failure, found.Warnings, err)
		}

		if engine == db.Postgres {
			other := h.start() // a replica
			replica := caller{other, owner.token}
			h.isPaired(replica, is.Device.ID)
			if st := replica.status(); st.Auth != "device_token" {
				t.Errorf("the replica authenticates with %s", st.Auth)
			}
			other.stop()
		}
		s.stop()
		h.raw.GatewayToken = "" // the device token is enough
		s = h.start()
		owner = caller{s, owner.token}
		if again := h.isPaired(owner, is.Device.ID); again.Auth != "device_token" {
			t.Errorf("after a restart it authenticates with %s", again.Auth)
		}
		owner.post(pairingPath+"/rotate", nil).wantProblem(http.StatusConflict, "pairing_needs_token")
		s.stop()

		h.raw.GatewayToken = gatewayToken
		s = h.start()
		owner = caller{s, owner.token}
		h.isPaired(owner, is.Device.ID)
		owner.post(pairingPath+"/rotate", nil).want(http.StatusAccepted)
		then := owner.pairingIs("the next one", func(p pairing.Pairing) bool { return p.Next != nil && p.Next.Request != nil })
		owner.post(pairingPath+"/rotate", nil).want(http.StatusOK)
		h.approve(then.Next.Request)
		h.isPaired(owner, then.Next.Device.ID)
		gone := decode[pairing.Forgotten](owner.send(http.MethodDelete, pairingPath, nil).want(http.StatusOK))
		if len(gone.Devices) != 2 || gone.Devices[1].Remove != "openclaw devices remove "+is.Device.ID {
			t.Errorf("the pairing is %+v", gone)
		}
		waitFor(t, "the end of the pairing", func() bool { st := owner.status(); return st.State == link.Unpaired && st.DeviceID == "" })
		want := []string{"pairing.started", "pairing.let_in", "pairing.rotation_started", "pairing.rotated", "pairing.forgotten"}
		var told []string
		for _, kind := range kindsOf(owner.audit("")) {
			if strings.HasPrefix(kind, "pairing.") {
				told = append(told, kind)
			}
		}
		if !slices.Equal(told, want) {
			t.Errorf("the audit log has %v, want %v", told, want)
		}
	})
}

// config returns the checked settings.
func (h *house) config() config.Config {
	h.t.Helper()
	cfg, _, err := h.raw.Check()
	if err != nil {
		h.t.Fatal(err)
	}
	return cfg
}

// Without an encryption key nothing is stored, a wrong key is reported and overwrites
// nothing, and the key can be rotated.
func TestEncryptionKey(t *testing.T) {
	t.Parallel()
	const other = "another-encryption-key-77aa-0123456789abcdef"
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		h.secret(other, "the other ENCRYPTION_KEY")
		h.backoff = link.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond, Quick: 20 * time.Millisecond, Pairing: 20 * time.Millisecond}
		h.runtime.RequirePairing(true)
		h.ticking()
		file := filepath.Join(h.raw.DataDir, "encryption.key")
		var owner caller
		restart := func(change func()) caller {
			t.Helper()
			if owner.service != nil {
				owner.stop()
			}
			change()
			s := h.start()
			if owner.service == nil {
				owner = s.login(ownerEmail)
			}
			owner = owner.at(s)
			return owner
		}
		if engine == db.Postgres {
			restart(func() { h.raw.EncryptionKey = "" })
			a := owner.post(pairingPath, nil).wantProblem(http.StatusServiceUnavailable, "encryption_key_missing")
			if !strings.Contains(string(a.body), "ENCRYPTION_KEY") {
				t.Errorf("the answer is %s", a.body)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("a replica created a key file")
			}
			restart(func() { h.raw.EncryptionKey = encryptionKey })
		} else {
			restart(func() {})
			if _, err := os.Stat(file); err == nil {
				t.Error("a key file exists before it is needed")
			}
		}
		id := h.pairs(owner).Device.ID
		if engine == db.SQLite {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h.secret(strings.TrimSpace(string(text)), "the key file")
			restart(func() {
				if err := os.Rename(file, file+".away"); err != nil {
					t.Fatal(err)
				}
			})
			owner.pairingIs("unreadable", func(p pairing.Pairing) bool { return p.State == pairing.Unreadable && p.Device.ID == id })
			owner.post(pairingPath, nil).wantProblem(http.StatusServiceUnavailable, "encryption_key_wrong")
			if _, err := os.Stat(file); err == nil {
				t.Error("the missing key file was replaced by a new one")
			}
			if found, err := app.Examine(t.Context(), h.config(), nil); err != nil || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0].Cause, "key file") {
				t.Errorf("the doctor command finds %+v, %v", found.Warnings, err)
			}
			restart(func() {
				if err := os.Rename(file+".away", file); err != nil {
					t.Fatal(err)
				}
				h.raw.EncryptionKey = other // decrypts what the file encrypted
			})
			h.isPaired(owner, id)
			restart(func() {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			})
			h.isPaired(owner, id)
			return
		}
		restart(func() { h.raw.EncryptionKey = other })
		owner.pairingIs("unreadable", func(p pairing.Pairing) bool { return p.State == pairing.Unreadable && p.Device.ID == id })
		owner.post(pairingPath, nil).wantProblem(http.StatusServiceUnavailable, "encryption_key_wrong")
		restart(func() { h.raw.EncryptionKeyOld = encryptionKey })
		h.isPaired(owner, id)
		restart(func() { h.raw.EncryptionKeyOld = "" })
		h.isPaired(owner, id)
	})
}

// A device in the settings takes precedence and is shown as such.
func TestPairingInTheSettings(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	h.asDevice()
	owner := h.start().login(ownerEmail)
	is := owner.pairingIs("the request", func(p pairing.Pairing) bool { return p.Request != nil })
	if is.State != pairing.Settings || is.Device == nil || is.Device.ID != owner.status().DeviceID {
		t.Errorf("it shows %+v", is)
	}
	for _, a := range []answer{owner.post(pairingPath, nil), owner.send(http.MethodDelete, pairingPath, nil), owner.post(pairingPath+"/rotate", nil)} {
		a.wantProblem(http.StatusConflict, "pairing_in_settings")
	}
}
