package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// conn is one connection, from the dial to its end.
type conn struct {
	ws     *websocket.Conn
	owner  *Client // whose connection it is
	bootID string
	admin  bool       // it holds operator.admin, so that no run may be started over it
	cred   credential // what it was made with
	born   time.Time
	gone   chan struct{} // closed when the connection has ended

	life   context.Context // ends when the connection must end; its cause says why
	end    context.CancelCauseFunc
	watch  *time.Timer // ends life after a silence
	quiet  time.Duration
	seenAt atomic.Int64 // when we last heard anything, in Unix milliseconds
	now    func() time.Time

	answeredAt atomic.Int64   // how long after born the last answer in time came, in nanoseconds
	probing    sync.WaitGroup // the goroutine that asks a slow gateway how it is

	mu      sync.Mutex
	next    int64
	pending map[string]chan frame // requests that wait for their answer, by id
	asked   ring[string]          // the run that an `agent` request began, by its id

	challengedAt time.Time     // when the gateway's challenge came; zero before. Of who connects alone
	ahead        time.Duration // how far the gateway's clock is ahead of ours, by that challenge; 0 when it does not say
	tick         time.Duration // between two ticks, as announced; 0 when it is not
	eventAt      atomic.Int64  // when the last event came, in Unix milliseconds; 0 before the first

	lastSeq  int64  // of the last event that was passed on, 0 before the first; of the reader alone
	shutdown string // the reason of the gateway's farewell; of the reader alone
	warned   bool   // a malformed frame has been logged; of the reader alone
}

// askedKept is how many questions of one connection are remembered for their
// second response. The gateway itself keeps 1000.
const askedKept = 1000

var (
	errSilent  = errors.New("silence")
	errBecame  = errors.New("another device")
	errStopped = errors.New("stopped")
)

func newConn(owner *Client) *conn {
	quiet, now := owner.opt.Silence, owner.opt.Now
	k := &conn{
		owner:   owner,
		born:    time.Now(),
		gone:    make(chan struct{}),
		quiet:   quiet,
		now:     now,
		pending: map[string]chan frame{},
		asked:   newRing[string](askedKept),
	}
	// Not a child of the service's context: when the service stops, we say
	// goodbye first.
	k.life, k.end = context.WithCancelCause(context.Background())
	k.watch = time.AfterFunc(quiet, func() { k.end(errSilent) })
	k.heard()
	return k
}

// heard notes that the other side is alive.
func (k *conn) heard() {
	k.seenAt.Store(k.now().UnixMilli())
	if k.life.Err() == nil {
		k.watch.Reset(k.quiet)
	}
}

func (k *conn) lastSeen() time.Time { return time.UnixMilli(k.seenAt.Load()) }

// challenged notes the gateway's challenge, and what it says of its clock.
func (k *conn) challenged(ch challenge, now time.Time) {
	k.challengedAt = time.Now()
	if at, ok := ch.TS.whole(); ok && at > 0 {
		k.ahead = time.UnixMilli(at).Sub(now)
	}
}

// drop ends the connection without a farewell.
func (k *conn) drop(cause error) {
	k.end(cause)
	k.watch.Stop()
	if k.ws != nil {
		_ = k.ws.CloseNow() // the connection is of no use, whatever this says
	}
}

// farewell closes the connection politely, in at most a second.
func (k *conn) farewell() {
	bound := time.AfterFunc(time.Second, func() { k.end(errStopped) })
	defer bound.Stop()
	_ = k.ws.Close(websocket.StatusNormalClosure, "") // we are leaving in any case
	k.end(errStopped)
}

// send writes a request and returns where its answer will arrive, and a function
// that gives up on it. run is the run that the request begins, if it does.
func (k *conn) send(method string, params any, run string, limit time.Duration) (<-chan frame, func(), error) {
	k.mu.Lock()
	k.next++
	id := "w" + strconv.FormatInt(k.next, 10)
	answer := make(chan frame, 1)
	k.pending[id] = answer
	if run != "" {
		k.asked.put(id, run)
	}
	k.mu.Unlock()
	forget := func() {
		k.mu.Lock()
		delete(k.pending, id)
		k.mu.Unlock()
	}
	if err := k.write(request{Type: "req", ID: id, Method: method, Params: params}, limit); err != nil {
		forget()
		return nil, nil, err
	}
	return answer, forget, nil
}

// write sends one frame. It does not take the caller's context: one that ends
// in the middle of a frame would take the whole connection with it.
func (k *conn) write(r request, limit time.Duration) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(k.life, limit)
	defer cancel()
	return k.ws.Write(ctx, websocket.MessageText, data)
}

// answer gives a response to whoever waits for it. It never blocks: the reader
// must always be reading.
func (k *conn) answer(f frame) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ch, ok := k.pending[f.ID]; ok {
		delete(k.pending, f.ID)
		ch <- f // has room for one, and only one is ever sent
	}
}

// run is the run that a request began, until its last response.
func (k *conn) run(id string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked.get(id)
}

// settled notes that the request has had its last response.
func (k *conn) settled(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked.remove(id)
}

// ring is a map that forgets its oldest entries, so that what is kept in memory
// for latecomers has a bound. The zero value is not usable.
type ring[V any] struct {
	values map[string]V
	order  []string
	most   int
}

func newRing[V any](most int) ring[V] { return ring[V]{values: map[string]V{}, most: most} }

func (r *ring[V]) get(key string) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

func (r *ring[V]) put(key string, v V) {
	if _, ok := r.values[key]; !ok {
		if len(r.order) >= r.most {
			delete(r.values, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.values[key] = v
}

func (r *ring[V]) remove(key string) {
	if _, ok := r.values[key]; !ok {
		return
	}
	delete(r.values, key)
	for i, k := range r.order {
		if k == key {
			r.order = append(r.order[:i], r.order[i+1:]...)
			return
		}
	}
}
