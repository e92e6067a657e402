package dispatch

import (
	"testing"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/task"
)

// A dispatch whose limit was set while the clock was years ahead must still end.
func TestLeftAfterAWrongClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 10, 8, 0, 0, 0, time.UTC)
	c := &runner{Service: &Service{Now: func() time.Time { return now }, Patience: time.Hour, Limit: 2 * time.Hour}}
	c.d.State, c.d.startBy, c.d.endBy = task.Queued, clock.At(now.AddDate(10, 0, 0)), clock.Ptr(now.AddDate(10, 0, 0))
	for _, state := range []struct {
		is    task.DispatchState
		limit time.Duration
	}{{task.Queued, time.Hour}, {task.Started, 2 * time.Hour}} {
		c.d.State = state.is
		if left := c.Left(); left != state.limit {
			t.Errorf("%s: %s is left, want %s", state.is, left, state.limit)
		}
		now = now.Add(time.Minute)
		if left := c.Left(); left != state.limit-time.Minute {
			t.Errorf("%s: %s is left a minute later", state.is, left)
		}
	}
}
