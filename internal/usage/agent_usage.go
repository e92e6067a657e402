package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/platform/clock"
)

// Recent is an agent's usage in recent periods. Each period starts at midnight in the time zone
// given by Zone.
type Recent struct {
	Zone                             string
	FromToday, FromWeek, FromMonth   clock.Time // when today, the last 7 days and the last 30 days begin
	Today, Last7Days, LastThirtyDays Sums
	Days                             []AgentDay  // the last 7 days, earliest first
	Begins, Since                    *clock.Time // as in Report
}

// AgentDay is an agent's usage on one day.
type AgentDay struct {
	Day string // such as 2026-11-20
	Sums
}

// OfAgents returns the usage of each of the agents today, in the last 7 days and in the last 30
// days, in Wardroom's time zone, by agent. Each period includes the shorter periods.
func (s *Service) OfAgents(ctx context.Context, agentIDs []string, now time.Time) (map[string]Recent, error) {
	empty, day := Recent{Zone: s.Zone.String()}, now.In(s.Zone)
	first := func(days int) clock.Time {
		return clock.At(startOfDay(day.Year(), day.Month(), day.Day()-days+1, s.Zone))
	}
	const week = 7
	empty.FromToday, empty.FromWeek, empty.FromMonth = first(1), first(week), first(defaultDays)
	intervals := []interval{{empty.FromMonth.UnixMilli(), empty.FromWeek.UnixMilli()}}
	for n := week; n > 0; n-- {
		from, to := first(n), always
		if n > 1 {
			to = first(n - 1).UnixMilli()
		}
		intervals = append(intervals, interval{from.UnixMilli(), to})
		empty.Days = append(empty.Days, AgentDay{Day: from.In(s.Zone).Format(time.DateOnly)})
	}
	var err error
	if empty.Begins, empty.Since, err = begins(ctx, s.DB); err != nil {
		return nil, err
	}
	of := selection{engine: s.DB.Engine(), dimension: string(ByAgent)}
	if len(agentIDs) <= maxSelected {
		of.only = agentIDs
	}
	cells, err := of.cells(ctx, s.DB, intervals)
	if err != nil {
		return nil, fmt.Errorf("add up the usage of agents: %w", err)
	}
	used := map[string]*[week + 1]amounts{}
	for _, c := range cells {
		if used[c.name] == nil {
			used[c.name] = new([week + 1]amounts)
		}
		used[c.name][c.slot] = c.amounts
	}
	all := make(map[string]Recent, len(agentIDs))
	for _, id := range agentIDs {
		r, parts, total := empty, cmp.Or(used[id], new([week + 1]amounts)), amounts{}
		r.Days = slices.Clone(empty.Days)
		for i, a := range parts[1:] {
			r.Days[i].Sums, total = a.sums(), total.plus(a)
		}
		r.Today, r.Last7Days, r.LastThirtyDays = parts[week].sums(), total.sums(), total.plus(parts[0]).sums()
		all[id] = r
	}
	return all, nil
}

// maxSelected is the maximum number of names in a query. For more, all names are read.
const maxSelected = 20

func (s *Service) ofAgent(agentID string) selection {
	return selection{engine: s.DB.Engine(), dimension: string(ByAgent), only: []string{agentID}}
}

// always is a Unix time in milliseconds that is later than the time of any ledger row.
var always = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// OfAgentSince returns the usage of an agent's runs that ended at or after a given time.
func (s *Service) OfAgentSince(ctx context.Context, agentID string, since time.Time) (Sums, error) {
	used, err := s.ofAgent(agentID).addUp(ctx, s.DB, []interval{{since.UnixMilli(), always}})
	if err != nil {
		return Sums{}, fmt.Errorf("add up the usage of %s: %w", agentID, err)
	}
	return used[0].sums(), nil
}
