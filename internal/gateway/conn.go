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

// conn is a connection to the gateway, from dialing until it ends.
type conn struct {
	ws     *websocket.Conn
	owner  *Client // the client that made it
	bootID string
	admin  bool       // has operator.admin, so no run may start on it
	cred   credential // used to connect
	born   time.Time
	gone   chan struct{} // closed when the connection has ended

	life   context.Context // ends when the connection must end; its cause is the reason
	end    context.CancelCauseFunc
	watch  *time.Timer // ends life after a period of silence
	quiet  time.Duration
	seenAt atomic.Int64 // when anything was last received, in Unix milliseconds
	now    func() time.Time

	answeredAt atomic.Int64   // when a response last arrived in time, in nanoseconds after born
	probing    sync.WaitGroup // the goroutine that probes a slow gateway

	mu      sync.Mutex
	next    int64
	pending map[string]chan frame // requests without a response, by id
	asked   ring[string]          // run ids of `agent` requests, by request id

	challengedAt time.Time     // when the challenge arrived, or zero; used only while connecting
	ahead        time.Duration // how far the gateway's clock is ahead of Wardroom's; 0 when unknown
	tick         time.Duration // announced interval of tick events; 0 when unknown
	eventAt      atomic.Int64  // when the last event arrived, in Unix milliseconds; 0 before the first

	lastSeq  int64  // of the last published event, or 0; used only by the reader
	shutdown string // reason in the gateway's shutdown event; used only by the reader
	warned   bool   // a malformed frame was logged; used only by the reader
}

// askedKept is the maximum number of `agent` requests that a connection remembers until their
// second response arrives. The gateway has the same limit.
const askedKept = 1000

var (
	errSilent      = errors.New("silence")
	errNewIdentity = errors.New("another device")
	errNewEndpoint = errors.New("another gateway")
	errStopped     = errors.New("stopped")
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
	// This context does not descend from Run's, so that the connection can be closed
	// properly on shutdown.
	k.life, k.end = context.WithCancelCause(context.Background())
	k.watch = time.AfterFunc(quiet, func() { k.end(errSilent) })
	k.markAlive()
	return k
}

// markAlive records that the gateway is alive and restarts the silence timer.
func (k *conn) markAlive() {
	k.seenAt.Store(k.now().UnixMilli())
	if k.life.Err() == nil {
		k.watch.Reset(k.quiet)
	}
}

func (k *conn) lastSeen() time.Time { return time.UnixMilli(k.seenAt.Load()) }

// challenged records when the gateway's challenge arrived and how far the gateway's clock
// is ahead of Wardroom's.
func (k *conn) challenged(ch challenge, now time.Time) {
	k.challengedAt = time.Now()
	if at := ch.TS.time(); !at.IsZero() {
		k.ahead = at.Sub(now)
	}
}

// closeNow closes the connection immediately, without a close frame.
func (k *conn) closeNow(cause error) {
	k.end(cause)
	k.watch.Stop()
	if k.ws != nil {
		_ = k.ws.CloseNow() // the connection is being discarded
	}
}

// closeGracefully closes the connection with a close frame. It takes at most a second.
func (k *conn) closeGracefully() {
	bound := time.AfterFunc(time.Second, func() { k.end(errStopped) })
	defer bound.Stop()
	_ = k.ws.Close(websocket.StatusNormalClosure, "") // the connection is being discarded
	k.end(errStopped)
}

// send writes a request. It returns a channel that receives the response and a function that stops
// waiting for it. The caller passes the id of the run that the request starts, or an empty string
// if it starts none.
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

// write sends one frame. It does not use the caller's context, because canceling a
// context in the middle of a frame would break the whole connection.
func (k *conn) write(r request, limit time.Duration) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(k.life, limit)
	defer cancel()
	return k.ws.Write(ctx, websocket.MessageText, data)
}

// answer delivers a response to its caller. It never blocks, because it runs on the
// goroutine that reads frames.
func (k *conn) answer(f frame) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ch, ok := k.pending[f.ID]; ok {
		delete(k.pending, f.ID)
		ch <- f // buffered, and used only once
	}
}

// run converts a request's id to the id of the run that the request started. It returns false once
// the request's last response has arrived.
func (k *conn) run(id string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked.get(id)
}

// forgetRun discards the run ID stored for a request. Call it once the request's last
// response has arrived.
func (k *conn) forgetRun(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked.remove(id)
}

// ring is a map of limited size. When it is full, a new entry replaces the oldest one.
// Create it with newRing.
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
