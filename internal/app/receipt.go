package app

import (
	"context"
	"time"

	"wardroom/internal/archive"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/receipt"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/internal/transcript"
)

// wireReceipts creates the service that makes receipts, from the archived transcripts.
func (a *App) wireReceipts() {
	a.Receipts = &receipt.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, TaskID: a.taskID, NoTask: []*fault.Error{task.ErrNotFound}, Meet: a.Tasks.MeetCriteria,
		Transcripts: func(ctx context.Context, keys []string) ([]receipt.Transcript, error) {
			all, err := a.Archive.Transcripts(ctx, keys)
			return receiptTranscripts(all), err
		},
		Recent: func(ctx context.Context, agentID string, since time.Time, limit int) ([]receipt.Transcript, error) {
			all, err := a.Archive.RecentTranscripts(ctx, agentID, since, limit)
			return receiptTranscripts(all), err
		},
		Messages: func(ctx context.Context, t receipt.Transcript, most int64) ([]transcript.Message, error) {
			return a.Archive.NewestMessages(ctx, archive.Transcript(t), most)
		},
	}
	a.Tasks.Reported = func(ctx context.Context, tx *db.Tx, t task.Task, text string) error {
		return a.Receipts.Report(ctx, tx, t.ID, t.UpdatedAt, text, t.NamedChecks())
	}
	a.Tasks.Judged = func(ctx context.Context, tx *db.Tx, taskID string, v task.Verdict) error {
		return a.Receipts.Judge(ctx, tx, taskID, receipt.VerdictKind(v))
	}
}

func receiptTranscripts(all []archive.Transcript) []receipt.Transcript {
	out := make([]receipt.Transcript, len(all))
	for i, t := range all {
		out[i] = receipt.Transcript(t)
	}
	return out
}

// addReceipts adds the receipts of the tasks that an agent has reported as done.
func (a *App) addReceipts(ctx context.Context, reports []standup.TaskReport) error {
	var keys []string
	for _, r := range reports {
		if r.Kind == string(task.Finished) {
			keys = append(keys, r.Task)
		}
	}
	by, err := a.Receipts.Shorter(ctx, keys)
	if err != nil {
		return err
	}
	done := map[string]bool{} // the reports are sorted with the newest first
	for i, r := range reports {
		if o, ok := by[r.Task]; ok && r.Kind == string(task.Finished) && !done[r.Task] {
			done[r.Task] = true
			reports[i].Receipt = &standup.TaskReceipt{Grade: string(o.Grade), Pending: o.Pending, Gaps: []string{}}
			for _, g := range o.Gaps {
				reports[i].Receipt.Gaps = append(reports[i].Receipt.Gaps, g.Text)
			}
		}
	}
	return nil
}
