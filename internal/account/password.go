package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
)

const (
	// DefaultCost is bcrypt's cost in production: about a quarter of a second.
	DefaultCost = 12
	// bcryptBytes is what bcrypt reads of a password. Go's refuses to hash more
	// and compares more without looking at it.
	bcryptBytes = 72
	// longPrefix marks the hash of a longer password, which is not what bcrypt
	// was given: see material.
	longPrefix = "hmac256:"
	// longKey makes the inner hash ours, so that a digest that leaked from
	// elsewhere is no password here. It is part of the format and never changes.
	longKey = "wardroom/password/v1"
)

// keeper hashes and compares passwords.
type keeper struct {
	cost  int
	slots chan struct{} // one per core: logins must not starve everything else
	dummy string        // the hash of a password that nobody knows

	waiting atomic.Int32 // for a slot

	compare  func(hash, password []byte) error               // bcrypt's; a test counts the work
	generate func(password []byte, cost int) ([]byte, error) // bcrypt's
}

func newKeeper(cost int) (*keeper, error) {
	if cost == 0 {
		cost = DefaultCost
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(rand.Text()), cost)
	if err != nil {
		return nil, fmt.Errorf("make the hash to compare with when there is no account: %w", err)
	}
	return &keeper{
		cost: cost, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), dummy: string(hash),
		compare: bcrypt.CompareHashAndPassword, generate: bcrypt.GenerateFromPassword,
	}, nil
}

// material is what bcrypt gets of a password: all of it, up to what it reads,
// else a digest of all of it. base64 because bcrypt stops making a difference
// at a NUL.
func material(password string) (m []byte, long bool) {
	if len(password) <= bcryptBytes {
		return []byte(password), false
	}
	mac := hmac.New(sha256.New, []byte(longKey))
	mac.Write([]byte(password))
	return []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil))), true
}

// hash returns what is stored of a password.
func (k *keeper) hash(ctx context.Context, password string) (string, error) {
	release, err := k.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	m, long := material(password)
	h, err := k.generate(m, k.cost)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	if long {
		return longPrefix + string(h), nil
	}
	return string(h), nil
}

// matches reports whether password is the one that stored was made of; an
// empty stored is that of no account. It takes the same time in every case.
//
// A hash is only ever compared with a password of its own scheme: a plain one
// would take every password that begins with its 72 bytes, and the digest of a
// long password would be a password itself.
func (k *keeper) matches(ctx context.Context, stored, password string) (bool, error) {
	release, err := k.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	m, long := material(password)
	hash, marked := strings.CutPrefix(stored, longPrefix)
	cost, err := bcrypt.Cost([]byte(hash))
	usable := err == nil && marked == long && !strings.ContainsRune(password, 0)
	if !usable {
		hash, cost = k.dummy, k.cost
	}
	matched := k.compare([]byte(hash), m) == nil
	// A hash from elsewhere may be cheaper than ours, and its quick refusal
	// would tell that the account exists: 2^c + 2^c + 2^(c+1) + … is 2^cost.
	for ; cost < k.cost; cost++ {
		if _, err := k.generate(m, cost); err != nil {
			return false, fmt.Errorf("compare a password: %w", err)
		}
	}
	return matched && usable, nil
}

// longestQueue is how many may wait for a core. Each of them holds a request's
// body, and the last of them waits a few seconds; whoever comes then is better
// off trying again than holding on.
const longestQueue = 32

func busy() error { return ErrBusy.With("Try again in a few seconds.").After(3 * time.Second) }

// slot waits for a core, or says ErrBusy when too many do.
func (k *keeper) slot(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err // a free slot must not win against a caller who has left
	}
	defer k.waiting.Add(-1)
	if k.waiting.Add(1) > longestQueue {
		return nil, busy()
	}
	select {
	case k.slots <- struct{}{}:
		return func() { <-k.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
