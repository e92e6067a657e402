package usage

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
)

// Recent is what an agent has used of late, in days of a zone that end with now.
type Recent struct {
	Zone                             string
	FromToday, FromWeek, FromMonth   clock.Time // the first moments of today, of seven days and of thirty
	Today, Last7Days, LastThirtyDays Sums
}

// OfAgent adds up what an agent has used today, in seven days and in thirty, of
// the service's zone. Each has the one before in it.
func (s *Service) OfAgent(ctx context.Context, agentID string, now time.Time) (Recent, error) {
	r := Recent{Zone: s.Zone.String()}
	day := now.In(s.Zone)
	first := func(days int) clock.Time { return clock.At(firstOf(day.Year(), day.Month(), day.Day()-days+1, s.Zone)) }
	r.FromToday, r.FromWeek, r.FromMonth = first(1), first(7), first(usualDays)
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

func (s *Service) ofAgent(agentID string) part {
	return part{engine: s.DB.Engine(), dimension: string(ByAgent), only: []string{agentID}}
}

// always is a moment after everything in the ledger.
var always = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// OfAgentSince adds up what an agent has used in the runs that ended since then.
func (s *Service) OfAgentSince(ctx context.Context, agentID string, since time.Time) (Sums, error) {
	used, err := s.ofAgent(agentID).addUp(ctx, s.DB, []interval{{since.UnixMilli(), always}})
	if err != nil {
		return Sums{}, fmt.Errorf("add up the usage of %s: %w", agentID, err)
	}
	return used[0].sums(), nil
}
