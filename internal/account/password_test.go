package account

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

func newTestHasher(t *testing.T) *hasher {
	t.Helper()
	k, err := newHasher(bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustMatch(t *testing.T, k *hasher, stored, password string, want bool) {
	t.Helper()
	got, err := k.matches(t.Context(), stored, password)
	if err != nil || got != want {
		t.Errorf("matches = %v (%v), want %v", got, err, want)
	}
}

// TestLongPasswords checks that the first 72 bytes of a longer password, which is all that bcrypt
// reads, do not match it.
func TestLongPasswords(t *testing.T) {
	t.Parallel()
	k := newTestHasher(t)
	for _, tt := range []struct {
		name, password string
		long           bool
	}{
		{"12 bytes", strings.Repeat("p", 12), false},
		{"72 bytes", strings.Repeat("p", 72), false},
		{"73 bytes", strings.Repeat("p", 73), true},
		{"24 characters of 72 bytes", strings.Repeat("€", 24), false},
		{"25 characters of 75 bytes", strings.Repeat("€", 25), true},
		{"a mebibyte", strings.Repeat("p", 1<<20), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stored, err := k.hash(t.Context(), tt.password)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.HasPrefix(stored, longPrefix); got != tt.long {
				t.Errorf("stored as %.12s…, long = %v", stored, got)
			}
			mustMatch(t, k, stored, tt.password, true)
			mustMatch(t, k, stored, tt.password[:len(tt.password)-1]+"x", false)
			mustMatch(t, k, stored, tt.password[:len(tt.password)-1], false)
			mustMatch(t, k, stored, tt.password+"x", false)
			if tt.long {
				mustMatch(t, k, stored, tt.password[:72], false)
				digest, _ := bcryptInput(tt.password)
				mustMatch(t, k, stored, string(digest), false)
			}
		})
	}
}

// TestLongPasswordFormat checks the stored format of long passwords, which must never change. The
// digest is from: printf 'a…ab' | openssl dgst -sha256 -hmac wardroom/password/v1 -binary |
// base64.
func TestLongPasswordFormat(t *testing.T) {
	t.Parallel()
	got, long := bcryptInput(strings.Repeat("a", 72) + "b")
	if want := "cGWO3AAtqDerMOrfYM5GJ+V3oqzSH90rCiK0LfHfv/4="; string(got) != want || !long {
		t.Errorf("bcryptInput = %s, %v; want %s", got, long, want)
	}
}

// TestImportedHashes checks that hashes of other systems work. The hash is from the test vectors
// of crypt_blowfish; PHP uses the prefix 2y, and OpenBSD 2b.
func TestImportedHashes(t *testing.T) {
	t.Parallel()
	k := newTestHasher(t)
	for _, version := range []string{"2a", "2b", "2y"} {
		stored := "$" + version + "$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
		mustMatch(t, k, stored, "U*U", true)
		mustMatch(t, k, stored, "U*V", false)
		mustMatch(t, k, longPrefix+stored, "U*U", false)
	}
}

// TestNULIsNoRepetition checks that "x" and "x NUL x", which are equal for bcrypt, do not match.
func TestNULIsNoRepetition(t *testing.T) {
	t.Parallel()
	k := newTestHasher(t)
	stored, err := k.hash(t.Context(), goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	if bcrypt.CompareHashAndPassword([]byte(stored), []byte(goodPassword+"\x00"+goodPassword)) != nil {
		t.Error("bcrypt no longer repeats, so this test shows nothing")
	}
	mustMatch(t, k, stored, goodPassword+"\x00"+goodPassword, false)
}

// TestEveryComparisonCostsTheSame checks that the time of a login does not reveal whether the
// account exists: every comparison takes 2^cost rounds.
func TestEveryComparisonCostsTheSame(t *testing.T) {
	t.Parallel()
	const cost = 7
	k, err := newHasher(cost)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("p", 100)
	hash := func(password string, cost int) string {
		m, isLong := bcryptInput(password)
		h, err := bcrypt.GenerateFromPassword(m, cost)
		if err != nil {
			t.Fatal(err)
		}
		if isLong {
			return longPrefix + string(h)
		}
		return string(h)
	}
	compared, rounds := 0, 0
	k.compare = func(hash, password []byte) error {
		c, err := bcrypt.Cost(hash)
		if err != nil {
			t.Errorf("compared with what is no hash: %v", err)
		}
		compared++
		rounds += 1 << c
		return bcrypt.CompareHashAndPassword(hash, password)
	}
	k.generate = func(password []byte, cost int) ([]byte, error) {
		rounds += 1 << cost
		return bcrypt.GenerateFromPassword(password, cost)
	}
	for _, tt := range []struct {
		name, stored, password string
		want                   bool
	}{
		{"right", hash(goodPassword, cost), goodPassword, true},
		{"right and long", hash(long, cost), long, true},
		{"wrong", hash(goodPassword, cost), "wrong", false},
		{"empty", hash(goodPassword, cost), "", false},
		{"nobody", "", goodPassword, false},
		{"nobody, long", "", long, false},
		{"long for a short one", hash(long[:72], cost), long, false},
		{"short for a long one", hash(long, cost), goodPassword, false},
		{"cheap hash, right", hash(goodPassword, 4), goodPassword, true},
		{"cheap hash, wrong", hash(goodPassword, 4), "wrong", false},
		{"broken hash", "!", goodPassword, false},
		{"broken long hash", longPrefix, long, false},
		{"NUL", hash(goodPassword, cost), goodPassword + "\x00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compared, rounds = 0, 0
			mustMatch(t, k, tt.stored, tt.password, tt.want)
			if compared != 1 || rounds != 1<<cost {
				t.Errorf("%d comparisons and %d rounds, want 1 and %d", compared, rounds, 1<<cost)
			}
		})
	}
}

// TestHashingIsBounded checks that hashing uses a bounded number of cores and does nothing for
// canceled requests.
func TestHashingIsBounded(t *testing.T) {
	t.Parallel()
	k := newTestHasher(t)
	var running, most atomic.Int32
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	k.compare = func([]byte, []byte) error {
		now := running.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			continue
		}
		entered <- struct{}{}
		<-leave
		running.Add(-1)
		return nil
	}
	results := make(chan error, 100)
	ask := func(ctx context.Context) {
		go func() {
			_, err := k.matches(ctx, k.dummy, "x")
			results <- err
		}()
	}
	slots := cap(k.slots)
	if slots != runtime.GOMAXPROCS(0) {
		t.Fatalf("%d may hash at once, and there are %d cores", slots, runtime.GOMAXPROCS(0))
	}
	for range slots {
		ask(t.Context())
		<-entered
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	ask(ctx) // all slots are taken, so it returns when its context ends
	if err := <-results; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the one without a slot got %v", err)
	}
	for range 20 {
		ask(t.Context())
	}
	close(leave)
	for range slots + 20 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if int(most.Load()) > slots {
		t.Errorf("%d ran at once, want at most %d", most.Load(), slots)
	}
	if _, err := k.matches(ctx, k.dummy, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one who had left was served: %v", err)
	}
}
