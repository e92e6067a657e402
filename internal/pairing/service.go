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
	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// Runtime is the part of the gateway's client that pairing needs.
type Runtime interface {
	Status() gateway.Status
	Become(id gateway.Identity)
	Introduce(ctx context.Context, key ed25519.PrivateKey) gateway.Introduction
}

// Service keeps the device of this service. It must not be copied once used.
// Load comes before anybody else, Run keeps what the gateway makes of it.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Keys    vault.Source
	Log     *slog.Logger
	Now     func() time.Time

	Gateway string            // its address: a token is shown to no other
	Shared  bool              // whether there is a shared token
	Own     ed25519.PublicKey // of the device in the settings; nil when there is none. It wins

	Every time.Duration // how often the database is looked at for what other processes did; 2 s
	Ask   time.Duration // how often the next device is introduced until it is approved; 4 s
	// Away, when given, reports whether an error says that the database is away,
	// and has that told to the log once for everybody. It must not wait.
	Away func(error) bool

	once sync.Once
	poke chan struct{} // says that there is something to do

	mu   sync.Mutex
	held held

	heardMu sync.Mutex
	heard   []gateway.DeviceNews
}

// held is what the client of this process has been given.
type held struct {
	deviceID    string
	sealedKey   string // both as they were read, to notice another state
	sealedToken string
	token       string // a secret
	trouble     string // why what is stored cannot be used; told to the log once
}

// subject is a device in the audit.
func subject(deviceID string) event.Subject {
	return event.Subject{Kind: "device", ID: deviceID, Name: deviceID[:min(12, len(deviceID))]}
}

// Show tells how the pairing stands. It asks the gateway nothing.
func (s *Service) Show(ctx context.Context) (Pairing, error) {
	is, then, err := all(ctx, s.DB)
	if err != nil {
		return Pairing{}, fmt.Errorf("read the device: %w", err)
	}
	var trouble error
	if is != nil && s.Own == nil {
		_, trouble = s.opened(*is)
	}
	return s.show(s.Runtime.Status(), is, then, trouble), nil
}

// opened reads the secrets of a device.
func (s *Service) opened(r stored) (gateway.Identity, error) {
	v, err := s.Keys.Find()
	if err != nil {
		return gateway.Identity{}, err
	}
	return r.open(v, s.Gateway)
}

