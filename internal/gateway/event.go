package gateway

import (
	"encoding/json"
	"sync"
	"time"
)

// Names of the events that we make ourselves. The gateway's own are in its
// documentation: agent, chat, task, cron, health, tick, shutdown and more.
const (
	EventConnected    = "connected"    // a connection has been made; the first event of a subscriber that arrives while there is one
	EventDisconnected = "disconnected" // it has ended; Status says why
	EventGap          = "gap"          // events are missing: lost, or late, and then they do not come any more
)

// Event is something that happened in the gateway, or to our connection with it.
// A subscriber gets the gateway's events in the order of their Seq, each at most
// once: where one is missing it gets EventGap instead, and one that comes again
// or too late is dropped.
type Event struct {
	Name    string
	Payload json.RawMessage // as the gateway sent it; shared by all subscribers, so not to be changed; nil for our own
	Seq     int64           // counts the gateway's events of one connection from 1; 0 for our own, and where the gateway does not count
	At      time.Time       // when it reached us
	BootID  string          // of the gateway that it came from

	// Resync says that events before this one may have been missed, so that
	// whatever was derived from events must be read anew.
	Resync bool
	// Restarted says that this connection is to another start of the gateway than
	// the one before: its runs and its memory of run ids are gone.
	Restarted bool
}

// hub hands events to subscribers. The zero value is ready to use.
type hub struct {
	now func() time.Time

	mu     sync.Mutex
	subs   map[*subscriber]struct{}
	closed bool
}

type subscriber struct{ ch chan Event }

// Events subscribes to everything that the gateway tells. A subscriber that has
// let more than buffer events pile up is dropped, which closes its channel: it
// may subscribe again, and must then read anew what it derived. The channel is
// also closed by stop and at the end of Run.
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

// drop removes s once; the caller holds the lock.
func (h *hub) drop(s *subscriber) {
	if _, ok := h.subs[s]; ok {
		delete(h.subs, s)
		close(s.ch)
	}
}

// publish gives e to everybody, and waits for nobody.
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
