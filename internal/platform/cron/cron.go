// Package cron computes when a cron schedule in a time zone is due, for example
// weekdays at 9:00 in Berlin, including across daylight saving changes.
//
// A library finds the matching wall-clock times, and this package converts them to
// points in time:
//
//   - A time that occurs twice, when clocks go back, is due the first time only.
//   - A time that is skipped, when clocks go forward, is due at the end of the gap.
//     That is the next day if the hour before midnight is skipped. All times in one
//     gap are due together, once. On a day that a zone skips entirely, as Samoa
//     skipped 30 December 2011, nothing is due.
//   - A schedule for every hour follows elapsed hours, not the clock: it is due in
//     both of the repeated hours, and not in the skipped one.
package cron

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	library "github.com/netresearch/go-cron"

	"wardroom/internal/platform/clock"
)

// maxLength limits the length of an expression. The longest sensible expressions list
// every minute.
const maxLength = 500

// searchYears limits the search for the next match: 29 February can be eight years
// away, around years such as 2100.
const searchYears = 9

// Schedule is a cron expression in a time zone. The zero Schedule is never due.
type Schedule struct {
	text  string
	zone  *time.Location
	spec  *library.SpecSchedule
	every bool // matches every hour of the day
}

// Parse parses five fields (minute, hour, day of the month, month, day of the week)
// and an IANA time zone. Fields can contain numbers, English names of months and
// days, ranges, lists and steps; 0 and 7 are Sunday. If both day fields are
// restricted, one match is enough, as in other crons. Extensions (seconds, years,
// @daily, L, W, #) and expressions that never match are rejected.
func Parse(expression, zone string) (Schedule, error) {
	loc, err := clock.Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	if len(expression) > maxLength {
		return Schedule{}, fmt.Errorf("the expression has more than %d characters", maxLength)
	}
	// The library would read the H in THU as an extension, and accept a zone prefix.
	fields := strings.Fields(strings.ToLower(expression))
	if len(fields) != 5 || strings.ContainsAny(expression, "=@") {
		return Schedule{}, errors.New("use five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5")
	}
	for _, f := range fields {
		if slices.Contains(strings.Split(f, ","), "") {
			return Schedule{}, errors.New("a list in the expression has an empty value next to a comma")
		}
	}
	parser, err := library.TryNewParser(library.Minute | library.Hour | library.Dom | library.Month | library.Dow | library.DowOrDom)
	if err != nil {
		return Schedule{}, fmt.Errorf("create the parser: %w", err)
	}
	parsed, err := parser.WithMaxSearchYears(searchYears).Parse(strings.Join(fields, " "))
	if err != nil {
		return Schedule{}, fmt.Errorf("the expression is invalid: %w", err)
	}
	spec, ok := parsed.(*library.SpecSchedule)
	if !ok {
		return Schedule{}, fmt.Errorf("the expression is not supported: it is a %T", parsed)
	}
	spec.Location = time.UTC
	const hours = 1<<24 - 1
	s := Schedule{text: strings.Join(fields, " "), zone: loc, spec: spec, every: spec.Hour&hours == hours}
	if spec.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)).IsZero() { // before the longest gap between two 29 Februaries
		return Schedule{}, errors.New("the expression never matches; it may name a date that does not exist, such as 30 February")
	}
	return s, nil
}

// String returns the expression and its zone.
func (s Schedule) String() string {
	if s.IsZero() {
		return "never"
	}
	return s.text + " " + s.zone.String()
}

// IsZero reports whether s is the zero Schedule.
func (s Schedule) IsZero() bool { return s.spec == nil }

// Next returns the first time after t at which s is due, in UTC, or the zero time
// if there is none up to the year 9999.
func (s Schedule) Next(t time.Time) time.Time {
	t = t.UTC()
	if s.IsZero() || t.Year() > 9999 {
		return time.Time{}
	}
	if t.Year() < 1 {
		t = time.Date(1, 1, 1, 0, 0, 0, -1, time.UTC)
	}
	next := s.nextOnce
	if s.every {
		next = s.nextEvery
	}
	if at := next(t); at.Year() <= 9999 {
		return at
	}
	return time.Time{}
}

