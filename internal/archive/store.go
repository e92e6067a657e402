package archive

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/money"
	"wardroom/internal/search"
)

// state is the name of the archive's row in archive_state.
const state = "archive"

// claimQuery is the update of mirror.Claim.
const claimQuery = `UPDATE archive_state SET owner = ?, until = ? WHERE name = 'archive' AND (owner = ? OR until IS NULL OR until < ? OR ?)`

// claimEnd is the query Ends of mirror.Claim.
const claimEnd = `SELECT until FROM archive_state WHERE name = 'archive'`

// putReading stores the time at which the runtime's list of sessions was last read.
// A time in the future was stored while the clock was wrong.
func putReading(ctx context.Context, tx *db.Tx, at clock.Time, now time.Time) error {
	_, err := tx.Exec(ctx,
		`UPDATE archive_state SET read_at = ? WHERE name = ? AND (read_at IS NULL OR read_at < ? OR read_at > ?)`, at, state,
		at, now.Add(clock.Skew))
	return err
}

func findReading(ctx context.Context, q db.Queryer) (at *clock.Time, err error) {
	return at, q.QueryRow(ctx, `SELECT read_at FROM archive_state WHERE name = ?`, state).Scan(&at)
}

// kept holds what the archive has stored about a session.
type kept struct {
	id          string
	seen        gateway.Session // as stored
	version     int64           // of seen; see gateway.Session.Version
	fresh       bool            // seen matches a reading since this process started
	readVersion int64           // version up to which the transcript is archived; -1 if not at all
	lastSeq     int64
	messages    int64
	coverage    Coverage
	purged      bool
	since       time.Time // time of the reading with the last change
	hiddenUntil time.Time // when to look up an unlisted session again
	hiddenFor   time.Duration
}

// name identifies a session. Consecutive sessions with the same key have different transcripts.
type name struct{ key, transcript string }

func nameOf(g *gateway.Session) name { return name{g.Key, g.ID} }

// findPresent returns the sessions that the runtime had when its list was last read.
func findPresent(ctx context.Context, q db.Queryer) ([]*kept, error) {
	rows, err := q.Query(ctx, `
		SELECT id, session_key, transcript_id, agent_id, kind, active, ended_at, version, read_version, last_seq, messages, coverage, purged
		FROM archive_sessions WHERE present ORDER BY last_at DESC, id DESC`)
	return db.All(rows, err, func(from db.Row) (*kept, error) {
		var k kept
		var ended *clock.Time
		g := &k.seen
		err := from.Scan(&k.id, &g.Key, &g.ID, &g.AgentID, &g.Kind, &g.Active, &ended, &k.version, &k.readVersion, &k.lastSeq,
			&k.messages, &k.coverage, &k.purged)
		if ended != nil {
			g.EndedAt = *ended
		}
		return &k, err
	})
}

// findKept returns what is stored about a session, whether or not the runtime still has it.
func findKept(ctx context.Context, q db.Queryer, n name) (k kept, err error) {
	err = q.QueryRow(ctx, `
		SELECT id, read_version, last_seq, messages, coverage, purged FROM archive_sessions WHERE session_key = ? AND transcript_id = ?`, n.key, n.transcript).
		Scan(&k.id, &k.readVersion, &k.lastSeq, &k.messages, &k.coverage, &k.purged)
	return k, err
}

// putSeen stores a session as the runtime reported it, and its version. If the transcript may have new messages, the
// archived part is no longer the whole. A stored state from after now was stored while the clock was wrong.
func putSeen(
	ctx context.Context, tx *db.Tx, id string, g gateway.Session, version int64, asOf clock.Time, now time.Time,
) error {
	moment := func(t clock.Time) *clock.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO archive_sessions (id, session_key, transcript_id, agent_id, kind, label, status, model, parent_key, last_message, active, began_at,
			started_at, ended_at, last_at, version, as_of, present, ended, archived_at, coverage, read_version, last_seq, messages, purged)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, '', NULL, 'none', -1, 0, 0, FALSE)
		ON CONFLICT (session_key, transcript_id) DO UPDATE SET agent_id = excluded.agent_id, kind = excluded.kind, label = excluded.label,
			status = excluded.status, model = excluded.model, parent_key = excluded.parent_key, last_message = excluded.last_message,
			active = excluded.active, began_at = COALESCE(archive_sessions.began_at, excluded.began_at), started_at = excluded.started_at,
			ended_at = excluded.ended_at, last_at = excluded.last_at, version = excluded.version, as_of = excluded.as_of, present = TRUE,
			coverage = CASE WHEN archive_sessions.coverage = 'whole' AND archive_sessions.read_version <> excluded.version THEN 'partial' ELSE archive_sessions.coverage END
		WHERE archive_sessions.as_of <= excluded.as_of OR archive_sessions.as_of > ?`,
		id, g.Key, g.ID, g.AgentID, g.Kind, g.Label, g.Status, g.Model, g.ParentKey, g.LastMessage, g.Active,
		moment(g.StartedAt), moment(g.StartedAt), moment(g.EndedAt), lastOf(&g, asOf), version, asOf, now.Add(clock.Skew))
	return err
}

// putGone records that a session was deleted or reset in the runtime.
func putGone(ctx context.Context, tx *db.Tx, k *kept, why Ended, coverage Coverage, at clock.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE archive_sessions SET present = FALSE, active = FALSE, ended = ?, coverage = ?, archived_at = COALESCE(archived_at, ?) WHERE id = ?`,
		why, coverage, at, k.id)
	return err
}

