package app

import (
	"context"

	"wardroom/internal/receipt"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// wireReceipts creates the service that makes receipts, from the archived transcripts.
func (a *App) wireReceipts() {
	a.Receipts = &receipt.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, Tasks: a.Tasks, Archive: a.Archive,
	}
	a.Tasks.Reported, a.Tasks.Judged = a.Receipts.Report, a.Receipts.Judge
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
