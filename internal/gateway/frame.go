package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// frame is a message from the gateway: a response or an event.
type frame struct {
	Type    string          `json:"type"` // "res" or "event"
	ID      string          `json:"id"`   // id of the request that a res answers
	OK      bool            `json:"ok"`
	Payload json.RawMessage `json:"payload"`
	Error   *wireError      `json:"error"`
	Event   string          `json:"event"`
	Seq     number          `json:"seq"` // number of the event on its connection, from 1; absent before hello-ok
}

// request is a message to the gateway.
type request struct {
	Type   string `json:"type"` // always "req"
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// wireError is the gateway's error object. Its details depend on the method. Only those
// that this package uses are decoded.
type wireError struct {
	Code       string  `json:"code"` // INVALID_REQUEST, FORBIDDEN, UNAVAILABLE, NOT_PAIRED
	Message    string  `json:"message"`
	RetryAfter number  `json:"retryAfterMs"`
	Details    details `json:"details"`
}

type details struct {
	Code             string `json:"code"` // such as AUTH_TOKEN_MISMATCH
	Reason           string `json:"reason"`
	MissingScope     string `json:"missingScope"`
	RequestID        string `json:"requestId"`
	ExpectedProtocol number `json:"expectedProtocol"`
	RetryAfter       number `json:"retryAfterMs"`

	// RequestedScopes and ApprovedScopes are set only for a device that is waiting for
	// approval.
	RequestedScopes []string `json:"requestedScopes"`
	ApprovedScopes  []string `json:"approvedScopes"`
}

// UnmarshalJSON ignores details that are not a JSON object, so that the rest of the error
// is still decoded.
func (d *details) UnmarshalJSON(data []byte) error {
	type plain details
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*d = details(p)
	}
	return nil
}

func (e *wireError) retryAfter() time.Duration {
	ms, ok := e.RetryAfter.whole()
	if !ok {
		ms, _ = e.Details.RetryAfter.whole()
	}
	return time.Duration(min(max(ms, 0), maxDelay.Milliseconds())) * time.Millisecond
}

var errNotAFrame = errors.New("neither an answer nor an event")

func decodeFrame(data []byte) (frame, error) {
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return frame{}, err
	}
	switch {
	case f.Type == "res" && f.ID != "":
		if !f.OK && f.Error == nil {
			f.Error = &wireError{Message: "no reason given"}
		}
	case f.Type == "event" && f.Event != "":
	default:
		return frame{}, errNotAFrame
	}
	return f, nil
}

// number is the text of a JSON number, or empty for a JSON value of another type. Keeping
// the text avoids floating-point arithmetic for money.
type number string

// UnmarshalJSON stores a JSON number and ignores any other value.
func (n *number) UnmarshalJSON(data []byte) error {
	*n = ""
	if len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9') {
		*n = number(data)
	}
	return nil
}

// whole returns the number as an integer. It returns false if the number is absent, not
// an integer or too large.
func (n number) whole() (int64, bool) {
	v, err := strconv.ParseInt(string(n), 10, 64)
	return v, err == nil
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