// putRead stores how much of a transcript is archived. If done is true, it also stores that the
// transcript was read to its end.
func putRead(ctx context.Context, tx *db.Tx, k *kept, began *clock.Time, done bool, why Ended, at clock.Time) error {
	query := `UPDATE archive_sessions SET last_seq = ?, messages = ?, coverage = ?, began_at = COALESCE(?, began_at)`
	args := []any{k.lastSeq, k.messages, k.coverage, began}
	if done {
		query += `, read_version = ?, ended = ?, archived_at = ?, purged = FALSE`
		args = append(args, k.readVersion, why, at)
	}
	_, err := tx.Exec(ctx, query+` WHERE id = ?`, append(args, k.id)...)
	return err
}

const partColumns = `part, first, messages, size, data`

func scanPart(from db.Row) (p part, err error) {
	return p, from.Scan(&p.number, &p.first, &p.messages, &p.size, &p.data)
}

func lastPart(ctx context.Context, q db.Queryer, id string) (part, error) {
	return scanPart(q.QueryRow(ctx,
		`SELECT `+partColumns+` FROM archive_parts WHERE session_id = ? ORDER BY part DESC LIMIT 1`, id))
}

// partsBetween returns the parts of a transcript that contain messages with numbers in [from, to).
func partsBetween(ctx context.Context, q db.Queryer, id string, from, to int64) ([]part, error) {
	rows, err := q.Query(ctx,
		`SELECT `+partColumns+` FROM archive_parts WHERE session_id = ? AND first < ? AND first + messages > ? ORDER BY part`,
		id, to, from)
	return db.All(rows, err, scanPart)
}

// sizesBetween is like partsBetween, but returns only the size and the first
// message number of each part, last part first.
func sizesBetween(ctx context.Context, q db.Queryer, id string, from, to int64) ([]part, error) {
	rows, err := q.Query(ctx, `SELECT first, size FROM archive_parts WHERE session_id = ? AND first < ? AND first + messages > ? ORDER BY part DESC`, id, to, from)
	return db.All(rows, err, func(from db.Row) (p part, err error) { return p, from.Scan(&p.first, &p.size) })
}

