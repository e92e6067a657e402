package limit

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
)

// The spend in an hour is unusual above unusualLeast nano-dollars if it is also above unusualFactor
// times the median of the same hour on the same weekday in the unusualWeeks before.
const (
	unusualFactor = 4
	unusualLeast  = 1_000_000_000
	unusualWeeks  = 2
)

// compareHour raises one inbox item for each hour with unusual spend. It needs no limit.
func (s *Service) compareHour(ctx context.Context, tx *db.Tx, r Run) error {
	now := s.Now()
	hour := Limit{Window: PerHour, Measure: Dollars, zone: s.Zone}
	p := s.periodAt(hour, now, "")
	if !r.InProgress && r.At.Before(p.from) {
		return nil
	}
	used, err := s.SpentSoFar(ctx, tx, Scope{Kind: All}, p.from)
	if err != nil || used.NanoDollars <= unusualLeast {
		return err
	}
	since, err := s.Since(ctx, tx)
	if err != nil {
		return err
	}
	var before [][2]time.Time
	for week := 1; week <= unusualWeeks; week++ {
		earlier := s.periodAt(hour, now.In(s.Zone).AddDate(0, 0, -7*week), "")
		before = append(before, [2]time.Time{earlier.from, earlier.to})
	}
	if since.IsZero() || since.After(before[unusualWeeks-1][0]) {
		return nil // what is usual is not known yet
	}
	earlier, err := s.SpentIn(ctx, tx, Scope{Kind: All}, before)
	if err != nil {
		return err
	}
	usual := (earlier[0].NanoDollars + earlier[1].NanoDollars) / unusualWeeks // the median of two
	if used.NanoDollars/unusualFactor <= usual {
		return nil
	}
	return s.Inbox.Raise(ctx, tx, inbox.NewItem{
		Cause: "unusual/" + p.key, Once: true, Kind: inbox.SpendUnusual, Severity: inbox.High, Subject: event.Subject{Kind: "spend", ID: p.key, Name: "Spend"},
		Title: "Unusual spend: " + Dollars.say(used.NanoDollars) + " in an hour",
		Detail: fmt.Sprintf("Since %s, agents have spent %s. The median of this hour on the last %d %ss is %s.",
			p.from.UTC().Format("2006-01-02 15:04 UTC"), Dollars.say(used.NanoDollars), unusualWeeks, now.In(s.Zone).Weekday(), Dollars.say(usual)),
	})
}
