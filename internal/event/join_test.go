package event

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// run reads a stream of s without HTTP. hook, when given, is called in the
// stream's own time, after each frame.
func run(t *testing.T, s *Service, after int64, hook func(got)) *reading {
	t.Helper()
	ctx, cancel := context.WithCancel(actor.With(context.Background(), ada))
	stream, err := s.Open(ctx, Ask{Caller: func(context.Context) (actor.Actor, error) { return ada, nil }, After: after})
	if err != nil {
		t.Fatal(err)
	}
	r, done := &reading{t: t, frames: make(chan got, 1000)}, make(chan struct{})
	go func() {
		defer close(done)
		defer close(r.frames)
		stream.Run(ctx, func(frames []byte) error {
			scanFrames(bufio.NewReader(strings.NewReader(string(frames))), func(g got) {
				r.frames <- g
				if hook != nil {
					hook(g)
				}
			})
			return nil
		})
	}()
	r.leave = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(r.leave)
	return r
}

// Between what a stream reads by itself and what it is handed there is a seam.
// No event may fall into it, and none may come on both sides. Here nobody but
// the test moves the tail.
func TestStreamJoins(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (s *Service, task func()) {
		s = &Service{DB: dbtest.New(t)}
		task = func() { record(t, s.DB, monday, Activity, "task.changed", task1, nil) }
		task()
		return s, task
	}
	joined := func(t *testing.T, s *Service, n int) {
		t.Helper()
		waitFor(t, "the streams to join", func() bool { return (&replica{Service: s}).streams() == n })
	}
	pull := func(t *testing.T, s *Service) {
		t.Helper()
		if err := s.pull(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Run("reads what the others were handed before it joined", func(t *testing.T) {
		s, task := setup(t)
		other := run(t, s, begin, nil)
		joined(t, s, 1)
		late := run(t, s, 0, func(g got) {
			if g.id == "1" {
				task()
				pull(t, s)
			}
		})
		joined(t, s, 2)
		task()
		pull(t, s)
		other.want("1 hello", "2 task.changed", "3 task.changed")
		late.want("0 hello", "1 task.changed", "2 task.changed", "3 task.changed")
	})
	t.Run("leaves out what it has already", func(t *testing.T) {
		s, task := setup(t)
		other := run(t, s, begin, nil)
		joined(t, s, 1)
		task()
		late := run(t, s, begin, nil)
		joined(t, s, 2)
		task()
		pull(t, s)
		other.want("1 hello", "2 task.changed", "3 task.changed")
		late.want("2 hello", "3 task.changed")
	})
	t.Run("has the tail look for what came while there was nobody", func(t *testing.T) {
		s, task := setup(t)
		first := run(t, s, 0, func(g got) {
			if g.id == "1" {
				task()
				pull(t, s) // for nobody
			}
		})
		select {
		case <-s.hub().poke:
		case <-time.After(patience):
			t.Fatal("nobody wakes the tail")
		}
		pull(t, s)
		first.want("0 hello", "1 task.changed", "2 task.changed")
	})
	t.Run("is not held up by what was purged before its time", func(t *testing.T) {
		s, task := setup(t)
		forgot(t, s.DB, 1)
		first := run(t, s, begin, nil)
		joined(t, s, 1)
		task()
		pull(t, s)
		first.want("1 hello", "2 task.changed")
	})
	t.Run("ends when what it is owed was purged", func(t *testing.T) {
		s, task := setup(t)
		first := run(t, s, begin, nil)
		joined(t, s, 1)
		task()
		task()
		forgot(t, s.DB, 2)
		pull(t, s)
		first.want("1 hello")
		first.wantEnd("behind")
	})
	// Else the tail waits for numbers that were given already, and every live view
	// stands still without a word until the log has grown past them.
	t.Run("begins anew when the database was set back", func(t *testing.T) {
		s, task := setup(t)
		for range 5 {
			task()
		}
		first := run(t, s, begin, nil)
		first.want("6 hello")
		joined(t, s, 1)
		err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `DELETE FROM events WHERE id > 2`); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `UPDATE event_counter SET last = 2`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		task()
		pull(t, s)
		first.wantEnd("behind")
		back := run(t, s, 6, nil)
		back.want("3 reset")
		joined(t, s, 1)
		task()
		pull(t, s)
		back.want("4 task.changed")
	})
}

func forgot(t *testing.T, d *db.DB, upTo int64) {
	t.Helper()
	if err := d.Tx(t.Context(), func(tx *db.Tx) error { return Forgot(t.Context(), tx, upTo) }); err != nil {
		t.Fatal(err)
	}
}

// Who lost their rights between the check of the request and the first frame
// would be told of it by no event that is still to come.
func TestOpenAsksAgain(t *testing.T) {
	t.Parallel()
	s := &Service{DB: dbtest.New(t), Limits: Limits{Each: 1}}
	ctx := actor.With(t.Context(), ada)
	for range 3 { // and no place is lost
		_, err := s.Open(ctx, Ask{After: begin, Caller: func(context.Context) (actor.Actor, error) { return actor.Actor{}, errDeactivated }})
		if !errors.Is(err, errDeactivated) {
			t.Fatal(fmt.Errorf("opened with %w", err))
		}
	}
}
