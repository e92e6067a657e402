package usage

import (
	"context"
	"fmt"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// Report is the usage in a period. It contains the total, a series over time, and groups. All of
// them are read from one snapshot of the database, so their sums agree.
type Report struct {
	From   clock.Time  `json:"from"`
	To     clock.Time  `json:"to" doc:"Exclusive."`
	Zone   string      `json:"zone" doc:"The time zone of the days and hours."`
	Group  Group       `json:"group" enum:"agent,model,source,session,job,task,project,standup,day,hour"`
	Unit   string      `json:"unit" enum:"day,hour" doc:"The unit of the series."`
	Begins *clock.Time `json:"ledger_begins_at" doc:"When usage tracking started. Earlier usage is unknown, even if a sum is 0. Null while the ledger is empty."`
	Since  *clock.Time `json:"followed_since" doc:"When Wardroom first connected to the runtime. The ledger has earlier usage only as far as the runtime still had it, so it may be incomplete. Null before the first connection."`
	Total  Sums        `json:"total"`
	Series []Slot      `json:"series" nullable:"false" doc:"Earliest first, without gaps."`
	Groups []Share     `json:"groups" nullable:"false" doc:"Most expensive first; days and hours earliest first."`
	// Previous and Forecast are only in reports that compare.
	Previous *Previous `json:"previous" doc:"Null without compare=true, if the period has not started, or if usage tracking started after the start of the previous period."`
	Forecast *Forecast `json:"forecast" doc:"Null without compare=true, if the period does not include now, or if usage was tracked for fewer than 3 full days before today."`
	Bars     []Bar     `json:"bars" nullable:"false" doc:"The period in at most 48 bars, each with its groups. Empty without bars=true, or if the group is day or hour."`
}

// Share is one group in a Report.
type Share struct {
	Key  *string `json:"key" doc:"Null for usage without one, such as runs without a task, and for the rest."`
	Name *string `json:"name" doc:"The title of the task or the name of the project, if the group is one that still exists. Null for other groups."`
	// AssigneeID is only in groups by task.
	AssigneeID *string `json:"assignee_id" doc:"ID of the user, human or agent, the task is assigned to. Null for other groups."`
	Rest       bool    `json:"rest" doc:"True for the combined group of all groups that are not in the list."`
	Sums
}

// Bar is the usage by group in one part of a Report's period, for a bar chart.
type Bar struct {
	Start  clock.Time `json:"start"`
	End    clock.Time `json:"end" doc:"Exclusive."`
	Unit   string     `json:"unit" enum:"hour,day,week,month" doc:"Weeks start on Monday. The first and the last bar are cut off at the bounds of the period."`
	Groups []Share    `json:"groups" nullable:"false" doc:"The groups of the report that have usage in this bar."`
}

// maxGroups is the maximum number of groups in a report. All other groups are combined into one.
const maxGroups = 500

// Extras selects optional parts of a Report.
type Extras struct {
	Bars    bool // the usage by time and group, for a bar chart
	Compare bool // the previous period and the forecast
}

// report computes a Report.
func (s *Service) report(ctx context.Context, q db.Queryer, p Period, g Group, with Extras) (Report, error) {
	engine, byTime := s.DB.Engine(), g == ByDay || g == ByHour
	hours := g == ByHour || g != ByDay && p.To.Sub(p.From) <= hourly
	r := Report{
		From: clock.At(p.From), To: clock.At(p.To), Zone: p.Zone.String(), Group: g, Unit: "day", Series: p.slots(hours),
		Groups: []Share{}, Bars: []Bar{},
	}
	if hours {
		r.Unit = "hour"
	}
	intervals := make([]interval, len(r.Series))
	for i, s := range r.Series {
		intervals[i] = interval{s.Start.UnixMilli(), s.End.UnixMilli()}
	}
	used, err := selection{engine: engine}.addUp(ctx, q, intervals)
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
	if r.Begins, r.Since, err = begins(ctx, q); err != nil {
		return r, err
	}
	if with.Compare {
		err = r.compare(ctx, q, engine, p, s.Now())
	}
	if err != nil || byTime {
		return r, err
	}
	return r, s.group(ctx, q, &r, total, used, with.Bars)
}

// group fills in the groups of a report and, if bars is true, its bars.
func (s *Service) group(ctx context.Context, q db.Queryer, r *Report, total amounts, used []amounts, bars bool) error {
	of := selection{engine: s.DB.Engine(), dimension: string(r.Group)}
	period := interval{r.From.UnixMilli(), r.To.UnixMilli()}
	var top []cell
	var tasks map[string]task.Label
	var err error
	if r.Group == ByProject {
		of.dimension = string(ByTask)
		top, tasks, err = of.projects(ctx, q, period)
	} else {
		top, err = of.topByCost(ctx, q, period, maxGroups+1)
	}
	if err != nil {
		return fmt.Errorf("sum the usage by %s: %w", r.Group, err)
	}
	if len(top) > maxGroups && r.Group != ByProject { // there are few projects
		top = top[:maxGroups]
		for _, c := range top {
			of.only = append(of.only, c.name)
		}
	}
	if r.Group == ByTask {
		if tasks, err = tasksOf(ctx, q, top); err != nil {
			return err
		}
	}
	r.Groups = shares(top, total)
	r.label(tasks)
	if !bars {
		return nil
	}
	return r.split(ctx, q, of, used, tasks)
}

// split fills in the bars of a report, given the usage in each slot of the report's series.
func (r *Report) split(
	ctx context.Context, q db.Queryer, of selection, used []amounts, tasks map[string]task.Label,
) error {
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
	if r.Group == ByProject {
		cells = byProject(cells, tasks)
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

// shares converts groups to shares of a total. If the groups do not add up to the total, it adds a
// share for the rest.
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
