package clock

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// unit is a unit of time with its suffix, such as "h".
type unit struct {
	suffix string
	length time.Duration
}

// units returns the units that ParseDuration accepts. "ms" comes before "s" because
// ParseDuration uses the first suffix that matches.
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

// ParseDuration parses a whole number with one of the units ms, s, m, h, d (24
// hours) and w, or a plain number of seconds. The result is never negative.
func ParseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	length := time.Second
	for _, u := range units() {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, length = rest, u.length
			break
		}
	}
	if s == "" || strings.Trim(s, "0123456789") != "" { // ParseInt would accept a sign
		return 0, errDuration
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(math.MaxInt64/length) {
		return 0, errors.New("longer than 292 years")
	}
	return time.Duration(n) * length, nil
}

// FormatDuration formats d as a whole number of the largest possible unit.
// ParseDuration can read the result. Fractions of a millisecond are dropped.
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

// Span is a duration in API responses. It has the same format as in the settings,
// such as "2m", and no fractions of a millisecond. In requests, durations are plain
// strings that ParseDuration reads.
type Span time.Duration

// String formats the duration with FormatDuration.
func (s Span) String() string { return FormatDuration(time.Duration(s)) }

// MarshalText returns the same text as String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text with ParseDuration.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := ParseDuration(string(text))
	*s = Span(d)
	return err
}

// Schema returns the OpenAPI schema for a duration.
func (Span) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^[0-9]+(ms|s|m|h|d|w)$`, Examples: []any{"2m"}}
}
