package event

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/platform/limiter"
)

// hub hands what the tail read to every stream of this process and waits for
// none of them.
type hub struct {
	poke   chan struct{}   // wakes the tail
	places limiter.Limiter // by user

	mu      sync.Mutex
	at      int64 // the last id that was handed out
	streams map[*feed]struct{}
	closed  bool

	states []frame     // that wait for the end of the breath
	free   time.Time   // when states may be handed out again
	breath *time.Timer // ends it; nil while nothing waits

	followed map[string]int // by session key, how many streams want its messages
	keys     atomic.Pointer[[]string]
}

// feed is what one stream is handed.
type feed struct {
	batches chan []frame
	// gone is closed when the stream fell behind or the service ends; what is
	// still in batches is then not to be sent any more.
	gone chan struct{}
}

func newHub() *hub {
	return &hub{poke: make(chan struct{}, 1), streams: map[*feed]struct{}{}}
}

// wake lets the tail look; it never waits.
func (h *hub) wake() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// join adds a stream that has everything up to the id pos. It is handed what
// comes after the id from, which may be smaller or greater: what it has already
// it must leave out, and what lies between it must read by itself.
func (h *hub) join(pos int64, buffer int) (f *feed, from int64) {
	f = &feed{batches: make(chan []frame, buffer), gone: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(f.gone)
		return f, pos
	}
	h.flush() // whoever joins now is told newer states than those
	if len(h.streams) == 0 {
		h.at = max(h.at, pos) // the tail reads for nobody what is older
	}
	h.streams[f] = struct{}{}
	h.wake() // it did not look while there was nobody
	return f, h.at
}

// follow notes that one more stream wants the messages of these sessions, until
// unfollow is called.
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

// part takes a stream out.
func (h *hub) part(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(f)
}

// drop takes a stream out once; the caller holds the lock.
func (h *hub) drop(f *feed) {
	if _, ok := h.streams[f]; ok {
		delete(h.streams, f)
		close(f.gone)
	}
}

// dropAll ends every stream; those that come back begin anew, and so does the
// tail, with the first of them.
func (h *hub) dropAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = 0
	for f := range h.streams {
		h.drop(f)
	}
}

// close ends every stream, also those that come later.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	if h.breath != nil {
		h.breath.Stop()
	}
	h.states, h.breath = nil, nil
	h.mu.Unlock()
	h.dropAll()
}

// position is from where the tail goes on; wanted says whether anybody listens.
func (h *hub) position() (at int64, wanted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at, len(h.streams) > 0
}

// hand gives a batch to everyone, and says how many they are; its last id is upTo,
// or 0 for states. Who has no room left is dropped.
func (h *hub) hand(batch []frame, upTo int64) (streams int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = max(h.at, upTo)
	h.give(batch)
	return len(h.streams)
}

// give is hand without the lock, which the caller holds.
func (h *hub) give(batch []frame) {
	for f := range h.streams {
		select {
		case f.batches <- batch:
		default:
			h.drop(f)
		}
	}
}

// tell hands out states: at once after a rest, else all that have gathered at
// the end of a breath.
func (h *hub) tell(states []frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.states = append(h.states, states...)
	switch rest := time.Until(h.free); {
	case h.breath != nil: // they go with those that wait
	case rest <= 0:
		h.flush()
	default:
		h.breath = time.AfterFunc(rest, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.flush()
		})
	}
}

// flush hands out the states that wait; the caller holds the lock.
func (h *hub) flush() {
	if h.breath != nil {
		h.breath.Stop()
		h.breath = nil
	}
	if len(h.states) == 0 {
		return
	}
	batch := h.states
	h.states = nil
	h.give(batch)
	h.free = time.Now().Add(breath(len(h.streams)))
}
