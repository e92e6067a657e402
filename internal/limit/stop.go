package limit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/usage"
)

// KindStop is the kind of the jobs that stop the runs of a session.
const KindStop = "stop runs over a limit"

// stopping is the payload of a job that stops the runs of a session.
type stopping struct {
	LimitID string `json:"limit_id"`
	Session string `json:"session"`
	RunID   string `json:"run_id"` // whose usage was counted last
}

// Kind returns the kind of the jobs that stop runs.
func (s *Service) Kind() job.Kind { return job.Kind{Do: s.stop} }

// stop ends the runs of a session, unless people have allowed more in the meantime.
func (s *Service) stop(ctx context.Context, h *job.Held) error {
	var o stopping
	if err := json.Unmarshal(h.Payload, &o); err != nil {
		return fmt.Errorf("read which runs to stop: %w", err)
	}
	l, err := find(ctx, s.DB, o.LimitID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	bar, used, err := s.measure(ctx, s.DB, l, o.RunID)
	if err != nil || l.Measure.of(used) < bar || l.Action == Tell {
		return err
	}
	_, stopped, err := s.Runtime.StopSession(ctx, o.Session, "")
	if err != nil {
		return fmt.Errorf("stop the runs in %s, which are over a limit: %w", o.Session, err)
	}
	if !stopped {
		return nil
	}
	return h.Write(ctx, func(tx *db.Tx) error {
		facts := map[string]any{
			"session_key": o.Session, "allowed": l.Measure.format(bar), "used": l.Measure.format(l.Measure.of(used)),
			"overshoot": l.Measure.format(l.Measure.of(used) - bar),
		}
		ctx = actor.With(ctx, actor.System)
		return event.Record(ctx, tx, s.Now(), event.Audit, "limit.stopped", l.subject(), facts)
	})
}

// measure returns what a limit allows in the current period, or for a run, and the usage in it.
func (s *Service) measure(
	ctx context.Context, q db.Queryer, l Limit, runID string,
) (bar int64, used usage.Spent, err error) {
	p := l.periodAt(s.Now(), runID)
	extra, err := allowance(ctx, q, l, p)
	if err != nil {
		return 0, usage.Spent{}, err
	}
	of, err := s.scopeOf(ctx, q, l)
	if err != nil {
		return 0, usage.Spent{}, err
	}
	used, err = s.used(ctx, q, l, of, p, false)
	return l.amount + extra, used, err
}
