package pairing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// maxEvents is how many device events are kept while the database is unavailable. Older ones are
// dropped, because only the latest event of each kind matters.
const maxEvents = 32

// HandleEvent queues a device event from the gateway client. It does not block.
func (s *Service) HandleEvent(n link.DeviceEvent) {
	s.eventsMu.Lock()
	s.events = append(s.events, n)
	s.events = s.events[max(0, len(s.events)-maxEvents):]
	s.eventsMu.Unlock()
	s.wake()
}

// Follow makes Run use the device for the gateway's new address. Call it after the address has
// changed. It does not block.
func (s *Service) Follow() { s.wake() }

// wake makes Run process pending work immediately.
func (s *Service) wake() {
	select {
	case s.wakeups() <- struct{}{}:
	default: // already signaled
	}
}

func (s *Service) wakeups() chan struct{} {
	s.once.Do(func() { s.wakeup = make(chan struct{}, 1) })
	return s.wakeup
}

// Load passes the stored device to the client. Call it before the client first connects. Load also
// re-encrypts secrets that were encrypted with an old key. It returns only database errors; if the
// device's secrets cannot be decrypted, it logs the failure and returns nil.
func (s *Service) Load(ctx context.Context) error {
	if s.Own != nil {
		return nil
	}
	n, err := s.reencrypt(ctx)
	if err != nil {
		return fmt.Errorf("re-encrypt the device: %w", err)
	}
	if n > 0 {
		s.Log.InfoContext(ctx, "re-encrypted the device with the current key", "devices", n)
	}
	return s.syncClient(ctx)
}

// reencrypt encrypts secrets again with the current key if they were encrypted with an old key.
// Secrets that no key can decrypt stay unchanged.
func (s *Service) reencrypt(ctx context.Context) (n int, err error) {
	v, err := s.Keys.Find()
	if err != nil {
		return 0, nil //nolint:nilerr // syncClient logs it if there is a device to decrypt
	}
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		n = 0
		current, next, err := load(ctx, tx)
		if err != nil {
			return err
		}
		for _, r := range []*stored{current, next} {
			if r == nil {
				continue
			}
			key, token, changed, err := r.reencrypted(v)
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

// reencrypted returns the secrets of a row, encrypted with the current key.
func (r *stored) reencrypted(v *vault.Vault) (key, token string, changed bool, err error) {
	key, changed, err = v.Renew(keyPlace(r.device.ID), r.sealedKey)
	if err != nil || r.sealedToken == "" {
		return key, "", changed, err
	}
	token, also, err := v.Renew(tokenPlace(r.device.ID), r.sealedToken)
	return key, token, changed || also, err
}

// Run stores device events, applies changes that other replicas made, and tries to connect a
// replacement device until it is approved. It returns when ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.Own != nil {
		return nil
	}
	ctx = actor.With(ctx, actor.System)
	every := time.NewTicker(cmp.Or(s.Every, 2*time.Second))
	defer every.Stop()
	for {
		if err := s.step(ctx); err != nil && ctx.Err() == nil && !s.DB.Away("pairing", err) {
			s.Log.ErrorContext(ctx, "could not update the pairing", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wakeups():
		case <-every.C:
		}
	}
}

// step performs one round of the pairing service's work: it stores pending events, synchronizes the
// client, and attempts the next connection.
func (s *Service) step(ctx context.Context) error {
	if err := s.storeEvents(ctx); err != nil {
		return err
	}
	if err := s.syncClient(ctx); err != nil {
		return err
	}
	return s.connectNext(ctx)
}

// syncClient passes the stored device to the client if it has changed. If the device's
// secrets cannot be decrypted, for example while the encryption key is being replaced, a
// client that already uses the device keeps it. A client that uses a different device
// stops using that one.
func (s *Service) syncClient(ctx context.Context) error {
	if s.Own != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current, _, err := load(ctx, s.DB)
	if err != nil {
		return fmt.Errorf("read the device: %w", err)
	}
	has := &s.held
	switch {
	case current == nil && has.deviceID == "" && has.trouble == "":
		return nil
	case current == nil:
		s.held = held{}
		s.Runtime.SetIdentity(link.Identity{})
		return nil
	case has.trouble == "" && has.deviceID == current.device.ID && has.gateway == s.Runtime.Address() &&
		has.sealedKey == current.sealedKey && has.sealedToken == current.sealedToken:
		return nil
	}
	id, err := s.decrypt(*current)
	if err != nil {
		if why := unreadable(err); has.trouble != why {
			has.trouble = why
			if has.deviceID == "" {
				s.Runtime.SetIdentity(link.Identity{Problem: why})
			}
			s.Log.ErrorContext(ctx, "could not use the stored device", "device_id", current.device.ID, "reason", why)
		}
		if has.deviceID != "" && has.deviceID != current.device.ID {
			s.held = held{trouble: has.trouble}
			s.Runtime.SetIdentity(link.Identity{Problem: has.trouble})
		}
		return nil
	}
	s.held = held{
		deviceID: current.device.ID, gateway: id.Gateway, sealedKey: current.sealedKey, sealedToken: current.sealedToken,
		token: id.Token,
	}
	s.Runtime.SetIdentity(id)
	return nil
}

// storeEvents stores the queued device events. Events that cannot be stored stay queued.
func (s *Service) storeEvents(ctx context.Context) error {
	s.eventsMu.Lock()
	news := slices.Clone(s.events)
	s.events = nil
	s.eventsMu.Unlock()
	for i, n := range news {
		if err := s.storeEvent(ctx, n); err != nil {
			s.eventsMu.Lock()
			s.events = append(news[i:], s.events...)
			s.eventsMu.Unlock()
			return fmt.Errorf("store a device event: %w", err)
		}
	}
	return nil
}

// storeEvent stores one device event, unless Wardroom has since changed to another gateway. It does
// not rewrite a token that is already stored.
func (s *Service) storeEvent(ctx context.Context, n link.DeviceEvent) error {
	v, err := s.Keys.Find()
	if err != nil || n.Gateway != s.Runtime.Address() {
		return nil //nolint:nilerr // syncClient has logged it; there is no key to encrypt with
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		current, _, err := load(ctx, tx)
		if err != nil || current == nil || current.device.ID != n.DeviceID {
			return err // the device has since been forgotten or replaced
		}
		has, err := current.open(v, n.Gateway)
		if err != nil {
			return nil //nolint:nilerr // syncClient has logged it
		}
		switch n.Kind {
		case link.TokenIssued:
			return s.keepToken(ctx, tx, current, v, n, has.Token)
		case link.TokenRefused:
			if has.Token == n.Token {
				return setToken(ctx, tx, placeCurrent, "", "", nil)
			}
		case link.AcceptedLocally:
			if current.admitted != Local {
				return s.admit(ctx, tx, current, Local)
			}
		}
		return nil
	})
}

