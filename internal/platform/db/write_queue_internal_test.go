package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// crowd is a group of writers that wait in order behind the first one.
type crowd struct {
	*DB
	t       *testing.T
	release chan struct{}
	writing sync.WaitGroup
	mu      sync.Mutex
	said    []string
	errs    map[string]error
}

// each runs fn with the address of an empty database of each engine.
func each(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	if covered(SQLite) {
		t.Run("sqlite", func(t *testing.T) { fn(t, filepath.Join(t.TempDir(), "test.db")) })
	}
	onPostgres(t, fn)
}

// onPostgres is like each, for PostgreSQL only.
func onPostgres(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	if covered(Postgres) {
		t.Run("postgres", func(t *testing.T) { fn(t, postgresAddress(t)) })
	}
}

// covered reports whether this test run covers an engine. It mirrors dbtest, which
// this package cannot import.
func covered(e Engine) bool {
	only := os.Getenv("TEST_ENGINES")
	return only == e.String() || only == "" && (e == SQLite || os.Getenv("TEST_POSTGRES_URL") != "")
}

// postgresAddress returns the address of a separate schema that is dropped with the
// test.
func postgresAddress(t *testing.T) string {
	t.Helper()
	server := os.Getenv("TEST_POSTGRES_URL")
	c, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatalf("TEST_POSTGRES_URL: %v (run it with test/postgres.sh)", err)
	}
	name := "t_" + strings.ReplaceAll(NewID(), "-", "")
	if _, err := c.Exec(t.Context(), `CREATE SCHEMA `+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.Exec(context.Background(), `DROP SCHEMA `+name+` CASCADE`)
		if err := errors.Join(err, c.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return server + "&search_path=" + name
}

// opened returns a database that is closed with the test.
func opened(t *testing.T, address string) *DB {
	t.Helper()
	d, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// newCrowd starts the first writer, which ends when let is called.
func newCrowd(t *testing.T, address string) *crowd {
	t.Helper()
	d := opened(t, address)
	err := d.Tx(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(t.Context(), `CREATE TABLE names (name TEXT PRIMARY KEY)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.writers.long, d.enter = time.Hour, beginStatement(300*time.Millisecond, 10*time.Second, 10*time.Second)
	c := &crowd{DB: d, t: t, release: make(chan struct{}), errs: map[string]error{}}
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	c.writing.Go(func() {
		_ = d.Tx(context.Background(), func(*Tx) error {
			begin() // even when it runs again
			<-c.release
			return nil
		})
	})
	<-begun
	return c
}

// waits returns how many writers have had to wait so far.
func (c *crowd) waits() int64 {
	_, waits, _ := c.writers.stats()
	return waits
}

func (c *crowd) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// add queues a writer that writes its name and then calls the function then.
func (c *crowd) add(ctx context.Context, name string, then func(*Tx) error) {
	before := c.waits()
	c.writing.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				c.say("%s panicked", name)
			}
		}()
		err := c.Tx(ctx, func(tx *Tx) error {
			c.say("%s wrote", name)
			tx.Committed(func() { c.say("%s heard", name) })
			if _, err := tx.Exec(ctx, `INSERT INTO names VALUES (?)`, name); err != nil {
				return err
			}
			if then == nil {
				return nil
			}
			return then(tx)
		})
		c.mu.Lock()
		c.errs[name] = err
		c.mu.Unlock()
	})
	for c.waits() == before {
		time.Sleep(100 * time.Microsecond) // until it waits
	}
}

// let lets all writers go and returns the names in the table.
func (c *crowd) let() []string {
	c.t.Helper()
	close(c.release)
	c.writing.Wait()
	rows, err := c.Query(context.Background(), `SELECT name FROM names ORDER BY name`)
	names, err := All(rows, err, func(r Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		c.t.Fatal(err)
	}
	return names
}

// The writer that has waited longest must be next, and waiting writers must share a
// commit.
func TestWritersQueue(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		t.Cleanup(func() { goleak.VerifyNone(t) })
		c := newCrowd(t, address)
		var want []string
		for i := range 8 {
			name := fmt.Sprint(i)
			c.add(t.Context(), name, nil)
			want = append(want, name+" wrote")
		}
		if names := c.let(); len(names) != 8 {
			t.Errorf("%v are there", names)
		}
		if got := c.said[:8]; !slices.Equal(got, want) {
			t.Errorf("%v, want each to write in its turn before anybody hears of the commit", c.said)
		}
	})
}

// One caller's failure must neither fail others nor be committed with their
// changes.
func TestWritersFailAlone(t *testing.T) {
	refused := errors.New("refused")
	for name, fail := range map[string]func(*Tx) error{
		"by its own error": func(*Tx) error { return refused },
		"by a broken query": func(tx *Tx) error {
			_, err := tx.Exec(context.Background(), `INSERT INTO nothing VALUES (1)`)
			return err
		},
		"by a constraint": func(tx *Tx) error {
			_, err := tx.Exec(context.Background(), `INSERT INTO names VALUES ('b')`)
			return err
		},
		"by a panic": func(*Tx) error { panic("oh") },
	} {
		each(t, func(t *testing.T, address string) {
			t.Log(name)
			c := newCrowd(t, address)
			c.add(t.Context(), "a", nil)
			c.add(t.Context(), "b", fail)
			c.add(t.Context(), "c", nil)
			if names := c.let(); !slices.Equal(names, []string{"a", "c"}) {
				t.Errorf("%v are there, want a and c", names)
			}
			if c.errs["a"] != nil || c.errs["c"] != nil {
				t.Errorf("others heard of it: %v", c.errs)
			}
			if c.errs["b"] == nil && !slices.Contains(c.said, "b panicked") || errors.Is(c.errs["b"], errLost) || slices.Contains(c.said, "b heard") {
				t.Errorf("b heard %v, %v", c.errs["b"], c.said)
			}
		})
	}
}

// A caller that is rejected because of another member's change may look for that
// change. It must be committed by then.
func TestWritersAreRejectedByCommittedChanges(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		c := newCrowd(t, address)
		refused, found := errors.New("refused"), 0
		c.add(t.Context(), "a", nil)
		before := c.waits()
		c.writing.Go(func() {
			err := c.Tx(t.Context(), func(*Tx) error { return refused })
			if scanErr := c.QueryRow(context.Background(), `SELECT COUNT(*) FROM names WHERE name = 'a'`).Scan(&found); scanErr != nil || !errors.Is(err, refused) {
				t.Error(scanErr, err)
			}
		})
		for c.waits() == before {
			time.Sleep(100 * time.Microsecond)
		}
		c.add(t.Context(), "z", nil)
		if c.let(); found != 1 {
			t.Error("a was not there when the one that saw it was refused")
		}
	})
}

// A member that fails before it has written, such as a late claim, must not affect
// the others.
func TestWritersGoOnAfterARefusal(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		c := newCrowd(t, address)
		refused := errors.New("refused")
		c.add(t.Context(), "a", nil)
		before := c.waits()
		c.writing.Go(func() {
			err := c.Tx(t.Context(), func(tx *Tx) error {
				var n int
				if err := tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM names`).Scan(&n); err != nil || n != 1 {
					t.Errorf("%d names, %v", n, err)
				}
				return refused
			})
			if !errors.Is(err, refused) {
				t.Error(err)
			}
		})
		for c.waits() == before {
			time.Sleep(100 * time.Microsecond)
		}
		if names := c.let(); !slices.Equal(names, []string{"a"}) || !slices.Equal(c.said, []string{"a wrote", "a heard"}) {
			t.Errorf("%v, %v; want a to write once", names, c.said)
		}
	})
}

