// Package once implements idempotency keys. If the response to a request that creates
// something is lost, the client can safely retry the request.
//
// To make a route accept keys, declare it with web.Once and create the resource in
// Do:
//
//	t, err = once.Do(ctx, tx, s.Now(), find, Task.id, func() (Task, error) { return s.CreateIn(ctx, tx, n) })
//
// The transaction that creates the resource also stores the resource's name with the
// key. The response is not stored: a retry reads the resource in its current state. A
// route whose response contains a secret therefore cannot accept keys.
package once

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Life is how long an idempotency key stays valid.
const Life = 24 * time.Hour

// MaxKey is the maximum length of an idempotency key in bytes.
const MaxKey = 255

// Errors for a request whose idempotency key was already used by an earlier request.
var (
	ErrConflict = fault.New(fault.Conflict, "idempotency_conflict",
		"This Idempotency-Key was already used for a different request.")
	ErrGone = fault.New(fault.Conflict, "idempotency_gone",
		"The resource created by the first request with this Idempotency-Key no longer exists.")
)

// Request is a request with an idempotency key.
type Request struct {
	name, digest string
	replayed     bool
}

// New returns the Request for a caller's idempotency key on a route. The bytes in sent
// are the request's content. Equal keys from different callers or for different routes
// are independent.
//
// The content may include a password, so neither it nor a plain hash of it is stored.
// The stored hash is keyed with the idempotency key, which is not stored either. If
// the key is random, the content cannot be guessed from the hash.
func New(caller, route, key string, sent []byte) *Request {
	name := sha256.New()
	for _, part := range []string{caller, route, key} {
		fmt.Fprintf(name, "%d:%s", len(part), part)
	}
	digest := hmac.New(sha256.New, []byte(key))
	digest.Write(sent)
	return &Request{name: hex.EncodeToString(name.Sum(nil)), digest: hex.EncodeToString(digest.Sum(nil))}
}

// Replayed reports whether Do found the result of an earlier request.
func (r *Request) Replayed() bool { return r.replayed }

type key struct{}

// With returns a context that passes r to Do.
func With(ctx context.Context, r *Request) context.Context { return context.WithValue(ctx, key{}, r) }

// Name returns an ID that is unique to the request and the same for each of its
// retries. Operations outside the database use it to recognize retries. If the
// request has no idempotency key, Name returns the given fallback.
func Name(ctx context.Context, otherwise string) string {
	r, _ := ctx.Value(key{}).(*Request)
	if r == nil {
		return otherwise
	}
	sum := sha256.Sum256([]byte(r.name + r.digest))
	return hex.EncodeToString(sum[:])
}

// Named reports whether the request has an idempotency key and may therefore be a
// retry.
func Named(ctx context.Context) bool {
	r, _ := ctx.Value(key{}).(*Request)
	return r != nil
}

// Do creates a resource in a transaction, unless an earlier request with the same key has
// created it. Do stores the name of a new resource, as returned by naming, with the key. If the
// resource already exists, Do reads it by calling find with that name. If the request has no
// key, Do always creates the resource. Call Do once per request, before anything else that
// writes.
//
// Of several concurrent requests with the same key, one creates the resource and the
// others wait for its transaction. A failed request stores nothing, so a retry can
// succeed. Do returns ErrConflict if the key belongs to a different request, and
// ErrGone if find reports that the resource no longer exists.
func Do[T any](ctx context.Context, tx *db.Tx, now time.Time,
	find func(context.Context, db.Queryer, string) (T, error), naming func(T) string, makeIt func() (T, error),
) (T, error) {
	var zero T
	r, _ := ctx.Value(key{}).(*Request)
	if r == nil {
		return makeIt()
	}
	r.replayed = false // the transaction may run again
	digest, made, err := look(ctx, tx, r.name, now)
	switch {
	case db.IsNotFound(err):
		return first(ctx, tx, r, now, naming, makeIt)
	case err != nil:
		return zero, fmt.Errorf("look up the idempotency key: %w", err)
	case !hmac.Equal([]byte(digest), []byte(r.digest)):
		return zero, ErrConflict.With(
			"Use a new key for a new request. To retry a request, send exactly the same content again.",
		)
	}
	v, err := find(ctx, tx, made)
	if f := fault.Of(err); f != nil && f.Kind == fault.NotFound {
		return zero, ErrGone.With("Use a new key to create the resource again.")
	}
	r.replayed = err == nil
	return v, err
}

// first handles the first request with r's idempotency key. It creates the resource
// and stores the resource's name with the key.
func first[T any](
	ctx context.Context, tx *db.Tx, r *Request, now time.Time, naming func(T) string, makeIt func() (T, error),
) (T, error) {
	v, err := makeIt()
	if err != nil {
		return v, err
	}
	if err := keep(ctx, tx, r, naming(v), now); err != nil {
		var zero T
		return zero, fmt.Errorf("store the idempotency key: %w", err)
	}
	return v, nil
}
