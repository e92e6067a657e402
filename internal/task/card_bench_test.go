package task

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// BenchmarkCard measures reading one task by key, with few tasks that all fit
// in memory and with very many.
func BenchmarkCard(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		for _, size := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", engine, size), func(b *testing.B) {
				d := dbtest.Open(b, dbtest.URL(b, engine))
				fill(b, d, size)
				usual := strings.Repeat("as long as usual, ", 50)
				err := d.Tx(b.Context(), func(tx *db.Tx) error {
					_, err := tx.Exec(b.Context(), `UPDATE tasks SET description = ?`, usual)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				s := newService(d)
				for range 2000 {
					key := keyOf(1 + rand.Int64N(int64(size)))
					if _, _, err := s.Card(b.Context(), key); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := s.Card(b.Context(), keyOf(1+rand.Int64N(int64(size)))); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
