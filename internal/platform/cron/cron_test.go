package cron_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/platform/cron"
)

func parse(t testing.TB, expression, zone string) cron.Schedule {
	t.Helper()
	s, err := cron.Parse(expression, zone)
	if err != nil {
		t.Fatalf("%s in %s: %v", expression, zone, err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

// A job at nine is due at nine, and once where clocks change.
func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, expression, zone, after, want string }{
		{"the same day", "0 9 * * *", "UTC", "2026-11-20T08:59:59Z", "11-20T09:00"},
		{"not now, but next time", "0 9 * * *", "UTC", "2026-11-20T09:00:00Z", "11-21T09:00 11-22T09:00"},
		{"in its zone", "0 9 * * *", "Europe/Berlin", "2026-06-01T00:00:00Z", "06-01T07:00"},
		{"on weekdays", "0 9 * * 1-5", "UTC", "2026-11-20T09:00:00Z", "11-23T09:00"},
		{"by names", "0 9 * JAN,mar THU", "UTC", "2026-11-20T09:00:00Z", "01-07T09:00 01-14T09:00"},
		{"on Sunday, which is 7 too", "0 9 * * 7", "UTC", "2026-11-20T09:00:00Z", "11-22T09:00"},
		{"on either of two days", "0 0 13 * 5", "UTC", "2026-11-20T00:00:00Z", "11-27T00:00 12-04T00:00 12-11T00:00 12-13T00:00"},
		{"on 29 February", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "02-29T00:00"},
		{"every quarter of an hour", "*/15 22 * * *", "UTC", "2026-11-20T22:20:00Z", "11-20T22:30 11-20T22:45 11-21T22:00"},

		// Berlin: 02:00 → 03:00 on 29 March, 03:00 → 02:00 on 25 October 2026.
		{"in spring, after the gap", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T01:00 03-30T00:30"},
		{"in spring, all of a gap at once", "0,15,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T01:00 03-30T00:00"},
		{"in spring, with what is due then anyhow", "0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "03-29T01:00 03-30T00:00"},
		{"in spring, by the hours as they pass", "0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", "03-29T00:00 03-29T01:00 03-29T02:00"},
		{"in autumn, the first of two", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25T00:30 10-26T01:30"},
		{"in autumn, each of several once", "0,30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "10-25T00:00 10-25T00:30 10-26T01:00"},
		{"in autumn, from between the two", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", "10-26T01:30"},
		{"in autumn, by the hours as they pass", "0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "10-25T00:00 10-25T01:00 10-25T02:00"},
		{"in autumn, every 20 minutes", "*/20 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "10-25T00:40 10-25T01:00 10-25T01:20 10-25T01:40 10-25T02:00"},
		{"in autumn, every second hour", "0 */2 * * *", "Europe/Berlin", "2026-10-24T21:00:00Z", "10-24T22:00 10-25T00:00 10-25T03:00"},

		// Lord Howe moves its clocks by half an hour; Samoa had no 30 December 2011.
		{"through half an hour of spring", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "10-03T15:30 10-04T15:15"},
		{"through half an hour of autumn", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "04-04T14:45 04-05T15:15"},
		{"over a day that was skipped", "0 9 * * *", "Pacific/Apia", "2011-12-28T20:00:00Z", "12-29T19:00 12-30T19:00"},
		{"over that day, every hour", "0 * * * *", "Pacific/Apia", "2011-12-30T08:30:00Z", "12-30T09:00 12-30T10:00"},
		{"on the last day of a leap year", "0 1,9 * * *", "Europe/Berlin", "2040-12-30T12:00:00Z", "12-31T00:00 12-31T08:00 01-01T00:00 01-01T08:00"},
		{"at the end of a leap year, every hour", "0 * * * *", "Australia/Lord_Howe", "2040-12-30T23:30:00Z", "12-31T00:00 12-31T01:00"},
		{"over the end of a leap year", "0 * * 1 *", "Europe/Berlin", "2096-10-02T07:00:00Z", "12-31T23:00 01-01T00:00"},
		{"where midnight is skipped", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "04-23T22:00 04-24T21:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := parse(t, tt.expression, tt.zone)
			var got []string
			now := at(t, tt.after)
			for range strings.FieldsSeq(tt.want) {
				now = s.Next(now)
				got = append(got, now.Format("01-02T15:04"))
			}
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("%s in %s after %s: %s, want %s", tt.expression, tt.zone, tt.after, g, tt.want)
			}
		})
	}
}

// An expression that is invalid or never matches must be rejected when it is
// entered.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 * *", "* * * * 8", "-1 * * * *",
		"*/0 * * * *", "5-1/0 * * * *", "x * * * *", "@daily", "@every 1s", "H * * * *", "* * L * *", "* * 1W * *", "* * * * 5#1", "* * * * 5L",
		"TZ=UTC * * * * *", "CRON_TZ=Asia/Tokyo * * * *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * * * * 2026", "1,,2 * * * *", "1- * * * *", "\x00 * * * *",
		strings.Repeat("1,", 400) + "1 * * * *", strings.Repeat("9", 400) + " * * * *",
	} {
		if s, err := cron.Parse(expression, "UTC"); err == nil {
			t.Errorf("%q was taken for %s", expression, s)
		}
	}
	for _, zone := range []string{"", "Local", "Nowhere", "europe/berlin", "../etc/passwd", "Europe/../Europe/Berlin", "/etc/localtime", "right/Europe/Berlin", "Europe/Berlin\x00", "Factory"} {
		if s, err := cron.Parse("0 9 * * *", zone); err == nil {
			t.Errorf("%q was taken for %s", zone, s)
		}
	}
	if s := parse(t, " 0  9 * * MON ", "Europe/Berlin"); s.String() != "0 9 * * mon Europe/Berlin" || s.IsZero() {
		t.Errorf("it is %s", s)
	}
	var never cron.Schedule
	if !never.Next(time.Now()).IsZero() || never.String() != "never" {
		t.Error("a schedule that was not parsed is due")
	}
}

// places are zones with every kind of clock change.
var places = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Africa/Cairo", "Asia/Tehran", "Pacific/Apia",
	"America/Sao_Paulo", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati", "America/Nuuk", "Asia/Gaza", "Antarctica/Troll", "Europe/Dublin",
}

// A daily job must run once on every existing day up to 2045, both in years with
// table entries and in years for which the zone only has a rule.
func TestDaily(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(place)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				hour, minute := rapid.SampledFrom([]int{0, 1, 2, 3, 9, 23, 22}).Draw(rt, "hour"), rapid.IntRange(0, 59).Draw(rt, "minute")
				s := parse(t, fmt.Sprint(minute, " ", hour, " * * *"), place)
				begin := at(t, "2007-06-01T12:00:00Z").AddDate(rapid.IntRange(0, 37).Draw(rt, "year"), 0, 0)
				var days []string
				var last time.Time
				for next := range s.Between(begin, begin.AddDate(1, 0, 0)) {
					if !next.After(last) {
						rt.Fatalf("%s follows %s", next, last)
					}
					last = next
					day := next.In(zone)
					if hour > 12 && day.Hour() == 0 {
						day = day.Add(-time.Hour) // its hour before midnight was skipped
					}
					days = append(days, day.Format(time.DateOnly))
				}
				if want := daysBetween(days[0], days[len(days)-1], zone); !slices.Equal(days, want) {
					rt.Fatalf("%s: %d days, want %d", s, len(days), len(want))
				}
				if begin.AddDate(1, 0, 0).Sub(last) > 26*time.Hour {
					rt.Fatalf("%s: the last is %s", s, last)
				}
			})
		})
	}
}

