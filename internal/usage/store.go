package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// Kind is the kind of a ledger row.
type Kind string

// Kinds of ledger rows.
const (
	OfRun      Kind = "run"
	Answered   Kind = "answered"   // a run as its answer reports it, until its transcript has been read
	Reconciled Kind = "reconciled" // an adjustment that makes the ledger match the runtime's totals
	Priced     Kind = "priced"     // a later estimate for a row without a price
)

// Sources of a row's cost.
const (
	byRuntime = "runtime"
	estimated = "estimated"
	unpriced  = "unpriced"
)

// row is one row of the ledger.
type row struct {
	Run
	Part
	kind     Kind
	at       int64 // milliseconds since 1970
	price    string
	table    *int64 // version of the prices, if estimated
	runs     int64
	unpriced int64
}

const ledgerColumns = `run_id, provider, model, kind, at, started_at, ended_at, noted_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
	input, output, cache_read, cache_write, other, cost_nano, price, price_table, runs, unpriced, calls, took`

// stored returns the row's start time and cost in the form that the database stores. An unknown
// value is nil.
func (r row) stored() (started *clock.Time, cost *int64) {
	if !r.StartedAt.IsZero() {
		started = clock.Ptr(r.StartedAt)
	}
	if r.Cost != nil {
		n := int64(*r.Cost)
		cost = &n
	}
	return started, cost
}

// insert adds a new row to the ledger and to the roll-up.
func insert(ctx context.Context, tx *db.Tx, r row, now time.Time) error {
	started, cost := r.stored()
	t := r.Tokens
	_, err := tx.Exec(ctx,
		`INSERT INTO usage_ledger (`+ledgerColumns+
			`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.RunID, r.Provider, r.Model, r.kind, r.at, started, clock.At(time.UnixMilli(r.at)), clock.At(now), r.AgentID,
		r.SessionKey, r.SessionID, r.Source, r.JobID, r.TaskKey, r.StandupID, t.Input, t.Output, t.CacheRead, t.CacheWrite,
		t.Other, cost, r.price, r.table, r.runs, r.unpriced, r.Calls, r.Took.Milliseconds())
	if err != nil {
		return fmt.Errorf("write usage of run %s: %w", r.RunID, err)
	}
	return addToRollup(ctx, tx, r.rollupKeys(), rowAmounts, oneRow, r.RunID, r.Provider, r.Model)
}

// oneRow is the condition that selects a row by its key.
const oneRow = `run_id = ? AND provider = ? AND model = ?`

// remove deletes a row from the ledger and from the roll-up.
func remove(ctx context.Context, tx *db.Tx, r row) error {
	keys := r.rollupKeys()
	if err := addToRollup(ctx, tx, keys, negatedAmounts, oneRow, r.RunID, r.Provider, r.Model); err != nil {
		return err
	}
	for _, k := range keys {
		_, err := tx.Exec(ctx, `DELETE FROM usage_rollup WHERE dimension = ? AND span = ? AND start = ? AND name = ? AND runs = 0 AND corrections = 0`,
			k.dimension, k.span, k.start, k.name)
		if err != nil {
			return fmt.Errorf("delete an empty sum: %w", err)
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM usage_ledger WHERE `+oneRow, r.RunID, r.Provider, r.Model); err != nil {
		return fmt.Errorf("delete usage of run %s: %w", r.RunID, err)
	}
	return nil
}

// answered returns the rows of a run of which only the answer is known, with those that price them.
func answered(ctx context.Context, q db.Queryer, runID string) ([]row, error) {
	rows, err := q.Query(ctx, `SELECT `+rowColumns+` FROM usage_ledger l WHERE run_id IN (?, ?)
		AND EXISTS (SELECT 1 FROM usage_ledger a WHERE a.run_id = ? AND a.kind = 'answered') ORDER BY kind`, runID, "priced:"+runID, runID)
	return db.All(rows, err, scanRow)
}

