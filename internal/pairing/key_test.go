package pairing_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"wardroom/internal/gateway/link"
	"wardroom/internal/pairing"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/vault"
)

// A device that cannot be decrypted is reported and never replaced: a new one would
// hide the wrong setting and require another approval.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		p := start(t, d, r, nil)
		id := p.pair(r).Device.ID
		p.stop()

		with := func(keys vault.Source) func(*pairing.Service, *link.Options) {
			return func(s *pairing.Service, _ *link.Options) { s.Keys = keys }
		}
		for name, keys := range map[string]vault.Source{"another key": {Key: keyB}, "no key": {}, "no key file": {File: filepath.Join(t.TempDir(), "encryption.key")}} {
			p = start(t, d, r, with(keys))
			is := p.becomes("unreadable", state(pairing.Unreadable))
			if is.Device.ID != id || !strings.Contains(is.Detail, "ENCRYPTION_KEY") || !strings.Contains(p.log.String(), "ENCRYPTION_KEY") {
				t.Errorf("%s: it says %q, and the log %s", name, is.Detail, p.log)
			}
			for what, do := range map[string]func(context.Context) (pairing.Pairing, bool, error){"start": p.Start, "rotate": p.Rotate} {
				if _, _, err := do(admin(t)); !errors.Is(err, pairing.ErrOtherKey) || !strings.Contains(fault.Of(err).Detail, "forget the device") {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			p.stop()
		}

		p = start(t, d, r, with(vault.Source{Key: keyB, Old: []string{keyA}}))
		if p.paired().Device.ID != id || !strings.Contains(p.log.String(), "re-encrypted") {
			t.Errorf("with both keys: %s", p.log)
		}
		p.stop()
		p = start(t, d, r, with(vault.Source{Key: keyB}))
		if is := p.paired(); is.Device.ID != id || is.Auth != "device_token" {
			t.Errorf("with the new key alone: %+v", is)
		}
		p.stop()
		p = start(t, d, r, nil)
		p.becomes("unreadable with the old key", state(pairing.Unreadable))
		if _, err := p.Forget(admin(t)); err != nil {
			t.Errorf("it cannot even be forgotten: %v", err)
		}
		p.pair(r)
	})
}

// Each rejection says what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := runtimeOf(t)
		t.Run("without a key it names the setting", func(t *testing.T) {
			p := start(t, d, r, func(s *pairing.Service, _ *link.Options) { s.Keys = vault.Source{} })
			if _, _, err := p.Start(admin(t)); !errors.Is(err, pairing.ErrNoKey) || !strings.Contains(fault.Of(err).Detail, "ENCRYPTION_KEY") {
				t.Errorf("it says %v", err)
			}
		})
		t.Run("with the device in the settings they win", func(t *testing.T) {
			p := start(t, d, r, func(s *pairing.Service, _ *link.Options) { s.Own = make([]byte, 32) })
			_, _, start := p.Start(admin(t))
			_, _, rotate := p.Rotate(admin(t))
			_, forget := p.Forget(admin(t))
			for _, err := range []error{start, rotate, forget} {
				if !errors.Is(err, pairing.ErrSettings) || !strings.Contains(fault.Of(err).Detail, "AGENTRT_DEVICE_PRIVATE_KEY") {
					t.Errorf("it says %v", err)
				}
			}
			if is := p.becomes("told", state(pairing.Settings)); is.Device == nil {
				t.Error("the device is not shown")
			}
		})
		t.Run("a device that waits has nothing to replace", func(t *testing.T) {
			p := start(t, d, r, nil)
			if _, _, err := p.Start(admin(t)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := p.Rotate(admin(t)); !errors.Is(err, pairing.ErrNotPaired) {
				t.Errorf("it says %v", err)
			}
		})
		t.Run("a new device needs the shared token", func(t *testing.T) {
			p := start(t, d, r, func(_ *pairing.Service, o *link.Options) { o.Token = "" })
			if _, _, err := p.Rotate(admin(t)); !errors.Is(err, pairing.ErrNeedsToken) {
				t.Errorf("it says %v", err)
			}
		})
	})
}

// A token is sent only to the gateway that issued it.
func TestTokenStaysWithItsGateway(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	r := runtimeOf(t)
	p := start(t, d, r, nil)
	id := p.pair(r).Device.ID
	p.stop()
	other := runtimeOf(t)
	p = start(t, d, other, nil)
	is := p.becomes("pending there", state(pairing.Pending))
	if is.Device.ID != id || is.Auth != "token" || strings.Contains(p.log.String(), "refused the device token") {
		t.Errorf("it shows %+v: %s", is, p.log)
	}
}

// A modified row, or parts of another one, are rejected.
func TestRowsAreBound(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	r := runtimeOf(t)
	p := start(t, d, r, nil)
	p.pair(r)
	p.stop()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE pairing_devices SET sealed_token = sealed_key`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p = start(t, d, r, nil)
	if is := p.becomes("unreadable", state(pairing.Unreadable)); !strings.Contains(is.Detail, "was modified") {
		t.Errorf("it says %q", is.Detail)
	}
}
