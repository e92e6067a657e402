package usage

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
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
	sums, _ := sumsOf()
	rows, err := s.DB.Query(ctx, `SELECT CASE WHEN at >= ? THEN 0 WHEN at >= ? THEN 1 ELSE 2 END AS part, `+sums+`
		FROM usage_ledger WHERE agent_id = ? AND at >= ? GROUP BY part`, r.FromToday.UnixMilli(), r.FromWeek.UnixMilli(), agentID, r.FromMonth.UnixMilli())
	var parts [3]amounts
	_, err = db.All(rows, err, func(from db.Row) (part int, err error) {
		var a amounts
		t := &a.tokens
		err = from.Scan(&part, &a.runs, &a.unpriced, &a.corrections, &a.priced, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &a.cost, &a.estimated)
		if err == nil {
			parts[part] = a
		}
		return part, err
	})
	if err != nil {
		return r, fmt.Errorf("add up the usage of %s: %w", agentID, err)
	}
	r.Today = parts[0].sums()
	r.Last7Days = parts[0].plus(parts[1]).sums()
	r.LastThirtyDays = parts[0].plus(parts[1]).plus(parts[2]).sums()
	return r, nil
}

// OfAgentSince adds up what an agent has used in the runs that ended since then.
func (s *Service) OfAgentSince(ctx context.Context, agentID string, since time.Time) (Sums, error) {
	sums, _ := sumsOf()
	var a amounts
	t := &a.tokens
	err := s.DB.QueryRow(ctx, `SELECT `+sums+` FROM usage_ledger WHERE agent_id = ? AND at >= ?`, agentID, since.UnixMilli()).
		Scan(&a.runs, &a.unpriced, &a.corrections, &a.priced, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &a.cost, &a.estimated)
	if err != nil {
		return Sums{}, fmt.Errorf("add up the usage of %s: %w", agentID, err)
	}
	return a.sums(), nil
}
