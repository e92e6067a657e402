package task

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// Numbers are neither reused nor skipped, whoever shares a transaction or fails in it.
func TestNumbersOfSharedTransactions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		failed := errors.New("failed after it took a number")
		var mu sync.Mutex
		var got []int64
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				var n int64
				err := d.Tx(t.Context(), func(tx *db.Tx) (err error) {
					if n, err = nextNumber(t.Context(), tx); err == nil && i%10 == 0 {
						err = failed
					}
					return err
				})
				if i%10 == 0 && !errors.Is(err, failed) || i%10 > 0 && err != nil {
					t.Errorf("%d: %v", i, err)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, n)
				}
			})
		}
		all.Wait()
		slices.Sort(got)
		for i, n := range got {
			if n != int64(i+1) {
				t.Fatalf("the numbers are %v", got)
			}
		}
		var last int64
		if err := d.QueryRow(t.Context(), `SELECT last FROM task_counter`).Scan(&last); err != nil || last != int64(len(got)) || last != 180 {
			t.Errorf("%v: the last number is %d after %d callers", err, last, len(got))
		}
	})
}