// daysBetween returns the days that exist in a zone between two days.
func daysBetween(from, to string, zone *time.Location) []string {
	var days []string
	at, err := time.Parse(time.DateOnly, from)
	for ; err == nil && at.Format(time.DateOnly) <= to; at = at.AddDate(0, 0, 1) {
		day := at.Format(time.DateOnly)
		// The day exists if its noon or any other hour does.
		for hour := range 24 {
			if time.Date(at.Year(), at.Month(), at.Day(), hour, 0, 0, 0, zone).Format(time.DateOnly) == day {
				days = append(days, day)
				break
			}
		}
	}
	return days
}

// For any expression, times must increase, match their wall-clock minute, and not
// depend on the start of the search.
func TestMoments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		field := func(name string, low, high int) string {
			a, b := rapid.IntRange(low, high).Draw(rt, name), rapid.IntRange(low, high).Draw(rt, name+" to")
			return rapid.SampledFrom([]string{"*", fmt.Sprint(a), fmt.Sprint(min(a, b), "-", max(a, b)), fmt.Sprint(a, ",", b), "*/" + fmt.Sprint(max(1, a/2))}).Draw(rt, name+" as")
		}
		expression := strings.Join([]string{field("minute", 0, 59), field("hour", 0, 23), field("day", 1, 28), field("month", 1, 12), field("weekday", 0, 6)}, " ")
		place := rapid.SampledFrom(places).Draw(rt, "zone")
		s, err := cron.Parse(expression, place)
		if err != nil {
			rt.Fatal(expression, err)
		}
		begin := time.Unix(rapid.Int64Range(0, 4e9).Draw(rt, "from"), 0)
		now := begin
		for range 40 {
			next := s.Next(now)
			if !next.After(now) || next.Second() != 0 {
				rt.Fatalf("%s after %s is %s", s, now, next)
			}
			half := now.Add(next.Sub(now) / 2)
			if again := s.Next(half); !again.Equal(next) {
				rt.Fatalf("%s after %s is %s, but after %s it is %s", s, now, next, half, again)
			}
			now = next
		}
		n := 0
		for next := range s.Between(begin, now) {
			if n++; next.Before(begin) || !next.Before(now) {
				rt.Fatalf("%s is not between %s and %s", next, begin, now)
			}
		}
		if n != 39 && n != 40 { // 40 if the start itself is due
			rt.Fatalf("%d between %s and %s", n, begin, now)
		}
	})
}

