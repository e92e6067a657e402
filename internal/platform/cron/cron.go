// Package cron computes when a cron schedule in a time zone is due, for example on
// weekdays at 9:00 in Berlin. It takes daylight saving changes into account.
//
// A library finds the matching wall-clock times, and this package converts them to
// points in time:
//
//   - A wall-clock time that occurs twice, because clocks go back, is due only the
//     first time.
//   - A wall-clock time that is skipped, because clocks go forward, is due at the end
//     of the gap, which can be on the next day. All times in the same gap are due
//     together, once. If a zone skips a whole day, as Samoa skipped 30 December 2011,
//     nothing is due for that day.
//   - A schedule that matches every hour of the day follows elapsed time, not the wall
//     clock. It is due in both occurrences of a repeated hour, and not in a skipped
//     hour.
package cron

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"

	library "github.com/netresearch/go-cron"

	"wardroom/internal/platform/clock"
)

// maxLength is the maximum length of an expression. The longest useful expressions list
// all 60 minutes individually.
const maxLength = 500

// searchYears limits how many years ahead the search for the next match goes. 29
// February can be eight years away, because years such as 2100 are not leap years.
const searchYears = 9

// Schedule is a cron expression in a time zone. The zero Schedule is never due.
type Schedule struct {
	text  string
	zone  *time.Location
	spec  *library.SpecSchedule
	every bool // matches every hour of the day
}

// Parse parses a cron expression and the name of an IANA time zone. The expression
// has five fields: minute, hour, day of the month, month and day of the week. The
// fields can contain numbers, English names of months and days, ranges, lists and
// steps; 0 and 7 both mean Sunday. If both day fields are restricted, it is enough
// that one of them matches, as in other cron implementations. Parse rejects
// extensions (seconds, years, @daily, L, W, #) and expressions that never match.
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
		return Schedule{}, errors.New(
			"use five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5",
		)
	}
	return parse(fields, loc, 0)
}

// nicknames are expressions that have a name, without the seconds.
var nicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@hourly": "0 * * * *",
}

// ParseWithSeconds is like Parse, but also accepts expressions that only runtimes use: a sixth field in front of
// the others for the seconds, and names such as @daily.
func ParseWithSeconds(expression, zone string) (Schedule, error) {
	if long, ok := nicknames[strings.ToLower(strings.TrimSpace(expression))]; ok {
		expression = long
	}
	fields := strings.Fields(strings.ToLower(expression))
	if len(fields) != 6 || len(expression) > maxLength || strings.ContainsAny(expression, "=@") {
		return Parse(expression, zone)
	}
	loc, err := clock.Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	return parse(fields, loc, library.Second)
}

// parse parses the fields of an expression. The option seconds is library.Second if there are six.
func parse(fields []string, loc *time.Location, seconds library.ParseOption) (Schedule, error) {
	for _, f := range fields {
		if slices.Contains(strings.Split(f, ","), "") {
			return Schedule{}, errors.New("a list in the expression has an empty value next to a comma")
		}
	}
	parser, err := library.TryNewParser(
		seconds | library.Minute | library.Hour | library.Dom | library.Month | library.Dow | library.DowOrDom,
	)
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
	if spec.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		// before the longest gap between two 29 Februaries
		return Schedule{}, errors.New(
			"the expression never matches; it may name a date that does not exist, such as 30 February",
		)
	}
	return s, nil
}

// WithinMinute reports whether s can be due more than once in a minute.
func (s Schedule) WithinMinute() bool {
	const seconds = 1<<60 - 1
	return !s.IsZero() && bits.OnesCount64(s.spec.Second&seconds) > 1
}

// String returns the expression and its time zone.
func (s Schedule) String() string {
	if s.IsZero() {
		return "never"
	}
	return s.text + " " + s.zone.String()
}

// IsZero reports whether s is the zero Schedule.
func (s Schedule) IsZero() bool { return s.spec == nil }

// Next returns the first time after t at which s is due, in UTC. It returns the zero
// time if s is not due again by the end of the year 9999.
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

// Between iterates over the times at which s is due in the half-open interval [from,
// to).
func (s Schedule) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := s.Next(from.Add(-time.Nanosecond)); !at.IsZero() && at.Before(to); at = s.Next(at) {
			if !yield(at) {
				return
			}
		}
	}
}

// Once returns a copy of s that follows the wall clock even if s is hourly. When an hour repeats
// because clocks go back, the copy is due only the first time.
func (s Schedule) Once() Schedule {
	s.every = false
	return s
}

// Names reports whether the wall-clock time at t matches the expression. If a clock change
// skips a matching time, s is due later instead, but Names returns false for that later time.
func (s Schedule) Names(t time.Time) bool {
	if s.IsZero() {
		return false
	}
	wall := spanAt(t, s.zone).wall(t)
	return s.spec.Next(wall.Add(-time.Nanosecond)).Equal(wall)
}

// nextOnce implements Next for schedules that are due once for each matching
// wall-clock time.
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

// nextEvery implements Next for schedules that match every hour of the day. If a clock change
// repeats an hour, such a schedule is due in both occurrences.
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

// furthest exceeds every time zone's UTC offset and every change in such an offset. Searches start
// this long before an estimated time, so that they can't miss the actual time.
const furthest = 26 * time.Hour

// span is a period in which the UTC offset of a time zone does not change. A period
// without a beginning has a zero start, and one without an end has a zero end.
type span struct {
	start, end time.Time
	offset     time.Duration // from UTC
}

// spanAt returns the span that contains t. If Go reports wrong bounds for that span,
// spanAt returns a shorter period that still contains t.
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

// wall converts t to the wall-clock time in the span, represented as a UTC time.
func (s span) wall(t time.Time) time.Time { return t.UTC().Add(s.offset) }

// moment converts a wall-clock time to a point in time, using the span's UTC offset.
// The result is correct only if it lies within the span.
func (s span) moment(wall time.Time) time.Time { return wall.Add(-s.offset) }

// once returns the time at which a time zone first shows the given wall-clock time.
// If that time is skipped, once returns the end of the gap, or the zero time if the
// whole day is skipped.
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

// afterGap returns the time of the clock change that skips the given wall-clock time. If the clock change skips that
// whole day, afterGap returns the zero time.
func afterGap(wall time.Time, following span, zone *time.Location) time.Time {
	before := spanAt(following.start.Add(-time.Nanosecond), zone)
	day := wall.Truncate(24 * time.Hour)
	if !day.Before(before.wall(following.start)) && !day.Add(24*time.Hour).After(following.wall(following.start)) {
		return time.Time{}
	}
	return following.start
}
