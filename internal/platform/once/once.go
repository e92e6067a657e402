// Package once lets callers repeat a request that makes something, because the
// answer got lost, without making it twice.
//
// The route says so with web.Once, and the service makes the thing within Do:
//
//	t, err = once.Do(ctx, tx, s.Now(), find, Task.id, func() (Task, error) { return s.CreateIn(ctx, tx, n) })
//
// What is kept is the name of the thing, in the transaction that made it, and
// not the answer: a repetition reads the thing as it is then. So a route whose
// answer holds a secret cannot have it.
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

// Life is for how long a key stands for what it made.
const Life = 24 * time.Hour

// MaxKey is how long a key may be, in bytes.
const MaxKey = 255

// The failures of repetitions.
var (
	ErrConflict = fault.New(fault.Conflict, "idempotency_conflict", "The Idempotency-Key was used for another request.")
	ErrGone     = fault.New(fault.Conflict, "idempotency_gone", "What the first request with this Idempotency-Key made is gone.")
)

// Request is one that its caller may repeat.
type Request struct {
	name, digest string
	replayed     bool
}

// New is the request of a caller to a route, with the key that they gave it and
// all that they sent. The same key of somebody else, or for another route, is
// another key.
//
// What was sent may hold a password. So neither it nor a plain digest of it is
// kept, but one that nobody can compute without the key, which is not kept
// either: a random key leaves nothing to guess at.
func New(caller, route, key string, sent []byte) *Request {
	name := sha256.New()
	for _, part := range []string{caller, route, key} {
		fmt.Fprintf(name, "%d:%s", len(part), part)
	}
	digest := hmac.New(sha256.New, []byte(key))
	digest.Write(sent)
	return &Request{name: hex.EncodeToString(name.Sum(nil)), digest: hex.EncodeToString(digest.Sum(nil))}
}

// Replayed reports whether Do found what an earlier request had made.
func (r *Request) Replayed() bool { return r.replayed }

type key struct{}

// With returns a context that carries r to Do.
func With(ctx context.Context, r *Request) context.Context { return context.WithValue(ctx, key{}, r) }

// Name names the caller's request for good, for whoever makes the thing outside
// of the database and must recognise a repetition there: the same for the same
// request, and for no other one. Without a key it is otherwise.
func Name(ctx context.Context, otherwise string) string {
	r, _ := ctx.Value(key{}).(*Request)
	if r == nil {
		return otherwise
	}
	sum := sha256.Sum256([]byte(r.name + r.digest))
	return hex.EncodeToString(sum[:])
}

// Named says whether the caller gave the request a key, so that it may be a
// repetition.
func Named(ctx context.Context) bool {
	r, _ := ctx.Value(key{}).(*Request)
	return r != nil
}

// Do makes something in a transaction, unless an earlier request with the same
// key did: then it is found by the name that naming gave it, and nothing is
// made. Without a key it only makes. Use it once in a request, before anything
// else that locks or writes.
//
// Of several at once, one makes and the others wait for its transaction. One
// that fails leaves nothing, so that the next may succeed. It answers
// ErrConflict for a key that stands for another request, and ErrGone when find
// answers that the thing is not there any more.
func Do[T any](ctx context.Context, tx *db.Tx, now time.Time,
	find func(context.Context, db.Queryer, string) (T, error), naming func(T) string, makeIt func() (T, error),
) (T, error) {
	var zero T
	r, _ := ctx.Value(key{}).(*Request)
	if r == nil {
		return makeIt()
	}
	r.replayed = false // the transaction may run again
	if err := tx.Lock(ctx, "once/"+r.name); err != nil {
		return zero, err
	}
	digest, made, err := look(ctx, tx, r.name, now.Add(-Life))
	switch {
	case db.IsNotFound(err):
		return first(ctx, tx, r, now, naming, makeIt)
	case err != nil:
		return zero, fmt.Errorf("look up an idempotency key: %w", err)
	case !hmac.Equal([]byte(digest), []byte(r.digest)):
		return zero, ErrConflict.With("Take a new key for a new request; to repeat one, send exactly the same.")
	}
	v, err := find(ctx, tx, made)
	if f := fault.Of(err); f != nil && f.Kind == fault.NotFound {
		return zero, ErrGone.With("Take a new key to make it anew.")
	}
	r.replayed = err == nil
	return v, err
}

// first makes the thing and notes its name.
func first[T any](ctx context.Context, tx *db.Tx, r *Request, now time.Time, naming func(T) string, makeIt func() (T, error)) (T, error) {
	v, err := makeIt()
	if err != nil {
		return v, err
	}
	if err := keep(ctx, tx, r, naming(v), now); err != nil {
		var zero T
		return zero, fmt.Errorf("keep an idempotency key: %w", err)
	}
	return v, nil
}