// Start makes a device, unless there is one, and has the client show it. made
// says whether it was made now. It fails with ErrSettings where the settings say
// who we are, with ErrOtherKey when there is one that cannot be read (another is
// never made in its place), and with ErrNoKey or ErrKeyFile without a key.
func (s *Service) Start(ctx context.Context) (p Pairing, made bool, err error) {
	if s.Own != nil {
		return p, false, ErrSettings.With("Remove AGENTRT_DEVICE_PRIVATE_KEY and the settings beside it to have the service make a device itself.")
	}
	fresh, err := s.readyToMake(ctx)
	if err != nil {
		return p, false, err
	}
	if fresh != nil {
		fresh.place = current
		err = s.DB.Tx(ctx, func(tx *db.Tx) error {
			made = false
			if err := tx.Lock(ctx, lockName); err != nil {
				return err
			}
			is, _, err := all(ctx, tx)
			if err != nil || is != nil {
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
	return s.after(ctx, made)
}

// readyToMake is a new device, with its key sealed, or nil when there is a device
// already that can be read.
func (s *Service) readyToMake(ctx context.Context) (*stored, error) {
	is, _, err := all(ctx, s.DB)
	if err != nil {
		return nil, fmt.Errorf("read the device: %w", err)
	}
	if is != nil {
		if _, err := s.opened(*is); err != nil {
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

// fresh makes a key pair.
func fresh(v *vault.Vault) (*stored, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key pair: %w", err)
	}
	d := deviceOf(public)
	return &stored{device: d, sealedKey: v.Seal(keyPlace(d.ID), private.Seed())}, nil
}

// after has the client follow what was stored, and shows it.
func (s *Service) after(ctx context.Context, changed bool) (Pairing, bool, error) {
	if err := s.follow(ctx); err != nil {
		return Pairing{}, changed, err
	}
	s.stir()
	p, err := s.Show(ctx)
	return p, changed, err
}

// Forget removes the device, and one that is to replace it, and has the client go
// on with the shared token. What the gateway knows of them stays there: we may
// not remove it, and the answer says who may, and how.
func (s *Service) Forget(ctx context.Context) (Forgotten, error) {
	if s.Own != nil {
		return Forgotten{}, ErrSettings.With("Remove AGENTRT_DEVICE_PRIVATE_KEY and the settings beside it, and restart.")
	}
	var out Forgotten
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lockName); err != nil {
			return err
		}
		is, then, err := all(ctx, tx)
		if err != nil {
			return err
		}
		if is == nil {
			return ErrNone.With("There is nothing to forget.")
		}
		out = Forgotten{Devices: []Reminder{reminder(is.device.ID)}}
		if then != nil {
			out.Devices = append(out.Devices, reminder(then.device.ID))
		}
		if is.replaced != "" {
			out.Devices = append(out.Devices, reminder(is.replaced))
		}
		for _, place := range []string{current, next} {
			if err := remove(ctx, tx, place); err != nil {
				return err
			}
		}
		return event.Record(ctx, tx, s.Now(), event.Audit, "pairing.forgotten", subject(is.device.ID), nil)
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget the device: %w", err)
	}
	out.Detail = "Its key and token are deleted here, and the shared token alone is shown from now on. The gateway may still know the device: run the command on its host, so that a copy of the token in an old backup is worth nothing."
	_, _, err = s.after(ctx, true)
	return out, err
}

// Rotate makes the device that is to replace the present one, which stays in use
// until the gateway lets the new one in. While one waits already, that is shown,
// and made is false. It fails with ErrNone and ErrNotPaired where there is
// nothing to replace.
func (s *Service) Rotate(ctx context.Context) (p Pairing, made bool, err error) {
	if s.Own != nil {
		return p, false, ErrSettings.With("Put another key into AGENTRT_DEVICE_PRIVATE_KEY, remove AGENTRT_DEVICE_TOKEN, and restart; or remove all of them, restart, and pair it in the dashboard, under Settings → Gateway.")
	}
	if !s.Shared {
		return p, false, ErrNeedsToken.With("A new device has no token of its own until it is approved, and introduces itself with the shared one: set AGENTRT_GATEWAY_TOKEN and restart.")
	}
	v, err := s.Keys.Find()
	if err != nil {
		return p, false, s.unrotatable(ctx, err)
	}
	device, err := fresh(v)
	if err != nil {
		return p, false, err
	}
	device.place = next
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		made = false
		if err := tx.Lock(ctx, lockName); err != nil {
			return err
		}
		is, then, err := all(ctx, tx)
		switch {
		case err != nil || then != nil:
			return err
		case is == nil:
			return ErrNone.With("%s", howToPair)
		case is.admitted == "":
			return ErrNotPaired.With("Nothing needs to be replaced: forget it and pair anew, in the dashboard under Settings → Gateway, to have another one.")
		}
		if _, err := is.open(v, s.Gateway); err != nil {
			return ErrOtherKey.With("%s", unreadable(err))
		}
		made = true
		now := s.Now()
		if err := insert(ctx, tx, *device, now, &now); err != nil {
			return err
		}
		return event.Record(ctx, tx, now, event.Audit, "pairing.rotation_started", subject(is.device.ID), map[string]string{"next": device.device.ID})
	})
	if err != nil {
		return p, false, fmt.Errorf("store the next device: %w", err)
	}
	return s.after(ctx, made)
}

// unrotatable says why nothing can be rotated without a key: there may be nothing.
func (s *Service) unrotatable(ctx context.Context, cause error) error {
	is, _, err := all(ctx, s.DB)
	switch {
	case err != nil:
		return fmt.Errorf("read the device: %w", err)
	case is == nil:
		return ErrNone.With("%s", howToPair)
	}
	return ErrOtherKey.With("%s", unreadable(cause))
}

// KeepPresent drops the device that was to replace the present one. It fails with
// ErrNone when none was.
func (s *Service) KeepPresent(ctx context.Context) (Pairing, error) {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lockName); err != nil {
			return err
		}
		_, then, err := all(ctx, tx)
		if err != nil {
			return err
		}
		if then == nil {
			return ErrNone.With("No device waits to replace another one.")
		}
		if err := remove(ctx, tx, next); err != nil {
			return err
		}
		return event.Record(ctx, tx, s.Now(), event.Audit, "pairing.rotation_stopped", subject(then.device.ID), nil)
	})
	if err != nil {
		return Pairing{}, fmt.Errorf("keep the present device: %w", err)
	}
	p, _, err := s.after(ctx, true)
	return p, err
}

// Stored reads the device for a command that runs beside the service. The zero
// Identity is none. It changes nothing.
func Stored(ctx context.Context, q db.Queryer, keys vault.Source, address string) (gateway.Identity, error) {
	is, _, err := all(ctx, q)
	if err != nil || is == nil {
		return gateway.Identity{}, err
	}
	v, err := keys.Find()
	if err != nil {
		return gateway.Identity{}, fmt.Errorf("%s", unreadable(err)) //nolint:err113 // for people
	}
	id, err := is.open(v, address)
	if err != nil {
		return gateway.Identity{}, fmt.Errorf("%s", unreadable(err)) //nolint:err113 // for people
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
