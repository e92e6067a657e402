package pairing

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// Runtime is the part of the gateway client that pairing needs.
type Runtime interface {
	Status() link.Status
	Address() string // the gateway's address; a token is sent only to the gateway that issued it
	HasToken() bool  // whether a shared token is set
	SetIdentity(id link.Identity)
	Introduce(ctx context.Context, key ed25519.PrivateKey) link.Introduction
}

// Service manages Wardroom's device. Call Load before anything else. It must not be
// copied after first use.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Keys    vault.Source
	Log     *slog.Logger
	Now     func() time.Time

	Own ed25519.PublicKey // public key of the device from the settings, which takes precedence; nil if none

	Every time.Duration // how often to check the database for changes by other replicas; default 2 s
	Ask   time.Duration // how often to connect with the next device until it is approved; default 4 s

	once   sync.Once
	wakeup chan struct{} // signals that there is work

	mu   sync.Mutex
	held held

	eventsMu sync.Mutex
	events   []link.DeviceEvent
}

// held is the device that the gateway client in this replica uses.
type held struct {
	deviceID    string
	gateway     string // address of the gateway for which it was read
	sealedKey   string // as read from the database, to detect changes
	sealedToken string // likewise
	token       string // a secret
	trouble     string // why the stored device cannot be used; logged once
}

// subject returns the subject of a device's audit events.
func subject(deviceID string) event.Subject {
	return event.Subject{Kind: "device", ID: deviceID, Name: deviceID[:min(12, len(deviceID))]}
}

// Show returns the state of the pairing. It does not send a request to the gateway.
func (s *Service) Show(ctx context.Context) (Pairing, error) {
	current, next, err := load(ctx, s.DB)
	if err != nil {
		return Pairing{}, fmt.Errorf("read the device: %w", err)
	}
	var trouble error
	if current != nil && s.Own == nil {
		_, trouble = s.decrypt(*current)
	}
	return s.show(s.Runtime.Status(), current, next, trouble), nil
}

// decrypt returns the decrypted key and token of a device.
func (s *Service) decrypt(r stored) (link.Identity, error) {
	v, err := s.Keys.Find()
	if err != nil {
		return link.Identity{}, err
	}
	return r.open(v, s.Runtime.Address())
}

// Start creates a device, unless there already is one, and makes the client use it. If it created
// the device, made is true. Start returns ErrSettings if the settings contain a device, and ErrNoKey
// or ErrKeyFile if there is no valid encryption key. If the existing device's secrets cannot be
// decrypted, Start keeps the device and returns ErrOtherKey.
func (s *Service) Start(ctx context.Context) (p Pairing, made bool, err error) {
	if s.Own != nil {
		return p, false, ErrSettings.With("To pair from the dashboard, remove AGENTRT_DEVICE_PRIVATE_KEY and the other AGENTRT_DEVICE_ settings, then restart Wardroom.")
	}
	fresh, err := s.newDeviceIfNone(ctx)
	if err != nil {
		return p, false, err
	}
	if fresh != nil {
		fresh.place = placeCurrent
		err = s.DB.Tx(ctx, func(tx *db.Tx) error {
			made = false
			current, _, err := load(ctx, tx)
			if err != nil || current != nil {
				return err
			}
			made = true
			now := s.Now()
			if err := insert(ctx, tx, *fresh, now, nil); err != nil {
				return err
			}
			return event.Record(ctx, tx, now, event.Audit, "pairing.started", subject(fresh.device.ID), nil)
		})
		if err != nil {
			return p, false, fmt.Errorf("store the device: %w", err)
		}
	}
	return s.applied(ctx, made)
}

// newDeviceIfNone returns a new device with its key encrypted, or nil if a device already exists.
// If the existing device's secrets cannot be decrypted, it returns ErrOtherKey.
func (s *Service) newDeviceIfNone(ctx context.Context) (*stored, error) {
	current, _, err := load(ctx, s.DB)
	if err != nil {
		return nil, fmt.Errorf("read the device: %w", err)
	}
	if current != nil {
		if _, err := s.decrypt(*current); err != nil {
			return nil, ErrOtherKey.With("%s", unreadable(err))
		}
		return nil, nil
	}
	v, err := s.Keys.Make()
	if err != nil {
		return nil, keyFault(err)
	}
	return fresh(v)
}

// fresh returns a device with a new key pair.
func fresh(v *vault.Vault) (*stored, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key pair: %w", err)
	}
	d := deviceOf(public)
	return &stored{device: d, sealedKey: v.Seal(keyPlace(d.ID), private.Seed())}, nil
}

// applied makes the client use the device that is now stored, and returns the pairing.
func (s *Service) applied(ctx context.Context, changed bool) (Pairing, bool, error) {
	if err := s.syncClient(ctx); err != nil {
		return Pairing{}, changed, err
	}
	s.wake()
	p, err := s.Show(ctx)
	return p, changed, err
}

