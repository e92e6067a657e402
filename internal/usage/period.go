package usage

import (
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// Group is the dimension by which a report groups usage.
type Group string

// Values of Group.
const (
	ByAgent   Group = "agent"
	ByModel   Group = "model"
	BySource  Group = "source"
	BySession Group = "session"
	ByJob     Group = "job"
	ByTask    Group = "task"
	ByProject Group = "project" // the project that the task is in now
	ByStandup Group = "standup"
	ByDay     Group = "day"
	ByHour    Group = "hour"
)

// Limits on the period of a report.
const (
	maxDays     = 800 // enough to compare two years
	maxHours    = 62 * 24
	hourly      = 48 * time.Hour // the longest period with a series by hour
	defaultDays = 30
)

// Period is a time range. Its zone determines when each day begins.
type Period struct {
	From, To time.Time // To is exclusive
	Zone     *time.Location
}

// readPeriod parses the period of a request. Each of from and to can be a time or a day;
// a day means the start of that day in the zone. If to is empty, the period ends now. If
// from is empty, the period covers the 30 days up to its end.
func readPeriod(from, to, zone string, now time.Time) (Period, error) {
	var p Period
	var wrong fault.Fields
	var err error
	if p.Zone, err = clock.Zone(zone); err != nil {
		wrong.Add("query.zone", "%s", plaintext.Capital(err.Error()))
		return p, wrong.Err()
	}
	end := func(name, text string, usual func() time.Time) time.Time {
		if text == "" {
			return usual()
		}
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return clock.At(startOfDay(at.Year(), at.Month(), at.Day(), p.Zone)).Time
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			wrong.Add(name, "Must be a day, such as 2026-11-20, or a time, such as 2026-11-20T08:00:00Z.")
		}
		return clock.At(at).Time
	}
	p.To = end("query.to", to, func() time.Time { return clock.At(now).Add(time.Millisecond) })
	p.From = end("query.from", from, func() time.Time {
		last := p.To.Add(-time.Millisecond).In(p.Zone)
		return clock.At(startOfDay(last.Year(), last.Month(), last.Day()-defaultDays+1, p.Zone)).Time
	})
	return p, wrong.Err()
}

// startOfDay returns the start of a day. If the clocks skip midnight on that day, the result is the
// first moment after the skipped time; if midnight occurs twice, it is the first midnight.
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	wall := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	want := wall.Format(time.DateOnly)
	// No time zone is more than 14 hours from UTC.
	around := Period{From: wall.Add(-14 * time.Hour), To: wall.Add(14 * time.Hour), Zone: zone}
	for _, s := range around.stretches() {
		at := time.UnixMilli(max(s.from, wall.UnixMilli()-s.offset))
		if at.UnixMilli() < s.to && at.In(zone).Format(time.DateOnly) == want {
			return at
		}
	}
	return startOfDay(year, month, day+1, zone) // the zone skipped this day
}

// check returns ErrPeriod if the period is empty, out of range or too long.
func (p Period) check(hours bool) error {
	switch span := p.To.Sub(p.From); {
	case !p.From.Before(p.To):
		return ErrPeriod.With("The period starts at %s and ends at %s. The start must be before the end.",
			p.From.Format(time.RFC3339), p.To.Format(time.RFC3339))
	case p.From.Year() < 2000 || p.To.Year() > 9999:
		return ErrPeriod.With("The period must be within the years 2000 through 9999.")
	case hours && span > (maxHours+1)*time.Hour:
		return ErrPeriod.With(
			"A period grouped by hour can be at most %d days long. Choose a shorter period, or group by day.", maxHours/24,
		)
	case span > maxDays*24*time.Hour+time.Hour:
		return ErrPeriod.With("The period can be at most %d days long. Choose a shorter period.", maxDays)
	}
	return nil
}

// stretch is a part of a period in which the zone's offset from UTC is constant.
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
		if n := len(all); n > 0 && all[n-1].offset == int64(offset)*1000 { // only the name of the zone's time changed
			all[n-1].to = end.UnixMilli()
		} else {
			all = append(all, stretch{at.UnixMilli(), end.UnixMilli(), int64(offset) * 1000})
		}
		at = end
	}
	return all
}

// Slot is the usage in one day or hour of a report's series.
type Slot struct {
	Start clock.Time `json:"start"`
	End   clock.Time `json:"end" doc:"Exclusive."`
	Label string     `json:"label" doc:"The day, or the start of the hour with its offset from UTC."`
	Sums
}

// slots splits a period into days or hours in its time zone. The first and the last slot are cut
// off at the bounds of the period.
func (p Period) slots(hours bool) (list []Slot) {
	unit, layout := spanDay, time.DateOnly
	if hours {
		unit, layout = spanHour, time.RFC3339
	}
	last := int64(-1)
	for _, s := range p.stretches() {
		for n := (s.from + s.offset) / unit; n*unit-s.offset < s.to; n++ {
			start, end := max(s.from, n*unit-s.offset), min(s.to, (n+1)*unit-s.offset)
			if n == last && !hours { // a day with a clock change
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

// maxBars is the maximum number of bars in a report, so that they are legible on a phone.
const maxBars = 48

// barsOf combines the slots of a series into at most maxBars bars. There is one bar per slot or, if
// that would be too many, per day, week or month. A period of 48 hours can have 49 slots, because it
// need not start at a full hour of its zone.
func barsOf(series []Slot, unit string) []Bar {
	const daysOfWeek = 7
	switch {
	case len(series) <= maxBars:
	case unit == "hour":
		unit = "day"
	case len(series) <= (maxBars-1)*daysOfWeek:
		unit = "week"
	default:
		unit = "month"
	}
	bars, last := []Bar{}, ""
	for _, s := range series {
		name := s.Label
		switch unit {
		case "day":
			name = s.Label[:len(time.DateOnly)]
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

// mondayOf returns the Monday of the week that contains a day.
func mondayOf(day string) string {
	at, _ := time.Parse(time.DateOnly, day)
	return at.AddDate(0, 0, -int(at.Weekday()+6)%7).Format(time.DateOnly)
}
