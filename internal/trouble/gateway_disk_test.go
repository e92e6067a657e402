package trouble

import (
	"context"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// host is a gateway with a disk.
type host struct {
	Runtime // the rest is not used

	disk gateway.Disk
}

func (h *host) Disk(context.Context) (gateway.Disk, error) { return h.disk, nil }

// People learn that the disk is almost full before it is, but not that a large disk has a small part left that is enough.
func TestGatewayDisk(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, is := newWorld(t, d), &host{}
		s := &Checks{DB: d, Runtime: is, Now: w.clock, Inbox: w.box}
		const gigabyte = 1_000_000_000
		check := func(total, free int64, want ...string) {
			t.Helper()
			is.disk = gateway.Disk{Bytes: total * gigabyte, FreeBytes: free * gigabyte / 10}
			w.move(time.Minute)
			for range 2 {
				if err := s.CheckDisk(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wantItems(t, d, free, want...)
		}
		check(100, 105)
		check(4000, 220) // 99% are full, and 22 GB are free
		check(100, 98, "The gateway's disk is 90% full, medium, open, 1")
		check(100, 31, "The gateway's disk is 90% full, medium, open, 1")
		check(100, 30, "The gateway's disk is 97% full, high, open, 2")
		check(100, 98, "The gateway's disk is 97% full, high, open, 2")
		check(100, 105, "The gateway's disk is 97% full, high, resolved, 2")
		check(8, 10, "The gateway's disk is 87% full, high, open, 3")
	})
}