// hasRun reports whether a run is in the ledger. If the run's rows do not have a session ID yet,
// hasRun sets it to sessionID.
func hasRun(ctx context.Context, tx *db.Tx, runID, sessionID string) (bool, error) {
	var n, unfiled int64
	err := tx.QueryRow(ctx, `SELECT COUNT(*), COUNT(*) FILTER (WHERE session_id = '') FROM usage_ledger WHERE run_id = ?`,
		runID).Scan(&n, &unfiled)
	if err == nil && unfiled > 0 && sessionID != "" {
		if err = addToRollup(
			ctx, tx, []rollupKey{ofTranscript(sessionID)}, rowAmounts, `run_id = ? AND session_id = ''`, runID,
		); err != nil {
			return false, err
		}
		_, err = tx.Exec(ctx, `UPDATE usage_ledger SET session_id = ? WHERE run_id = ? AND session_id = ''`, sessionID, runID)
	}
	return n > 0, err
}

// recordGrowth increases the ledger's change count by the number of new rows and notifies the
// ledger's watchers.
func recordGrowth(ctx context.Context, tx *db.Tx, rows int) error {
	if rows == 0 {
		return nil
	}
	if err := tx.Wake(ctx, topic); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE usage_state SET grown = grown + ? WHERE name = ?`, rows, ledger)
	return err
}

// notifyChanged notifies the ledger's watchers that data other than the ledger's rows has changed.
func notifyChanged(ctx context.Context, tx *db.Tx) error { return recordGrowth(ctx, tx, 1) }

// changeCount returns the number of changes to the ledger so far.
func changeCount(ctx context.Context, q db.Queryer) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT grown FROM usage_state WHERE name = ?`, ledger).Scan(&n)
	return n, err
}

// begins returns when the ledger starts, and when Wardroom began to follow the runtime. The ledger
// starts at that time or with its first row, whichever is earlier. Unknown times are nil.
func begins(ctx context.Context, q db.Queryer) (begins, since *clock.Time, err error) {
	var at *int64
	err = q.QueryRow(ctx, `SELECT (SELECT MIN(at) FROM usage_ledger), since FROM usage_state WHERE name = ?`,
		ledger).Scan(&at, &since)
	if err != nil {
		return nil, nil, fmt.Errorf("find the start of the ledger: %w", err)
	}
	begins = since
	if at != nil && (since == nil || *at < since.UnixMilli()) {
		begins = clock.Ptr(time.UnixMilli(*at))
	}
	return begins, since, nil
}

// setFollowedSince stores when Wardroom began to follow the runtime, unless a time is
// already stored.
func setFollowedSince(ctx context.Context, tx *db.Tx, at clock.Time) error {
	_, err := tx.Exec(ctx, `UPDATE usage_state SET since = ? WHERE name = ? AND since IS NULL`, at, ledger)
	return err
}

// claimEnd is the query Ends of mirror.Claim.
const claimEnd = `SELECT until FROM usage_state WHERE name = 'ledger'`

// claimQuery is the update of mirror.Claim.
const claimQuery = `UPDATE usage_state SET owner = ?, until = ? WHERE name = 'ledger' AND (owner = ? OR until IS NULL OR until < ? OR ?)`

// transcript records how far a transcript has been read.
type transcript struct {
	sessionID, sessionKey, agentID string
	seq, version                   int64
}

func readTranscript(ctx context.Context, q db.Queryer, sessionID string) (t transcript, err error) {
	t.sessionID = sessionID
	err = q.QueryRow(ctx, `SELECT session_key, agent_id, seq, version FROM usage_transcripts WHERE session_id = ?`,
		sessionID).
		Scan(&t.sessionKey, &t.agentID, &t.seq, &t.version)
	if db.IsNotFound(err) {
		return t, nil
	}
	return t, err
}

