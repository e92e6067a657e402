package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// This file checks what the runtime says against what it does: runs that failed although it says that they
// succeeded, and jobs that run although it does not list them.

const (
	// checkedTurns is how many of the last messages of a run's session are read, and maxChecked how many
	// runs are checked per read of the runtime.
	checkedTurns, maxChecked = 20, 50
	// maxUnlisted is how many jobs that are not in the list are looked up per read.
	maxUnlisted = 50
)

// checkRuns sets the status of new runs to error if the runtime says that they succeeded, but their transcript
// ends in an error.
func (r *reader) checkRuns(ctx context.Context, runs []Run) error {
	checked := 0
	for i := range runs {
		run := &runs[i]
		if run.Status != "ok" || run.SessionKey == "" || r.s.Now().Sub(run.EndedAt.Time) > undeliveredFor ||
			checked == maxChecked {
			continue
		}
		stored, err := rowExists(ctx, r.s.DB, `SELECT 1 FROM schedule_runs WHERE job_id = ? AND started_at = ?`,
			run.JobID, run.StartedAt)
		if err != nil {
			return err
		}
		if stored {
			continue
		}
		checked++
		page, err := r.s.Runtime.Turns(ctx, run.SessionKey, checkedTurns, 0)
		if link.IsUnavailable(err) {
			return err
		}
		if err == nil { // a session that cannot be read proves nothing
			run.check(page.Turns)
			run.Error = r.s.Redact.Text(run.Error)
		}
	}
	return nil
}

// check sets the run's status to error if its last message is a failure of the model or the runtime.
func (r *Run) check(turns []gateway.Turn) {
	for _, t := range slices.Backward(turns) {
		switch {
		case t.Role == "user" || t.Role == "tool", t.At.After(r.EndedAt.Add(time.Minute)): // of a later run
			continue
		case t.At.IsZero() || !t.At.Before(r.StartedAt.Add(-earlyTolerance)):
			if t.Failed {
				r.Status, r.Error, r.undelivered = "error", t.Error, false
			}
		}
		return
	}
}

// keepFailures sets the last status of the jobs whose last run checkRuns has found to have failed, now or before.
func (s *snapshot) keepFailures(before []mirroredJob) {
	failed := map[string]gateway.JobState{}
	for _, w := range before {
		if w.job.State.LastStatus == "error" {
			failed[w.job.ID] = w.job.State
		}
	}
	for _, run := range slices.Backward(s.runs) { // oldest first
		if run.Status == "error" {
			failed[run.JobID] = gateway.JobState{LastRunAt: &run.StartedAt, LastError: run.Error}
		}
	}
	for i := range s.jobs {
		is := &s.jobs[i].State
		if was, ok := failed[s.jobs[i].ID]; ok && is.LastStatus == "ok" && is.LastRunAt != nil &&
			same(is.LastRunAt, was.LastRunAt) {
			is.LastStatus, is.LastError = "error", was.LastError
		}
	}
}

// fetchUnlisted looks up the jobs that have runs or were present, but are not in the runtime's list. It adds
// those that the runtime has nevertheless.
func (r *reader) fetchUnlisted(ctx context.Context, out *snapshot, present []mirroredJob) error {
	listed := map[string]bool{}
	for _, j := range out.jobs {
		listed[j.ID] = true
	}
	var ids []string
	for _, w := range present {
		ids = append(ids, w.job.ID)
	}
	for _, run := range out.runs {
		ids = append(ids, run.JobID)
	}
	asked := 0
	for _, id := range ids {
		if listed[id] || asked == maxUnlisted {
			continue
		}
		listed[id] = true
		asked++
		j, err := r.s.Runtime.Job(ctx, id)
		switch {
		case err == nil:
			out.jobs = append(out.jobs, j)
			out.unlisted[id] = true
		case errors.Is(err, gateway.ErrNoJob):
			out.missing[id] = true
		case link.IsUnavailable(err):
			return err
		}
	}
	return nil
}

