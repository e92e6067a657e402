package account

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Key describes an API key of an agent user, without its secret. The secret is
// shown once, and only its digest is stored.
type Key struct {
	ID         string      `json:"id"`
	Name       string      `json:"name" doc:"What the key is for."`
	Hint       string      `json:"hint" doc:"The start and end of the key, to identify it." example:"wrk_…k3xq"`
	CreatedAt  clock.Time  `json:"created_at"`
	ExpiresAt  *clock.Time `json:"expires_at" doc:"When the key expires; null means never."`
	LastUsedAt *clock.Time `json:"last_used_at" doc:"When the key was last used, accurate to about a minute."`
	RevokedAt  *clock.Time `json:"revoked_at" doc:"When the key was revoked; null if it was not."`
}

// NewKey is the body of a request to create an API key.
type NewKey struct {
	Name      string                  `json:"name" maxLength:"100" doc:"What the key is for, such as the machine that uses it." example:"build server"`
	ExpiresAt patch.Field[clock.Time] `json:"expires_at,omitzero" doc:"When the key expires; omitted or null means never."`
}

// IssuedKey is a new key with its secret, which is not available later.
type IssuedKey struct {
	Key
	Secret string `json:"key" format:"password" doc:"Send it with every request: Authorization: Bearer <key>. It is not shown again."`
}

// Errors that the key operations return.
var (
	ErrKeyHolder   = fault.New(fault.Conflict, "keys_for_agents", "Only agent accounts can have API keys.")
	ErrKeyNotFound = fault.New(fault.NotFound, "key_not_found", "API key not found.")
)

const (
	// keyPrefix is the beginning of every key, so that secret scanners can detect leaked keys with
	// the pattern wrk_[a-z2-7]{40}.
	keyPrefix = "wrk_"
	// keyBytes is the number of random bytes: 200 bits cannot be guessed, so a
	// fast digest is as safe as a slow one.
	keyBytes = 25
	hintTail = 4
)

// badKey is the error detail for every unusable key. It does not reveal the reason; an admin can
// see that in the list of keys.
const badKey = "The API key is wrong, expired or revoked. Ask an admin for a new one."

// newSecret returns a random key.
func newSecret() string {
	var b [keyBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return keyPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

func keyDigest(secret string) string { return digest("key", secret) }

// usable reports whether the key is neither revoked nor expired at now.
func (k Key) usable(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(now))
}

func (n NewKey) check(now time.Time) error {
	var bad fault.Fields
	if _, wrong := label.Clean(n.Name, maxName); wrong != "" {
		bad.Add("/name", "%s", wrong)
	}
	if until := n.ExpiresAt.Value; until != nil && !until.After(now) {
		bad.Add("/expires_at", "Must be in the future.")
	} else if until != nil && until.UTC().Year() > 9999 {
		bad.Add("/expires_at", "Must be before the year 10000 (UTC).") // the limit of RFC 3339
	}
	return bad.Err()
}

// MakeKey creates a key for the agent user whose ID or email is ref. It returns ErrKeyHolder for
// people, who log in with a password.
func (s *Service) MakeKey(ctx context.Context, ref string, n NewKey) (IssuedKey, error) {
	now := s.Now()
	n.Name = plaintext.NFC(strings.TrimSpace(n.Name))
	if err := n.check(now); err != nil {
		return IssuedKey{}, err
	}
	secret := newSecret()
	k := Key{
		ID: db.NewID(), Name: n.Name, Hint: keyPrefix + "…" + secret[len(secret)-hintTail:],
		CreatedAt: clock.At(now), ExpiresAt: n.ExpiresAt.Value,
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		u, err := find(ctx, tx, ref)
		switch {
		case err != nil:
			return err
		case u.Role != actor.Agent:
			return ErrKeyHolder.With("%s has the %s role, so this account must log in with its password.", u.Name, u.Role)
		}
		if err := insertKey(ctx, tx, u.ID, k, keyDigest(secret)); err != nil {
			return err
		}
		return recordKey(ctx, tx, now, "key.created", u.User, k)
	})
	if err != nil {
		return IssuedKey{}, fmt.Errorf("create a key: %w", err)
	}
	return IssuedKey{k, secret}, nil
}

// Keys returns one page of a user's keys, oldest first, including expired and revoked ones.
func (s *Service) Keys(ctx context.Context, ref string, want page.Want) (page.Part[Key], error) {
	var part page.Part[Key]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		u, err := find(ctx, q, ref)
		if err != nil {
			return err
		}
		var w list.Where
		w.And(`user_id = ?`, u.ID)
		part, err = keys.Read(ctx, q, w, want)
		return err
	})
	return part, err
}

// RevokeKey revokes a user's key. Every replica rejects further requests with the key, and the
// key's open streams close. Revoking a key again has no effect.
func (s *Service) RevokeKey(ctx context.Context, ref, id string) error {
	now := s.Now()
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		u, err := find(ctx, tx, ref)
		if err != nil {
			return err
		}
		k, err := findKey(ctx, tx, u.ID, id)
		if err != nil {
			return err
		}
		revoked, err := revokeKey(ctx, tx, k.ID, now)
		if err != nil || !revoked {
			return err
		}
		return recordKey(ctx, tx, now, "key.revoked", u.User, k)
	})
	if err != nil {
		return fmt.Errorf("revoke a key: %w", err)
	}
	return nil
}

// recordKey records an event about an API key. The event's subject is the account, because an
// event about an account causes its open streams to be authenticated again.
func recordKey(ctx context.Context, tx *db.Tx, at time.Time, kind string, u User, k Key) error {
	about := event.Subject{Kind: "user", ID: u.ID, Name: u.Name}
	return event.Record(ctx, tx, at, event.Audit, kind, about, map[string]any{
		"key_id": k.ID, "name": k.Name, "hint": k.Hint, "expires_at": k.ExpiresAt,
	})
}

// authenticateKey is like Authenticate, but accepts only an API key. It reads the key from the
// database on each call, so that a revocation takes effect immediately on every replica.
func (s *Service) authenticateKey(ctx context.Context, secret string) (actor.Actor, error) {
	now := s.Now()
	digest := keyDigest(secret)
	c, err := s.callers.Read(ctx, s.DB, "key "+digest, func(ctx context.Context) (caller, error) {
		return findKeyHolder(ctx, s.DB.Brief(), digest)
	})
	k := c.key
	switch {
	case db.IsNotFound(err):
		return actor.Actor{}, ErrToken.With(badKey)
	case err != nil:
		return actor.Actor{}, fmt.Errorf("look up a key's user: %w", err)
	case !k.usable(now) || c.Role != actor.Agent:
		// If the account no longer belongs to an agent, the key must not grant a person's permissions.
		return actor.Actor{}, ErrToken.With(badKey)
	case !c.active:
		return actor.Actor{}, ErrDeactivated.With("Ask an admin or the owner to reactivate the account.")
	}
	if k.ExpiresAt != nil {
		c.Expires = k.ExpiresAt.Time
	}
	c.Key = k.ID
	s.notes.used(use{id: k.ID}, k.LastUsedAt, now, noteInterval)
	return c.Actor, nil
}
