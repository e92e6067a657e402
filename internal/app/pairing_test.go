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
	"wardroom/internal/pairing"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

const pairingPath = "/api/v1/agentrt/pairing"

func (c caller) pairing() pairing.Pairing {
	c.house.t.Helper()
	return decode[pairing.Pairing](c.get(pairingPath).want(http.StatusOK))
}

// pairingIs waits until what is shown is as it should be.
func (c caller) pairingIs(what string, ok func(pairing.Pairing) bool) (is pairing.Pairing) {
	c.house.t.Helper()
	waitFor(c.house.t, what, func() bool { is = c.pairing(); return ok(is) })
	return is
}

// settled is a client that goes on as it is, whatever device it is to be: where
// thousands of requests are tried, none of them has to wait for another connection.
type settled struct{ *gateway.Client }

func (settled) SetIdentity(gateway.Identity) {}

// letIn notes of the device that there is, as the gateway's client does, that it
// was let in.
func letIn(t *testing.T, a *app.App) {
	t.Helper()
	p, err := a.Pairing.Show(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Device == nil || p.State == pairing.Local {
		return
	}
	a.Pairing.HandleEvent(gateway.DeviceEvent{DeviceID: p.Device.ID, Kind: gateway.AcceptedLocally})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Pairing.Run(ctx) }()
	waitFor(t, "that to be noted", func() bool {
		p, err := a.Pairing.Show(ctx)
		return err == nil && p.State == pairing.Local
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// usePairing does what is done with the service's device, where the gateway asks
// for no approval.
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

// pairs makes a device over the API and approves it as the gateway's operator
// does; its token is a secret from then on.
func (h *house) pairs(owner caller) pairing.Pairing {
	h.t.Helper()
	owner.post(pairingPath, nil).want(http.StatusCreated)
	is := owner.pairingIs("the request", func(p pairing.Pairing) bool { return p.State == pairing.Pending && p.Request != nil })
	h.approve(is.Request)
	return h.isPaired(owner, is.Device.ID)
}

// approve does what the command that is shown does.
func (h *house) approve(r *gateway.Pairing) {
	h.t.Helper()
	id, ok := strings.CutPrefix(r.Command, "openclaw devices approve ")
	if !ok || !h.runtime.Approve(id) {
		h.t.Fatalf("the command %q approves nothing", r.Command)
	}
}

func (h *house) isPaired(owner caller, deviceID string) pairing.Pairing {
	h.t.Helper()
	is := owner.pairingIs("the device to be paired", func(p pairing.Pairing) bool {
		return p.State == pairing.Paired && p.Device.ID == deviceID && p.TokenSince != nil && p.Connection == gateway.Connected
	})
	h.secret(h.runtime.DeviceToken(deviceID), "the device's token")
	return is
}

// ticking has the runtime tell something all the time, until the test ends: a
// doctor that hears nothing waits for half a minute.
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

// Whoever sets the service up on another machine does nothing but this: one
// request here, one command over there. It must hold over restarts, in every
// replica, and tell nobody who may not know.
func TestPairing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		h.backoff = gateway.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond, Quick: 20 * time.Millisecond, Pairing: 20 * time.Millisecond}
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
		waitFor(t, "the refusal", func() bool { return owner.status().State == gateway.Unpaired })
		if st := owner.status(); !strings.Contains(st.LastError, "Pair Wardroom in the dashboard") || strings.Contains(st.LastError, pairingPath) {
			t.Errorf("without a device it says %q", st.LastError)
		}
		is := h.pairs(owner)
		live.until("agentrt.status", "connected")
		owner.post(pairingPath, nil).want(http.StatusOK)
		if found := owner.doctor(); !found.Healthy {
			t.Errorf("the doctor finds %+v", found.Failure)
		}
		if found, err := app.Examine(t.Context(), h.config(), nil); err != nil || !found.Healthy || len(found.Warnings) > 0 {
			t.Errorf("beside the service, the doctor finds %+v, %+v, %v", found.Failure, found.Warnings, err)
		}

		if engine == db.Postgres {
			other := h.start() // a replica
			replica := caller{other, owner.token}
			h.isPaired(replica, is.Device.ID)
			if st := replica.status(); st.Auth != "device_token" {
				t.Errorf("the replica shows the %s", st.Auth)
			}
			other.stop()
		}
		s.stop()
		h.raw.GatewayToken = "" // the device's own will do
		s = h.start()
		owner = caller{s, owner.token}
		if again := h.isPaired(owner, is.Device.ID); again.Auth != "device_token" {
			t.Errorf("after a restart it shows the %s", again.Auth)
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
			t.Errorf("what remains is %+v", gone)
		}
		waitFor(t, "the end of it", func() bool { st := owner.status(); return st.State == gateway.Unpaired && st.DeviceID == "" })
		want := []string{"pairing.started", "pairing.let_in", "pairing.rotation_started", "pairing.rotated", "pairing.forgotten"}
		var told []string
		for _, kind := range kindsOf(owner.audit("")) {
			if strings.HasPrefix(kind, "pairing.") {
				told = append(told, kind)
			}
		}
		if !slices.Equal(told, want) {
			t.Errorf("the audit tells of %v, want %v", told, want)
		}
	})
}

// config is the settings, checked.
func (h *house) config() config.Config {
	h.t.Helper()
	cfg, _, err := h.raw.Check()
	if err != nil {
		h.t.Fatal(err)
	}
	return cfg
}

// A key is what it all hangs on: without one nothing is stored, with another one
// nothing is made anew, and it can be replaced.
func TestEncryptionKey(t *testing.T) {
	t.Parallel()
	const other = "another-encryption-key-77aa-0123456789abcdef"
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		h.secret(other, "the other ENCRYPTION_KEY")
		h.backoff = gateway.Backoff{Min: 5 * time.Millisecond, Max: 100 * time.Millisecond, Quick: 20 * time.Millisecond, Pairing: 20 * time.Millisecond}
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
				t.Errorf("it says %s", a.body)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("a replica has made a key file")
			}
			restart(func() { h.raw.EncryptionKey = encryptionKey })
		} else {
			restart(func() {})
			if _, err := os.Stat(file); err == nil {
				t.Error("a key file is made before it is needed")
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
				t.Error("another key file was made in place of the one that is missing")
			}
			if found, err := app.Examine(t.Context(), h.config(), nil); err != nil || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0].Cause, "key file") {
				t.Errorf("beside the service, the doctor finds %+v, %v", found.Warnings, err)
			}
			restart(func() {
				if err := os.Rename(file+".away", file); err != nil {
					t.Fatal(err)
				}
				h.raw.EncryptionKey = other // the file opens what it encrypted
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

// The settings win, and say so.
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
