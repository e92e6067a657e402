package usage

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/platform/db"
)

// The runtime copies a conversation that is forked, or in which somebody goes
// back and asks otherwise: the rows as they are, with their ids, their times and
// what they used, into a transcript with an id of its own (OpenClaw 2026.9.6). Who
// goes back leaves the old transcript behind under the same session key, and the
// copy has all of it, also what is not on the way to where it goes on, which no
// history shows.

// inherit says whether a run of a transcript is a copy of one that the ledger has
// of another transcript, and keeps what the copy says of it.
func inherit(ctx context.Context, tx *db.Tx, r Run) (bool, error) {
	of, err := original(ctx, tx, r)
	if err != nil || of.sessionID == "" {
		return false, err
	}
	if of.sessionKey == r.SessionKey {
		n := 0
		err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM usage_inherited WHERE session_id = ? AND run_id = ?`, r.SessionID, r.RunID).Scan(&n)
		if err != nil || n > 0 {
			return true, err // with the first of them it got all
		}
		return true, adopt(ctx, tx, r.SessionID, of.sessionID)
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
			return false, fmt.Errorf("keep what %s has of %s: %w", r.SessionID, of.sessionID, err)
		}
	}
	return true, nil
}

// original is the other transcript that has a run; the zero value without one. A
// run that goes on in a second transcript ends later there, and is no copy.
func original(ctx context.Context, tx *db.Tx, r Run) (of transcript, err error) {
	ended := r.EndedAt.UnixMilli()
	find := `SELECT session_id, session_key FROM usage_ledger WHERE run_id = ? AND at >= ? AND session_id NOT IN ('', ?) LIMIT 1`
	args := []any{r.RunID, ended, r.SessionID}
	if message, ok := strings.CutPrefix(r.RunID, messageRun+r.SessionID+":"); ok {
		// A row that names no run is called by its transcript and its own id.
		find = `SELECT session_id, session_key FROM usage_ledger WHERE at = ? AND session_id NOT IN ('', ?) AND run_id = '` + messageRun + `' || session_id || ':' || ? LIMIT 1`
		args = []any{ended, r.SessionID, message}
	}
	err = tx.QueryRow(ctx, find, args...).Scan(&of.sessionID, &of.sessionKey)
	if db.IsNotFound(err) {
		return of, nil
	}
	if err != nil {
		return of, fmt.Errorf("look for the original of run %s: %w", r.RunID, err)
	}
	return of, nil
}

// adopt has one transcript inherit all that the ledger has of another one, and
// what that one had inherited.
func adopt(ctx context.Context, tx *db.Tx, heir, of string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO usage_inherited (session_id, run_id, provider, model, input, output, cache_read, cache_write, other, cost_nano)
		SELECT CAST(? AS TEXT), run_id, provider, model, input, output, cache_read, cache_write, other,
			CASE WHEN price = 'runtime' THEN COALESCE(cost_nano, 0) ELSE 0 END FROM usage_ledger WHERE session_id = ?
		UNION ALL
		SELECT CAST(? AS TEXT), run_id, provider, model, input, output, cache_read, cache_write, other, cost_nano FROM usage_inherited WHERE session_id = ?
		ON CONFLICT DO NOTHING`, heir, of, heir, of)
	if err != nil {
		return fmt.Errorf("have %s inherit from %s: %w", heir, of, err)
	}
	return nil
}

// adoptWhole finds out that somebody went back to before the first question: the
// copy shows nothing of what it has, and has used to the last token, beside its
// own, what the one before it under the same key had.
func adoptWhole(ctx context.Context, tx *db.Tx, of transcript, lacks map[modelKey]held) (bool, error) {
	var before string
	err := tx.QueryRow(ctx, `SELECT session_id FROM usage_transcripts WHERE session_key = ? AND session_id <> ? ORDER BY version DESC LIMIT 1`,
		of.sessionKey, of.sessionID).Scan(&before)
	if db.IsNotFound(err) || len(lacks) == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for what was before %s: %w", of.sessionID, err)
	}
	has, _, err := holds(ctx, tx, before)
	if err != nil {
		return false, err
	}
	for k, h := range has {
		if h.tokens != lacks[k].tokens {
			return false, nil
		}
	}
	for k, l := range lacks {
		if l.tokens != has[k].tokens {
			return false, nil
		}
	}
	return true, adopt(ctx, tx, of.sessionID, before)
}