// Between iterates over the times at which s is due, beginning with from and ending
// before to.
func (s Schedule) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := s.Next(from.Add(-time.Nanosecond)); !at.IsZero() && at.Before(to); at = s.Next(at) {
			if !yield(at) {
				return
			}
		}
	}
}

// Once returns s with the wall-clock rule, even if s is hourly: an hour that repeats
// when clocks go back is due only once.
func (s Schedule) Once() Schedule {
	s.every = false
	return s
}

// Names reports whether the wall-clock time at t matches the expression. It returns
// false if t only stands in for a skipped time.
func (s Schedule) Names(t time.Time) bool {
	if s.IsZero() {
		return false
	}
	wall := spanAt(t, s.zone).wall(t)
	return s.spec.Next(wall.Add(-time.Nanosecond)).Equal(wall)
}

// nextOnce implements Next for schedules where each wall-clock time counts once.
func (s Schedule) nextOnce(t time.Time) time.Time {
	wall := spanAt(t, s.zone).wall(t)
	for {
		// A wall-clock time that occurs a second time after t maps to its first
		// occurrence, before t, and is skipped.
		if wall = s.spec.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if at := once(wall, s.zone); at.After(t) {
			return at
		}
	}
}

// nextEvery implements Next for schedules where each elapsed hour counts.
func (s Schedule) nextEvery(t time.Time) time.Time {
	for range 1000 { // a zone changes its offset a few times a year
		here := spanAt(t.Add(time.Nanosecond), s.zone)
		wall := s.spec.Next(here.wall(t))
		if wall.IsZero() {
			break
		}
		at := here.moment(wall)
		if here.end.IsZero() || at.Before(here.end) {
			return at
		}
		// Nothing matches before wall, whatever the offset is by then.
		if t = here.end; at.Add(-2 * furthest).After(t) {
			t = at.Add(-2 * furthest)
		}
		t = t.Add(-time.Nanosecond)
	}
	return time.Time{}
}

// furthest is more than any zone's offset from UTC, and more than any change of an
// offset.
const furthest = 26 * time.Hour

// span is a period in which a zone's UTC offset does not change. start is zero if the
// period has no beginning, and end is zero if it has no end.
type span struct {
	start, end time.Time
	offset     time.Duration // from UTC
}

// spanAt returns the span that contains t, or a part of it.
func spanAt(t time.Time, zone *time.Location) span {
	t = t.In(zone)
	start, end := t.ZoneBounds()
	// From 2038, Go applies the zone's rule and treats day 365 as the last day of leap
	// years too: on 31 December 2040 the span has already ended. See tzset in
	// https://go.dev/src/time/zoneinfo.go.
	if !end.IsZero() && !end.After(t) {
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if start.After(t) {
		start = t
	}
	_, seconds := t.Zone()
	return span{start.UTC(), end.UTC(), time.Duration(seconds) * time.Second}
}

// wall returns the wall-clock time at t, as a UTC time.
func (s span) wall(t time.Time) time.Time { return t.UTC().Add(s.offset) }

// moment returns when the wall clock shows wall, if that is within the span.
func (s span) moment(wall time.Time) time.Time { return wall.Add(-s.offset) }

// once returns when the wall clock of a zone first shows wall. For a skipped time
// it returns the end of the gap, or the zero time if the whole day is skipped.
func once(wall time.Time, zone *time.Location) time.Time {
	for s := spanAt(wall.Add(-furthest), zone); ; s = spanAt(s.end, zone) {
		at := s.moment(wall)
		if !s.start.IsZero() && at.Before(s.start) {
			// The previous span ended before this wall-clock time.
			return afterGap(wall, s, zone)
		}
		if s.end.IsZero() || at.Before(s.end) {
			return at
		}
	}
}

// afterGap returns the start of the span after the gap that contains wall, or the
// zero time if the gap covers that whole day.
func afterGap(wall time.Time, following span, zone *time.Location) time.Time {
	before := spanAt(following.start.Add(-time.Nanosecond), zone)
	day := wall.Truncate(24 * time.Hour)
	if !day.Before(before.wall(following.start)) && !day.Add(24*time.Hour).After(following.wall(following.start)) {
		return time.Time{}
	}
	return following.start
}
