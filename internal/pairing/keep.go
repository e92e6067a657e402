package pairing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// mostNews limits the device events that are kept while the database is unavailable.
// Only the latest of each kind matters.
const mostNews = 32

// HandleEvent queues a device event from the gateway client. It does not block.
func (s *Service) Hear(n gateway.DeviceNews) {
	s.heardMu.Lock()
	s.heard = append(s.heard, n)
	s.heard = s.heard[max(0, len(s.heard)-mostNews):]
	s.heardMu.Unlock()
	s.stir()
}

// wake makes Run work at once.
func (s *Service) stir() {
	select {
	case s.work() <- struct{}{}:
	default: // already signaled
	}
}

func (s *Service) work() chan struct{} {
	s.once.Do(func() { s.poke = make(chan struct{}, 1) })
	return s.poke
}

// Load passes the stored device to the client before it first connects, and encrypts
// secrets again that were encrypted with an old key. It logs a device that cannot be
// decrypted; the error is only that of the database.
func (s *Service) Load(ctx context.Context) error {
	if s.Own != nil {
		return nil
	}
	n, err := s.renew(ctx)
	if err != nil {
		return fmt.Errorf("re-encrypt the device: %w", err)
	}
	if n > 0 {
		s.Log.InfoContext(ctx, "re-encrypted the device with the current key", "devices", n)
	}
	return s.follow(ctx)
}

// renew encrypts secrets with the current key that were encrypted with an old one.
// Secrets that no key can decrypt stay unchanged.
func (s *Service) renew(ctx context.Context) (n int, err error) {
	v, err := s.Keys.Find()
	if err != nil {
		return 0, nil // nolint:nilerr // follow logs it if there is a device to decrypt
	}
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		n = 0
		if err := tx.Lock(ctx, lockName); err != nil {
			return err
		}
		is, then, err := all(ctx, tx)
		if err != nil {
			return err
		}
		for _, r := range []*stored{is, then} {
			if r == nil {
				continue
			}
			key, token, changed, err := r.renewed(v)
			if err != nil || !changed {
				continue // unreadable devices are reported when they are used
			}
			if err := setSealed(ctx, tx, r.place, key, token); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// renewed returns the secrets of a row, encrypted with the current key.
func (r *stored) renewed(v *vault.Vault) (key, token string, changed bool, err error) {
	key, changed, err = v.Renew(keyPlace(r.device.ID), r.sealedKey)
	if err != nil || r.sealedToken == "" {
		return key, "", changed, err
	}
	token, also, err := v.Renew(tokenPlace(r.device.ID), r.sealedToken)
	return key, token, changed || also, err
}

// Run stores device events, follows changes by other replicas, and connects the next
// device until it is approved. It returns when ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.Own != nil {
		return nil
	}
	ctx = actor.With(ctx, actor.System)
	every := time.NewTicker(or(s.Every, 2*time.Second))
	defer every.Stop()
	for {
		if err := s.turn(ctx); err != nil && ctx.Err() == nil && (s.Away == nil || !s.Away(err)) {
			s.Log.ErrorContext(ctx, "could not update the pairing", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.work():
		case <-every.C:
		}
	}
}

func or(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// turn does all pending work once.
func (s *Service) turn(ctx context.Context) error {
	if err := s.takeNews(ctx); err != nil {
		return err
	}
	if err := s.follow(ctx); err != nil {
		return err
	}
	return s.introduce(ctx)
}

// follow passes the stored device to the client if it has changed. If the stored device
// cannot be decrypted, for example during a change of keys, the client keeps the one it
// has.
func (s *Service) follow(ctx context.Context) error {
	if s.Own != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, _, err := all(ctx, s.DB)
	if err != nil {
		return fmt.Errorf("read the device: %w", err)
	}
	has := &s.held
	switch {
	case is == nil && has.deviceID == "" && has.trouble == "":
		return nil
	case is == nil:
		s.held = held{}
		s.Runtime.Become(gateway.Identity{})
		return nil
	case has.trouble == "" && has.deviceID == is.device.ID && has.sealedKey == is.sealedKey && has.sealedToken == is.sealedToken:
		return nil
	}
	id, err := s.opened(*is)
	if err != nil {
		if why := unreadable(err); has.trouble != why {
			has.trouble = why
			s.Log.ErrorContext(ctx, "could not use the stored device", "device_id", is.device.ID, "reason", why)
		}
		if has.deviceID != "" && has.deviceID != is.device.ID {
			s.held = held{trouble: has.trouble}
			s.Runtime.Become(gateway.Identity{})
		}
		return nil
	}
	s.held = held{deviceID: is.device.ID, sealedKey: is.sealedKey, sealedToken: is.sealedToken, token: id.Token}
	s.Runtime.Become(id)
	return nil
}

// takeNews stores the queued device events. Events that cannot be stored stay queued.
func (s *Service) takeNews(ctx context.Context) error {
	s.heardMu.Lock()
	news := slices.Clone(s.heard)
	s.heard = nil
	s.heardMu.Unlock()
	for i, n := range news {
		if err := s.take(ctx, n); err != nil {
			s.heardMu.Lock()
			s.heard = append(news[i:], s.heard...)
			s.heardMu.Unlock()
			return fmt.Errorf("store a device event: %w", err)
		}
	}
	return nil
}

// take stores one device event. A token that is already stored changes nothing.
func (s *Service) take(ctx context.Context, n gateway.DeviceNews) error {
	v, err := s.Keys.Find()
	if err != nil {
		return nil //nolint:nilerr // follow has logged it; there is no key to encrypt with
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lockName); err != nil {
			return err
		}
		is, _, err := all(ctx, tx)
		if err != nil || is == nil || is.device.ID != n.DeviceID {
			return err // the device was forgotten or replaced in the meantime
		}
		has, err := is.open(v, s.Gateway)
		if err != nil {
			return nil //nolint:nilerr // follow has logged it
		}
		switch n.Kind {
		case gateway.TokenIssued:
			return s.keepToken(ctx, tx, is, v, n.Token, has.Token)
		case gateway.TokenRefused:
			if has.Token == n.Token {
				return setToken(ctx, tx, current, "", "", nil)
			}
		case gateway.LetInAsLocal:
			if is.admitted != Local {
				return s.admit(ctx, tx, is, Local)
			}
		}
		return nil
	})
}

