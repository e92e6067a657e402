package usage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
)

// When a conversation is forked or rewound, the runtime copies its rows, with their IDs,
// times and usage, into a new transcript. The copy's history and totals include only the
// rows up to the point where it branches off (observed in OpenClaw 2026.9.6).

// recordCopy reports whether a run was copied from another transcript. If it was, recordCopy stores
// the copy's usage as inherited. If the runtime lists the run as active, activeIn names the
// transcript in which it does so.
func recordCopy(ctx context.Context, tx *db.Tx, r Run, activeIn string) (bool, error) {
	of, err := findOriginal(ctx, tx, r)
	if of == "" && activeIn != r.SessionID {
		of = activeIn
	}
	if err != nil || of == "" {
		return false, err
	}
	for _, p := range r.Parts {
		if !plausible(p.Tokens, p.Cost) {
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
			return false, fmt.Errorf("store the usage that %s inherits from %s: %w", r.SessionID, of, err)
		}
	}
	return true, nil
}

// findOriginal looks for another transcript that contains the run and returns its ID,
// or "" if there is none. A transcript in which the run ended earlier does not count:
// the run then continued in r's transcript and is not a copy.
func findOriginal(ctx context.Context, tx *db.Tx, r Run) (of string, err error) {
	ended := r.EndedAt.UnixMilli()
	find := `SELECT session_id FROM usage_ledger WHERE run_id = ? AND at >= ? AND session_id NOT IN ('', ?) LIMIT 1`
	args := []any{r.RunID, ended, r.SessionID}
	if message, ok := strings.CutPrefix(r.RunID, messageRun+r.SessionID+":"); ok {
		// Wardroom gives a run without an ID one that consists of the transcript's ID and the row's
		// ID.
		find = `SELECT session_id FROM usage_ledger WHERE at = ? AND session_id NOT IN ('', ?) AND run_id = '` + messageRun +
			`' || session_id || ':' || ? LIMIT 1`
		args = []any{ended, r.SessionID, message}
	}
	err = tx.QueryRow(ctx, find, args...).Scan(&of)
	if db.IsNotFound(err) {
		// A sub-agent can start with a copy of its parent's conversation so far.
		err = tx.QueryRow(ctx, `SELECT session_id FROM usage_going WHERE run_id = ? AND at >= ? AND session_id <> ? LIMIT 1`,
			r.RunID, ended, r.SessionID).Scan(&of)
	}
	if db.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the original of run %s: %w", r.RunID, err)
	}
	return of, nil
}

// isCopy reports whether a transcript that was never read contains only copied rows. This happens
// if a fork was rewound or deleted before it could be read. A transcript counts as a copy if its
// last row has the same time, to the millisecond, as the end of a run in another transcript, and
// that transcript's usage is at least as high.
func isCopy(ctx context.Context, q db.Queryer, u *gateway.TranscriptUsage) (bool, error) {
	if u.LastAt.IsZero() {
		return false, nil
	}
	rows, err := q.Query(ctx, `SELECT DISTINCT session_id FROM usage_ledger WHERE agent_id = ? AND at = ? AND runs > 0 AND session_id NOT IN ('', ?)`,
		u.AgentID, u.LastAt.UnixMilli(), u.SessionID)
	others, err := db.All(rows, err, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
	if err != nil {
		return false, fmt.Errorf("find the original of transcript %s: %w", u.SessionID, err)
	}
	for _, id := range others {
		has, _, err := recordedUsage(ctx, q, id)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(u.Models, func(m gateway.ModelTotals) bool {
			return !has[modelKey{m.Provider, m.Model}].tokens.covers(Tokens{
				m.Input, m.Output, m.CacheRead, m.CacheWrite, m.Other,
			})
		}) {
			return true, nil
		}
	}
	return false, nil
}
