package once_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
)

var (
	monday     = time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	errMissing = fault.New(fault.NotFound, "toy_not_found", "There is no such toy.")
	errBroken  = errors.New("broken while it was made")
)

// shop creates toys, each with a number.
type shop struct {
	*db.DB
	now time.Time
	// while, if set, runs after a toy was created and before the commit.
	while func(ctx context.Context, tx *db.Tx) error
}

func newShop(t testing.TB, d *db.DB) *shop {
	t.Helper()
	s := &shop{DB: d, now: monday}
	s.exec(t, `CREATE TABLE toys (id TEXT PRIMARY KEY)`)
	return s
}

func (s *shop) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	err := s.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func find(ctx context.Context, q db.Queryer, id string) (string, error) {
	err := q.QueryRow(ctx, `SELECT id FROM toys WHERE id = ?`, id).Scan(&id)
	if db.IsNotFound(err) {
		err = errMissing
	}
	return id, err
}

// make returns the current toy of the request, and whether it was created by an
// earlier request.
func (s *shop) make(ctx context.Context, r *once.Request, broken error) (id string, again bool, err error) {
	if r != nil {
		ctx = once.With(ctx, r)
	}
	err = s.Tx(ctx, func(tx *db.Tx) (err error) {
		id, err = once.Do(ctx, tx, s.now, find, func(id string) string { return id }, func() (string, error) {
			id := db.NewID()
			_, err := tx.Exec(ctx, `INSERT INTO toys (id) VALUES (?)`, id)
			if err == nil && s.while != nil {
				err = s.while(ctx, tx)
			}
			return id, errors.Join(err, broken)
		})
		return err
	})
	return id, r != nil && r.Replayed(), err
}

func (s *shop) count(t testing.TB, table string) (n int) {
	t.Helper()
	if err := s.QueryRow(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func request(caller, route, key, sent string) *once.Request {
	return once.New(caller, route, key, []byte(sent))
}

// A client whose connection broke sends the request again: the resource must exist
// once, and a request of another caller must not be mistaken for a retry.
func TestDo(t *testing.T) {
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		s := newShop(t, d)
		if _, _, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), errBroken); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		if n := s.count(t, "toys") + s.count(t, "idempotency_keys"); n != 0 {
			t.Fatalf("what failed left %d rows", n)
		}
		want, again, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), nil)
		if again || err != nil {
			t.Fatalf("the first: %v, %v", again, err)
		}
		if got, again, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), errBroken); got != want || !again || err != nil {
			t.Errorf("again: %s, %v, %v; want %s", got, again, err, want)
		}
		for _, r := range []*once.Request{
			request("member", "POST /toys", "k", "bear"), request("owner", "POST /toys/{id}/parts", "k", "bear"), request("owner", "POST /toys", "k2", "bear"),
			request("ownerP", "OST /toys", "k", "bear"), nil, nil,
		} {
			if got, again, err := s.make(t.Context(), r, nil); got == want || again || err != nil {
				t.Errorf("another request: %s, %v, %v", got, again, err)
			}
		}
		if _, _, err := s.make(t.Context(), request("owner", "POST /toys", "k", "doll"), nil); !errors.Is(err, once.ErrConflict) {
			t.Errorf("something else with the same key: %v", err)
		}
		s.exec(t, `DELETE FROM toys WHERE id = ?`, want)
		if _, again, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), nil); !errors.Is(err, once.ErrGone) || again {
			t.Errorf("deleted meanwhile: %v, %v", again, err)
		}
		var kept string
		if err := s.QueryRow(t.Context(), `SELECT name || digest FROM idempotency_keys LIMIT 1`).Scan(&kept); err != nil || len(kept) != 128 {
			t.Errorf("kept is %q, %v", kept, err)
		}
	})
}

// A client may send a request sixteen times at once, to all replicas.
func TestDoAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newShop(t, d)
		s.while = untilWaitedFor(d)
		var wg sync.WaitGroup
		var mu sync.Mutex
		made, replayed := map[string]int{}, 0
		for range 16 {
			wg.Go(func() {
				id, again, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), nil)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				made[id]++
				if again {
					replayed++
				}
			})
		}
		wg.Wait()
		if len(made) != 1 || replayed != 15 || s.count(t, "toys") != 1 {
			t.Errorf("made %v, %d of them again", made, replayed)
		}
	})
}

// untilWaitedFor returns a function that waits until another transaction waits for
// the running one.
func untilWaitedFor(d *db.DB) func(context.Context, *db.Tx) error {
	return func(context.Context, *db.Tx) error {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if d.Pools()[1].Waits > 0 {
				return nil
			}
		}
		return errors.New("nobody waits for the first")
	}
}

// A key is valid for a day and no longer, whether or not it was purged in time.
func TestKeysExpire(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newShop(t, d)
		first, _, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.now = monday.Add(once.Life - time.Millisecond)
		if got, again, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), nil); got != first || !again || err != nil {
			t.Errorf("within the day: %s, %v, %v", got, again, err)
		}
		s.now = monday.Add(once.Life)
		if got, again, err := s.make(t.Context(), request("owner", "POST /toys", "k", "doll"), nil); got == first || again || err != nil {
			t.Errorf("a day later: %s, %v, %v", got, again, err)
		}
		if _, _, err := s.make(t.Context(), request("owner", "POST /toys", "k", "bear"), nil); !errors.Is(err, once.ErrConflict) {
			t.Errorf("the key stands for the later one: %v", err)
		}
		for i := range 1100 {
			s.exec(t, `INSERT INTO idempotency_keys (name, digest, made, at) VALUES (?, '', '', ?)`, fmt.Sprint(i), monday)
		}
		if err := once.Purge(t.Context(), d, monday.Add(once.Life)); err != nil || s.count(t, "idempotency_keys") != 1 {
			t.Errorf("%d keys are left, %v", s.count(t, "idempotency_keys"), err)
		}
	})
}

// A key from a time when the clock was wrong must not answer requests for years.
func TestKeysOfAWrongClock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newShop(t, d)
		r := request("ada", "POST /toys", "key-1", "{}")
		s.now = monday.AddDate(10, 0, 0)
		first, _, err := s.make(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.now = monday
		if id, again, err := s.make(t.Context(), r, nil); err != nil || again || id == first {
			t.Errorf("after the clock was set back: %s, %t, %v", id, again, err)
		}
	})
}
