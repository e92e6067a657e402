package hold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/plaintext"
)

// kindHold is the kind of a job that brings the runtime's half of an agent's hold to its wanted
// state. Its key is the agent, so that only one process works on an agent at a time. It reads the
// wanted state from the hold and not from its payload. What it has done is in the hold as well,
// because a release, which is another job, needs it.
const kindHold = "hold"

// Kinds returns the job kinds that the queue in Jobs must run.
func (s *Service) Kinds() map[string]job.Kind {
	return map[string]job.Kind{kindHold: {Do: s.run}}
}

const (
	mostSessions = 1000
	watchEvery   = time.Second
	maxRounds    = 24              // rounds of stopping before the timer takes over
	retrySoon    = 5 * time.Second // after the gateway was unavailable
	retryLater   = time.Minute     // after the gateway refused
)

// worker works on the hold of one agent. It runs in the replica that holds the job.
type worker struct {
	*Service
	job     *job.Held
	h       Hold
	patched time.Time // when this process last changed the gateway's configuration
}

// errChanged means that somebody requested another state, so the worker must start again.
var errChanged = errors.New("the hold was changed")

// run is the job function that works on a hold until it has its wanted state, or must wait.
func (s *Service) run(ctx context.Context, held *job.Held) error {
	w := &worker{Service: s, job: held}
	for {
		h, err := find(ctx, s.DB, held.Key)
		if err != nil || h == nil {
			return err
		}
		w.h = *h
		if h.State == Releasing {
			err = w.restore(ctx)
		} else {
			err = w.apply(ctx)
		}
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil && ctx.Err() == nil && (link.IsUnavailable(err) || fault.Of(err) != nil) {
			return w.postpone(ctx, err)
		}
		return err
	}
}

// postpone stores why the work must wait. The timer continues it.
func (w *worker) postpone(ctx context.Context, why error) error {
	wait := retryLater
	if link.IsUnavailable(why) {
		wait = retrySoon
	}
	f := fault.Of(why)
	text := ""
	if f != nil {
		text = plaintext.Line(strings.TrimSpace(f.Title + " " + f.Detail))
		wait = max(wait, f.RetryAfter)
	}
	at := clock.At(w.Now().Add(wait))
	return w.save(ctx, func(h *Hold) { h.Detail = text }, &at)
}

// save changes the stored hold, unless somebody has requested another state meanwhile. It records
// an event if the change is one that people see.
func (w *worker) save(ctx context.Context, change func(*Hold), retryAt *clock.Time) error {
	err := w.job.Write(ctx, func(tx *db.Tx) error {
		h, err := find(ctx, tx, w.h.agentID)
		if err != nil {
			return err
		}
		if h == nil || h.id != w.h.id || h.State != w.h.State || h.Reason != w.h.Reason {
			return errChanged
		}
		was := *h
		h.before = w.h.before
		change(h)
		w.h = *h
		if err := update(ctx, tx, *h, retryAt); err != nil {
			return err
		}
		if h.Runtime == was.Runtime && h.Detail == was.Detail {
			return nil
		}
		return w.record(ctx, tx, eventChanged, *h, nil)
	})
	if err != nil && !errors.Is(err, errChanged) {
		return fmt.Errorf("store the progress of a hold: %w", err)
	}
	return err
}

// checkWanted returns errChanged if somebody has requested another state.
func (w *worker) checkWanted(ctx context.Context) error {
	h, err := find(ctx, w.DB, w.h.agentID)
	if err == nil && (h == nil || h.id != w.h.id || h.State != w.h.State) {
		err = errChanged
	}
	return err
}

// soon returns the time at which a job continues if this one dies.
func (w *worker) soon() *clock.Time {
	at := clock.At(w.Now().Add(retrySoon))
	return &at
}

// apply makes the runtime refuse runs of the agent, and stops those in progress. The order matters:
// a parent that wakes because its child was stopped then fails without a model call.
func (w *worker) apply(ctx context.Context) error {
	why, err := w.holdModel(ctx)
	if err != nil {
		return err
	}
	held := why == ""
	for round, quiet := 0, w.Now(); ; round++ {
		stopped, err := w.stopRuns(ctx)
		if err != nil {
			return err
		}
		if held {
			if err := w.disableJobs(ctx); err != nil {
				return err
			}
		}
		if stopped {
			quiet = w.Now()
		}
		if err := w.checkWanted(ctx); err != nil {
			return err
		}
		if w.Now().Sub(quiet) >= w.settle() || round >= maxRounds || !held {
			break
		}
		if err := pause(ctx, watchEvery); err != nil {
			return err
		}
	}
	if !held {
		again := clock.At(w.Now().Add(retryLater)) // the consent or the scope may come later
		return w.save(ctx, func(h *Hold) { h.Runtime, h.Detail = Unavailable, why }, &again)
	}
	if err := w.noteJobs(ctx); err != nil {
		return err
	}
	return w.save(ctx, func(h *Hold) { h.Runtime, h.Detail = InForce, "" }, nil)
}

