package usage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/db"
)

// The roll-up contains the sums of the ledger by hour and by day in UTC, so that a report does not
// take longer as the number of runs grows. The time between a report's bounds and the nearest full
// hour is read from the ledger, so reports are exact for any time and time zone.

// Time spans that a row of the roll-up can cover, in milliseconds.
const (
	spanHour = int64(time.Hour / time.Millisecond)
	spanDay  = 24 * spanHour
	spanAll  = 0
	inLedger = -1 // a piece that is summed from the rows of the ledger
)

// Dimensions of the roll-up by which reports cannot be grouped.
const (
	overall      = "" // everything
	byTranscript = "transcript"
)

// columnOf maps each dimension to an SQL expression that returns a ledger row's value in that
// dimension, such as its agent ID.
var columnOf = map[string]string{
	overall: "''", string(ByAgent): "agent_id", string(BySource): "source", string(BySession): "session_key",
	string(ByJob): "job_id", string(ByTask): "task_key", string(ByStandup): "standup_id",
	string(ByModel): "CASE WHEN provider = '' THEN model ELSE provider || '/' || model END",
}

// sums lists the columns of the roll-up. Each column is the sum of an SQL expression over ledger
// rows.
var sums = [][2]string{
	{"runs", "runs"},
	{"unpriced", "unpriced"},
	{"corrections", "1 - runs"},
	{"priced", "CASE WHEN cost_nano IS NULL THEN 0 ELSE 1 END"},
	{"input", "input"},
	{"output", "output"},
	{"cache_read", "cache_read"},
	{"cache_write", "cache_write"},
	{"other", "other"},
	{"cost", "COALESCE(cost_nano, 0)"},
	{"estimated", "CASE WHEN price = 'estimated' THEN COALESCE(cost_nano, 0) ELSE 0 END"},
	{"calls", "calls"},
	{"took", "took"},
}

// eachSum formats each entry of sums and joins the results with commas. In the format, %[1]s is the
// column, and %[2]s is the expression.
func eachSum(format string) string {
	parts := make([]string, len(sums))
	for i, s := range sums {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(format, "%[1]s", s[0]), "%[2]s", s[1])
	}
	return strings.Join(parts, ", ")
}

var (
	sumColumns = eachSum("%[1]s")
	rowAmounts = eachSum("%[2]s AS %[1]s")
	// negatedAmounts is for rows that are removed.
	negatedAmounts = eachSum("-(%[2]s) AS %[1]s")
	addedUp        = eachSum("CAST(COALESCE(SUM(%[1]s), 0) AS BIGINT) AS %[1]s")
	addRollup      = eachSum("%[1]s = usage_rollup.%[1]s + excluded.%[1]s")
)

// pointers returns the scan targets for the columns listed in sums.
func (a *amounts) pointers() []any {
	t := &a.tokens
	return []any{
		&a.runs, &a.unpriced, &a.corrections, &a.priced, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &a.cost,
		&a.estimated, &a.calls, &a.took,
	}
}

// rollupKey identifies a row of the roll-up.
type rollupKey struct {
	dimension   string
	span, start int64
	name        string
}

// rollupKeys returns the keys of the roll-up rows that count a ledger row.
func (r row) rollupKeys() []rollupKey {
	var keys []rollupKey
	for dimension, name := range map[string]string{
		overall: "", string(ByAgent): r.AgentID, string(BySource): string(r.Source), string(BySession): r.SessionKey,
		string(ByJob): r.JobID, string(ByTask): r.TaskKey, string(ByStandup): r.StandupID,
		string(ByModel): modelName(r.Provider, r.Model),
	} {
		for _, span := range []int64{spanHour, spanDay} {
			keys = append(keys, rollupKey{dimension, span, floor(r.at, span), name})
		}
	}
	if r.TaskKey != "" {
		keys = append(keys, rollupKey{dimension: string(ByTask), name: r.TaskKey})
	}
	if r.SessionID != "" {
		keys = append(keys, ofTranscript(r.SessionID))
	}
	return keys
}

func ofTranscript(sessionID string) rollupKey {
	return rollupKey{dimension: byTranscript, span: spanAll, name: sessionID}
}

// addToRollup sums up the given amounts of the ledger rows that match an SQL condition, and adds the sums to each of
// the given roll-up rows.
func addToRollup(ctx context.Context, tx *db.Tx, keys []rollupKey, amounts, condition string, of ...any) error {
	values := strings.Repeat(", (?, ?, ?, ?)", len(keys)-1)
	args := make([]any, 0, 4*len(keys)+len(of))
	for _, k := range keys {
		args = append(args, k.dimension, k.span, k.start, k.name)
	}
	_, err := tx.Exec(ctx, `
		WITH keys (dimension, span, start, name) AS (VALUES (CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT))`+values+`),
		used AS (SELECT `+addedUp+` FROM (SELECT `+amounts+` FROM usage_ledger WHERE `+condition+`) AS entries)
		INSERT INTO usage_rollup (dimension, span, start, name, `+sumColumns+`)
		SELECT keys.dimension, keys.span, keys.start, keys.name, `+sumColumns+` FROM keys CROSS JOIN used WHERE TRUE
		ON CONFLICT (dimension, span, start, name) DO UPDATE SET `+addRollup, append(args, of...)...)
	if err != nil {
		return fmt.Errorf("update the usage roll-up: %w", err)
	}
	return nil
}

// readRollup returns one row of the roll-up, or zero amounts if there is none.
func readRollup(ctx context.Context, q db.Queryer, k rollupKey) (a amounts, err error) {
	err = q.QueryRow(ctx,
		`SELECT `+sumColumns+` FROM usage_rollup WHERE dimension = ? AND span = ? AND start = ? AND name = ?`, k.dimension,
		k.span, k.start, k.name).Scan(a.pointers()...)
	if db.IsNotFound(err) {
		return a, nil
	}
	return a, err
}

