package event

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/platform/limiter"
)

// hub distributes events from the log reader (tail.go) to every stream of this process. It never
// waits for a stream.
type hub struct {
	poke   chan struct{}   // wakes the log reader
	places limiter.Limiter // open streams per user

	mu      sync.Mutex
	at      int64 // last ID sent to the streams
	streams map[*feed]struct{}
	closed  bool

	states []frame     // waiting for the end of the pause
	free   time.Time   // when states may be sent again
	pause  *time.Timer // sends the waiting states; nil if there are none

	followed map[string]int // number of streams per session key
	keys     atomic.Pointer[[]string]
}

// feed is the queue of batches that wait to be sent on one stream.
type feed struct {
	batches chan []frame
	// gone is closed when the stream falls behind or the service stops. The
	// batches left in the queue must not be sent then.
	gone chan struct{}
}

func newHub() *hub {
	return &hub{poke: make(chan struct{}, 1), streams: map[*feed]struct{}{}}
}

// wake makes the log reader look for new events. It never blocks.
func (h *hub) wake() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// join adds a stream that has received all events up to the ID pos. The returned feed contains the
// events after the ID from. If from is less than pos, the stream must skip the events that it has
// already received. If from is greater than pos, the stream must itself read the events in between.
func (h *hub) join(pos int64, buffer int) (f *feed, from int64) {
	f = &feed{batches: make(chan []frame, buffer), gone: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(f.gone)
		return f, pos
	}
	h.flush() // the new stream gets newer states than those waiting
	if len(h.streams) == 0 {
		h.at = max(h.at, pos) // no stream needs older events
	}
	h.streams[f] = struct{}{}
	h.wake() // the log reader does nothing without streams
	return f, h.at
}

// follow counts a stream as a follower of the given sessions until unfollow is called.
func (h *hub) follow(sessions []string) (unfollow func()) {
	count := func(by int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.followed == nil {
			h.followed = map[string]int{}
		}
		for _, key := range sessions {
			if h.followed[key] += by; h.followed[key] <= 0 {
				delete(h.followed, key)
			}
		}
		keys := slices.Sorted(maps.Keys(h.followed))
		h.keys.Store(&keys)
	}
	count(1)
	return sync.OnceFunc(func() { count(-1) })
}

// leave removes a stream.
func (h *hub) leave(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(f)
}

// drop removes a stream. It has no effect if the stream has already been removed. The caller must
// hold the lock.
func (h *hub) drop(f *feed) {
	if _, ok := h.streams[f]; ok {
		delete(h.streams, f)
		close(f.gone)
	}
}

// dropAll ends every stream. The log reader then resumes at the position of the first stream that
// reconnects.
func (h *hub) dropAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = 0
	for f := range h.streams {
		h.drop(f)
	}
}

// close ends every stream. A stream that joins later ends immediately.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	if h.pause != nil {
		h.pause.Stop()
	}
	h.states, h.pause = nil, nil
	h.mu.Unlock()
	h.dropAll()
}

// position returns the ID after which the log reader continues, and whether there are any streams.
func (h *hub) position() (at int64, wanted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at, len(h.streams) > 0
}

// broadcast sends a batch of events to all streams. The batch's last event has the ID upTo.
// Streams whose queue is full are dropped. broadcast returns the number of streams left.
func (h *hub) broadcast(batch []frame, upTo int64) (streams int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = max(h.at, upTo)
	h.send(batch)
	return len(h.streams)
}

// send sends a batch to all streams. It drops streams whose queue is full. The caller must hold
// the lock.
func (h *hub) send(batch []frame) {
	for f := range h.streams {
		select {
		case f.batches <- batch:
		default:
			h.drop(f)
		}
	}
}

// publish sends states immediately if none were sent recently. Otherwise it collects
// them, and sends them together when the pause after the last batch ends.
func (h *hub) publish(states []frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.states = append(h.states, states...)
	switch rest := time.Until(h.free); {
	case h.pause != nil: // sent with those that wait
	case rest <= 0:
		h.flush()
	default:
		h.pause = time.AfterFunc(rest, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.flush()
		})
	}
}

// flush sends the collected states to all streams. The caller must hold the lock.
func (h *hub) flush() {
	if h.pause != nil {
		h.pause.Stop()
		h.pause = nil
	}
	if len(h.states) == 0 {
		return
	}
	batch := h.states
	h.states = nil
	h.send(batch)
	h.free = time.Now().Add(pauseFor(len(h.streams)))
}
