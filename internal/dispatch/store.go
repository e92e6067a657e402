package dispatch

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const columns = `id, task_id, task_key, agent_id, user_id, by_name, session_key, first_number, number, run_id, message, state, since, waiting, sent, boot_id,
	asked_at, start_by, end_by, error_code, error_detail, created_at, ended_at`

func scan(row db.Row) (Dispatch, error) {
	var d Dispatch
	var code, detail sql.NullString
	err := row.Scan(&d.ID, &d.taskID, &d.Task, &d.AgentID, &d.userID, &d.By, &d.SessionKey, &d.first, &d.number, &d.RunID,
		&d.message, &d.State, &d.Since, &d.Waiting, &d.sent, &d.bootID, &d.askedAt, &d.startBy, &d.endBy, &code, &detail,
		&d.CreatedAt, &d.endedAt)
	if err == nil && code.Valid {
		d.Error = &Failure{Code(code.String), detail.String}
	}
	return d, err
}

func insert(ctx context.Context, tx *db.Tx, d Dispatch) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO dispatches (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.ID, d.taskID, d.Task, d.AgentID, d.userID, d.By, d.SessionKey, d.first, d.number, d.RunID, d.message, d.State,
		d.Since, d.Waiting, d.sent, d.bootID, d.askedAt, d.startBy, d.endBy, nil, nil, d.CreatedAt, d.endedAt)
	return err
}

func update(ctx context.Context, tx *db.Tx, d Dispatch) error {
	var code, detail *string
	if d.Error != nil {
		code, detail = new(string(d.Error.Code)), &d.Error.Detail
	}
	_, err := tx.Exec(ctx, `
		UPDATE dispatches SET number = ?, run_id = ?, message = ?, state = ?, since = ?, waiting = ?, sent = ?, boot_id = ?, asked_at = ?, end_by = ?,
			error_code = ?, error_detail = ?, ended_at = ? WHERE id = ?`,
		d.number, d.RunID, d.message, d.State, d.Since, d.Waiting, d.sent, d.bootID, d.askedAt, d.endBy, code, detail,
		d.endedAt, d.ID)
	if err != nil {
		return fmt.Errorf("write dispatch %s: %w", d.RunID, err)
	}
	return nil
}

func find(ctx context.Context, q db.Queryer, id string) (Dispatch, error) {
	d, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM dispatches WHERE id = ?`, id))
	if db.IsNotFound(err) {
		return d, ErrNotFound.With("The task of this dispatch may have been deleted.")
	}
	return d, err
}

// last returns the latest dispatch of a task, or ErrNotFound.
func last(ctx context.Context, q db.Queryer, taskID string) (Dispatch, error) {
	d, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM dispatches WHERE task_id = ? ORDER BY number DESC LIMIT 1`,
		taskID))
	if db.IsNotFound(err) {
		return d, ErrNotFound
	}
	return d, err
}

// FailedDispatch says which task's dispatch failed, when and why.
type FailedDispatch struct {
	AgentID string
	Task    string
	Why     string
	At      clock.Time
	Ran     bool // the gateway had accepted it
}

// FailedOf lists the agents' dispatches that failed since the given time, newest first. It
// omits canceled, withdrawn and reassigned dispatches.
func (s *Service) FailedOf(
	ctx context.Context, agentIDs []string, since time.Time, limit int,
) ([]FailedDispatch, error) {
	in, args := db.In(agentIDs)
	rows, err := s.DB.Query(ctx, `SELECT agent_id, task_key, error_detail, ended_at, asked_at IS NOT NULL FROM dispatches
		WHERE agent_id `+in+` AND state = 'failed' AND ended_at >= ? AND error_code NOT IN ('cancelled', 'withdrawn', 'reassigned')
		ORDER BY ended_at DESC LIMIT ?`, append(args, since, limit)...)
	return db.All(rows, err, func(row db.Row) (t FailedDispatch, err error) {
		return t, row.Scan(&t.AgentID, &t.Task, &t.Why, &t.At, &t.Ran)
	})
}
