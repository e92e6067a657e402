package app

import (
	"wardroom/internal/receipt"
)

// wireReceipts creates the service that makes receipts, from the archived transcripts.
func (a *App) wireReceipts() {
	a.Receipts = &receipt.Service{
		DB: a.DB, Runtime: a.Gateway, Log: a.log, Now: a.opts.Now, Tasks: a.Tasks, Archive: a.Archive,
	}
	a.Tasks.Reported, a.Tasks.Judged = a.Receipts.Report, a.Receipts.Judge
}