// Forget deletes the device and any waiting replacement, and makes the client use only the shared
// token. Wardroom is not allowed to remove devices from the gateway, so the result contains the
// commands with which the operator can do that.
func (s *Service) Forget(ctx context.Context) (Forgotten, error) {
	if s.Own != nil {
		return Forgotten{}, ErrSettings.With(
			"Remove AGENTRT_DEVICE_PRIVATE_KEY and the other AGENTRT_DEVICE_ settings, then restart Wardroom.",
		)
	}
	var out Forgotten
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		current, next, err := load(ctx, tx)
		if err != nil {
			return err
		}
		if current == nil {
			return ErrNone.With("There is no device to forget.")
		}
		out = Forgotten{Devices: []Reminder{reminder(current.device.ID)}}
		if next != nil {
			out.Devices = append(out.Devices, reminder(next.device.ID))
		}
		if current.replaced != "" {
			out.Devices = append(out.Devices, reminder(current.replaced))
		}
		for _, place := range []string{placeCurrent, placeNext} {
			if err := remove(ctx, tx, place); err != nil {
				return err
			}
		}
		return event.Record(ctx, tx, s.Now(), event.Audit, "pairing.forgotten", subject(current.device.ID), nil)
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget the device: %w", err)
	}
	out.Detail = "Wardroom has deleted the device's key and token, and now uses only the shared token. Run the command on the gateway's host to remove the device there, so that tokens in old backups become invalid."
	_, _, err = s.applied(ctx, true)
	return out, err
}

// Rotate creates a device that replaces the current one when the gateway accepts it. Until then,
// the current device stays in use. If a replacement is already waiting, Rotate keeps that one, and
// made is false. It returns ErrNone or ErrNotPaired if there is nothing to replace.
func (s *Service) Rotate(ctx context.Context) (p Pairing, made bool, err error) {
	if s.Own != nil {
		return p, false, ErrSettings.With("Set AGENTRT_DEVICE_PRIVATE_KEY to a different key, remove AGENTRT_DEVICE_TOKEN, and restart Wardroom. Or remove all AGENTRT_DEVICE_ settings, restart Wardroom, and pair it in the dashboard under Settings → Gateway.")
	}
	if !s.Runtime.HasToken() {
		return p, false, ErrNeedsToken.With("Until the gateway approves a new device, the device needs the shared token to connect. Set it in the dashboard under Settings → Gateway, or in AGENTRT_GATEWAY_TOKEN.")
	}
	v, err := s.Keys.Find()
	if err != nil {
		return p, false, s.rotateFault(ctx, err)
	}
	device, err := fresh(v)
	if err != nil {
		return p, false, err
	}
	device.place = placeNext
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		made = false
		current, next, err := load(ctx, tx)
		switch {
		case err != nil || next != nil:
			return err
		case current == nil:
			return ErrNone.With("%s", howToPair)
		case current.admitted == "":
			return ErrNotPaired.With(
				"To use a different device, forget this one in the dashboard under Settings → Gateway, then pair again.",
			)
		}
		if _, err := current.open(v, s.Runtime.Address()); err != nil {
			return ErrOtherKey.With("%s", unreadable(err))
		}
		made = true
		now := s.Now()
		if err := insert(ctx, tx, *device, now, &now); err != nil {
			return err
		}
		return event.Record(ctx, tx, now, event.Audit, "pairing.rotation_started", subject(current.device.ID),
			map[string]string{"next": device.device.ID})
	})
	if err != nil {
		return p, false, fmt.Errorf("store the next device: %w", err)
	}
	return s.applied(ctx, made)
}

// rotateFault returns Rotate's error for an unavailable encryption key. It returns ErrNone if there
// is no device to replace, and ErrOtherKey if there is one.
func (s *Service) rotateFault(ctx context.Context, cause error) error {
	current, _, err := load(ctx, s.DB)
	switch {
	case err != nil:
		return fmt.Errorf("read the device: %w", err)
	case current == nil:
		return ErrNone.With("%s", howToPair)
	}
	return ErrOtherKey.With("%s", unreadable(cause))
}

// CancelRotation discards the device that is waiting to replace the current one. It returns ErrNone
// if no device is waiting.
func (s *Service) CancelRotation(ctx context.Context) (Pairing, error) {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		_, next, err := load(ctx, tx)
		if err != nil {
			return err
		}
		if next == nil {
			return ErrNone.With("No device is waiting to replace the current one.")
		}
		if err := remove(ctx, tx, placeNext); err != nil {
			return err
		}
		return event.Record(ctx, tx, s.Now(), event.Audit, "pairing.rotation_stopped", subject(next.device.ID), nil)
	})
	if err != nil {
		return Pairing{}, fmt.Errorf("cancel the rotation: %w", err)
	}
	p, _, err := s.applied(ctx, true)
	return p, err
}

// Stored returns the stored device identity, or the zero Identity if no device is stored.
// It is meant for commands that run alongside the server, so it does not change anything.
func Stored(ctx context.Context, q db.Queryer, keys vault.Source, address string) (link.Identity, error) {
	current, _, err := load(ctx, q)
	if err != nil || current == nil {
		return link.Identity{}, err
	}
	var id link.Identity
	v, err := keys.Find()
	if err == nil {
		id, err = current.open(v, address)
	}
	if err != nil {
		why := unreadable(err)
		return link.Identity{Problem: why}, fmt.Errorf("%s", why) //nolint:err113 // for people
	}
	return id, nil
}

func publicOf(d Device) []byte {
	public, err := base64.RawURLEncoding.DecodeString(d.PublicKey)
	if err != nil {
		return nil
	}
	return public
}
