package account

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/secure/precis"
)

const (
	// DefaultCost is the bcrypt cost in production. One hash takes about 250 ms.
	DefaultCost = 12
	// bcryptBytes is the number of bytes of a password that bcrypt reads. Go's
	// implementation rejects longer passwords when it hashes, and ignores the rest
	// when it compares.
	bcryptBytes = 72
	// longPrefix marks the hash of a longer password. For such a password, bcrypt
	// gets a digest instead: see bcryptInput.
	longPrefix = "hmac256:"
	// longKey is the HMAC key for the digest of a longer password, so that a digest leaked from
	// another system does not work as a password in Wardroom. It is part of the stored format and
	// must never change.
	longKey = "wardroom/password/v1"
)

// hasher hashes and compares passwords.
type hasher struct {
	cost  int
	slots chan struct{} // one per core: logins must not starve everything else
	dummy string        // the hash of a random password

	waiting atomic.Int32 // number of requests that wait for a slot

	compare  func(hash, password []byte) error               // bcrypt's; tests count the calls
	generate func(password []byte, cost int) ([]byte, error) // bcrypt's
}

func newHasher(cost int) (*hasher, error) {
	if cost == 0 {
		cost = DefaultCost
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(rand.Text()), cost)
	if err != nil {
		return nil, fmt.Errorf("create the hash for unknown accounts: %w", err)
	}
	return &hasher{
		cost: cost, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), dummy: string(hash),
		compare: bcrypt.CompareHashAndPassword, generate: bcrypt.GenerateFromPassword,
	}, nil
}

// bcryptInput returns the bytes to pass to bcrypt for a password: the password itself or, if the
// password is longer than bcrypt can read, its digest. The digest is encoded in base64, because
// bcrypt cannot distinguish all inputs that contain NUL bytes.
func bcryptInput(password string) (m []byte, long bool) {
	if len(password) <= bcryptBytes {
		return []byte(password), false
	}
	mac := hmac.New(sha256.New, []byte(longKey))
	mac.Write([]byte(password))
	return []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil))), true
}

// prepared returns the form of a password that is hashed: the profile OpaqueString of RFC 8265, so
// that a password is right whichever Unicode form the keyboard sends. A password with a character
// that the profile forbids, such as a tab, stays as it is.
func prepared(password string) string {
	if form, err := precis.OpaqueString.String(password); err == nil {
		return form
	}
	return password
}

// hash returns the hash of a password in the stored format.
func (k *hasher) hash(ctx context.Context, password string) (string, error) {
	release, err := k.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	m, long := bcryptInput(prepared(password))
	h, err := k.generate(m, k.cost)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	if long {
		return longPrefix + string(h), nil
	}
	return string(h), nil
}

// matches reports whether stored is the hash of password. If there is no account, callers pass an
// empty hash. To hide whether an account exists, matches takes the same time for every account.
// Earlier versions hashed the password as it was typed, so matches tries that form as well.
func (k *hasher) matches(ctx context.Context, stored, password string) (matched bool, err error) {
	release, err := k.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	for _, form := range slices.Compact([]string{prepared(password), password}) {
		same, err := k.matchesForm(stored, form)
		if err != nil {
			return false, err
		}
		matched = matched || same
	}
	return matched, nil
}

// matchesForm reports whether stored is the hash of one form of a password.
//
// A hash that begins with longPrefix matches only long passwords. Otherwise, the digest of a long
// password would itself work as a password. Any other hash matches only short passwords, because
// bcrypt ignores everything after the first 72 bytes of a password.
func (k *hasher) matchesForm(stored, password string) (bool, error) {
	m, long := bcryptInput(password)
	hash, marked := strings.CutPrefix(stored, longPrefix)
	cost, err := bcrypt.Cost([]byte(hash))
	usable := err == nil && marked == long && !strings.ContainsRune(password, 0)
	if !usable {
		hash, cost = k.dummy, k.cost
	}
	matched := k.compare([]byte(hash), m) == nil
	// An imported hash may have a lower cost, and a fast rejection would reveal that the account
	// exists. The additional work compensates for the lower cost: 2^c + 2^c + 2^(c+1) + … is
	// 2^cost.
	for ; cost < k.cost; cost++ {
		if _, err := k.generate(m, cost); err != nil {
			return false, fmt.Errorf("compare a password: %w", err)
		}
	}
	return matched && usable, nil
}

// maxQueue is the maximum number of requests that can wait for a free CPU core to hash or compare a
// password. A request at the end of a full queue waits a few seconds. Further requests are rejected
// and should be retried later.
const maxQueue = 32

func busy() error { return ErrBusy.With("Try again in a few seconds.").After(3 * time.Second) }

// slot waits for a free CPU core. It returns ErrBusy if too many requests are already waiting.
func (k *hasher) slot(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err // select could take a free slot although ctx has ended
	}
	defer k.waiting.Add(-1)
	if k.waiting.Add(1) > maxQueue {
		return nil, busy()
	}
	select {
	case k.slots <- struct{}{}:
		return func() { <-k.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
