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
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

// How agents stay signed in without a password.

// Key is an API key of an agent user, without the key itself: that is shown
// once, and only a digest of it is stored.
type Key struct {
	ID         string      `json:"id"`
	Name       string      `json:"name" doc:"What it is for."`
	Hint       string      `json:"hint" doc:"How the key begins and ends, to tell it from others." example:"wrk_…k3xq"`
	CreatedAt  clock.Time  `json:"created_at"`
	ExpiresAt  *clock.Time `json:"expires_at" doc:"From when on it does not work; null is never."`
	LastUsedAt *clock.Time `json:"last_used_at" doc:"The last request with it, to about a minute."`
	RevokedAt  *clock.Time `json:"revoked_at" doc:"Since when it does not work any more."`
}

// NewKey is what a new key is made of.
type NewKey struct {
	Name      string                  `json:"name" maxLength:"100" doc:"What it is for, such as the machine that it is on." example:"build server"`
	ExpiresAt patch.Field[clock.Time] `json:"expires_at,omitzero" doc:"From when on it does not work; left out or null is never."`
}

// IssuedKey is a key that was just made, the only time with the key itself.
type IssuedKey struct {
	Key
	Secret string `json:"key" format:"password" doc:"Send it with every request: Authorization: Bearer <key>. It is never shown again."`
}

// The failures of keys.
var (
	ErrKeyHolder   = fault.New(fault.Conflict, "keys_for_agents", "Only agent users have API keys.")
	ErrKeyNotFound = fault.New(fault.NotFound, "key_not_found", "The account has no such key.")
)

const (
	// keyPrefix is how every key begins, so that programs that look for secrets
	// in what people publish find ours: wrk_[a-z2-7]{40}.
	keyPrefix = "wrk_"
	// keyBytes are random: with 200 bits nobody guesses, and a fast digest
	// guards as well as a slow one.
	keyBytes = 25
	hintTail = 4
)

// badKey is the same for whatever is wrong with a key: the rest is for its
// owner's admin, who sees it in the list.
const badKey = "The key is wrong, has expired or was revoked. Ask an admin for another."

// makeKey invents a key.
func makeKey() string {
	var b [keyBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return keyPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

func keyDigest(secret string) string { return digest("key", secret) }

// works reports whether the key opens anything at that time.
func (k Key) works(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(now))
}

func (n NewKey) check(now time.Time) error {
	var bad fault.Fields
	if problem := checkName(n.Name); problem != "" {
		bad.Add("/name", "%s", problem)
	}
	if until := n.ExpiresAt.Value; until != nil && !until.After(now) {
		bad.Add("/expires_at", "It must be in the future.")
	} else if until != nil && until.UTC().Year() > 9999 {
		bad.Add("/expires_at", "Give a time in UTC's years to 9999.") // RFC 3339 has no others
	}
	return bad.Err()
}

// MakeKey makes a key for the agent user that ref names by id or email. It
// answers ErrKeyHolder for people, who have a password and log in.
func (s *Service) MakeKey(ctx context.Context, ref string, n NewKey) (IssuedKey, error) {
	now := s.Now()
	n.Name = strings.TrimSpace(n.Name)
	if err := n.check(now); err != nil {
		return IssuedKey{}, err
	}
	secret := makeKey()
	k := Key{
		ID: db.NewID(), Name: n.Name, Hint: keyPrefix + "…" + secret[len(secret)-hintTail:],
		CreatedAt: clock.At(now), ExpiresAt: n.ExpiresAt.Value,
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, serial); err != nil { // nobody changes the role meanwhile
			return err
		}
		u, err := find(ctx, tx, ref)
		switch {
		case err != nil:
			return err
		case u.Role != actor.Agent:
			return ErrKeyHolder.With("%s has the role %s. Log in with the password instead.", u.Name, u.Role)
		}
		if err := insertKey(ctx, tx, u.ID, k, keyDigest(secret)); err != nil {
			return err
		}
		return recordKey(ctx, tx, now, "key.created", u.User, k)
	})
	if err != nil {
		return IssuedKey{}, fmt.Errorf("make a key: %w", err)
	}
	return IssuedKey{k, secret}, nil
}

// Keys returns one page of the keys of the user that ref names, also of those
// that do not work any more, the oldest first.
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

// RevokeKey ends a key of the user that ref names: its next request is refused
// by every replica, and its open streams end. A key that was revoked before
// stays so.
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

// recordKey tells of the account rather than of the key: whoever follows the
// log with the account's credentials is looked at anew then.
func recordKey(ctx context.Context, tx *db.Tx, at time.Time, kind string, u User, k Key) error {
	about := event.Subject{Kind: "user", ID: u.ID, Name: u.Name}
	return event.Record(ctx, tx, at, event.Audit, kind, about, map[string]any{
		"key_id": k.ID, "name": k.Name, "hint": k.Hint, "expires_at": k.ExpiresAt,
	})
}

// authenticateKey is Authenticate for a key. It is one read: who revokes a key
// need not tell anybody.
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
	case !k.works(now) || c.Role != actor.Agent:
		// A key was given to an agent. It is not to open what a person may do.
		return actor.Actor{}, ErrToken.With(badKey)
	case !c.active:
		return actor.Actor{}, ErrDeactivated.With("Ask an admin or the owner to activate it again.")
	}
	if k.ExpiresAt != nil {
		c.Expires = k.ExpiresAt.Time
	}
	s.notes.used(k, now)
	return c.Actor, nil
}
