package receipt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/task"
)

// row is a receipt as it is stored.
type row struct {
	Receipt

	taskID, userID string
	named          []string
	source         string
}

const columns = `r.id, r.task_id, t.number, r.agent_id, r.user_id, r.reported_at, r.claim, r.checks, r.pending, r.source, r.made_at, r.grade, r.body,
	r.verdict, r.verdict_by, r.verdict_at`

const from = ` FROM receipts r JOIN tasks t ON t.id = r.task_id `

func scan(s db.Row) (row, error) {
	var r row
	var number int64
	var named, body, by string
	var verdict task.Verdict
	var at *clock.Time
	err := s.Scan(&r.ID, &r.taskID, &number, &r.AgentID, &r.userID, &r.ReportedAt, &r.Claim.Text, &named, &r.Pending,
		&r.source, &r.MadeAt, &r.Grade, &body, &verdict, &by, &at)
	if err != nil {
		return r, err
	}
	r.Task = fmt.Sprintf("TASK-%d", number)
	if err := json.Unmarshal([]byte(named), &r.named); err != nil {
		return r, fmt.Errorf("read the checks of a receipt: %w", err)
	}
	text := r.Claim.Text
	if err := json.Unmarshal([]byte(body), &r.Receipt); err != nil {
		return r, fmt.Errorf("read a receipt: %w", err)
	}
	r.Claim.Text, r.Earlier = text, []Outline{}
	if verdict != task.Reopened && at != nil {
		r.Verdict = &Verdict{verdict, by, *at}
	}
	return r, nil
}

// body returns the part of a receipt that is stored as JSON.
func (r Receipt) body() string {
	r.Claim.Text = "" // it has a column of its own
	text, err := json.Marshal(struct {
		Gaps   []Gap   `json:"gaps"`
		Claim  Claim   `json:"claimed"`
		Seen   *Seen   `json:"seen"`
		Checks []Check `json:"checks"`
	}{r.Gaps, r.Claim, r.Seen, r.Checks})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(text)
}

