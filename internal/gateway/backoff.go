package gateway

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before the next attempt to connect. The zero
// value has the defaults.
type Backoff struct {
	Min     time.Duration  // after the first failure; 250 ms
	Max     time.Duration  // after many; 30 s
	Quick   time.Duration  // after many, while the gateway restarts or somebody is waiting; 1 s
	Pairing time.Duration  // while a person is to approve us on the gateway's side; 4 s
	Jitter  func() float64 // in [0, 1); random unless set
}

// longest is the longest pause that a gateway may ask for: it locks an address
// out for five minutes after too many wrong tokens.
const longest = 10 * time.Minute

// pace is how urgently a failure wants the next attempt.
type pace uint8

const (
	steady  pace = iota // doubling, up to Max
	quick               // it is about to be back: doubling, up to Quick
	slow                // only a person can mend it: always Max
	pairing             // a person is mending it on the gateway's side: always Pairing
	soon                // there is something else to try: like quick, but nothing restarts
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

// delay is the pause after the given number of failures in a row (1 is the
// first). It lies between half and the whole of the doubled step, so that many
// clients of a gateway do not come back in the same moment. asked is what the
// gateway itself asked for; we never come earlier than that.
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
		asked = min(asked, longest)
		d = max(d, asked+time.Duration(b.Jitter()*float64(asked)/4))
	}
	return d
}
