package task

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// waits is how many have waited for SQLite's writer.
func waits(d *db.DB) int64 { return d.Pools()[1].Waits }

// spoil runs one that shares its transaction with another who fails after having
// written, so that both are taken back, and one is done again.
func spoil(t *testing.T, d *db.DB, one func()) {
	t.Helper()
	begun, let := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) }) // it may be done again, too
	var all sync.WaitGroup
	all.Go(func() {
		err := d.Tx(t.Context(), func(*db.Tx) error {
			begin()
			<-let
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	failed := errors.New("failed")
	for _, next := range []func(){one, func() {
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE task_counter SET last = last`)
			return errors.Join(err, failed)
		})
		if !errors.Is(err, failed) {
			t.Error(err)
		}
	}} {
		before := waits(d)
		all.Go(next)
		for waits(d) == before { // until it waits behind those before it
		}
	}
	close(let)
	all.Wait()
}

// What is done again because of somebody else has lost no race: it must not leave
// the best task to those who are not there.
func TestClaimNextAfterAnothersFailure(t *testing.T) {
	d := dbtest.New(t)
	s := live(d)
	agent := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, true))
	const tasks = 20
	for i := range tasks + 3 {
		makeTask(t, s, fmt.Sprint("Task ", i+1))
	}
	for i := range tasks {
		spoil(t, d, func() {
			got, ok, err := s.ClaimNext(agent, Ask{})
			if want := keyOf(int64(i + 1)); err != nil || !ok || got.Key != want {
				t.Errorf("got %s, want %s; %v", got.Key, want, err)
			}
		})
	}
}
