package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
)

const columns = `id, kind, state, agent_id, session_key, run_id, task_key, command, body, shown, created_at, expires_at, decision, answers,
	decider_id, decider_name, decider_role, claimed_until, ended_at, author_id, content, delivery, delivery_note`

// body is the stored JSON of a request.
type body struct {
	Action  *Action                `json:"action,omitempty"`
	Offered []string               `json:"decisions,omitempty"`
	Parts   []gateway.QuestionPart `json:"parts,omitempty"`
}

var requests = list.List[row]{
	Table: `approvals`, Columns: columns, Scan: scan, Usual: "-created",
	Sorts: map[string]list.Sort[row]{
		"created": {
			Columns: []string{`created_at`, `id`}, Position: func(r row) []any { return []any{r.CreatedAt.Time, r.ID} },
		},
	},
}

func scan(s db.Row) (row, error) {
	var r row
	var by Decider
	var stored, answers string
	err := s.Scan(&r.ID, &r.kind, &r.State, &r.AgentID, &r.SessionKey, &r.RunID, &r.Task, &r.command, &stored, &r.Shown,
		&r.CreatedAt, &r.ExpiresAt, &r.decision, &answers, &by.ID, &by.Name, &by.Role, &r.claimed, &r.EndedAt,
		&r.asked.author, &r.asked.content, &r.asked.delivery, &r.asked.note)
	if err != nil {
		return row{}, err
	}
	var b body
	if err := json.Unmarshal([]byte(stored), &b); err != nil {
		return row{}, fmt.Errorf("read request %s: %w", r.ID, err)
	}
	if err := json.Unmarshal([]byte(answers), &r.answers); err != nil {
		return row{}, fmt.Errorf("read the answers to %s: %w", r.ID, err)
	}
	if b.Action != nil {
		r.action = *b.Action
	}
	r.offered, r.parts, r.claimer = b.Offered, b.Parts, by
	if r.State == Pending { // the claimer has not decided yet
		r.intent, r.decision, r.answers = r.decision, "", nil
	} else if by.Name != "" {
		r.By = &by
	}
	return r, nil
}

func find(ctx context.Context, q db.Queryer, id string) (row, error) {
	r, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM approvals WHERE id = ?`, id))
	if db.IsNotFound(err) {
		return row{}, ErrNotFound.With("Reload the list. Wardroom deletes old requests.")
	}
	return r, err
}

// insert stores a new request. It returns false if it is stored already, or if a pending question has
// the same content.
func insert(ctx context.Context, tx *db.Tx, r row) (bool, error) {
	b := body{Offered: r.offered, Parts: r.parts}
	if !r.isQuestion() {
		b.Action = &r.action
	}
	text, err := json.Marshal(b)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO approvals (id, kind, question, state, agent_id, session_key, run_id, task_key, command, body, shown, created_at, expires_at,
			decision, answers, decider_id, decider_name, decider_role, author_id, content)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '{}', '', '', '', ?, ?) ON CONFLICT DO NOTHING`,
		r.ID, r.kind, r.isQuestion(), Pending, r.AgentID, r.SessionKey, r.RunID, r.Task, r.command, string(text), r.Shown,
		r.CreatedAt, r.ExpiresAt, r.asked.author, r.asked.content)
	return n == 1, err
}

// claim reserves a pending request for the answer of one person. It returns false if somebody else's
// answer may be on its way, or if the request has ended.
func claim(ctx context.Context, tx *db.Tx, id string, by Decider, intent Decision, now, until time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `
		UPDATE approvals SET decider_id = ?, decider_name = ?, decider_role = ?, decision = ?, claimed_until = ?
		WHERE id = ? AND state = 'pending' AND (claimed_until IS NULL OR claimed_until < ? OR claimed_until > ?)`,
		by.ID, by.Name, by.Role, intent, until, id, now, until.Add(clock.Skew))
	return n == 1, err
}

// release ends a claim whose answer did not reach the runtime.
func release(ctx context.Context, tx *db.Tx, id string, by Decider) error {
	_, err := tx.Exec(ctx, `
		UPDATE approvals SET decider_id = '', decider_name = '', decider_role = '', decision = '', claimed_until = NULL
		WHERE id = ? AND state = 'pending' AND decider_id = ?`, id, by.ID)
	return err
}

// end stores how a pending request ended. It returns false if it has already ended.
func end(ctx context.Context, tx *db.Tx, r row) (bool, error) {
	answers, err := json.Marshal(r.answers)
	if err != nil {
		return false, err
	}
	if r.answers == nil {
		answers = []byte(`{}`)
	}
	var by Decider
	if r.By != nil {
		by = *r.By
	}
	n, err := tx.Exec(ctx, `
		UPDATE approvals SET state = ?, decision = ?, answers = ?, decider_id = ?, decider_name = ?, decider_role = ?, ended_at = ?, claimed_until = NULL,
			delivery = ?
		WHERE id = ? AND state = 'pending'`, r.State, r.decision, string(answers), by.ID, by.Name, by.Role, r.EndedAt, r.asked.delivery, r.ID)
	return n == 1, err
}

