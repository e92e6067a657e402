// Package wire decodes values that the gateway sends. A value of an unexpected type is treated
// as absent, so that the rest of its object can still be read. Every count, amount and time from the
// gateway is a Number. Package wire also redacts secrets in the gateway's texts.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
)

// Number is the text of a JSON number, or of a JSON string that contains one. It is empty for any
// other JSON value. Keeping the text avoids floating-point arithmetic for money.
type Number string

// UnmarshalJSON stores a number and ignores any other value.
func (n *Number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		if json.Unmarshal(data, &text) != nil {
			text = ""
		}
	}
	*n = ""
	if text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) {
		*n = Number(text)
	}
	return nil
}

// Whole returns the number without its fraction. It returns false if the number is absent or does
// not fit into 64 bits.
func (n Number) Whole() (int64, bool) {
	if v, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(string(n), 64)
	if err != nil || math.Abs(v) >= math.MaxInt64 {
		return 0, false
	}
	return int64(v), true
}

// Count returns the number without its fraction, or zero if the number is absent or negative.
func (n Number) Count() int64 {
	v, _ := n.Whole()
	return max(v, 0)
}

// Upper limits for plausible numbers: a trillion tokens, $100,000 for one model call (MostNanos)
// and $1,000,000 for a session (MostNanosAll). Larger numbers are treated as absent, so that sums
// of thousands of numbers do not overflow 64 bits.
const (
	mostTokens   = 1_000_000_000_000
	MostNanos    = 100_000_000_000_000
	MostNanosAll = 1_000_000_000_000_000
)

// Tokens returns the number as a token count. A negative number counts as zero. It returns false if
// the number is absent or not plausible.
func (n Number) Tokens() (int64, bool) {
	v, ok := n.Whole()
	if !ok || v > mostTokens {
		return 0, false
	}
	return max(v, 0), true
}

// TooLarge reports whether the number exceeds mostTokens.
func (n Number) TooLarge() bool {
	v, err := strconv.ParseFloat(string(n), 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && v > mostTokens
}

// The first and the last plausible time: the start of 2000 and of 2100, in milliseconds since 1970.
const firstTime, lastTime = 946_684_800_000, 4_102_444_800_000

// Time returns the time for a number of milliseconds since 1970. It returns the zero time if the
// number is absent or not plausible.
func (n Number) Time() clock.Time {
	ms, ok := n.Whole()
	if !ok || ms < firstTime || ms >= lastTime {
		return clock.Time{}
	}
	return clock.At(time.UnixMilli(ms))
}

// TimeOrNil is like time, but returns nil instead of the zero time.
func (n Number) TimeOrNil() *clock.Time {
	t := n.Time()
	if t.IsZero() {
		return nil
	}
	return &t
}

// maxSpan limits durations, so that the multiplication in span does not overflow.
const maxSpan = 100 * 365 * 24 * time.Hour

// Span returns the duration of n units, or zero if n is absent or negative.
func (n Number) Span(unit time.Duration) time.Duration {
	return time.Duration(min(n.Count(), int64(maxSpan/unit))) * unit
}

var errMoney = errors.New("not an amount of money")

// Nanos converts an amount in dollars to nano-dollars and rounds half up. It does not use
// floating-point arithmetic.
func (n Number) Nanos() (int64, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	exp := 0
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp < -60 || exp > 60 {
			return 0, fmt.Errorf("%w: %.40q", errMoney, string(n))
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	shift := 9 + exp - len(fraction) // number of zeros to append to digits
	if len(digits) > 200 || strings.Trim(digits, "0123456789") != "" || whole == "" {
		return 0, fmt.Errorf("%w: %.40q", errMoney, string(n))
	}
	up := false
	switch {
	case digits == "":
		return 0, nil
	case shift >= 0:
		digits += strings.Repeat("0", shift)
	case -shift > len(digits):
		return 0, nil
	default:
		cut := len(digits) + shift
		up = digits[cut] >= '5'
		digits = "0" + digits[:cut]
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || up && v == 1<<63-1 {
		return 0, fmt.Errorf("%w: %.40q", errMoney, string(n))
	}
	if up {
		v++
	}
	return v, nil
}

// Word is a JSON string. Any other JSON value is treated as absent.
type Word string

// UnmarshalJSON stores a JSON string and ignores any other value.
func (w *Word) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = ""
	}
	*w = Word(s)
	return nil
}

// Words is a list of JSON strings. Any other JSON value is treated as absent.
type Words []Word

// UnmarshalJSON stores a JSON list and ignores any other value.
func (w *Words) UnmarshalJSON(data []byte) error {
	var list []Word
	if json.Unmarshal(data, &list) != nil {
		list = nil
	}
	*w = list
	return nil
}

// Flag is a JSON boolean. Any other JSON value is treated as absent.
type Flag uint8

// Values of a Flag.
const (
	Absent Flag = iota
	No
	yes
)

// UnmarshalJSON stores true or false and ignores any other value.
func (f *Flag) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		*f = yes
	case "false":
		*f = No
	default:
		*f = Absent
	}
	return nil
}

// Is reports whether the flag is true.
func (f Flag) Is() bool { return f == yes }
