package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/job"
)

// orphan identifies a run whose dispatch has ended. It is the payload of the job that stops the run.
type orphan struct {
	SessionKey, RunID string
	Former            []string // earlier runs of the same dispatch, latest first
}

func (d *Dispatch) orphan() orphan {
	o := orphan{SessionKey: d.SessionKey, RunID: d.RunID}
	for n := d.number - 1; n >= d.first; n-- {
		o.Former = append(o.Former, d.runID(n))
	}
	return o
}

// stop ends an orphaned run. It tries repeatedly for two reasons: a question sent just
// before the cancelation may arrive after the first attempt, and a restarted gateway
// resumes interrupted turns only after a few seconds.
func (s *Service) stop(ctx context.Context, h *job.Held) error {
	var o orphan
	if err := json.Unmarshal(h.Payload, &o); err != nil {
		return fmt.Errorf("read which run to stop: %w", err)
	}
	const looks = 3
	until := time.Now().Add(s.Patience)
	for n := 0; ; {
		err := s.stopRun(ctx, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err == nil:
			n++
		case !gateway.IsUnavailable(err):
			s.Log.WarnContext(ctx, "could not stop a run", "run", o.RunID, "err", err)
			return nil // another attempt would fail the same way
		case time.Now().After(until):
			s.Log.WarnContext(ctx, "could not stop a run: the gateway is unreachable", "run", o.RunID, "err", err)
			return nil
		}
		if n == looks {
			return nil
		}
		if err := sleep(ctx, time.Second<<n); err != nil {
			return err
		}
	}
}

// stopRun stops the run that o identifies. If that run is not in progress, the gateway may
// have restarted and resumed the run's turn under another run id. In that case stopRun
// stops the resumed run.
func (s *Service) stopRun(ctx context.Context, o orphan) error {
	stopped, err := s.Runtime.Stop(ctx, o.SessionKey, o.RunID)
	if err != nil || stopped {
		return err
	}
	for _, id := range append([]string{o.RunID}, o.Former...) {
		t, err := s.Runtime.Find(ctx, o.SessionKey, id)
		if err != nil || !t.Other {
			return err // no other run is in progress in this session
		}
		if t.Resumed == "" || t.Answered {
			continue
		}
		if _, err := s.Runtime.Stop(ctx, o.SessionKey, t.Resumed); err != nil {
			return err
		}
	}
	return nil
}
