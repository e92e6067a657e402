package usage

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// Previous is the usage in the period of equal length before a Report's period.
type Previous struct {
	From clock.Time `json:"from"`
	To   clock.Time `json:"to" doc:"Exclusive. While the report's period is not over, the previous one is cut off at the same time of day."`
	Sums
}

// Forecast is the expected cost of the current month.
type Forecast struct {
	From   clock.Time `json:"from" doc:"The start of the month."`
	To     clock.Time `json:"to" doc:"The end of the month (exclusive)."`
	SoFar  money.Nano `json:"so_far_usd" doc:"The cost from the start of the month until now."`
	PerDay money.Nano `json:"per_day_usd" doc:"The average cost of the last full days."`
	Days   int        `json:"days" doc:"The number of full days in the average: 3 to 7."`
	Cost   money.Nano `json:"cost_usd" doc:"so_far_usd, plus per_day_usd for the rest of the month."`
}

// Limits on the number of full days whose average a forecast uses.
const minForecastDays, maxForecastDays = 3, 7

// compare fills in the previous period and the forecast of a report.
func (r *Report) compare(ctx context.Context, q db.Queryer, engine db.Engine, p Period, now time.Time) error {
	if r.Begins == nil || !p.From.Before(now) {
		return nil
	}
	from, to := p.previous(now)
	day := now.In(p.Zone)
	start := func(month time.Month, day int) time.Time {
		return startOfDay(now.In(p.Zone).Year(), month, day, p.Zone)
	}
	days := maxForecastDays
	for days > 0 && start(day.Month(), day.Day()-days).Before(r.Begins.Time) {
		days--
	}
	today, average, first, next := start(day.Month(), day.Day()), start(day.Month(), day.Day()-days),
		start(day.Month(), 1), start(day.Month()+1, 1)
	used, err := selection{engine: engine}.addUp(ctx, q, []interval{
		{from.UnixMilli(), to.UnixMilli()}, {first.UnixMilli(), next.UnixMilli()}, {average.UnixMilli(), today.UnixMilli()},
	})
	if err != nil {
		return fmt.Errorf("sum the usage for the comparison: %w", err)
	}
	if !from.Before(r.Begins.Time) {
		r.Previous = &Previous{From: clock.At(from), To: clock.At(to), Sums: used[0].sums()}
	}
	if month := used[1].sums(); month.CostUSD != nil && days >= minForecastDays && now.Before(p.To) {
		perDay := used[2].cost / int64(days)
		rest := float64(perDay) * next.Sub(now).Hours() / 24
		r.Forecast = &Forecast{
			From: clock.At(first), To: clock.At(next), SoFar: *month.CostUSD, PerDay: money.Nano(perDay), Days: days,
			Cost: *month.CostUSD + money.Nano(rest),
		}
	}
	return nil
}

// previous returns the period of equal length before p. While p is not over, the previous period is
// cut off at the same time of day. If p consists of whole days, so does the previous one, even if
// the clocks changed.
func (p Period) previous(now time.Time) (from, to time.Time) {
	first, end := p.From.In(p.Zone), p.To.In(p.Zone)
	isDay := func(at time.Time) bool { return startOfDay(at.Year(), at.Month(), at.Day(), p.Zone).Equal(at) }
	if !isDay(first) || !isDay(end) {
		span := p.To.Sub(p.From)
		return p.From.Add(-span), minTime(now, p.To).Add(-span)
	}
	date := func(at time.Time) time.Time { return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC) }
	days := int(date(end).Sub(date(first)).Hours() / 24)
	from = startOfDay(first.Year(), first.Month(), first.Day()-days, p.Zone)
	if !now.Before(p.To) {
		return from, p.From
	}
	return from, minTime(now.In(p.Zone).AddDate(0, 0, -days), p.From)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