// holdModel points the agent at a model that does not exist. It returns why Wardroom may not or
// cannot do that, or an empty string.
func (w *worker) holdModel(ctx context.Context) (why string, _ error) {
	agreed, err := w.Settings.HoldsInRuntime(ctx)
	if err != nil {
		return "", err
	}
	if !agreed && w.h.before == nil {
		return "Settings do not allow Wardroom to hold agents in the runtime. Others can still start runs of the agent; Wardroom stops each one.", nil
	}
	for {
		is, err := w.Runtime.AgentModel(ctx, w.h.agentID)
		switch {
		case err != nil:
			return "", err
		case !is.Listed:
			return "The gateway's configuration does not list the agent under agents.entries. Others can still start runs of it; Wardroom stops each one.", nil
		case applied(is) && string(is.Model) == string(holdPatch(w.h.Reason).Model):
			return "", nil
		}
		if w.h.before == nil {
			w.h.before = &before{}
		}
		w.h.before.remember(is)
		if err := w.save(ctx, func(*Hold) {}, w.soon()); err != nil {
			return "", err
		}
		err = w.patch(ctx, is, holdPatch(w.h.Reason), "Wardroom holds "+w.h.agentID)
		if errors.Is(err, link.ErrMissingScope) {
			return "The gateway has not granted Wardroom the scope operator.admin. Others can still start runs of the agent; Wardroom stops each one.", nil
		}
		if err != nil {
			return "", err
		}
	}
}

// patch changes the gateway's configuration. A conflict is no error, because the caller reads the
// configuration again. A gateway that gets changes in quick succession restarts, so patch waits.
func (w *worker) patch(ctx context.Context, is gateway.AgentModel, p gateway.ModelPatch, note string) error {
	if left := w.space() - w.Now().Sub(w.patched); !w.patched.IsZero() && left > 0 {
		if err := pause(ctx, left); err != nil {
			return err
		}
	}
	w.patched = w.Now()
	err := w.Runtime.PatchAgentModel(ctx, w.h.agentID, is, p, note)
	if errors.Is(err, gateway.ErrConfigChanged) {
		return nil
	}
	return err
}

// stopRuns stops the agent's runs, and reports whether there were any.
func (w *worker) stopRuns(ctx context.Context) (bool, error) {
	list, err := w.Runtime.ListSessions(ctx, mostSessions)
	if err != nil {
		return false, err
	}
	running := false
	for _, one := range list.Rows {
		if !strings.EqualFold(one.AgentID, w.h.agentID) || !one.Active {
			continue
		}
		running = true
		if _, _, err := w.Runtime.StopSession(ctx, one.Key, ""); err != nil && !errors.Is(err, gateway.ErrForeignRun) {
			return running, err
		}
	}
	if !running {
		return false, nil
	}
	_, err = w.Runtime.CancelTasks(ctx, w.h.agentID)
	return true, err
}

// disableJobs disables the agent's scheduled jobs, and remembers each one before it does.
func (w *worker) disableJobs(ctx context.Context) error {
	jobs, err := w.Runtime.Jobs(ctx, gateway.JobsWanted{AgentID: w.h.agentID})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if !j.Enabled || j.Payload.Kind == "heartbeat" { // a heartbeat belongs to the runtime, and fails without a model call
			continue
		}
		w.h.before.Jobs = append(slices.DeleteFunc(w.h.before.Jobs, func(d disabledJob) bool { return d.ID == j.ID }),
			disabledJob{ID: j.ID, Name: j.Name})
		if err := w.save(ctx, func(*Hold) {}, w.soon()); err != nil {
			return err
		}
		_, err := w.Runtime.ChangeJob(ctx, j.ID, gateway.JobChange{Enabled: new(false)}, "")
		if err != nil && !errors.Is(err, gateway.ErrNoJob) && !errors.Is(err, link.ErrRefused) {
			// the runtime refuses to change jobs of its own
			return err
		}
	}
	return nil
}

// noteJobs stores when each disabled job last changed, so that a release recognizes jobs that
// someone has changed since.
func (w *worker) noteJobs(ctx context.Context) error {
	jobs, err := w.Runtime.Jobs(ctx, gateway.JobsWanted{AgentID: w.h.agentID})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		for i, d := range w.h.before.Jobs {
			if d.ID == j.ID && !j.Enabled && d.At.IsZero() {
				w.h.before.Jobs[i].At = j.UpdatedAt
			}
		}
	}
	return nil
}

