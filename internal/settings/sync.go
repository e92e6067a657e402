package settings

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/vault"
)

// Load passes the settings to the gateway client. Call it before the client first connects.
// Load also encrypts the token again if it was encrypted with an old key. It returns only
// database errors; if the token cannot be decrypted, it logs the failure.
func (s *Service) Load(ctx context.Context) error {
	if err := s.reencrypt(ctx); err != nil {
		return fmt.Errorf("re-encrypt the gateway's token: %w", err)
	}
	return s.sync(ctx)
}

// reencrypt encrypts the token with the current key. A token that no key can decrypt stays
// unchanged.
func (s *Service) reencrypt(ctx context.Context) error {
	v, err := s.Keys.Find()
	if err != nil {
		return nil //nolint:nilerr // sync logs it if there is a token to decrypt
	}
	w, err := load(ctx, s.DB)
	if err != nil || w.sealed == "" {
		return err
	}
	sealed, changed, err := v.Renew(tokenPlace(w.tokenFor), w.sealed)
	if err != nil || !changed {
		return nil //nolint:nilerr // sync logs it
	}
	s.Log.InfoContext(ctx, "re-encrypted the gateway's token with the current key")
	return s.DB.Tx(ctx, func(tx *db.Tx) error { return setSealed(ctx, tx, w.sealed, sealed) })
}

// Run passes changes that other replicas made to the gateway client. It returns when ctx
// ends.
func (s *Service) Run(ctx context.Context) error {
	if s.Fixed.all() {
		return nil
	}
	every := time.NewTicker(cmp.Or(s.Every, 2*time.Second))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		if err := s.sync(ctx); err != nil && ctx.Err() == nil && !s.DB.Away("settings", err) {
			s.Log.ErrorContext(ctx, "could not read the settings", "err", err)
		}
	}
}

// sync passes the settings to the gateway client if they have changed. While the token
// cannot be decrypted, for example because the encryption key is being replaced, it tries
// again with each call.
func (s *Service) sync(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := load(ctx, s.DB)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	if w.version == s.applied && s.problem == "" {
		return nil
	}
	e, trouble := s.Fixed.endpoint(w, s.Keys)
	problem := ""
	if trouble != nil {
		problem = unreadable(trouble)
	}
	if err := s.Runtime.SetEndpoint(e); err != nil {
		problem = err.Error()
	}
	if problem != "" && problem != s.problem {
		s.Log.ErrorContext(ctx, "could not use the stored gateway settings", "reason", problem)
	}
	first := s.applied == 0
	s.applied, s.problem = w.version, problem
	if s.Changed != nil && !first {
		s.Changed()
	}
	return nil
}

// Endpoint returns the gateway's address and token as the running service would use them.
// It is meant for commands that run alongside the server, so it does not change anything.
func Endpoint(ctx context.Context, q db.Queryer, keys vault.Source, fixed Fixed) (link.Endpoint, error) {
	w, err := load(ctx, q)
	if err != nil {
		return link.Endpoint{}, err
	}
	e, err := fixed.endpoint(w, keys)
	if err != nil {
		return e, fmt.Errorf("%s", unreadable(err)) //nolint:err113 // for people
	}
	return e, nil
}
