package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// Orphan identifies a run that nobody waits for any more, and the lost runs of the same
// question, latest first.
type Orphan struct {
	SessionKey, RunID string
	Former            []string
}

// runs returns the IDs of the question's runs, latest first.
func (o Orphan) runs() []string { return append([]string{o.RunID}, o.Former...) }

// Stopper stops orphaned runs, which would otherwise continue to cost money.
type Stopper struct {
	// Jobs is the queue for the jobs that stop runs. It has its own workers, so that
	// stopping a run never has to wait for another run to end.
	Jobs     *job.Queue
	Runtime  Runtime
	Log      *slog.Logger
	Patience time.Duration // how long to wait for the gateway
}

// kindStop is the kind of a job that stops an orphaned run.
const kindStop = "stop run"

// Kinds returns the job kinds that the queue in Jobs must run.
func (s *Stopper) Kinds() map[string]job.Kind {
	return map[string]job.Kind{kindStop: {Do: s.stop}}
}

// Enqueue adds a job that stops a run to the transaction that gives up the run.
func (s *Stopper) Enqueue(ctx context.Context, tx *db.Tx, o Orphan) error {
	_, err := s.Jobs.Enqueue(ctx, tx, kindStop, o.RunID, o)
	return err
}

// stop ends an orphaned run. It tries repeatedly for two reasons: a question sent just
// before the cancelation may arrive after the first attempt, and a restarted gateway
// resumes interrupted turns only after a few seconds.
func (s *Stopper) stop(ctx context.Context, h *job.Held) error {
	var o Orphan
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
		case !link.IsUnavailable(err):
			s.Log.WarnContext(ctx, "could not stop a run", "run", o.RunID, "err", err)
			return nil // another attempt would fail the same way
		case time.Now().After(until):
			s.Log.WarnContext(ctx, "could not stop a run: the gateway is unreachable", "run", o.RunID, "err", err)
			return nil
		}
		if n == looks {
			return nil
		}
		if err := Pause(ctx, time.Second<<n); err != nil {
			return err
		}
	}
}

// stopRun stops the run that o identifies. If that run is not in progress, the gateway may
// have restarted and resumed the run's turn under another run ID. In that case stopRun
// stops the resumed run.
func (s *Stopper) stopRun(ctx context.Context, o Orphan) error {
	stopped, err := s.Runtime.Stop(ctx, o.SessionKey, o.RunID)
	if err != nil || stopped {
		return err
	}
	for _, id := range o.runs() {
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