// restore undoes what the hold changed in the runtime, and releases the agent.
func (w *worker) restore(ctx context.Context) error {
	var left []string
	if w.h.before != nil {
		if err := w.restoreModel(ctx); err != nil {
			return err
		}
		var err error
		if left, err = w.enableJobs(ctx); err != nil {
			return err
		}
	}
	return w.job.Write(ctx, func(tx *db.Tx) error {
		h, err := find(ctx, tx, w.h.agentID)
		if err != nil {
			return err
		}
		if h == nil || h.id != w.h.id || h.State != Releasing {
			return errChanged
		}
		h.State, h.Runtime, h.Detail = Released, Restored, ""
		if err := end(ctx, tx, *h, clock.At(w.Now())); err != nil {
			return err
		}
		return w.record(ctx, tx, eventReleased, *h, map[string]any{"jobs_left_disabled": list(left)})
	})
}

// restoreModel restores the agent's model and model policy.
func (w *worker) restoreModel(ctx context.Context) error {
	for {
		is, err := w.Runtime.AgentModel(ctx, w.h.agentID)
		if err != nil {
			return err
		}
		p, needed := w.h.before.restorePatch(is)
		if !is.Listed || !needed {
			return nil
		}
		if err := w.patch(ctx, is, p, "Wardroom releases "+w.h.agentID); err != nil {
			return err
		}
	}
}

// enableJobs enables the jobs that the hold disabled. It returns the names of those that it leaves
// disabled because someone has changed them since.
func (w *worker) enableJobs(ctx context.Context) (left []string, _ error) {
	if len(w.h.before.Jobs) == 0 {
		return nil, nil
	}
	jobs, err := w.Runtime.Jobs(ctx, gateway.JobsWanted{})
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		i := slices.IndexFunc(w.h.before.Jobs, func(d disabledJob) bool { return d.ID == j.ID })
		if i < 0 || j.Enabled {
			continue
		}
		if at := w.h.before.Jobs[i].At; !at.IsZero() && !at.Equal(j.UpdatedAt.Time) {
			left = append(left, j.Name)
			continue
		}
		if _, err := w.Runtime.ChangeJob(ctx, j.ID, gateway.JobChange{Enabled: new(true)}, j.Revision); err != nil &&
			!errors.Is(err, gateway.ErrNoJob) {
			return nil, err
		}
	}
	return left, nil
}

// Continue enqueues jobs for holds whose work had to wait, or whose process died.
func (s *Service) Continue(ctx context.Context) error {
	agents, err := due(ctx, s.DB, s.Now())
	if err != nil || len(agents) == 0 {
		return err
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, id := range agents {
			if _, err := s.Jobs.Enqueue(ctx, tx, kindHold, id, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run stops runs of held agents that someone else has started, until ctx ends. Every replica does
// so: stopping a run twice does no harm, and a claim would write to the database while nothing runs.
func (s *Service) Run(ctx context.Context) error {
	var wake mirror.Signal
	s.Lists.WakeAtList(&wake)
	wake.Wake() // for a list that came before
	loop := mirror.Loop{Name: "runs of held agents", DB: s.DB, Log: s.Log, Pass: s.stopStray}
	loop.Run(ctx, &wake)
	return nil
}

// stopStray stops the runs of held agents. It returns when to look again without a new list of sessions.
func (s *Service) stopStray(ctx context.Context) (next time.Duration, err error) {
	var holds map[string]Hold
	next = retryLater
	for _, one := range s.Lists.Latest().Rows {
		if !one.Active {
			continue
		}
		if holds == nil {
			if holds, err = s.All(ctx); err != nil {
				return 0, err
			}
		}
		if h := holds[strings.ToLower(one.AgentID)]; h.State != Held {
			continue
		}
		next = watchEvery
		_, stopped, failed := s.Runtime.StopSession(ctx, one.Key, "")
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("stop %s, a session of a held agent: %w", one.Key, failed))
		} else if stopped {
			s.Log.InfoContext(ctx, "stopped a run of a held agent", "session", one.Key)
		}
	}
	return next, err
}

func (s *Service) settle() time.Duration {
	if s.Settle > 0 {
		return s.Settle
	}
	return 5 * time.Second
}

func (s *Service) space() time.Duration {
	if s.Space > 0 {
		return s.Space
	}
	return 3 * time.Second
}

// list returns names that JSON encodes as a list, even if there are none.
func list(names []string) []string { return append([]string{}, names...) }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
