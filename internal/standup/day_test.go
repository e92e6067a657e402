package standup

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/fault"
)

// The day of a standup is its name: two spellings would be two meetings, and a
// day or zone that there is not would never come.
func TestDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ date, zone, want, in string }{
		{"", "", "2026-11-21", "Europe/Berlin"},
		{"", "UTC", "2026-11-20", "UTC"},
		{"", "Pacific/Kiritimati", "2026-11-21", "Pacific/Kiritimati"},
		{"", "Etc/GMT+12", "2026-11-20", "Etc/GMT+12"},
		{"", "America/Argentina/Buenos_Aires", "2026-11-20", "America/Argentina/Buenos_Aires"},
		{"2024-02-29", "", "2024-02-29", "Europe/Berlin"},
		{"2000-02-29", "", "2000-02-29", "Europe/Berlin"},
		{"0001-01-01", "UTC", "0001-01-01", "UTC"},
		{"9999-12-31", "Pacific/Kiritimati", "9999-12-31", "Pacific/Kiritimati"},
		{"2011-12-29", "Pacific/Apia", "2011-12-29", "Pacific/Apia"},
	} {
		date, zone, err := New{Date: tt.date, Timezone: tt.zone}.day(now, berlin)
		if err != nil || date != tt.want || zone.String() != tt.in {
			t.Errorf("%q in %q: %s in %s, %v; want %s in %s", tt.date, tt.zone, date, zone, err, tt.want, tt.in)
		}
	}
	for _, tt := range []struct{ date, zone, at string }{
		{"2025-02-29", "", "/date"},
		{"1900-02-29", "", "/date"},
		{"2026-02-30", "", "/date"},
		{"2026-13-01", "", "/date"},
		{"2026-00-10", "", "/date"},
		{"0000-01-01", "", "/date"},
		{"-001-01-01", "", "/date"},
		{"10000-01-01", "", "/date"},
		{"2026-1-1", "", "/date"},
		{"2026-11-20 ", "", "/date"},
		{"20261120", "", "/date"},
		{"+026-11-20", "", "/date"},
		{"today", "", "/date"},
		{"２０２６-11-20", "", "/date"},
		{"2011-12-30", "Pacific/Apia", "/date"},
		{"1994-12-31", "Pacific/Kiritimati", "/date"},
		{"", "Local", "/timezone"},
		{"", "local", "/timezone"},
		{"", "Factory", "/timezone"},
		{"", "europe/berlin", "/timezone"},
		{"", "Europe/berlin", "/timezone"},
		{"", "../../etc/passwd", "/timezone"},
		{"", "Europe/../UTC", "/timezone"},
		{"", "/usr/share/zoneinfo/UTC", "/timezone"},
		{"", "Europe//Berlin", "/timezone"},
		{"", "Europe/Berlin/", "/timezone"},
		{"", "right/UTC", "/timezone"},
		{"", "posix/UTC", "/timezone"},
		{"", "localtime", "/timezone"},
		{"", `Europe\Berlin`, "/timezone"},
		{"", "UTC\x00", "/timezone"},
		{"", " UTC", "/timezone"},
		{"", "Europe", "/timezone"},
		{"", "Zzz/Nowhere", "/timezone"},
		{"", "+02:00", "/timezone"},
	} {
		date, zone, err := New{Date: tt.date, Timezone: tt.zone}.day(now, berlin)
		f := fault.Of(err)
		if f == nil || len(f.Fields) != 1 || f.Fields[0].Pointer != tt.at {
			t.Errorf("%q in %q: %s in %s, %v; want it refused at %s", tt.date, tt.zone, date, zone, err, tt.at)
		}
	}
}

// Whatever is sent as a day or a zone, what is taken is a day of that zone in
// the one spelling that there is.
func FuzzDay(f *testing.F) {
	for _, s := range [][2]string{
		{"", ""},
		{"2026-11-20", "Europe/Berlin"},
		{"2024-02-29", "UTC"},
		{"0000-01-01", "Local"},
		{"2011-12-30", "Pacific/Apia"},
		{"9999-12-31", "../../etc/passwd"},
		{"2026-02-30", "right/UTC"},
		{"+0000-1-1", "Etc/GMT-14"},
	} {
		f.Add(s[0], s[1], int64(1_795_000_000))
	}
	f.Fuzz(func(t *testing.T, date, name string, now int64) {
		at := time.Unix(now%(1<<37), 0)
		day, zone, err := New{Date: date, Timezone: name}.day(at, time.UTC)
		if err != nil {
			if f := fault.Of(err); f == nil || len(f.Fields) == 0 {
				t.Errorf("%q in %q: %v says nothing of what is wrong", date, name, err)
			}
			return
		}
		if date != "" && (!isDay(day) || day != date || !hasDay(zone, day)) {
			t.Errorf("%q in %q was taken for %s in %s", date, name, day, zone)
		}
		if name != "" && (zone.String() != name || strings.Contains(name, "..") || name == "Local") {
			t.Errorf("%q was taken for %s", name, zone)
		}
	})
}

// A title stands in the minutes, in lists and in the inbox: it must not reach
// into the lines around it.
func TestHeadline(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"a\nb": "a b", "\x1b[31mred": "[31mred", "turned \u202e round": "turned round", "a\u2028b": "a b", "\t": "",
		"Morgenrunde 🌅: עברית & <b>": "Morgenrunde 🌅: עברית & <b>",
	} {
		if got := headline(title); got != want {
			t.Errorf("%q became %q, want %q", title, got, want)
		}
	}
}
