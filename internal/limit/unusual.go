package limit

import (
	"context"
	"fmt"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/usage"
)

// The spend in an hour is unusual above unusualLeast nano-dollars if it is also above unusualFactor
// times the median of the same hour on the same weekday in the unusualWeeks before.
const (
	unusualFactor = 4
	unusualLeast  = 1_000_000_000
	unusualWeeks  = 2
)

// compareHour raises one inbox item for each hour with unusual spend. It needs no limit.
func (s *Service) compareHour(ctx context.Context, tx *db.Tx, r growth) error {
	now := s.Now()
	hour := Limit{Window: PerHour, Measure: Dollars, zone: s.Zone}
	p := hour.periodAt(now, "")
	if !r.inProgress && r.EndedAt.Before(p.from) {
		return nil
	}
	used, err := s.Usage.SpentSoFar(ctx, tx, usage.Scope{}, p.from)
	spent := Dollars.of(used)
	if err != nil || spent <= unusualLeast {
		return err
	}
	since, err := s.Usage.FollowedSince(ctx, tx)
	if err != nil {
		return err
	}
	var before []usage.Period
	for week := 1; week <= unusualWeeks; week++ {
		earlier := hour.periodAt(now.In(s.Zone).AddDate(0, 0, -7*week), "")
		before = append(before, usage.Period{From: earlier.from, To: earlier.to})
	}
	if since.IsZero() || since.After(before[unusualWeeks-1].From) {
		return nil // what is usual is not known yet
	}
	earlier, err := s.Usage.SpentIn(ctx, tx, usage.Scope{}, before)
	if err != nil {
		return err
	}
	usual := (Dollars.of(earlier[0]) + Dollars.of(earlier[1])) / unusualWeeks // the median of two
	if spent/unusualFactor <= usual {
		return nil
	}
	return s.Inbox.Raise(ctx, tx, inbox.NewItem{
		Cause: "unusual/" + p.key, Once: true, Kind: inbox.SpendUnusual, Severity: inbox.High,
		Subject: event.Subject{Kind: "spend", ID: p.key, Name: "Spend"},
		Title:   "Unusual spend: " + Dollars.say(spent) + " in an hour",
		Detail: fmt.Sprintf("Since %s, agents have spent %s. The median of this hour on the last %d %ss is %s.",
			p.from.UTC().Format("2006-01-02 15:04 UTC"), Dollars.say(spent), unusualWeeks,
			now.In(s.Zone).Weekday(), Dollars.say(usual)),
	})
}