func deleteParts(ctx context.Context, tx *db.Tx, id string, from int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM archive_parts WHERE session_id = ? AND part >= ?`, id, from)
	return err
}

func insertPart(ctx context.Context, tx *db.Tx, id string, p part) error {
	_, err := tx.Exec(ctx, `INSERT INTO archive_parts (session_id, `+partColumns+`) VALUES (?, ?, ?, ?, ?, ?)`, id,
		p.number, p.first, p.messages, p.size, p.data)
	return err
}

// words is the part of a transcript that full-text search covers: its beginning and, if the
// transcript is long, its end.
type words struct{ head, tail string }

func findWords(ctx context.Context, q db.Queryer, id string) (w words, err error) {
	err = q.QueryRow(ctx, `SELECT head, tail FROM archive_texts WHERE session_id = ?`, id).Scan(&w.head, &w.tail)
	if db.IsNotFound(err) {
		return w, nil
	}
	return w, err
}

func putWords(ctx context.Context, tx *db.Tx, id string, w words) error {
	_, err := tx.Exec(ctx, `INSERT INTO archive_texts (session_id, head, tail) VALUES (?, ?, ?)
		ON CONFLICT (session_id) DO UPDATE SET head = excluded.head, tail = excluded.tail`, id, w.head, w.tail)
	return err
}

// withUsage joins the sessions with their totals in the usage ledger.
const withUsage = `archive_sessions LEFT JOIN usage_rollup ON dimension = 'transcript' AND span = 0 AND start = 0 AND name = transcript_id`

const columns = `id, session_key, agent_id, kind, label, status, active, model, parent_key, began_at, started_at, ended_at, last_at, last_message,
	messages, coverage, ended, archived_at, present, as_of, priced, unpriced, input, output, cache_read, cache_write, other, cost,
	(SELECT 1 FROM usage_transcripts WHERE session_id = transcript_id) IS NOT NULL` // for EXISTS, PostgreSQL reads the whole table

func scan(from db.Row) (a Archived, err error) {
	var kind, label, status, model, parent, message string
	var ended Ended
	var t Tokens
	var priced, unpriced, input, output, read, write, other, cost *int64 // all null or none; null if it has used nothing
	var followed bool                                                    // whether the ledger has read the transcript
	err = from.Scan(&a.ID, &a.Key, &a.AgentID, &kind, &label, &status, &a.Active, &model, &parent, &a.BeganAt,
		&a.StartedAt, &a.EndedAt, &a.LastAt, &message, &a.Messages, &a.Coverage, &ended, &a.ArchivedAt, &a.Present, &a.AsOf,
		&priced, &unpriced, &input, &output, &read, &write, &other, &cost, &followed)
	a.Kind, a.Label, a.Status, a.Model, a.ParentKey, a.LastMessage = some(kind), some(label), some(status), some(model),
		some(parent), some(message)
	if ended != "" {
		a.Ended = &ended
	}
	switch {
	case input != nil:
		t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other = *input, *output, *read, *write, *other
		a.Tokens, a.Complete = &t, new(*unpriced == 0)
		if *priced > 0 || *unpriced == 0 {
			a.CostUSD = new(money.Nano(*cost))
		}
	case followed:
		a.Tokens, a.Complete, a.CostUSD = &t, new(true), new(money.Nano(0))
	}
	return a, err
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// sessions defines the list of archived sessions.
func sessions() list.List[Archived] {
	return list.List[Archived]{
		Table: withUsage, Columns: columns, Scan: scan, Usual: "-last",
		Sorts: map[string]list.Sort[Archived]{
			"last": {Columns: []string{`last_at`, `id`}, Position: func(a Archived) []any { return []any{a.LastAt.Time, a.ID} }},
		},
	}
}

// find returns a session by its id, or by the key of a job's run, which is archived as one of the transcripts of the
// job's session.
func find(ctx context.Context, q db.Queryer, id string) (Archived, error) {
	if key, transcript, ok := gateway.RunOfJob(id); ok {
		where := ` WHERE session_key IN (?, ?) AND transcript_id = ? ORDER BY messages DESC, id LIMIT 1`
		return scan(q.QueryRow(ctx, `SELECT `+columns+` FROM `+withUsage+where, key, id, transcript))
	}
	return scan(q.QueryRow(ctx, `SELECT `+columns+` FROM `+withUsage+` WHERE id = ?`, id))
}

// old contains the FROM and WHERE clauses of a query for the sub-agent sessions that retention can
// delete.
const old = ` FROM archive_sessions WHERE kind = '` + subagent + `' AND last_at < ? AND archived_at IS NOT NULL`

func countOld(ctx context.Context, q db.Queryer, before time.Time) (n int64, oldest time.Time, err error) {
	var first *clock.Time
	if err = q.QueryRow(ctx, `SELECT COUNT(*)`+old, before).Scan(&n); err == nil && n > 0 {
		err = q.QueryRow(ctx, `SELECT last_at`+old+` ORDER BY last_at, id LIMIT 1`, before).Scan(&first)
	}
	if first != nil {
		oldest = first.Time
	}
	return n, oldest, err
}

// purgeOld deletes up to limit sub-agent sessions without activity since the given time, oldest first.
func purgeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	type going struct {
		id      string
		present bool
	}
	rows, err := tx.Query(ctx, `SELECT id, present`+old+` ORDER BY last_at, id LIMIT ?`, before, limit)
	ids, err := db.All(rows, err, func(from db.Row) (g going, err error) { return g, from.Scan(&g.id, &g.present) })
	if err != nil {
		return 0, err
	}
	for _, g := range ids {
		if err := purge(ctx, tx, g.id, g.present); err != nil {
			return 0, err
		}
	}
	return int64(len(ids)), nil
}

// purge deletes a session from the archive. If the runtime still has the session, purge keeps an
// empty row that is marked as purged, so that the session is not archived again.
func purge(ctx context.Context, tx *db.Tx, id string, present bool) error {
	if !present {
		_, err := tx.Exec(ctx, `DELETE FROM archive_sessions WHERE id = ?`, id)
		return err
	}
	for _, query := range []string{
		`DELETE FROM archive_parts WHERE session_id = ?`, `DELETE FROM archive_texts WHERE session_id = ?`,
		`UPDATE archive_sessions SET archived_at = NULL, ended = '', coverage = 'none', messages = 0, last_seq = 0, purged = TRUE WHERE id = ?`,
	} {
		if _, err := tx.Exec(ctx, query, id); err != nil {
			return err
		}
	}
	return search.DropSession(ctx, tx, id)
}
