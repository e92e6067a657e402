package link

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/wire"
)

// Conn is a connection to the gateway, from dialing until it ends.
type Conn struct {
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
	pending map[string]chan Frame       // requests without a response, by id
	more    wire.Ring[func(Frame) bool] // Request.Each of requests with more responses to come, by request id

	challengedAt time.Time     // when the challenge arrived, or zero; used only while connecting
	ahead        time.Duration // how far the gateway's clock is ahead of Wardroom's; 0 when unknown
	tick         time.Duration // announced interval of tick events; 0 when unknown
	eventAt      atomic.Int64  // when the last event arrived, in Unix milliseconds; 0 before the first

	lastSeq  int64  // of the last published event, or 0; used only by the reader
	shutdown string // reason in the gateway's shutdown event; used only by the reader
	warned   bool   // a malformed frame was logged; used only by the reader
}

// moreKept is the maximum number of requests that a connection remembers until their second response arrives. The
// gateway has the same limit for `agent` requests.
const moreKept = 1000

var (
	errSilent      = errors.New("silence")
	errNewIdentity = errors.New("another device")
	errNewEndpoint = errors.New("another gateway")
	errStopped     = errors.New("stopped")
)

func newConn(owner *Client) *Conn {
	quiet, now := owner.opt.Silence, owner.opt.Now
	k := &Conn{
		owner:   owner,
		born:    time.Now(),
		gone:    make(chan struct{}),
		quiet:   quiet,
		now:     now,
		pending: map[string]chan Frame{},
		more:    wire.NewRing[func(Frame) bool](moreKept),
	}
	// This context does not descend from Run's, so that the connection can be closed
	// properly on shutdown.
	k.life, k.end = context.WithCancelCause(context.Background())
	k.watch = time.AfterFunc(quiet, func() { k.end(errSilent) })
	k.markAlive()
	return k
}

// markAlive records that the gateway is alive and restarts the silence timer.
func (k *Conn) markAlive() {
	k.seenAt.Store(k.now().UnixMilli())
	if k.life.Err() == nil {
		k.watch.Reset(k.quiet)
	}
}

// BootID returns the id of the gateway's process.
func (k *Conn) BootID() string { return k.bootID }

// Gone returns a channel that is closed when the connection has ended.
func (k *Conn) Gone() <-chan struct{} { return k.gone }

func (k *Conn) lastSeen() time.Time { return time.UnixMilli(k.seenAt.Load()) }

// challenged records when the gateway's challenge arrived and how far the gateway's clock
// is ahead of Wardroom's.
func (k *Conn) challenged(ch challenge, now time.Time) {
	k.challengedAt = time.Now()
	if at := ch.TS.Time(); !at.IsZero() {
		k.ahead = at.Sub(now)
	}
}

// closeNow closes the connection immediately, without a close frame.
func (k *Conn) closeNow(cause error) {
	k.end(cause)
	k.watch.Stop()
	if k.ws != nil {
		_ = k.ws.CloseNow() // the connection is being discarded
	}
}

// closeGracefully closes the connection with a close frame. It takes at most a second.
func (k *Conn) closeGracefully() {
	bound := time.AfterFunc(time.Second, func() { k.end(errStopped) })
	defer bound.Stop()
	_ = k.ws.Close(websocket.StatusNormalClosure, "") // the connection is being discarded
	k.end(errStopped)
}

// send writes a request. It returns a channel that receives the response and a function that stops
// waiting for it.
func (k *Conn) send(r Request, limit time.Duration) (<-chan Frame, func(), error) {
	k.mu.Lock()
	k.next++
	id := "w" + strconv.FormatInt(k.next, 10)
	answer := make(chan Frame, 1)
	k.pending[id] = answer
	if r.Each != nil {
		k.more.Put(id, r.Each)
	}
	k.mu.Unlock()
	forget := func() {
		k.mu.Lock()
		delete(k.pending, id)
		k.mu.Unlock()
	}
	if err := k.write(request{Type: "req", ID: id, Method: r.Method, Params: r.Params}, limit); err != nil {
		forget()
		return nil, nil, err
	}
	return answer, forget, nil
}

// write sends one frame. It does not use the caller's context, because canceling a
// context in the middle of a frame would break the whole connection.
func (k *Conn) write(r request, limit time.Duration) error {
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
func (k *Conn) answer(f Frame) {
	k.mu.Lock()
	each, ok := k.more.Get(f.ID)
	k.mu.Unlock()
	last := ok && each(f) // before the response is delivered, so that the caller finds what each has recorded
	k.mu.Lock()
	defer k.mu.Unlock()
	if last {
		k.more.Remove(f.ID)
	}
	if ch, ok := k.pending[f.ID]; ok {
		delete(k.pending, f.ID)
		ch <- f // buffered, and used only once
	}
}
