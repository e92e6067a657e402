package usage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
)

// The runtime copies a conversation that is forked, or in which somebody goes
// back and asks otherwise: the rows as they are, with their ids, their times and
// what they used, into a transcript with an id of its own. What is not on the way
// to where the copy goes on is neither in its history nor in its totals
// (observed in OpenClaw 2026.9.6).

// inherit says whether a run of a transcript is a copy of one of another
// transcript, and keeps what the copy says of it. goesOnIn is the transcript in
// which the runtime says that it is going; empty without such.
func inherit(ctx context.Context, tx *db.Tx, r Run, goesOnIn string) (bool, error) {
	of, err := original(ctx, tx, r)
	if of == "" && goesOnIn != r.SessionID {
		of = goesOnIn
	}
	if err != nil || of == "" {
		return false, err
	}
	for _, p := range r.Parts {
		if !believable(p.Tokens, p.Cost) {
			continue
		}
		cost := int64(0)
		if p.Cost != nil {
			cost = int64(*p.Cost)
		}
		t := p.Tokens
		_, err := tx.Exec(ctx, `
			INSERT INTO usage_inherited (session_id, run_id, provider, model, input, output, cache_read, cache_write, other, cost_nano)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			r.SessionID, r.RunID, p.Provider, p.Model, t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other, cost)
		if err != nil {
			return false, fmt.Errorf("keep what %s has of %s: %w", r.SessionID, of, err)
		}
	}
	return true, nil
}

// original is the other transcript that has a run, ended or going; empty without
// one. A run that goes on in a second transcript ends later there, and is no copy.
func original(ctx context.Context, tx *db.Tx, r Run) (of string, err error) {
	ended := r.EndedAt.UnixMilli()
	find := `SELECT session_id FROM usage_ledger WHERE run_id = ? AND at >= ? AND session_id NOT IN ('', ?) LIMIT 1`
	args := []any{r.RunID, ended, r.SessionID}
	if message, ok := strings.CutPrefix(r.RunID, messageRun+r.SessionID+":"); ok {
		// A row that names no run is called by its transcript and its own id.
		find = `SELECT session_id FROM usage_ledger WHERE at = ? AND session_id NOT IN ('', ?) AND run_id = '` + messageRun + `' || session_id || ':' || ? LIMIT 1`
		args = []any{ended, r.SessionID, message}
	}
	err = tx.QueryRow(ctx, find, args...).Scan(&of)
	if db.IsNotFound(err) {
		// A sub-agent may begin with all that was said to the one that starts it.
		err = tx.QueryRow(ctx, `SELECT session_id FROM usage_going WHERE run_id = ? AND at >= ? AND session_id <> ? LIMIT 1`, r.RunID, ended, r.SessionID).Scan(&of)
	}
	if db.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the original of run %s: %w", r.RunID, err)
	}
	return of, nil
}

// copied says whether a transcript of which nothing was ever read is a copy, and
// nothing but a copy: somebody forked a conversation and went back in the fork,
// or threw it away, before anybody could look. Its last word is then the last of
// a run of another transcript, to the millisecond, and that one has used as much.
func copied(ctx context.Context, q db.Queryer, u *gateway.TranscriptUsage) (bool, error) {
	if u.LastAt.IsZero() {
		return false, nil
	}
	rows, err := q.Query(ctx, `SELECT DISTINCT session_id FROM usage_ledger WHERE agent_id = ? AND at = ? AND kind = 'run' AND session_id NOT IN ('', ?)`,
		u.AgentID, u.LastAt.UnixMilli(), u.SessionID)
	others, err := db.All(rows, err, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
	if err != nil {
		return false, fmt.Errorf("look for what %s is a copy of: %w", u.SessionID, err)
	}
	for _, id := range others {
		has, _, err := holds(ctx, q, id)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(u.Models, func(m gateway.ModelTotals) bool {
			return !has[modelKey{m.Provider, m.Model}].tokens.covers(Tokens{m.Input, m.Output, m.CacheRead, m.CacheWrite, m.Other})
		}) {
			return true, nil
		}
	}
	return false, nil
}
