package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// subjectKind is the subject kind of events about retention. The subject's ID is the policy's name.
const subjectKind = "retention"

// Error texts in the result of applying a policy. The log has the cause.
const (
	failedText = "The policy failed; the log has the error. The next run processes the rest."
	gaveUp     = "The run was abandoned after several attempts. The next run processes the rest."
)

// work performs one run. A retry resumes with the policy that was interrupted and uses the same
// cutoff times. If a policy fails, the others are still applied.
func (s *Service) work(ctx context.Context, h *job.Held) error {
	policies, err := s.current(ctx)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if p.state() != On {
			continue
		}
		err := s.apply(ctx, h, p)
		if err == nil {
			continue
		}
		if _, away := db.Unavailable(err); away || ctx.Err() != nil || errors.Is(err, job.ErrLost) {
			return err // the queue retries
		}
		s.Log.ErrorContext(ctx, "retention failed", "policy", p.Name, "run", h.ID, "err", err)
		text := failedText
		if err := h.Write(ctx, func(tx *db.Tx) error { return s.finish(ctx, tx, p.Name, &text) }); err != nil {
			return fmt.Errorf("record that %s failed: %w", p.Name, err)
		}
	}
	return nil
}

// apply applies one policy in batches until no rows are left to process.
func (s *Service) apply(ctx context.Context, h *job.Held, p Policy) error {
	now := s.Now()
	before, err := daysAgo(now, s.Zone, p.Days)
	if err != nil {
		return err
	}
	var at Outcome
	err = h.Write(ctx, func(tx *db.Tx) (err error) {
		at, err = begin(ctx, tx, Outcome{Policy: p.Name, RunID: h.ID, Before: clock.At(before), StartedAt: clock.At(now)})
		return err
	})
	if err != nil || at.FinishedAt != nil {
		return err
	}
	for size := firstBatch; ; {
		began := time.Now()
		n, held, err := s.batch(ctx, h, p, at.Before.Time, size)
		if err != nil {
			return err
		}
		if s.observe != nil {
			s.observe(n, held)
		}
		if n < int64(size) {
			break
		}
		size = nextSize(size, held)
		if err := pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return h.Write(ctx, func(tx *db.Tx) error { return s.finish(ctx, tx, p.Name, nil) })
}

// batch processes up to size rows in one transaction, and returns how many it processed and how
// long it blocked other writers.
func (s *Service) batch(
	ctx context.Context, h *job.Held, p Policy, before time.Time, size int,
) (n int64, held time.Duration, err error) {
	err = h.Write(ctx, func(tx *db.Tx) (err error) {
		tx.Held(func(d time.Duration) { held = d })
		if n, err = p.Apply(ctx, tx, before, size); err != nil || n == 0 {
			return err
		}
		return add(ctx, tx, p.Name, n)
	})
	return n, held, err
}

// finish stores the result of applying a policy, and records an event if the policy processed any
// rows or failed.
func (s *Service) finish(ctx context.Context, tx *db.Tx, policy string, failure *string) error {
	now := s.Now()
	o, err := end(ctx, tx, policy, now, failure)
	if err != nil || failure == nil && o.Count == 0 {
		return err
	}
	about := event.Subject{Kind: subjectKind, ID: policy, Name: policy}
	data := map[string]any{
		"policy": policy, "before": o.Before, "count": o.Count,
		"took_ms": now.Sub(o.StartedAt.Time).Milliseconds(), "run_id": o.RunID,
	}
	kind := "retention.ran"
	if failure != nil {
		kind = "retention.failed"
		data["error"] = *failure
	}
	return event.Record(ctx, tx, now, event.Audit, kind, about, data)
}

// gaveUp marks the unfinished policies of a run as failed.
func (s *Service) gaveUp(ctx context.Context, tx *db.Tx, _ string, _ error) error {
	ctx = actor.With(ctx, actor.System)
	open, err := outcomes(ctx, tx, "")
	if err != nil {
		return err
	}
	text := gaveUp
	for _, o := range open {
		if o.FinishedAt != nil {
			continue
		}
		if err := s.finish(ctx, tx, o.Policy, &text); err != nil {
			return err
		}
	}
	return nil
}
