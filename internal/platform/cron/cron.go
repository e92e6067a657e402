// Package cron tells when something is due that happens at fixed times of a
// place: "at nine on weekdays in Berlin", through both changes of its clocks.
//
// A library finds the times at which the expression matches a calendar without
// such changes; this package then finds the moments at which the clocks of the
// zone show them:
//
//   - A time that the clocks show twice, in autumn, is due the first time only.
//   - A time that they skip, in spring, is due at once after the gap (which is
//     the next day where the clocks skip the hour before midnight), and times of
//     one gap are due together, once. On a day that a zone has skipped
//     altogether, as Samoa did on 30 December 2011, nothing is due.
//   - An expression for every hour follows the hours as they pass, and not the
//     clock: it is due in both of the hours that look alike, and not in the one
//     that there is not.
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

// maxLength is how long an expression may be. The longest that make sense list
// every minute.
const maxLength = 500

// searchYears is how far the next match may be off: 29 February can be eight
// years away, around a year such as 2100.
const searchYears = 9

// Schedule is when something is due. The zero Schedule is never.
type Schedule struct {
	text  string
	zone  *time.Location
	spec  *library.SpecSchedule
	every bool // matches every hour
}

// Parse reads five fields (minute, hour, day of the month, month, weekday) and
// the IANA name of a zone. Fields have numbers, names of months and weekdays in
// English, ranges, lists and steps; 0 and 7 are Sunday. When both days are
// restricted, either suffices, as in every cron since the first. Extensions
// (seconds, years, @daily, L, W, #) are refused, and so is what never matches.
func Parse(expression, zone string) (Schedule, error) {
	loc, err := clock.Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	if len(expression) > maxLength {
		return Schedule{}, fmt.Errorf("the expression has more than %d characters", maxLength)
	}
	// The library takes an H in THU for another extension, and a zone in front.
	fields := strings.Fields(strings.ToLower(expression))
	if len(fields) != 5 || strings.ContainsAny(expression, "=@") {
		return Schedule{}, errors.New("give five fields: minute, hour, day of the month, month, weekday, such as 0 9 * * 1-5")
	}
	for _, f := range fields {
		if slices.Contains(strings.Split(f, ","), "") {
			return Schedule{}, errors.New("a list in the expression lacks a value beside a comma")
		}
	}
	parser, err := library.TryNewParser(library.Minute | library.Hour | library.Dom | library.Month | library.Dow | library.DowOrDom)
	if err != nil {
		return Schedule{}, fmt.Errorf("make a parser: %w", err)
	}
	parsed, err := parser.WithMaxSearchYears(searchYears).Parse(strings.Join(fields, " "))
	if err != nil {
		return Schedule{}, fmt.Errorf("the expression cannot be read: %w", err)
	}
	spec, ok := parsed.(*library.SpecSchedule)
	if !ok {
		return Schedule{}, fmt.Errorf("the expression cannot be read: it is a %T", parsed)
	}
	spec.Location = time.UTC
	const hours = 1<<24 - 1
	s := Schedule{text: strings.Join(fields, " "), zone: loc, spec: spec, every: spec.Hour&hours == hours}
	if spec.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)).IsZero() { // the longest wait for a 29 February
		return Schedule{}, errors.New("no day is like that, such as 30 February")
	}
	return s, nil
}

// String is the expression and its zone.
func (s Schedule) String() string {
	if s.IsZero() {
		return "never"
	}
	return s.text + " " + s.zone.String()
}

// IsZero reports whether s was never parsed.
func (s Schedule) IsZero() bool { return s.spec == nil }

// Next is the first moment after t at which s is due, in UTC, or the zero time
// when there is none until the year 9999.
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

// Between are the moments at which s is due, from one on and before another.
func (s Schedule) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := s.Next(from.Add(-time.Nanosecond)); !at.IsZero() && at.Before(to); at = s.Next(at) {
			if !yield(at) {
				return
			}
		}
	}
}