func putTranscript(ctx context.Context, tx *db.Tx, t transcript) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO usage_transcripts (session_id, session_key, agent_id, seq, version) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (session_id) DO UPDATE SET session_key = excluded.session_key, agent_id = excluded.agent_id, seq = excluded.seq, version = excluded.version`,
		t.sessionID, t.sessionKey, t.agentID, t.seq, t.version)
	return err
}

// modelKey identifies a model.
type modelKey struct{ provider, model string }

// recorded is the usage of one model in one transcript, according to the ledger.
type recorded struct {
	tokens    Tokens
	cost      int64 // reported by the runtime
	estimated int64
	unpriced  int64
}

// recordedUsage returns a transcript's usage in the ledger by model, including inherited usage. It
// also returns the time of the transcript's last row in the ledger.
func recordedUsage(
	ctx context.Context, q db.Queryer, sessionID string,
) (by map[modelKey]recorded, last int64, err error) {
	by = map[modelKey]recorded{}
	rows, err := q.Query(ctx, `
		SELECT provider, model, CAST(SUM(input) AS BIGINT), CAST(SUM(output) AS BIGINT), CAST(SUM(cache_read) AS BIGINT),
			CAST(SUM(cache_write) AS BIGINT), CAST(SUM(other) AS BIGINT),
			CAST(SUM(CASE WHEN price = 'runtime' THEN COALESCE(cost_nano, 0) ELSE 0 END) AS BIGINT),
			CAST(SUM(CASE WHEN price = 'estimated' THEN COALESCE(cost_nano, 0) ELSE 0 END) AS BIGINT),
			CAST(SUM(unpriced) AS BIGINT), MAX(at)
		FROM usage_ledger WHERE session_id = ? GROUP BY provider, model`, sessionID)
	type model struct {
		modelKey
		recorded
	}
	all, err := db.All(rows, err, func(r db.Row) (m model, err error) {
		var at int64
		t := &m.tokens
		err = r.Scan(&m.provider, &m.model, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &m.cost, &m.estimated,
			&m.unpriced, &at)
		last = max(last, at)
		return m, err
	})
	for _, m := range all {
		by[m.modelKey] = m.recorded
	}
	if err != nil {
		return nil, 0, err
	}
	return by, last, addInherited(ctx, q, sessionID, by)
}

// addInherited adds a transcript's inherited usage to the given totals. This is the usage of rows
// that were copied from another transcript when this one was created.
func addInherited(ctx context.Context, q db.Queryer, sessionID string, by map[modelKey]recorded) error {
	rows, err := q.Query(ctx, `
		SELECT provider, model, CAST(SUM(input) AS BIGINT), CAST(SUM(output) AS BIGINT), CAST(SUM(cache_read) AS BIGINT),
			CAST(SUM(cache_write) AS BIGINT), CAST(SUM(other) AS BIGINT), CAST(SUM(cost_nano) AS BIGINT)
		FROM usage_inherited WHERE session_id = ? GROUP BY provider, model`, sessionID)
	_, err = db.All(rows, err, func(r db.Row) (none struct{}, err error) {
		var k modelKey
		var t Tokens
		var cost int64
		err = r.Scan(&k.provider, &k.model, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &cost)
		h := by[k]
		h.tokens, h.cost = h.tokens.plus(t), h.cost+cost
		by[k] = h
		return none, err
	})
	return err
}

// lastTotals holds the last totals that the runtime reported for one model in one transcript.
type lastTotals struct {
	tokens Tokens
	cost   int64
	rows   int64 // number of adjustments in the ledger
	shrunk bool  // the totals have decreased before
}

func readLastTotals(ctx context.Context, q db.Queryer, sessionID string) (map[modelKey]lastTotals, error) {
	type model struct {
		modelKey
		lastTotals
	}
	rows, err := q.Query(ctx, `SELECT provider, model, input, output, cache_read, cache_write, other, cost_nano, rows_made, shrunk FROM usage_told WHERE session_id = ?`, sessionID)
	all, err := db.All(rows, err, func(r db.Row) (m model, err error) {
		t := &m.tokens
		return m, r.Scan(&m.provider, &m.model, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &m.cost,
			&m.rows, &m.shrunk)
	})
	by := map[modelKey]lastTotals{}
	for _, m := range all {
		by[m.modelKey] = m.lastTotals
	}
	return by, err
}

func putLastTotals(ctx context.Context, tx *db.Tx, sessionID string, k modelKey, t lastTotals) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO usage_told (session_id, provider, model, input, output, cache_read, cache_write, other, cost_nano, rows_made, shrunk)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (session_id, provider, model) DO UPDATE SET input = excluded.input, output = excluded.output, cache_read = excluded.cache_read,
			cache_write = excluded.cache_write, other = excluded.other, cost_nano = excluded.cost_nano, rows_made = excluded.rows_made,
			shrunk = excluded.shrunk`,
		sessionID, k.provider, k.model, t.tokens.Input, t.tokens.Output, t.tokens.CacheRead, t.tokens.CacheWrite,
		t.tokens.Other, t.cost, t.rows, t.shrunk)
	return err
}