// reportUnlisted raises an item for each job that runs although the runtime does not list it, and stores the
// jobs that are known only from their runs. Once the runtime lists a job, its item is resolved.
func (s *Service) reportUnlisted(ctx context.Context, tx *db.Tx, seen snapshot, latest map[string]Run) error {
	for id := range seen.missing {
		if r, ok := latest[id]; ok {
			if err := s.storeMissing(ctx, tx, seen, r); err != nil {
				return err
			}
		}
	}
	for id := range seen.unlisted {
		if r, ok := latest[id]; ok {
			if err := s.raiseUnlisted(ctx, tx, r); err != nil {
				return err
			}
		}
	}
	rows, err := tx.Query(ctx, `SELECT subject_id FROM inbox_items WHERE kind = ? AND state <> 'resolved'`,
		inbox.JobUnlisted)
	open, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return fmt.Errorf("find the items of unlisted jobs: %w", err)
	}
	for _, id := range open {
		if !seen.unlisted[id] && slices.ContainsFunc(seen.jobs, func(j gateway.Job) bool { return j.ID == id }) {
			if err := s.Inbox.ResolveCause(ctx, tx, cause(unlisted, id), "The gateway lists the job again."); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeMissing stores a job that the runtime does not have from its latest run, and raises an item about it,
// unless the job may have been deleted after that run began.
func (s *Service) storeMissing(ctx context.Context, tx *db.Tx, seen snapshot, r Run) error {
	w, err := findJob(ctx, tx, r.JobID)
	if err != nil {
		return err
	}
	// While Wardroom does not follow the runtime, a job can be added, run and be deleted unseen.
	followed := !seen.known.to.IsZero() && seen.at.Sub(seen.known.to) < 2*reconcileInterval
	if w != nil {
		followed = !w.present && r.StartedAt.After(w.changedAt.Add(earlyTolerance))
	}
	if w == nil || followed {
		agent, _, _ := strings.Cut(strings.TrimPrefix(r.SessionKey, "agent:"), ":")
		is := mirroredJob{
			job: gateway.Job{ID: r.JobID, Name: r.jobName, AgentID: agent}, since: r.StartedAt, changedAt: clock.At(seen.at),
		}
		if w != nil {
			is.lastDue, is.alarmed = w.lastDue, w.alarmed
			is.job.Name, is.job.Description = w.job.Name, w.job.Description
		}
		if is.text, err = textOf(is.job); err != nil {
			return err
		}
		if err := putJobs(ctx, tx, is); err != nil {
			return err
		}
	}
	if !followed {
		return nil
	}
	return s.raiseUnlisted(ctx, tx, r)
}

// raiseUnlisted raises an item for a job that runs although the runtime does not list it.
func (s *Service) raiseUnlisted(ctx context.Context, tx *db.Tx, r Run) error {
	w, err := findJob(ctx, tx, r.JobID)
	if err != nil || w == nil {
		return err
	}
	return s.Inbox.Raise(ctx, tx, inbox.NewItem{
		Cause: cause(unlisted, r.JobID), Kind: inbox.JobUnlisted, Severity: inbox.Medium,
		Subject: subject(r.JobID, w.job.Name), At: r.EndedAt.Time,
		Title: fmt.Sprintf("Job “%s” runs, but the gateway does not list it", w.job.Name),
		Detail: fmt.Sprintf("Agent %s ran it at %s. A job that is not in the gateway's list cannot be changed or stopped from there. "+
			"Restart the gateway, or delete the job with the gateway's own tools.\n\nThis item is resolved when the gateway lists the job again.", w.job.AgentID, minute(r.StartedAt.Time)),
		Run: &inbox.Run{SessionKey: r.SessionKey, RunID: r.RunID},
	})
}

// unlisted is the part of a cause that is about a job that the runtime does not list.
const unlisted = "unlisted"
