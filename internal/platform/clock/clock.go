// Package clock defines how Wardroom stores and formats times: in UTC, with millisecond
// precision.
package clock

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Layout is the RFC 3339 format with exactly three decimal places for the seconds.
const Layout = "2006-01-02T15:04:05.000Z07:00"

// Now returns the current time in UTC, truncated to milliseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Skew is how far the clocks of replicas may differ.
const Skew = time.Minute

// Holds reports whether something that lasts until a stored time, and at most as long as longest, still lasts. A time
// that is further away was stored while the clock was wrong, and no longer holds.
func Holds(until, now time.Time, longest time.Duration) bool {
	return until.After(now) && !until.After(now.Add(longest+Skew))
}

// Time is a time in the API or the database. Create it with At, which truncates it to
// milliseconds, because the API has no finer precision but the database does.
type Time struct{ time.Time }

// At returns t in UTC, truncated to milliseconds.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// Ptr is like At but returns a pointer, for nullable fields.
func Ptr(t time.Time) *Time {
	at := At(t)
	return &at
}

// DueDay returns the time that stands for the whole day of t, by t's calendar: the last millisecond of the same date
// in UTC. It means the same day in every time zone.
func DueDay(t time.Time) Time {
	y, m, d := t.Date()
	return Time{time.Date(y, m, d, 24, 0, 0, 0, time.UTC).Add(-time.Millisecond)}
}

// Day returns the day that t stands for, such as 2026-12-10. It returns false if t is a time and not the result of
// DueDay.
func (t Time) Day() (day string, ok bool) {
	u := t.UTC()
	return u.Format(time.DateOnly), u.Equal(DueDay(u).Time)
}

// MarshalJSON writes the time with exactly three decimal places, so that sorting the
// strings also sorts the times.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(Layout)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, Layout)
	return append(b, '"'), nil
}

// UnmarshalJSON reads an RFC 3339 time in any time zone.
func (t *Time) UnmarshalJSON(data []byte) error {
	var at time.Time
	if err := at.UnmarshalJSON(data); err != nil {
		return err
	}
	*t = At(at)
	return nil
}

// Schema returns the OpenAPI schema for a time.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Examples: []any{"2026-11-20T08:00:00.000Z"}}
}

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) { return t.UTC(), nil }

// Scan reads the value of a time column. SQLite returns computed times (MAX,
// COALESCE, CASE) as microseconds since 1970.
func (t *Time) Scan(v any) error {
	switch v := v.(type) {
	case time.Time:
		*t = At(v)
	case int64:
		*t = At(time.UnixMicro(v))
	default:
		return fmt.Errorf("clock: cannot read %s as a time", reflect.TypeOf(v))
	}
	return nil
}