// Once is s as those reckon who only look at the clock: what is due every hour is
// not due again in an hour that looks like the one before.
func (s Schedule) Once() Schedule {
	s.every = false
	return s
}

// Names reports whether the clocks show a time at t that s names. They do not
// where t stands for one that they have skipped.
func (s Schedule) Names(t time.Time) bool {
	if s.IsZero() {
		return false
	}
	wall := spanAt(t, s.zone).wall(t)
	return s.spec.Next(wall.Add(-time.Nanosecond)).Equal(wall)
}

// nextOnce is Next where each time of the clock counts once.
func (s Schedule) nextOnce(t time.Time) time.Time {
	wall := spanAt(t, s.zone).wall(t)
	for {
		// Times that t's own clock has shown lead to moments before t. Those that
		// it shows anew, later on, were due the first time.
		if wall = s.spec.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if at := once(wall, s.zone); at.After(t) {
			return at
		}
	}
}

// nextEvery is Next where each hour that passes counts.
func (s Schedule) nextEvery(t time.Time) time.Time {
	for range 1000 { // a zone changes its clocks a few times a year
		here := spanAt(t.Add(time.Nanosecond), s.zone)
		wall := s.spec.Next(here.wall(t))
		if wall.IsZero() {
			break
		}
		at := here.moment(wall)
		if here.end.IsZero() || at.Before(here.end) {
			return at
		}
		// Nothing matches before wall, whatever the clocks do by then.
		if t = here.end; at.Add(-2 * furthest).After(t) {
			t = at.Add(-2 * furthest)
		}
		t = t.Add(-time.Nanosecond)
	}
	return time.Time{}
}

// furthest is more than any zone is away from UTC, or has moved its clocks.
const furthest = 26 * time.Hour

// span is a stretch of time in which the clocks of a zone run evenly. Its ends
// are zero where there is none.
type span struct {
	start, end time.Time
	offset     time.Duration // of the clocks before UTC
}

// spanAt is the span that t is in, or a part of it that has t.
func spanAt(t time.Time, zone *time.Location) span {
	t = t.In(zone)
	start, end := t.ZoneBounds()
	// From 2038 on Go reckons with the zone's rule, and takes the 365th day for
	// the last of leap years too: on 31 December 2040 the span has ended already.
	// https://go.dev/src/time/zoneinfo.go, tzset
	if !end.IsZero() && !end.After(t) {
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if start.After(t) {
		start = t
	}
	_, seconds := t.Zone()
	return span{start.UTC(), end.UTC(), time.Duration(seconds) * time.Second}
}

// wall is what the clocks of the span show at t, as a time of UTC.
func (s span) wall(t time.Time) time.Time { return t.UTC().Add(s.offset) }

// moment is when the clocks of the span show wall, if it is in the span.
func (s span) moment(wall time.Time) time.Time { return wall.Add(-s.offset) }

// once is the moment at which the clocks of a zone show wall, the first of two;
// for a time that they skip it is the end of the gap, and the zero time when
// they skip the whole day.
func once(wall time.Time, zone *time.Location) time.Time {
	for s := spanAt(wall.Add(-furthest), zone); ; s = spanAt(s.end, zone) {
		at := s.moment(wall)
		if !s.start.IsZero() && at.Before(s.start) {
			// The span before has ended without it.
			return afterGap(wall, s, zone)
		}
		if s.end.IsZero() || at.Before(s.end) {
			return at
		}
	}
}

// afterGap is the beginning of the span that follows the gap with wall in it,
// or the zero time when the gap has swallowed that whole day.
func afterGap(wall time.Time, following span, zone *time.Location) time.Time {
	before := spanAt(following.start.Add(-time.Nanosecond), zone)
	day := wall.Truncate(24 * time.Hour)
	if !day.Before(before.wall(following.start)) && !day.Add(24*time.Hour).After(following.wall(following.start)) {
		return time.Time{}
	}
	return following.start
}
