package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/job"
)

// orphan is a run that nobody waits for any more.
type orphan struct {
	SessionKey, RunID string
	Former            []string // the runs of the same dispatch before it, the last one first
}

func (d *Dispatch) orphan() orphan {
	o := orphan{SessionKey: d.SessionKey, RunID: d.RunID}
	for n := d.number - 1; n >= d.first; n-- {
		o.Former = append(o.Former, d.name(n))
	}
	return o
}

// stop ends a run that nobody waits for any more. One that was sent in the very
// moment in which it was taken back arrives later than the first stop, and a turn
// that the runtime resumes goes on some seconds after its restart: so it is looked
// at again, until the runtime does not have it any more.
func (s *Service) stop(ctx context.Context, h *job.Held) error {
	var o orphan
	if err := json.Unmarshal(h.Payload, &o); err != nil {
		return fmt.Errorf("read which run to stop: %w", err)
	}
	const looks = 3
	until := time.Now().Add(s.Patience)
	for n := 0; ; {
		err := s.halt(ctx, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err == nil:
			n++
		case !gateway.Away(err):
			s.Log.WarnContext(ctx, "run could not be stopped", "run", o.RunID, "err", err)
			return nil // it will not be another time either
		case time.Now().After(until):
			s.Log.WarnContext(ctx, "run could not be stopped, the gateway is away", "run", o.RunID, "err", err)
			return nil
		}
		if n == looks {
			return nil
		}
		if err := moment(ctx, time.Second<<n); err != nil {
			return err
		}
	}
}

// halt stops the run or, where that is not going, the one by which the runtime
// goes on with its turn after a restart: that has an id of the runtime's own.
func (s *Service) halt(ctx context.Context, o orphan) error {
	stopped, err := s.Runtime.Stop(ctx, o.SessionKey, o.RunID)
	if err != nil || stopped {
		return err
	}
	for _, id := range append([]string{o.RunID}, o.Former...) {
		t, err := s.Runtime.Find(ctx, o.SessionKey, id)
		if err != nil || !t.Other {
			return err // nothing is going there
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