// keepToken stores the current device's token.
func (s *Service) keepToken(ctx context.Context, tx *db.Tx, is *stored, v *vault.Vault, token, has string) error {
	if token != has {
		now := clock.At(s.Now())
		if err := setToken(ctx, tx, current, v.Seal(tokenPlace(is.device.ID), []byte(token)), s.Gateway, &now); err != nil {
			return err
		}
	}
	if is.admitted == Paired {
		return nil
	}
	return s.admit(ctx, tx, is, Paired)
}

// admit records how the gateway accepted the current device.
func (s *Service) admit(ctx context.Context, tx *db.Tx, is *stored, how State) error {
	now := s.Now()
	if err := setAdmitted(ctx, tx, current, how, now); err != nil {
		return err
	}
	return event.Record(ctx, tx, now, event.Audit, "pairing.let_in", subject(is.device.ID), map[string]State{"as": how})
}

// introduce connects with the next device when it is due, and makes it the current one
// once the gateway accepts it. Only one replica does this at a time.
func (s *Service) introduce(ctx context.Context) error {
	const turn = 30 * time.Second // longer than a request to the gateway usually takes
	var r stored
	var ok bool
	now := s.Now()
	if _, then, err := all(ctx, s.DB); err != nil || then == nil {
		return err
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		r, ok, err = claimNext(ctx, tx, now, now.Add(turn))
		return err
	})
	if err != nil || !ok {
		return err
	}
	id, err := s.opened(r)
	if err != nil {
		return s.DB.Tx(ctx, func(tx *db.Tx) error {
			return setAnswer(ctx, tx, r.device.ID, answer{Error: unreadable(err)}, s.Now().Add(turn))
		})
	}
	in := s.Runtime.Introduce(ctx, id.Key)
	if ctx.Err() != nil {
		return ctx.Err() // not a failure of the gateway
	}
	if in.State == gateway.Connected {
		return s.replace(ctx, r, in.Token)
	}
	again := s.Now().Add(max(or(s.Ask, 4*time.Second), in.After))
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		return setAnswer(ctx, tx, r.device.ID, answer{Request: in.Pairing, Error: in.Error}, again)
	})
}

// replace makes the next device the current one, with its token.
func (s *Service) replace(ctx context.Context, r stored, token string) error {
	v, err := s.Keys.Find()
	if err != nil {
		return fmt.Errorf("encrypt the token of the next device: %w", err)
	}
	how, sealed, address, at := Local, "", "", (*clock.Time)(nil)
	if token != "" {
		how, sealed, address, at = Paired, v.Seal(tokenPlace(r.device.ID), []byte(token)), s.Gateway, clock.Ptr(s.Now())
	}
	gone := errors.New("the next device was discarded")
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lockName); err != nil {
			return err
		}
		is, then, err := all(ctx, tx)
		if err != nil {
			return err
		}
		if is == nil || then == nil || then.device.ID != r.device.ID {
			return gone
		}
		now := s.Now()
		err = errors.Join(
			setToken(ctx, tx, next, sealed, address, at),
			setAdmitted(ctx, tx, next, how, now),
			promote(ctx, tx, then.device.ID, is.device.ID),
		)
		if err != nil {
			return err
		}
		return event.Record(ctx, tx, now, event.Audit, "pairing.rotated", subject(then.device.ID), map[string]string{"replaced": is.device.ID})
	})
	if errors.Is(err, gone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replace the device: %w", err)
	}
	s.Log.InfoContext(ctx, "replaced the device", "device_id", r.device.ID)
	return s.follow(ctx)
}
