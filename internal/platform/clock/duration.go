package clock

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// unit is one suffix of a duration.
type unit struct {
	suffix string
	length time.Duration
}

// units are the suffixes that ParseDuration knows, the longest length first,
// which is the order in which FormatDuration tries them. "ms" stands before
// "m" and "s" for ParseDuration, which takes the first suffix that fits.
func units() []unit {
	const day = 24 * time.Hour
	return []unit{
		{"w", 7 * day},
		{"d", day},
		{"h", time.Hour},
		{"ms", time.Millisecond},
		{"m", time.Minute},
		{"s", time.Second},
	}
}

var errDuration = errors.New("not a duration such as 45s, 30m, 24h, 7d, 2w, or a number of seconds")

// ParseDuration reads a whole number with one of the units ms, s, m, h, d
// (24 hours) and w, or a bare number, which is seconds. It is never negative.
func ParseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	length := time.Second
	for _, u := range units() {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, length = rest, u.length
			break
		}
	}
	if s == "" || strings.Trim(s, "0123456789") != "" { // ParseInt would take a sign
		return 0, errDuration
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(math.MaxInt64/length) {
		return 0, errors.New("longer than can be counted (292 years)")
	}
	return time.Duration(n) * length, nil
}

// FormatDuration writes d in the longest unit that leaves no rest, as
// ParseDuration reads it. Anything below a millisecond is dropped.
func FormatDuration(d time.Duration) string {
	best := unit{"ms", time.Millisecond}
	for _, u := range units() {
		if d != 0 && d%u.length == 0 && u.length > best.length {
			best = u
		}
	}
	if d == 0 {
		best = unit{"s", time.Second}
	}
	return strconv.FormatInt(int64(d/best.length), 10) + best.suffix
}

// Span is a length of time in the API: whole milliseconds, written as in the
// settings, such as "2m". It is only answered; what callers send is a text that
// ParseDuration reads.
type Span time.Duration

// String is the span as FormatDuration writes it.
func (s Span) String() string { return FormatDuration(time.Duration(s)) }

// MarshalText writes what String does.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads it back.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := ParseDuration(string(text))
	*s = Span(d)
	return err
}

// Schema describes the span in the OpenAPI document.
func (Span) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^[0-9]+(ms|s|m|h|d|w)$`, Examples: []any{"2m"}}
}
