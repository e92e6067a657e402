package schedule

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
)

// undeliveredFor is how long after its end an undelivered run is still reported, so that the first
// read of the history does not report old ones.
const undeliveredFor = 24 * time.Hour

// reportDeliveries raises an item for each job whose latest run succeeded without its answer
// reaching the recipient. A later run that succeeds as a whole resolves the item.
func (s *Service) reportDeliveries(ctx context.Context, tx *db.Tx, latest map[string]Run) error {
	for id, r := range latest {
		var err error
		switch {
		case r.undelivered && s.Now().Sub(r.EndedAt.Time) < undeliveredFor:
			err = s.raiseUndelivered(ctx, tx, r)
		case r.Status == "ok" && !r.undelivered:
			err = s.resolveUndelivered(ctx, tx, id, "A later run of the job succeeded.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// raiseUndelivered raises an item for a run whose answer was not delivered.
func (s *Service) raiseUndelivered(ctx context.Context, tx *db.Tx, r Run) error {
	w, err := findJob(ctx, tx, r.JobID)
	if err != nil || w == nil {
		return err // without w, the job was deleted
	}
	return s.Inbox.Raise(ctx, tx, inbox.NewItem{
		Cause: cause(undelivered, r.JobID), Kind: inbox.JobUndelivered, Severity: inbox.Medium,
		Subject: subject(r.JobID, w.job.Name), At: r.EndedAt.Time,
		Title: fmt.Sprintf("Job “%s” ran, but its answer was not delivered", w.job.Name),
		Detail: fmt.Sprintf("The run at %s by agent %s succeeded, but the gateway could not deliver the answer. Check the job's delivery and the channel in the gateway. "+
			"The answer is in the run's session.\n\nThis item is resolved when a later run succeeds and its answer is delivered.", minute(r.StartedAt.Time), w.job.AgentID),
		Run: &inbox.Run{SessionKey: r.SessionKey, RunID: r.RunID},
	})
}

// undelivered is the part of a cause that is about an answer that was not delivered.
const undelivered = "undelivered"

// resolveUndelivered resolves the item about a job's undelivered answer, if it is unresolved.
func (s *Service) resolveUndelivered(ctx context.Context, tx *db.Tx, id, why string) error {
	about := cause(undelivered, id)
	open, err := rowExists(ctx, tx, `SELECT 1 FROM inbox_items WHERE cause = ? AND state <> 'resolved'`, about)
	if err != nil || !open {
		return err
	}
	return s.Inbox.ResolveCause(ctx, tx, about, why)
}