func insert(ctx context.Context, tx *db.Tx, r row) error {
	named, err := json.Marshal(r.named)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO receipts (id, task_id, agent_id, user_id, reported_at, claim, checks, pending, source, made_at, grade, body, verdict, verdict_by, verdict_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, TRUE, '', NULL, ?, ?, '', '', NULL)`,
		r.ID, r.taskID, r.AgentID, r.userID, r.ReportedAt, r.Claim.Text, string(named), r.Grade, r.body())
	return err
}

// update stores a receipt that was made again.
func update(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `UPDATE receipts SET pending = ?, source = ?, made_at = ?, grade = ?, body = ? WHERE id = ?`,
		r.Pending, r.source, r.MadeAt, r.Grade, r.body(), r.ID)
	return err
}

// ofTask returns the receipts of a task, newest first, at most the given number.
func ofTask(ctx context.Context, q db.Queryer, taskID string, most int) ([]row, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+from+`WHERE r.task_id = ? ORDER BY r.reported_at DESC, r.id DESC LIMIT ?`,
		taskID, most)
	return db.All(rows, err, scan)
}

// pending returns the receipts whose transcripts may still grow, oldest first.
func pending(ctx context.Context, q db.Queryer, most int) ([]row, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+from+`WHERE r.pending ORDER BY r.reported_at LIMIT ?`, most)
	return db.All(rows, err, scan)
}

// judge stores a person's verdict on the newest receipt of a task. It returns false if there is
// none, or if the verdict is the same already.
func judge(ctx context.Context, tx *db.Tx, taskID string, v task.Verdict, by string, at time.Time) (bool, error) {
	condition := ` AND verdict = ''`
	if v == task.Reopened {
		condition = ` AND verdict = 'approved'`
	}
	n, err := tx.Exec(ctx, `UPDATE receipts SET verdict = ?, verdict_by = ?, verdict_at = ? WHERE id =
		(SELECT id FROM receipts WHERE task_id = ? ORDER BY reported_at DESC, id DESC LIMIT 1)`+condition, v, by, clock.At(at), taskID)
	return n > 0, err
}

// times are when a task was sent back, and when the agent first did something about it.
type times struct {
	sentBack []time.Time // oldest first
	began    time.Time   // zero if unknown
}

func findTimes(ctx context.Context, q db.Queryer, r row) (w times, err error) {
	rows, err := q.Query(ctx, `SELECT at FROM events WHERE subject_id = ? AND kind = 'task.sent_back' ORDER BY id`,
		r.taskID)
	w.sentBack, err = db.All(rows, err, func(s db.Row) (time.Time, error) {
		var at clock.Time
		err := s.Scan(&at)
		return at.Time, err
	})
	if err != nil {
		return w, err
	}
	var at clock.Time
	err = q.QueryRow(ctx, `SELECT at FROM events WHERE subject_id = ? AND actor_id = ? AND at < ? ORDER BY id LIMIT 1`,
		r.taskID, r.userID, r.ReportedAt).Scan(&at)
	if db.IsNotFound(err) {
		return w, nil
	}
	w.began = at.Time
	return w, err
}

// work is what the database knows about the runs of a task by an agent.
type work struct {
	keys       []string // of sessions that belong to the task
	reported   string   // session that the agent reported; may be empty
	prURL      string
	createdAt  time.Time
	dispatched bool        // a dispatch is in progress
	endedAt    *clock.Time // of the last dispatch
}

func findWork(ctx context.Context, q db.Queryer, r row) (w work, err error) {
	rows, err := q.Query(ctx, `SELECT session_key FROM dispatches WHERE task_id = ? AND agent_id = ?
		UNION SELECT session_key FROM usage_ledger WHERE task_key = ? AND task_key <> '' AND agent_id = ?`, r.taskID, r.AgentID, r.Task, r.AgentID)
	if w.keys, err = db.All(rows, err, func(s db.Row) (key string, err error) { return key, s.Scan(&key) }); err != nil {
		return w, err
	}
	for _, k := range w.keys { // the runtime may lower the case of a key
		w.keys = append(w.keys, strings.ToLower(k))
	}
	var session, pr *string
	var created clock.Time
	if err = q.QueryRow(
		ctx, `SELECT session_key, pr_url, created_at FROM tasks WHERE id = ?`, r.taskID,
	).Scan(&session, &pr, &created); err != nil {
		return w, err
	}
	w.createdAt = created.Time
	if pr != nil {
		w.prURL = *pr
	}
	if session != nil && strings.HasPrefix(strings.ToLower(*session), strings.ToLower("agent:"+r.AgentID+":")) {
		w.reported = *session
	}
	var state string
	err = q.QueryRow(ctx, `SELECT state, ended_at FROM dispatches WHERE task_id = ? ORDER BY number DESC LIMIT 1`,
		r.taskID).Scan(&state, &w.endedAt)
	if db.IsNotFound(err) {
		return w, nil
	}
	w.dispatched = state == "queued" || state == "started"
	return w, err
}

// Record counts how people judged the work of an agent.
type Record struct {
	Approved int64       `json:"approved" doc:"Number of approved tasks."`
	SentBack int64       `json:"sent_back" doc:"How often a task was sent back."`
	CostUSD  *money.Nano `json:"cost_per_approved_usd" doc:"Average cost of an approved task, including its attempts that were sent back; null if unknown."`
	Complete bool        `json:"cost_complete" doc:"Whether the cost of every approved task is completely known."`
}

// findRecord returns the record of an agent. The cost of a task includes all its runs.
func findRecord(ctx context.Context, q db.Queryer, agentID string) (r Record, err error) {
	var sum *int64
	var priced, complete int64
	err = q.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN cost_nano IS NOT NULL THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN cost_nano IS NOT NULL AND unpriced = 0 THEN 1 ELSE 0 END), 0), CAST(SUM(cost_nano) AS BIGINT)
		FROM tasks WHERE id IN (SELECT task_id FROM receipts WHERE agent_id = ? AND verdict = 'approved')`, agentID).Scan(
		&r.Approved, &priced, &complete, &sum,
	)
	if err != nil {
		return r, err
	}
	if sum != nil && priced > 0 {
		cost := money.Nano(*sum / priced)
		r.CostUSD = &cost
	}
	r.Complete = complete == r.Approved
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM receipts WHERE agent_id = ? AND verdict = 'sent_back'`,
		agentID).Scan(&r.SentBack)
	return r, err
}