// initialVersion is the version of the empty price table.
const initialVersion = 1

// newestPrices returns the current version of the prices.
func newestPrices(ctx context.Context, q db.Queryer) (Prices, error) {
	p := Prices{Version: initialVersion, Prices: []Price{}}
	var text string
	err := q.QueryRow(ctx, `SELECT version, prices, made_at, made_by FROM usage_prices ORDER BY version DESC LIMIT 1`).
		Scan(&p.Version, &text, &p.UpdatedAt, &p.UpdatedBy)
	if db.IsNotFound(err) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &p.Prices)
	}
	if err != nil {
		return p, fmt.Errorf("read prices: %w", err)
	}
	return p, nil
}

func insertPrices(ctx context.Context, tx *db.Tx, p Prices) error {
	text, err := json.Marshal(p.Prices)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO usage_prices (version, prices, made_at, made_by) VALUES (?, ?, ?, ?)`, p.Version,
			string(text), p.UpdatedAt, p.UpdatedBy)
	}
	return err
}

// unpricedRows returns ledger rows without a price, in chronological order, starting
// after the given row. It skips a row if another ledger row has since priced the same
// usage.
func unpricedRows(ctx context.Context, q db.Queryer, after row, limit int) ([]row, error) {
	rows, err := q.Query(ctx, `
		SELECT `+rowColumns+` FROM usage_ledger l WHERE unpriced > 0 AND (at, run_id, provider, model) > (?, ?, ?, ?)
			AND NOT EXISTS (SELECT 1 FROM usage_ledger p WHERE p.run_id = 'priced:' || l.run_id AND p.provider = l.provider AND p.model = l.model)
			AND NOT EXISTS (SELECT 1 FROM usage_ledger f WHERE l.session_id <> '' AND f.session_id = l.session_id AND f.provider = l.provider AND f.model = l.model
				AND f.kind = 'reconciled' AND f.unpriced < 0 AND f.noted_at >= l.noted_at)
		ORDER BY at, run_id, provider, model LIMIT ?`, after.at, after.RunID, after.Provider, after.Model, limit)
	return db.All(rows, err, scanRow)
}

// rowColumns are the columns that scanRow reads.
const rowColumns = `run_id, provider, model, kind, at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
	input, output, cache_read, cache_write, other, cost_nano`

func scanRow(from db.Row) (r row, err error) {
	t := &r.Tokens
	var cost *int64
	err = from.Scan(&r.RunID, &r.Provider, &r.Model, &r.kind, &r.at, &r.AgentID, &r.SessionKey, &r.SessionID, &r.Source,
		&r.JobID, &r.TaskKey, &r.StandupID, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &cost)
	if cost != nil {
		r.Cost = costOf(*cost)
	}
	return r, err
}

// costOf returns a pointer to a cost of n nano-dollars, for fields in which nil means an unknown
// cost.
func costOf(n int64) *money.Nano {
	cost := money.Nano(n)
	return &cost
}

func pricesVersion(ctx context.Context, q db.Queryer) (v int64, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE(MAX(version), ?) FROM usage_prices`, initialVersion).Scan(&v)
	return v, err
}
