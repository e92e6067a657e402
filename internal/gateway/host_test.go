package gateway_test

import (
	"errors"
	"testing"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// A response that makes no sense must not look like a full disk, or like one with space.
func TestDisk(t *testing.T) {
	t.Parallel()
	const total, free = 270_553_174_016, 76_470_423_552 // as recorded
	for name, test := range map[string]struct {
		payload map[string]any
		want    gateway.Disk
		err     error
	}{
		"recorded":                 {map[string]any{"diskTotalBytes": total, "diskAvailableBytes": free}, gateway.Disk{Bytes: total, FreeBytes: free}, nil},
		"full":                     {map[string]any{"diskTotalBytes": total, "diskAvailableBytes": 0}, gateway.Disk{Bytes: total}, nil},
		"unknown":                  {map[string]any{"diskTotalBytes": total}, gateway.Disk{}, link.ErrRefused},
		"more is free than exists": {map[string]any{"diskTotalBytes": free, "diskAvailableBytes": total}, gateway.Disk{}, link.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := answering(t, "system.info", map[string]any{"type": "res", "ok": true, "payload": test.payload})
			if got, err := c.Disk(within(t)); got != test.want || !errors.Is(err, test.err) {
				t.Errorf("%+v, %v, want %+v, %v", got, err, test.want, test.err)
			}
		})
	}
}
