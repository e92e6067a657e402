package trouble

import (
	"context"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// host is a gateway with a disk.
type host struct {
	Runtime // the rest is not used

	disk gateway.Disk
}

func (h *host) Disk(context.Context) (gateway.Disk, error) { return h.disk, nil }

// People must learn in time that the disk will be full, once, and not about a large disk with a small part left.
func TestGatewayDisk(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, is := newWorld(t, d), &host{}
		s := &Checks{DB: d, Runtime: is, Now: w.clock, Inbox: w.box}
		const low, full = "The gateway's disk is almost full, medium, ", "The gateway's disk is nearly out of space, high, "
		check := func(gigabytes, free float64, want ...string) {
			t.Helper()
			is.disk = gateway.Disk{Bytes: int64(gigabytes * 1e9), FreeBytes: int64(free * 1e9)}
			w.move(time.Minute)
			for range 2 {
				if err := s.CheckDisk(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wantItems(t, d, free, want...)
		}
		check(1, 0.101)
		check(4000, 20)
		check(100, 10, low+"open, 1")
		check(100, 14.9, low+"open, 1")
		check(100, 15.1, low+"resolved, 1")
		check(100, 14.9, low+"resolved, 1")
		check(4000, 19.9, low+"open, 2")
		check(100, 3, full+"open, 3")
		check(100, 9, full+"open, 3")
		w.person(inbox.GatewayDisk, inbox.Resolved)
		check(100, 2, full+"resolved, 3")
		w.move(silentFor)
		check(100, 2, full+"open, 4")
	})
}
