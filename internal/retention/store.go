package retention

import (
	"context"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const outcomeColumns = `policy, job_id, cutoff, started_at, finished_at, gone, failure`

func scanOutcome(row db.Row) (o Outcome, err error) {
	return o, row.Scan(&o.Policy, &o.RunID, &o.Before, &o.StartedAt, &o.FinishedAt, &o.Count, &o.Error)
}

// begin records that a run has started to apply a policy, unless that is already recorded. It
// returns the outcome so far.
func begin(ctx context.Context, tx *db.Tx, o Outcome) (Outcome, error) {
	_, err := tx.Exec(ctx, `
		INSERT INTO retention_runs (policy, job_id, cutoff, started_at, gone) VALUES (?, ?, ?, ?, 0)
		ON CONFLICT (policy) DO UPDATE SET job_id = excluded.job_id, cutoff = excluded.cutoff,
			started_at = excluded.started_at, finished_at = NULL, gone = 0, failure = NULL
		WHERE retention_runs.job_id <> excluded.job_id`, o.Policy, o.RunID, o.Before, o.StartedAt)
	if err != nil {
		return Outcome{}, err
	}
	return scanOutcome(tx.QueryRow(ctx, `SELECT `+outcomeColumns+` FROM retention_runs WHERE policy = ?`, o.Policy))
}

// add adds n to the number of rows that the current run has processed for a policy.
func add(ctx context.Context, tx *db.Tx, policy string, n int64) error {
	_, err := tx.Exec(ctx, `UPDATE retention_runs SET gone = gone + ? WHERE policy = ?`, n, policy)
	return err
}

// end records that a run has finished applying a policy, and returns the policy's outcome.
func end(ctx context.Context, tx *db.Tx, policy string, now time.Time, failure *string) (Outcome, error) {
	return scanOutcome(tx.QueryRow(ctx, `
		UPDATE retention_runs SET finished_at = ?, failure = ? WHERE policy = ? RETURNING `+outcomeColumns, clock.At(now), failure, policy))
}

// outcomes returns each policy's outcome in the last run that applied it. If run is not empty, it
// returns only the outcomes of that run.
func outcomes(ctx context.Context, q db.Queryer, run string) ([]Outcome, error) {
	rows, err := q.Query(ctx, `SELECT `+outcomeColumns+` FROM retention_runs WHERE ? IN ('', job_id) ORDER BY policy`, run)
	return db.All(rows, err, scanOutcome)
}

const runColumns = `id, CASE WHEN state IN ('ready', 'running') THEN 'running' WHEN state = 'done' THEN 'done' ELSE 'failed' END, created_at, finished_at`

func scanRun(row db.Row) (r Run, err error) {
	return r, row.Scan(&r.ID, &r.Status, &r.AskedAt, &r.FinishedAt)
}

// findActive returns the run in progress.
func findActive(ctx context.Context, q db.Queryer) (Run, error) {
	return scanRun(q.QueryRow(ctx, `
		SELECT `+runColumns+` FROM jobs WHERE kind = ? AND key = ? AND state IN ('ready', 'running')`, JobKind, jobKey))
}

func findRun(ctx context.Context, q db.Queryer, id string) (Run, error) {
	return scanRun(q.QueryRow(ctx, `SELECT `+runColumns+` FROM jobs WHERE id = ?`, id))
}
