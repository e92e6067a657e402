package gateway

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

// This file decodes the values that the gateway sends. A value of an unexpected type is treated
// as absent, so that the rest of its object can still be read. Every count, amount and time from the
// gateway is a number.

// number is the text of a JSON number, or of a JSON string that contains one. It is empty for any
// other JSON value. Keeping the text avoids floating-point arithmetic for money.
type number string

// UnmarshalJSON stores a number and ignores any other value.
func (n *number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		if json.Unmarshal(data, &text) != nil {
			text = ""
		}
	}
	*n = ""
	if text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) {
		*n = number(text)
	}
	return nil
}

// whole returns the number without its fraction. It returns false if the number is absent or does
// not fit into 64 bits.
func (n number) whole() (int64, bool) {
	if v, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(string(n), 64)
	if err != nil || math.Abs(v) >= math.MaxInt64 {
		return 0, false
	}
	return int64(v), true
}

// count returns the number without its fraction, or zero if the number is absent or negative.
func (n number) count() int64 {
	v, _ := n.whole()
	return max(v, 0)
}

// Upper limits for plausible numbers: a trillion tokens, $100,000 for one model call (mostNanos)
// and $1,000,000 for a session (mostNanosAll). Larger numbers are treated as absent, so that sums
// of thousands of numbers do not overflow 64 bits.
const (
	mostTokens              = 1_000_000_000_000
	mostNanos, mostNanosAll = 100_000_000_000_000, 1_000_000_000_000_000
)

// tokens returns the number as a token count. A negative number counts as zero. It returns false if
// the number is absent or not plausible.
func (n number) tokens() (int64, bool) {
	v, ok := n.whole()
	if !ok || v > mostTokens {
		return 0, false
	}
	return max(v, 0), true
}

// tooLarge reports whether the number exceeds mostTokens.
func (n number) tooLarge() bool {
	v, err := strconv.ParseFloat(string(n), 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && v > mostTokens
}

// The first and the last plausible time: the start of 2000 and of 2100, in milliseconds since 1970.
const firstTime, lastTime = 946_684_800_000, 4_102_444_800_000

// time returns the time for a number of milliseconds since 1970. It returns the zero time if the
// number is absent or not plausible.
func (n number) time() clock.Time {
	ms, ok := n.whole()
	if !ok || ms < firstTime || ms >= lastTime {
		return clock.Time{}
	}
	return clock.At(time.UnixMilli(ms))
}

// timeOrNil is like time, but returns nil instead of the zero time.
func (n number) timeOrNil() *clock.Time {
	t := n.time()
	if t.IsZero() {
		return nil
	}
	return &t
}

// maxSpan limits durations, so that the multiplication in span does not overflow.
const maxSpan = 100 * 365 * 24 * time.Hour

// span returns the duration of n units, or zero if n is absent or negative.
func (n number) span(unit time.Duration) time.Duration {
	return time.Duration(min(n.count(), int64(maxSpan/unit))) * unit
}

var errMoney = errors.New("not an amount of money")

// nanos converts an amount in dollars to nano-dollars and rounds half up. It does not use
// floating-point arithmetic.
func (n number) nanos() (int64, error) {
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

// word is a JSON string. Any other JSON value is treated as absent.
type word string

// UnmarshalJSON stores a JSON string and ignores any other value.
func (w *word) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = ""
	}
	*w = word(s)
	return nil
}

// words is a list of JSON strings. Any other JSON value is treated as absent.
type words []word

// UnmarshalJSON stores a JSON list and ignores any other value.
func (w *words) UnmarshalJSON(data []byte) error {
	var list []word
	if json.Unmarshal(data, &list) != nil {
		list = nil
	}
	*w = list
	return nil
}

// flag is a JSON boolean. Any other JSON value is treated as absent.
type flag uint8

const (
	absent flag = iota
	no
	yes
)

// UnmarshalJSON stores true or false and ignores any other value.
func (f *flag) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		*f = yes
	case "false":
		*f = no
	default:
		*f = absent
	}
	return nil
}

func (f flag) is() bool { return f == yes }
