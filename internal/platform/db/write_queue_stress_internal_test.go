package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// storm is a group of concurrent writers with the result that each of them got.
type storm struct {
	*DB
	t      *testing.T
	mu     sync.Mutex
	told   map[string]bool // whether the transaction of a writer succeeded
	others int             // changes that failed
	ran    atomic.Int64
	cut    atomic.Bool // a connection was closed
}

// add is the statement that inserts a name in the last position.
const add = `INSERT INTO names (name, at) SELECT ?, COALESCE(MAX(at), 0) + 1 FROM names`

var errRefused = errors.New("refused")

// write runs one writer. It inserts two rows and increments the count, or fails in a
// random way.
func (s *storm) write(name string) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	way, at := rand.IntN(14), time.Duration(rand.IntN(3000))*time.Microsecond
	if way == 0 {
		defer time.AfterFunc(at, leave).Stop()
	}
	heard, saw, panicked := 0, "", false
	err := func() (err error) {
		defer func() { panicked = recover() != nil }()
		return s.Tx(ctx, func(tx *Tx) error {
			s.ran.Add(1)
			tx.Committed(func() { heard++ })
			var last string
			if err := tx.QueryRow(ctx, `SELECT COALESCE((SELECT name FROM names ORDER BY at DESC LIMIT 1), '')`).Scan(&last); err != nil {
				return err
			}
			if saw = last; way == 1 {
				return errRefused
			}
			if _, err := tx.Exec(ctx, add, name); err != nil {
				return err
			}
			switch way {
			case 2:
				return errRefused
			case 3:
				panic(name)
			case 4:
				leave()
			case 5:
				_, err := tx.Exec(ctx, add, name)
				return err
			case 6:
				_, err := tx.Exec(ctx, `INSERT INTO nothing VALUES (1)`)
				return err
			case 7:
				tx.Held(func(time.Duration) { heard++ })
			case 8: // the connection ends, in one writer only
				if s.engine == Postgres && s.cut.CompareAndSwap(false, true) {
					_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
					return err
				}
			}
			var n int
			if err := tx.QueryRow(ctx, `SELECT n FROM counts`).Scan(&n); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE counts SET n = ?`, n+1); err != nil {
				return err
			}
			return tx.Later(ctx, add, name+" more")
		})
	}()
	s.check(name, way, heard, saw, err, panicked)
}

// check compares the result that a writer got with the content of the database.
func (s *storm) check(name string, way, heard int, saw string, err error, panicked bool) {
	there := func(name string) (n int) {
		if err := s.QueryRow(context.Background(), `SELECT COUNT(*) FROM names WHERE name = ?`, name).Scan(&n); err != nil {
			s.t.Error(err)
		}
		return n
	}
	ok := err == nil && !panicked
	if want := map[bool]int{true: 1}[ok] + map[bool]int{true: 1}[ok && way == 7]; heard != want {
		s.t.Errorf("%s, way %d, was told %v and heard of %d commits", name, way, err, heard)
	}
	if rows := there(name) + there(name+" more"); ok && rows != 2 || !ok && rows != 0 {
		s.t.Errorf("%s, way %d, was told %v, and %d rows are there", name, way, err, rows)
	}
	if errors.Is(err, errRefused) && saw != "" && there(saw) != 1 {
		s.t.Errorf("%s was refused because of %s, who is not there", name, saw)
	}
	if errors.Is(err, errLost) || ok && (way >= 1 && way <= 6) {
		s.t.Errorf("%s, way %d, was told %v", name, way, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[name] = ok; !ok {
		s.others++
	}
}

// Whatever happens to concurrent writers, each result must be true: the whole
// change is stored, or nothing, permanently.
func TestWritersUnderLoad(t *testing.T) {
	each(t, toldTheTruth)
}

func toldTheTruth(t *testing.T, address string) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	d := opened(t, address)
	change(t, d, `CREATE TABLE names (name TEXT PRIMARY KEY, at BIGINT)`)
	change(t, d, `CREATE TABLE counts (n INTEGER)`)
	change(t, d, `INSERT INTO counts (n) VALUES (0)`)
	beside := opened(t, address) // like a command next to the server, or another replica
	s := &storm{DB: d, t: t, told: map[string]bool{}}
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			for j := range 25 {
				s.write(fmt.Sprintf("%d/%d", i, j))
			}
		})
	}
	const foreign = 40
	all.Go(func() {
		for range foreign {
			change(t, beside, `UPDATE counts SET n = n + 1`)
		}
	})
	all.Wait()
	want := []string{}
	for name, ok := range s.told {
		if ok {
			want = append(want, name, name+" more")
		}
	}
	slices.Sort(want)
	rows, err := beside.Query(t.Context(), `SELECT name FROM names ORDER BY name`)
	got, err := All(rows, err, func(r Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d rows are there, and %d were promised; %v", len(got), len(want), err)
	}
	var n int
	if err := d.QueryRow(t.Context(), `SELECT n FROM counts`).Scan(&n); err != nil || n != len(want)/2+foreign {
		t.Errorf("%d were counted of %d, %v", n, len(want)/2+foreign, err)
	}
	if len(want) == 0 || s.others == 0 || s.ran.Load() <= int64(len(s.told)) {
		t.Errorf("%d succeeded, %d failed, in %d attempts: nobody got into another's way", len(want)/2, s.others, s.ran.Load())
	}
}
