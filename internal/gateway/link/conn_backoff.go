package link

import (
	"math/rand/v2"
	"time"
)

// Backoff sets the delays between connection attempts. Fields that are zero take default
// values.
type Backoff struct {
	Min     time.Duration  // after the first failure; default 250 ms
	Max     time.Duration  // upper limit; default 30 s
	Quick   time.Duration  // upper limit while the gateway restarts or a caller is waiting; default 1 s
	Pairing time.Duration  // while a person is expected to approve the device; default 4 s
	Jitter  func() float64 // returns a value in [0, 1); random by default
}

// maxDelay limits the retry delay that a gateway can request. It exceeds the five minutes
// for which a gateway locks out an IP address after too many wrong tokens.
const maxDelay = 10 * time.Minute

// pace says how soon the client should retry after a failure.
type pace uint8

const (
	steady  pace = iota // double the delay up to Max
	quick               // the gateway should be back soon: double the delay up to Quick
	slow                // only a person can fix it: always Max
	pairing             // a person is expected to approve the device: always Pairing
	soon                // another credential or device can be tried: the delays of quick, but no restart is assumed
)

func (b Backoff) withDefaults() Backoff {
	if b.Min <= 0 {
		b.Min = 250 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	if b.Quick <= 0 {
		b.Quick = time.Second
	}
	if b.Pairing <= 0 {
		b.Pairing = 4 * time.Second
	}
	b.Max = max(b.Max, b.Min)
	b.Pairing = min(b.Pairing, b.Max)
	b.Quick = min(b.Quick, b.Max)
	if b.Jitter == nil {
		b.Jitter = rand.Float64
	}
	return b
}

// delay returns how long to wait after the given number of consecutive failures (at least 1). The result is a random
// value between 50% and 100% of the full delay, so that clients do not all reconnect at the same moment. If the
// gateway asked for a delay, the result is at least that delay or maxDelay, whichever is shorter.
func (b Backoff) delay(failures int, p pace, asked time.Duration) time.Duration {
	step, ceiling := b.Min, b.Max
	switch p {
	case quick, soon:
		ceiling = b.Quick
	case pairing:
		step, ceiling = b.Pairing, b.Pairing
	case slow:
		step = b.Max
	}
	for range failures - 1 {
		if step >= ceiling {
			break
		}
		step *= 2
	}
	step = min(step, ceiling)
	d := step/2 + time.Duration(b.Jitter()*float64(step-step/2))
	if asked > 0 {
		asked = min(asked, maxDelay)
		d = max(d, asked+time.Duration(b.Jitter()*float64(asked)/4))
	}
	return d
}