// interval is a time range in milliseconds since 1970; to is exclusive.
type interval struct{ from, to int64 }

// piece is a part of an interval that is read from one source: the hourly roll-up, the
// daily roll-up, or the ledger.
type piece struct {
	slot int // the index of the interval
	span int64
	interval
}

func floor(at, span int64) int64   { return at - at%span }
func ceiling(at, span int64) int64 { return floor(at+span-1, span) }

// piecesOf splits intervals into as few pieces as possible.
func piecesOf(intervals []interval) []piece {
	var all []piece
	for slot, i := range intervals {
		add := func(span, from, to int64) {
			if from < to {
				all = append(all, piece{slot, span, interval{from, to}})
			}
		}
		hours := interval{ceiling(i.from, spanHour), floor(i.to, spanHour)}
		if hours.from >= hours.to {
			add(inLedger, i.from, i.to)
			continue
		}
		days := interval{ceiling(hours.from, spanDay), floor(hours.to, spanDay)}
		if days.from >= days.to {
			days = interval{hours.to, hours.to}
		}
		add(inLedger, i.from, hours.from)
		add(spanHour, hours.from, days.from)
		add(spanDay, days.from, days.to)
		add(spanHour, days.to, hours.to)
		add(inLedger, hours.to, i.to)
	}
	return all
}

// selection selects usage by one dimension, such as by agent. If only is not empty, it
// selects only the names listed there, such as the agents' IDs.
type selection struct {
	engine    db.Engine
	dimension string
	only      []string
}

// usageQuery returns the SQL of a common table expression named "used" with the usage in each
// interval. Its columns are slot, name, and the sums. It may have several rows per slot and name.
//
// The query must look up each row of "pieces" separately, whatever the engine's statistics suggest.
// CROSS JOIN forces SQLite to do so, and OFFSET 0 forces PostgreSQL.
func (of selection) usageQuery(intervals []interval) (query string, args []any) {
	pieces := piecesOf(intervals)
	for _, p := range pieces {
		args = append(args, p.slot, p.span, p.from, p.to)
	}
	column := columnOf[of.dimension]
	from := func(table, condition string) string {
		if of.engine == db.Postgres {
			return ` FROM pieces CROSS JOIN LATERAL (SELECT * FROM ` + table + ` WHERE ` + condition + ` OFFSET 0) AS entries`
		}
		return ` FROM pieces CROSS JOIN ` + table + ` WHERE ` + condition
	}
	inSums := `dimension = ? AND span = place AND start >= since AND start < until` + inCondition(`name`, of.only)
	inRows := `place = ` + fmt.Sprint(inLedger) + ` AND at >= since AND at < until` + inCondition(column, of.only)
	args = append(args, of.dimension)
	for range 2 {
		for _, name := range of.only {
			args = append(args, name)
		}
	}
	return `pieces (slot, place, since, until) AS (
			VALUES (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))` + strings.Repeat(
		", (?, ?, ?, ?)", len(pieces)-1,
	) + `
		), used AS (
			SELECT slot, name, ` + sumColumns + from(`usage_rollup`, inSums) + `
			UNION ALL
			SELECT slot, ` + column + ` AS name, ` + rowAmounts + from(`usage_ledger`, inRows) + `
		)`, args
}

// inCondition returns the SQL condition that the given expression equals one of the texts, or "" if
// there are no texts.
func inCondition(expression string, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return ` AND ` + expression + ` IN (?` + strings.Repeat(`, ?`, len(texts)-1) + `)`
}

// cell is the usage of one name in a dimension, such as one agent, in one interval.
type cell struct {
	slot int
	name string
	amounts
}

// addUp returns the total of the selected usage for each interval.
func (of selection) addUp(ctx context.Context, q db.Queryer, intervals []interval) ([]amounts, error) {
	query, args := of.usageQuery(intervals)
	all := make([]amounts, len(intervals))
	rows, err := q.Query(ctx, `WITH `+query+` SELECT slot, '' AS name, `+addedUp+` FROM used GROUP BY slot`, args...)
	cells, err := db.All(rows, err, scanCell)
	for _, c := range cells {
		all[c.slot] = c.amounts
	}
	if err != nil {
		return nil, fmt.Errorf("sum the usage: %w", err)
	}
	return all, nil
}

// cells returns the selected usage for each interval, broken down by name, such as by agent ID.
func (of selection) cells(ctx context.Context, q db.Queryer, intervals []interval) ([]cell, error) {
	query, args := of.usageQuery(intervals)
	rows, err := q.Query(ctx, `WITH `+query+` SELECT slot, name, `+addedUp+` FROM used GROUP BY slot, name ORDER BY slot`,
		args...)
	return db.All(rows, err, scanCell)
}

// topByCost returns the usage of the names, such as agent IDs, with the highest cost in an
// interval. It returns at most the given number of names, most expensive first.
func (of selection) topByCost(ctx context.Context, q db.Queryer, in interval, most int) ([]cell, error) {
	query, args := of.usageQuery([]interval{in})
	rows, err := q.Query(ctx, `WITH `+query+` SELECT 0 AS slot, name, `+addedUp+` FROM used GROUP BY name
		ORDER BY SUM(cost) DESC, SUM(input + output) DESC, name LIMIT ?`, append(args, most)...)
	return db.All(rows, err, scanCell)
}

func scanCell(row db.Row) (c cell, err error) {
	return c, row.Scan(append([]any{&c.slot, &c.name}, c.pointers()...)...)
}
