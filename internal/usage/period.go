package usage

import (
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Group says by what the ledger is added up.
type Group string

// The groups.
const (
	ByAgent   Group = "agent"
	ByModel   Group = "model"
	BySource  Group = "source"
	BySession Group = "session"
	ByJob     Group = "job"
	ByTask    Group = "task"
	ByStandup Group = "standup"
	ByDay     Group = "day"
	ByHour    Group = "hour"
)

// Bounds of what one question may ask.
const (
	mostDays  = 800 // two years, to be held against each other
	mostHours = 62 * 24
	hourly    = 48 * time.Hour // a period up to here has a series by hour
	usualDays = 30
)

// Period is a stretch of time, and the zone whose days it is cut into.
type Period struct {
	From, To time.Time // To is the first moment that is not in it
	Zone     *time.Location
}

// readPeriod reads a period as callers give it. Each end is a moment, or a day,
// which stands for its first moment in the zone; empty is until now, and the
// thirty days that end with it.
func readPeriod(from, to, zone string, now time.Time) (Period, error) {
	var p Period
	var wrong fault.Fields
	var err error
	if p.Zone, err = clock.Zone(zone); err != nil {
		wrong.Add("query.zone", "%s", upper(err.Error()))
		return p, wrong.Err()
	}
	end := func(name, text string, usual func() time.Time) time.Time {
		if text == "" {
			return usual()
		}
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return clock.At(firstOf(at.Year(), at.Month(), at.Day(), p.Zone)).Time
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			wrong.Add(name, "It is a day, such as 2026-11-20, or a moment, such as 2026-11-20T08:00:00Z.")
		}
		return clock.At(at).Time
	}
	p.To = end("query.to", to, func() time.Time { return clock.At(now).Add(time.Millisecond) })
	p.From = end("query.from", from, func() time.Time {
		last := p.To.Add(-time.Millisecond).In(p.Zone)
		return clock.At(firstOf(last.Year(), last.Month(), last.Day()-usualDays+1, p.Zone)).Time
	})
	return p, wrong.Err()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// firstOf is the first moment of a day. Where the clocks go forward over midnight
// that is no midnight, and where they go back over it the day begins at the first
// of two.
func firstOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	wall := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	want := wall.Format(time.DateOnly)
	// No clock is further from UTC than fourteen hours.
	around := Period{From: wall.Add(-14 * time.Hour), To: wall.Add(14 * time.Hour), Zone: zone}
	for _, s := range around.stretches() {
		at := time.UnixMilli(max(s.from, wall.UnixMilli()-s.offset))
		if at.UnixMilli() < s.to && at.In(zone).Format(time.DateOnly) == want {
			return at
		}
	}
	return firstOf(year, month, day+1, zone) // a day that the zone has left out ends where it begins
}

// check refuses a period that is none, or too long for its series.
func (p Period) check(hours bool) error {
	switch span := p.To.Sub(p.From); {
	case !p.From.Before(p.To):
		return ErrPeriod.With("It begins at %s and ends at %s: let it begin before it ends.", p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
	case p.From.Year() < 2000 || p.To.Year() > 9999:
		return ErrPeriod.With("It lies between the years 2000 and 9999.")
	case hours && span > (mostHours+1)*time.Hour:
		return ErrPeriod.With("By hour it has at most %d days. Ask for less, or group by day.", mostHours/24)
	case span > mostDays*24*time.Hour+time.Hour:
		return ErrPeriod.With("It has at most %d days. Ask for less.", mostDays)
	}
	return nil
}

// stretch is a part of a period in which the clocks of its zone are not changed.
type stretch struct {
	from, to int64 // milliseconds since 1970
	offset   int64 // of the zone, in milliseconds
}

func (p Period) stretches() []stretch {
	var all []stretch
	for at := p.From; at.Before(p.To); {
		_, offset := at.In(p.Zone).Zone()
		_, end := at.In(p.Zone).ZoneBounds()
		if end.IsZero() || end.After(p.To) {
			end = p.To
		}
		if n := len(all); n > 0 && all[n-1].offset == int64(offset)*1000 { // only its name changed
			all[n-1].to = end.UnixMilli()
		} else {
			all = append(all, stretch{at.UnixMilli(), end.UnixMilli(), int64(offset) * 1000})
		}
		at = end
	}
	return all
}

// Slot is a part of the series.
type Slot struct {
	Start clock.Time `json:"start"`
	End   clock.Time `json:"end" doc:"The first moment that is not in it."`
	Label string     `json:"label" doc:"The day, or the hour with the zone's offset."`
	Sums
}

// slots cuts a period into days or hours of its zone, those at its ends as far
// as they are in it.
func (p Period) slots(hours bool) (list []Slot) {
	unit, layout := spanDay, time.DateOnly
	if hours {
		unit, layout = spanHour, time.RFC3339
	}
	last := int64(-1)
	for _, s := range p.stretches() {
		for n := (s.from + s.offset) / unit; n*unit-s.offset < s.to; n++ {
			start, end := max(s.from, n*unit-s.offset), min(s.to, (n+1)*unit-s.offset)
			if n == last && !hours { // a day in which the clocks change
				list[len(list)-1].End = clock.At(time.UnixMilli(end))
				continue
			}
			last = n
			list = append(list, Slot{
				Start: clock.At(time.UnixMilli(start)), End: clock.At(time.UnixMilli(end)),
				Label: time.UnixMilli(start).In(p.Zone).Format(layout),
			})
		}
	}
	return list
}

// mostBars is how many bars a report has at most: more cannot be told apart on a phone.
const mostBars = 48

// barsOf puts the slots of a series together into few bars: as they are, or those
// of each week, or of each month.
func barsOf(series []Slot, unit string) []Bar {
	const daysOfWeek = 7
	switch {
	case len(series) <= mostBars:
	case len(series) <= (mostBars-1)*daysOfWeek:
		unit = "week"
	default:
		unit = "month"
	}
	bars, last := []Bar{}, ""
	for _, s := range series {
		name := s.Label
		switch unit {
		case "week":
			name = mondayOf(s.Label)
		case "month":
			name = s.Label[:len("2006-01")]
		}
		if name == last {
			bars[len(bars)-1].End = s.End
			continue
		}
		last = name
		bars = append(bars, Bar{Start: s.Start, End: s.End, Unit: unit, Groups: []Share{}})
	}
	return bars
}

// mondayOf is the Monday of the week of a day.
func mondayOf(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return at.AddDate(0, 0, -int(at.Weekday()+6)%7).Format(time.DateOnly)
}
