package hold

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const columns = `id, agent_id, reason, by_id, by_name, since, state, runtime, runtime_detail, before`

func scan(row db.Row) (Hold, error) {
	var h Hold
	var text string
	err := row.Scan(&h.id, &h.agentID, &h.Reason, &h.byID, &h.By, &h.Since, &h.State, &h.Runtime, &h.Detail, &text)
	if err == nil && text != "" {
		h.before = &before{}
		err = json.Unmarshal([]byte(text), h.before)
	}
	return h, err
}

// find returns the hold of an agent that is in force, or nil.
func find(ctx context.Context, q db.Queryer, agentID string) (*Hold, error) {
	h, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM agent_holds WHERE agent_id = ? AND released_at IS NULL`,
		agentID))
	if db.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the hold of an agent: %w", err)
	}
	return &h, nil
}

// all returns the holds that are in force.
func all(ctx context.Context, q db.Queryer) ([]Hold, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM agent_holds WHERE released_at IS NULL ORDER BY since, id`)
	holds, err := db.All(rows, err, scan)
	if err != nil {
		return nil, fmt.Errorf("read the holds: %w", err)
	}
	return holds, nil
}

// due returns the agents whose holds a job must continue.
func due(ctx context.Context, q db.Queryer, now time.Time) ([]string, error) {
	rows, err := q.Query(ctx,
		`SELECT agent_id FROM agent_holds WHERE released_at IS NULL AND (retry_at <= ? OR retry_at > ?)`, now,
		now.Add(retryLater+clock.Skew))
	return db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
}

func insert(ctx context.Context, tx *db.Tx, h Hold) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO agent_holds (id, agent_id, reason, by_id, by_name, since, state, runtime, runtime_detail, before, retry_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '', ?)`,
		h.id, h.agentID, h.Reason, h.byID, h.By, h.Since, h.State, h.Runtime, h.Since)
	return err
}

// update stores a hold. A nil retryAt means that no job has anything left to do.
func update(ctx context.Context, tx *db.Tx, h Hold, retryAt *clock.Time) error {
	text := ""
	if h.before != nil {
		data, err := json.Marshal(h.before)
		if err != nil {
			return err
		}
		text = string(data)
	}
	_, err := tx.Exec(ctx, `
		UPDATE agent_holds SET reason = ?, by_id = ?, by_name = ?, since = ?, state = ?, runtime = ?, runtime_detail = ?, before = ?, retry_at = ? WHERE id = ?`,
		h.Reason, h.byID, h.By, h.Since, h.State, h.Runtime, h.Detail, text, retryAt, h.id)
	return err
}

// end marks a hold as released.
func end(ctx context.Context, tx *db.Tx, h Hold, at clock.Time) error {
	_, err := tx.Exec(ctx, `UPDATE agent_holds SET state = 'released', released_at = ?, retry_at = NULL, runtime = 'restored', runtime_detail = '' WHERE id = ?`, at, h.id)
	return err
}
