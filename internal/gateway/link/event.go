package link

import (
	"encoding/json"
	"sync"
	"time"
)

// Names of the events that the client itself publishes. The gateway's documentation
// describes the gateway's own events, such as agent, chat, task, cron, health, tick and
// shutdown.
const (
	// a connection was made; also sent first to a subscriber that arrives while connected
	EventConnected    = "connected"
	EventDisconnected = "disconnected" // the connection was lost; Status has the reason
	EventGap          = "gap"          // events are missing and will not be delivered
)

// Event is an event from the gateway, or about Wardroom's connection to the gateway. Each
// subscriber gets the gateway's events in the order of their Seq, each at most once. An
// EventGap replaces missing events. Repeated and late events are dropped.
type Event struct {
	Name string
	// as sent by the gateway; shared by all subscribers, so do not modify it; nil for the client's own events
	Payload json.RawMessage
	// number of the event on its connection, from 1; 0 for the client's own events, and when unknown
	Seq    int64
	At     time.Time // when Wardroom received it
	BootID string    // of the gateway's process that sent it

	// Resync means that events before this one may have been missed, so that subscribers
	// must reload everything that they derived from events.
	Resync bool
	// Restarted means that the gateway has restarted since the previous connection, and
	// has lost its runs and its record of run ids.
	Restarted bool
}

// hub distributes events to subscribers. Its clock, the field now, must be set before
// use.
type hub struct {
	now func() time.Time

	mu     sync.Mutex
	subs   map[*subscriber]struct{}
	closed bool
}

type subscriber struct{ ch chan Event }

// Events subscribes to all events. If more than buffer events are waiting, Events drops the
// subscription and closes the channel. The caller may subscribe again, but must then reload
// everything that it derived from events. The channel is also closed when stop is called or when
// Run returns.
func (c *Client) Events(buffer int) (events <-chan Event, stop func()) {
	s := &subscriber{ch: make(chan Event, max(buffer, 1))}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching != nil {
		s.ch <- Event{Name: EventConnected, At: c.opt.Now(), BootID: c.watching.bootID, Resync: true}
	}
	c.events.add(s)
	return s.ch, func() { c.events.remove(s) }
}

func (h *hub) add(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.ch)
		return
	}
	if h.subs == nil {
		h.subs = map[*subscriber]struct{}{}
	}
	h.subs[s] = struct{}{}
}

func (h *hub) remove(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(s)
}

// drop removes the subscriber s and closes its channel. If s has already been removed, drop does
// nothing. The caller must hold the lock.
func (h *hub) drop(s *subscriber) {
	if _, ok := h.subs[s]; ok {
		delete(h.subs, s)
		close(s.ch)
	}
}

// publish sends an event to all subscribers. It does not wait for slow subscribers but
// drops them.
func (h *hub) publish(e Event) {
	e.At = h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		select {
		case s.ch <- e:
		default:
			h.drop(s)
		}
	}
}

func (h *hub) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		h.drop(s)
	}
}
