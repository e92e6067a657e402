package usage

import (
	"context"
	"fmt"
	"strings"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Report is what a period used: the whole, its course, and its parts. All of it
// comes out of one statement, so that each adds up to the others.
type Report struct {
	From  clock.Time `json:"from"`
	To    clock.Time `json:"to" doc:"The first moment that is not in it."`
	Zone  string     `json:"zone" doc:"Whose days and hours these are."`
	Group Group      `json:"group" enum:"agent,model,source,session,job,task,standup,day,hour"`
	Unit  string     `json:"unit" enum:"day,hour" doc:"Of the series."`
	// What is before it is not nothing.
	Begins *clock.Time `json:"ledger_begins_at" doc:"From when on the ledger knows anything: of what was before it nothing is known, also where a sum says 0. Null before it knows anything."`
	Since  *clock.Time `json:"followed_since" doc:"Since when the service follows the runtime. Of what was before it the ledger has only what the runtime still had then: it may have been more. Null before it ever did."`
	Total  Sums        `json:"total"`
	Series []Slot      `json:"series" nullable:"false" doc:"The earliest first, without a gap."`
	Groups []Share     `json:"groups" nullable:"false" doc:"What cost most first; days and hours the earliest first."`
}

// Share is one group of a Report.
type Share struct {
	Key  *string `json:"key" doc:"Null for what has none, such as runs for no task, and for the rest."`
	Rest bool    `json:"rest" doc:"All the groups that are not in the list, together."`
	Sums
}

// mostGroups is how many groups are told apart. The others are one.
const mostGroups = 500

// keyOf is the column that each group goes by.
var keyOf = map[Group]string{
	ByAgent: "agent_id", BySource: "source", BySession: "session_key", ByJob: "job_id", ByTask: "task_key", ByStandup: "standup_id",
	ByModel: "CASE WHEN provider = '' THEN model ELSE provider || '/' || model END",
	ByDay:   "''", ByHour: "''",
}

// report adds a period up.
func report(ctx context.Context, q db.Queryer, p Period, g Group) (Report, error) {
	hours := g == ByHour || g != ByDay && p.To.Sub(p.From) <= hourly
	r := Report{From: clock.At(p.From), To: clock.At(p.To), Zone: p.Zone.String(), Group: g, Unit: "day", Groups: []Share{}}
	if hours {
		r.Unit = "hour"
	}
	var at map[place]int
	r.Series, at = p.slots(hours)
	query, args := statement(p, g, hours)
	rows, err := q.Query(ctx, query, args...)
	cells, err := db.All(rows, err, scanCell)
	if err != nil {
		return r, fmt.Errorf("add the usage up: %w", err)
	}
	var total amounts
	slots := make([]amounts, len(r.Series))
	groups, order := map[int64]amounts{}, []cell{}
	for _, c := range cells {
		i, ok := at[c.at]
		if !ok {
			return r, fmt.Errorf("add the usage up: nothing is due at %+v", c.at)
		}
		total, slots[i] = total.plus(c.amounts), slots[i].plus(c.amounts)
		if _, seen := groups[c.rank]; !seen {
			order = append(order, c)
		}
		groups[c.rank] = groups[c.rank].plus(c.amounts)
	}
	if r.Begins, r.Since, err = begins(ctx, q); err != nil {
		return r, err
	}
	r.Total = total.sums()
	for i := range slots {
		r.Series[i].Sums = slots[i].sums()
		if g == ByDay || g == ByHour {
			r.Groups = append(r.Groups, Share{Key: &r.Series[i].Label, Sums: r.Series[i].Sums})
		}
	}
	if g == ByDay || g == ByHour {
		return r, nil
	}
	for _, c := range order { // by rank, as the statement says
		part := Share{Rest: c.rank > mostGroups, Sums: groups[c.rank].sums()}
		if !part.Rest && c.name != "" {
			part.Key = &c.name
		}
		r.Groups = append(r.Groups, part)
	}
	return r, nil
}

// cell is what one group used in one slot.
type cell struct {
	at   place
	rank int64 // of the group: the one that cost most is 1
	name string
	amounts
}

func scanCell(row db.Row) (c cell, err error) {
	t := &c.tokens
	err = row.Scan(&c.at.stretch, &c.at.number, &c.rank, &c.name, &c.runs, &c.unpriced, &c.corrections, &c.priced,
		&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &c.cost, &c.estimated)
	return c, err
}

// statement is the one question that a report is made of. What is in no group of
// its own has the rank behind the last.
func statement(p Period, g Group, hours bool) (query string, args []any) {
	unit := dayMillis
	if hours {
		unit = hourMillis
	}
	first, again := sumsOf()
	stretches := p.stretches()
	number, numbered := choose(stretches, func(_ int, s stretch) int64 { return s.offset })
	which, chosen := "CAST(? AS BIGINT)", []any{0}
	if hours {
		which, chosen = choose(stretches, func(i int, _ stretch) int64 { return int64(i) })
	}
	args = append(append(args, chosen...), numbered...)
	args = append(args, unit, p.From.UnixMilli(), p.To.UnixMilli(), mostGroups, mostGroups+1, mostGroups)
	return `
		WITH parts AS (
			SELECT ` + which + ` AS stretch, (at + ` + number + `) / CAST(? AS BIGINT) AS number, ` + keyOf[g] + ` AS name, ` + first + `
			FROM usage_ledger WHERE at >= ? AND at < ? GROUP BY 1, 2, 3
		), names AS (
			SELECT name, ROW_NUMBER() OVER (ORDER BY SUM(cost) DESC, SUM(input + output) DESC, name) AS rank FROM parts GROUP BY name
		), ranked AS (
			SELECT parts.*, CASE WHEN names.rank <= CAST(? AS BIGINT) THEN names.rank ELSE CAST(? AS BIGINT) END AS rank,
				CASE WHEN names.rank <= CAST(? AS BIGINT) THEN parts.name ELSE '' END AS shown
			FROM parts JOIN names ON names.name = parts.name
		)
		SELECT stretch, number, rank, shown, ` + again + ` FROM ranked GROUP BY stretch, number, rank, shown ORDER BY rank, stretch, number`, args
}

// sumsOf are the amounts of a statement over the ledger, and those of one over
// the sums of the first.
func sumsOf() (first, again string) {
	const whole = "CAST(COALESCE(SUM(%s), 0) AS BIGINT) AS %s"
	var a, b []string
	for _, c := range [][2]string{
		{"runs", "runs"},
		{"unpriced", "unpriced"},
		{"1 - runs", "corrections"},
		{"CASE WHEN cost_nano IS NULL THEN 0 ELSE 1 END", "priced"},
		{"input", "input"},
		{"output", "output"},
		{"cache_read", "cache_read"},
		{"cache_write", "cache_write"},
		{"other", "other"},
		{"COALESCE(cost_nano, 0)", "cost"},
		{"CASE WHEN price = 'estimated' THEN COALESCE(cost_nano, 0) ELSE 0 END", "estimated"},
	} {
		a, b = append(a, fmt.Sprintf(whole, c[0], c[1])), append(b, fmt.Sprintf(whole, c[1], c[1]))
	}
	return strings.Join(a, ", "), strings.Join(b, ", ")
}

// choose is a value for each stretch of a period, as SQL.
func choose(stretches []stretch, value func(int, stretch) int64) (expression string, args []any) {
	const number = "CAST(? AS BIGINT)"
	last := len(stretches) - 1
	if last == 0 {
		return number, []any{value(0, stretches[0])}
	}
	var b strings.Builder
	b.WriteString("CASE")
	for i, s := range stretches[:last] {
		b.WriteString(" WHEN at < ? THEN " + number)
		args = append(args, s.to, value(i, s))
	}
	b.WriteString(" ELSE " + number + " END")
	return b.String(), append(args, value(last, stretches[last]))
}