// A runtime's job with a field for the seconds, or with a name, is due when the runtime says. People write five fields.
func TestSeconds(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"0 0 9 * * *": "2026-11-20T09:00:00Z 2026-11-21T09:00:00Z", "30 15 9 * * 1-5": "2026-11-20T09:15:30Z 2026-11-23T09:15:30Z",
		"0 9 * * *": "2026-11-20T09:00:00Z 2026-11-21T09:00:00Z", "*/20 0 9 20 11 *": "2026-11-20T09:00:00Z 2026-11-20T09:00:20Z",
		"@hourly": "2026-11-20T09:00:00Z 2026-11-20T10:00:00Z", " @Daily ": "2026-11-21T00:00:00Z 2026-11-22T00:00:00Z", "@weekly": "2026-11-22T00:00:00Z 2026-11-29T00:00:00Z",
	} {
		s, err := cron.ParseWithSeconds(expression, "UTC")
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		first := s.Next(at(t, "2026-11-20T08:30:00Z"))
		if got := first.Format(time.RFC3339) + " " + s.Next(first).Format(time.RFC3339); got != want {
			t.Errorf("%s is due at %s, want %s", expression, got, want)
		}
		if often := strings.HasPrefix(expression, "*/20"); s.WithinMinute() != often {
			t.Errorf("%s is due more than once a minute: %t", expression, s.WithinMinute())
		}
		if _, err := cron.Parse(expression, "UTC"); (err == nil) != (expression == "0 9 * * *") {
			t.Errorf("%s with five fields: %v", expression, err)
		}
	}
	for _, bad := range []string{"60 0 9 * * *", "0 0 9 * * * *", "0 0 9 L * *", "@every 5m", "@reboot", "0 0 9 * *,* *,", ""} {
		if s, err := cron.ParseWithSeconds(bad, "UTC"); err == nil {
			t.Errorf("%q is %s", bad, s)
		}
	}
}

// Arbitrary expressions must neither panic nor hang, and the next time must be
// later.
func FuzzParse(f *testing.F) {
	for _, e := range []string{"0 9 * * 1-5", "*/15 * * * *", "0 0 29 2 *", "0 0 30 2 *", "@daily", "H H * * *", "1-5/2,7 0 1,15 JAN-MAR sun", "59 23 31 12 7", "0 0 31 4 0"} {
		f.Add(e, "Europe/Berlin", int64(1_795_000_000))
	}
	f.Add("30 2 * * *", "Australia/Lord_Howe", int64(-62_135_596_800))
	f.Add("* * * * *", "Pacific/Apia", int64(253_402_300_799))
	f.Add("0 9 * * *", "Europe/Berlin", int64(2_240_539_200)) // 31 December 2040
	f.Fuzz(func(t *testing.T, expression, zone string, from int64) {
		began := time.Now()
		s, err := cron.ParseWithSeconds(expression, zone)
		if err != nil {
			return
		}
		now := time.Unix(from, 0)
		for range 5 {
			next := s.Next(now)
			if next.IsZero() {
				break
			}
			if !next.After(now) {
				t.Fatalf("%s after %s is %s", s, now, next)
			}
			now = next
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q took %s", expression, took)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, expression := range []string{"*/15 * * * *", "0 9 * * 1-5", "0 0 29 2 *", "0 * 29 2 *"} {
		b.Run(expression, func(b *testing.B) {
			s := parse(b, expression, "Europe/Berlin")
			now := at(b, "2026-11-20T08:00:00Z")
			for b.Loop() {
				s.Next(now)
			}
		})
	}
}
