package usage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// idleDays is how far back Idle looks.
const idleDays = 7

// Idle is the usage of heartbeats and scheduled jobs during whose runs no agent changed the board.
type Idle struct {
	From clock.Time `json:"from" doc:"The start of the last 7 days."`
	Sums
}

// Idle returns the usage of idle runs in the last 7 days. Agents can share an account, so a change by
// any agent counts for all runs at that time.
func (s *Service) Idle(ctx context.Context) (Idle, error) {
	idle := Idle{From: clock.At(s.Now().AddDate(0, 0, -idleDays))}
	err := s.DB.View(ctx, func(q db.Queryer) error {
		changes, err := event.TimesByAgents(ctx, q, "task", idle.From.Time)
		if err != nil {
			return fmt.Errorf("list when agents changed the board: %w", err)
		}
		rows, err := q.Query(ctx, `SELECT started_at, at, `+rowAmounts+` FROM usage_ledger
			WHERE at >= ? AND runs > 0 AND source IN ('heartbeat', 'schedule')`, idle.From.UnixMilli())
		var total amounts
		_, err = db.All(rows, err, func(r db.Row) (_ struct{}, err error) {
			var from *clock.Time
			var to int64
			var used amounts
			err = r.Scan(append([]any{&from, &to}, used.pointers()...)...)
			if !within(changes, from, time.UnixMilli(to)) {
				total = total.plus(used)
			}
			return struct{}{}, err
		})
		idle.Sums = total.sums()
		return err
	})
	if err != nil {
		return Idle{}, fmt.Errorf("sum the usage of idle runs: %w", err)
	}
	return idle, nil
}

// within reports whether any of the sorted times is within a run. If its start is unknown, it is the
// end.
func within(times []time.Time, from *clock.Time, to time.Time) bool {
	start := to
	if from != nil {
		start = from.Time
	}
	i, _ := slices.BinarySearchFunc(times, start, time.Time.Compare)
	return i < len(times) && !times[i].After(to)
}
