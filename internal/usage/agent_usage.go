package usage

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
)

// Recent is an agent's usage in recent periods. Each period starts at midnight in the time zone
// given by Zone.
type Recent struct {
	Zone                             string
	FromToday, FromWeek, FromMonth   clock.Time // when today, the last 7 days and the last 30 days begin
	Today, Last7Days, LastThirtyDays Sums
}

// OfAgent returns the usage of an agent today, in the last 7 days and in the last 30 days, in
// Wardroom's time zone. Each period includes the shorter periods.
func (s *Service) OfAgent(ctx context.Context, agentID string, now time.Time) (Recent, error) {
	r := Recent{Zone: s.Zone.String()}
	day := now.In(s.Zone)
	first := func(days int) clock.Time {
		return clock.At(startOfDay(day.Year(), day.Month(), day.Day()-days+1, s.Zone))
	}
	r.FromToday, r.FromWeek, r.FromMonth = first(1), first(7), first(defaultDays)
	month, week, today := r.FromMonth.UnixMilli(), r.FromWeek.UnixMilli(), r.FromToday.UnixMilli()
	parts, err := s.ofAgent(agentID).addUp(ctx, s.DB, []interval{{today, always}, {week, today}, {month, week}})
	if err != nil {
		return r, fmt.Errorf("add up the usage of %s: %w", agentID, err)
	}
	r.Today = parts[0].sums()
	r.Last7Days = parts[0].plus(parts[1]).sums()
	r.LastThirtyDays = parts[0].plus(parts[1]).plus(parts[2]).sums()
	return r, nil
}

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
