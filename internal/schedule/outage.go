package schedule

import (
	"sync"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/mirror"
)

// outage is a time without a connection to the gateway. It explains runs that did not start. The
// zero value stands for none.
type outage struct {
	from, to  time.Time
	restarted bool // the gateway's process was another one afterwards
}

// overlaps reports whether the outage falls into the time in which a slot's run can start.
func (o outage) overlaps(s Slot) bool {
	return !o.to.IsZero() && !o.from.After(s.Deadline.Time) && !o.to.Before(s.DueAt.Time)
}

// String returns the outage as a sentence.
func (o outage) String() string {
	from, to := minute(o.from), minute(o.to)
	switch {
	case o.restarted && from == to:
		return "The runtime restarted at " + to + "."
	case o.restarted:
		return "The gateway was offline from " + from + " to " + to + ", and the runtime restarted."
	}
	return "Wardroom had no connection to the gateway from " + from + " to " + to + "."
}

// connection holds what this process knows about its connection to the gateway. The zero value is
// ready to use.
type connection struct {
	mu         sync.Mutex
	bootID     string // of the gateway's process; empty before the first connection
	made, lost time.Time
}

// note updates c with an event of the gateway.
func (c *connection) note(e mirror.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Name {
	case link.EventConnected:
		c.bootID, c.made = e.BootID, e.At
	case link.EventDisconnected:
		c.lost = e.At
	}
}

// next returns the reading that follows the last one. If the connection was interrupted since the
// last one, it contains the interruption. Other replicas may have been connected meanwhile, so a
// short time before this process connected for the first time is no interruption, unless the gateway
// has restarted.
func (c *connection) next(last reading, from, to time.Time) reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := reading{from: from, to: to, bootID: last.bootID, away: last.away}
	if c.bootID == "" {
		return r
	}
	r.bootID = c.bootID
	if last.to.IsZero() || !c.made.After(last.to) {
		return r
	}
	o := outage{from: last.to, to: c.made, restarted: last.bootID != "" && last.bootID != c.bootID}
	seen := c.lost.After(last.to)
	if seen {
		o.from = c.lost
	}
	if seen || o.restarted || o.to.Sub(o.from) > 2*reconcileInterval {
		r.away = o
	}
	return r
}