// pending returns all pending requests of the runtime. There are few: each blocks an agent.
func pending(ctx context.Context, q db.Queryer) ([]row, error) {
	rows, err := q.Query(ctx,
		`SELECT `+columns+` FROM approvals WHERE state = 'pending' AND author_id = '' ORDER BY created_at, id`)
	return db.All(rows, err, scan)
}

// sameContent returns the latest question with the content of r that waits or ended after the given time. An end
// after that of r's beginning was stored while the clock was wrong.
func sameContent(ctx context.Context, q db.Queryer, r row, since time.Time) (row, error) {
	is, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM approvals
		WHERE content = ? AND content <> '' AND (state = 'pending' OR ended_at > ? AND ended_at <= ?) ORDER BY created_at DESC, id DESC LIMIT 1`,
		r.asked.content, since, r.CreatedAt.Add(clock.Skew)))
	if db.IsNotFound(err) {
		return row{}, ErrNotFound
	}
	return is, err
}

// countAsked returns how many questions of an agent's account wait.
func countAsked(ctx context.Context, q db.Queryer, author string) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM approvals WHERE question AND state = 'pending' AND author_id = ?`,
		author).Scan(&n)
	return n, err
}

// overdue returns the questions that were asked through Wardroom and have expired, or expire later than a question can.
func overdue(ctx context.Context, q db.Queryer, now time.Time) ([]row, error) {
	rows, err := q.Query(ctx,
		`SELECT `+columns+
			` FROM approvals WHERE question AND state = 'pending' AND author_id <> '' AND (expires_at <= ? OR expires_at > ?)`,
		now, now.Add(maxLife+clock.Skew))
	return db.All(rows, err, scan)
}

// due returns the IDs of the questions whose answers must still be delivered, oldest first.
func due(ctx context.Context, q db.Queryer) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT id FROM approvals WHERE delivery = 'due' ORDER BY ended_at, id`)
	return db.All(rows, err, func(r db.Row) (id string, err error) { err = r.Scan(&id); return id, err })
}

// setDelivery stores what became of a delivery that is due. It returns false if that is stored already.
func setDelivery(ctx context.Context, tx *db.Tx, r row) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE approvals SET delivery = ?, delivery_note = ? WHERE id = ? AND delivery = 'due' AND (delivery <> ? OR delivery_note <> ?)`,
		r.asked.delivery, r.asked.note, r.ID, r.asked.delivery, r.asked.note)
	return n == 1, err
}

// earlier returns the last five decisions about the same command.
func earlier(ctx context.Context, q db.Queryer, r row) ([]Earlier, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM approvals WHERE command = ? AND decision <> '' AND ended_at IS NOT NULL AND id <> ? ORDER BY ended_at DESC LIMIT 5`, r.command, r.ID)
	all, err := db.All(rows, err, scan)
	list := make([]Earlier, len(all))
	for i, e := range all {
		list[i] = Earlier{ID: e.ID, AgentID: e.AgentID, State: e.State, Decision: e.decision}
		if e.By != nil {
			list[i].By = *e.By
		}
		if e.EndedAt != nil {
			list[i].At = *e.EndedAt
		}
	}
	return list, err
}

// Filter selects requests.
type Filter struct {
	Pending    bool // only those that wait
	AgentID    string
	SessionKey string
	Task       string
}

func (f Filter) where(question bool) (w list.Where) {
	w.And(`question = ?`, question)
	if f.Pending {
		w.And(`state = 'pending'`)
		w.Use(`approvals_pending`)
	}
	list.Is(&w, `agent_id`, f.AgentID)
	list.Is(&w, `session_key`, f.SessionKey)
	list.Is(&w, `task_key`, f.Task)
	return w
}

// countEnded and purgeEnded serve the retention policy.
func countEnded(ctx context.Context, q db.Queryer, before time.Time) (n int64, oldest *clock.Time, err error) {
	err = q.QueryRow(ctx,
		`SELECT COUNT(*), MIN(ended_at) FROM approvals WHERE state <> 'pending' AND ended_at < ? AND delivery <> 'due'`,
		before).Scan(&n, &oldest)
	return n, oldest, err
}

func purgeEnded(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM approvals WHERE state <> 'pending' AND ended_at < ? AND delivery <> 'due' ORDER BY ended_at, id LIMIT ?`, before, limit)
	ids, err := db.All(rows, err, func(r db.Row) (id string, err error) { err = r.Scan(&id); return id, err })
	for _, id := range ids {
		if _, err := tx.Exec(ctx, `DELETE FROM approvals WHERE id = ?`, id); err != nil {
			return 0, err
		}
	}
	return int64(len(ids)), err
}