// A caller whose context ends must neither delay the others nor roll back their
// changes.
func TestWritersLeave(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		t.Cleanup(func() { goleak.VerifyNone(t) })
		c := newCrowd(t, address)
		late, leaveLate := context.WithCancel(t.Context())
		early, leaveEarly := context.WithCancel(t.Context())
		amid, leaveAmid := context.WithCancel(t.Context())
		c.add(t.Context(), "a", nil)
		c.add(early, "early", nil)
		c.add(amid, "amid", func(tx *Tx) error {
			leaveAmid()
			_, err := tx.Exec(amid, `INSERT INTO names VALUES ('more')`)
			return err
		})
		c.add(late, "late", func(*Tx) error { leaveLate(); return nil })
		c.add(t.Context(), "z", nil)
		leaveEarly()
		for left := false; !left; { // while the first one still has the writer
			c.mu.Lock()
			_, left = c.errs["early"]
			c.mu.Unlock()
		}
		if names := c.let(); !slices.Equal(names, []string{"a", "late", "z"}) {
			t.Errorf("%v are there", names)
		}
		if !errors.Is(c.errs["early"], context.Canceled) || !errors.Is(c.errs["amid"], context.Canceled) {
			t.Errorf("those who left early heard %v", c.errs)
		}
		if c.errs["a"] != nil || c.errs["late"] != nil || c.errs["z"] != nil {
			t.Errorf("those whose changes are there heard %v", c.errs)
		}
	})
}
