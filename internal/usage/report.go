package usage

import (
	"context"
	"fmt"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Report is what a period used: the total, the series and the groups. All of it is
// read from one view of the database, so each adds up to the others.
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
	Bars   []Bar       `json:"bars" nullable:"false" doc:"The period in at most 48 bars, each with its groups. Empty without bars=true, and when the group is day or hour."`
}

// Share is one group of a Report.
type Share struct {
	Key  *string `json:"key" doc:"Null for what has none, such as runs for no task, and for the rest."`
	Rest bool    `json:"rest" doc:"All the groups that are not in the list, together."`
	Sums
}

// Bar is a part of a Report's period with its groups.
type Bar struct {
	Start  clock.Time `json:"start"`
	End    clock.Time `json:"end" doc:"The first moment that is not in it."`
	Unit   string     `json:"unit" enum:"hour,day,week,month" doc:"Weeks begin on Monday. The first and the last bar have what of them is in the period."`
	Groups []Share    `json:"groups" nullable:"false" doc:"Those groups of the report that have anything in this bar."`
}

// mostGroups is how many groups are told apart. The others are one.
const mostGroups = 500

// report adds up what a period used, and what each bar is made of if bars are wanted.
func report(ctx context.Context, q db.Queryer, engine db.Engine, p Period, g Group, bars bool) (Report, error) {
	byTime := g == ByDay || g == ByHour
	hours := g == ByHour || g != ByDay && p.To.Sub(p.From) <= hourly
	r := Report{
		From: clock.At(p.From), To: clock.At(p.To), Zone: p.Zone.String(), Group: g, Unit: "day", Series: p.slots(hours), Groups: []Share{}, Bars: []Bar{},
	}
	if hours {
		r.Unit = "hour"
	}
	intervals := make([]interval, len(r.Series))
	for i, s := range r.Series {
		intervals[i] = interval{s.Start.UnixMilli(), s.End.UnixMilli()}
	}
	used, err := part{engine: engine}.addUp(ctx, q, intervals)
	if err != nil {
		return r, err
	}
	var total amounts
	for i := range used {
		total = total.plus(used[i])
		r.Series[i].Sums = used[i].sums()
		if byTime {
			r.Groups = append(r.Groups, Share{Key: &r.Series[i].Label, Sums: r.Series[i].Sums})
		}
	}
	r.Total = total.sums()
	if r.Begins, r.Since, err = begins(ctx, q); err != nil || byTime {
		return r, err
	}
	of := part{engine: engine, dimension: string(g)}
	top, err := of.dearest(ctx, q, interval{p.From.UnixMilli(), p.To.UnixMilli()}, mostGroups+1)
	if err != nil {
		return r, fmt.Errorf("add the usage of each %s up: %w", g, err)
	}
	if len(top) > mostGroups {
		top = top[:mostGroups]
		for _, c := range top {
			of.only = append(of.only, c.name)
		}
	}
	r.Groups = shares(top, total)
	if bars {
		err = r.split(ctx, q, of, used)
	}
	return r, err
}

// split fills in the bars, of a series of which each slot used so much.
func (r *Report) split(ctx context.Context, q db.Queryer, of part, used []amounts) error {
	r.Bars = barsOf(r.Series, r.Unit)
	intervals, totals, bar := make([]interval, len(r.Bars)), make([]amounts, len(r.Bars)), 0
	for i, s := range r.Series {
		if !s.Start.Before(r.Bars[bar].End.Time) {
			bar++
		}
		totals[bar] = totals[bar].plus(used[i])
	}
	for i, b := range r.Bars {
		intervals[i] = interval{b.Start.UnixMilli(), b.End.UnixMilli()}
	}
	cells, err := of.cells(ctx, q, intervals)
	if err != nil {
		return fmt.Errorf("split the usage by %s: %w", r.Group, err)
	}
	for i := range r.Bars {
		n := 0
		for n < len(cells) && cells[n].slot == i {
			n++
		}
		r.Bars[i].Groups, cells = shares(cells[:n], totals[i]), cells[n:]
	}
	return nil
}

// shares are groups of a total as the report tells them, and what the total has
// beside them.
func shares(groups []cell, total amounts) []Share {
	list := make([]Share, 0, len(groups)+1)
	for _, c := range groups {
		share := Share{Sums: c.sums()}
		if c.name != "" {
			share.Key = &c.name
		}
		list, total = append(list, share), total.minus(c.amounts)
	}
	if total != (amounts{}) {
		list = append(list, Share{Rest: true, Sums: total.sums()})
	}
	return list
}