// keepToken stores the current device's token, and records that the gateway has approved the
// device.
func (s *Service) keepToken(
	ctx context.Context, tx *db.Tx, current *stored, v *vault.Vault, n link.DeviceEvent, has string,
) error {
	if n.Token != has {
		now := clock.At(s.Now())
		if err := setToken(
			ctx, tx, placeCurrent, v.Seal(tokenPlace(current.device.ID), []byte(n.Token)), n.Gateway, &now,
		); err != nil {
			return err
		}
	}
	if current.admitted == Paired {
		return nil
	}
	return s.admit(ctx, tx, current, Paired)
}

// admit records whether the gateway approved the current device or accepted it without approval.
func (s *Service) admit(ctx context.Context, tx *db.Tx, current *stored, how State) error {
	now := s.Now()
	if err := setAdmitted(ctx, tx, placeCurrent, how, now); err != nil {
		return err
	}
	return event.Record(ctx, tx, now, event.Audit, "pairing.let_in", subject(current.device.ID),
		map[string]State{"as": how})
}

// connectNext connects with the replacement device when the next attempt is due, and makes it the
// current one once the gateway accepts it. Only one replica does this at a time.
func (s *Service) connectNext(ctx context.Context) error {
	const claim = 30 * time.Second // longer than a request to the gateway usually takes
	var r stored
	var ok bool
	now := s.Now()
	if _, next, err := load(ctx, s.DB); err != nil || next == nil {
		return err
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		r, ok, err = claimNext(ctx, tx, now, now.Add(claim))
		return err
	})
	if err != nil || !ok {
		return err
	}
	id, err := s.decrypt(r)
	if err != nil {
		return s.DB.Tx(ctx, func(tx *db.Tx) error {
			return setAnswer(ctx, tx, r.device.ID, answer{Error: unreadable(err)}, s.Now().Add(claim))
		})
	}
	in := s.Runtime.Introduce(ctx, id.Key)
	if ctx.Err() != nil {
		return ctx.Err() // not a failure of the gateway
	}
	if in.State == link.Connected && in.Gateway == s.Runtime.Address() {
		return s.replace(ctx, r, in)
	}
	again := s.Now().Add(max(cmp.Or(s.Ask, 4*time.Second), in.After))
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		return setAnswer(ctx, tx, r.device.ID, answer{Request: in.Pairing, Error: in.Error}, again)
	})
}

// replace makes the replacement device the current one, with its token.
func (s *Service) replace(ctx context.Context, r stored, in link.Introduction) error {
	v, err := s.Keys.Find()
	if err != nil {
		return fmt.Errorf("encrypt the token of the next device: %w", err)
	}
	how, sealed, address, at := Local, "", "", (*clock.Time)(nil)
	if in.Token != "" {
		how, sealed, address, at = Paired, v.Seal(tokenPlace(r.device.ID), []byte(in.Token)), in.Gateway, clock.Ptr(s.Now())
	}
	gone := errors.New("the next device was discarded")
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		current, next, err := load(ctx, tx)
		if err != nil {
			return err
		}
		if current == nil || next == nil || next.device.ID != r.device.ID {
			return gone
		}
		now := s.Now()
		err = errors.Join(
			setToken(ctx, tx, placeNext, sealed, address, at),
			setAdmitted(ctx, tx, placeNext, how, now),
			promote(ctx, tx, next.device.ID, current.device.ID),
		)
		if err != nil {
			return err
		}
		return event.Record(ctx, tx, now, event.Audit, "pairing.rotated", subject(next.device.ID),
			map[string]string{"replaced": current.device.ID})
	})
	if errors.Is(err, gone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replace the device: %w", err)
	}
	s.Log.InfoContext(ctx, "replaced the device", "device_id", r.device.ID)
	return s.syncClient(ctx)
}
