package demo

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// Limits that the gateway announces in hello-ok.
const (
	maxFirst    = 64 << 10 // maximum bytes of the first frame, before authentication
	maxPayload  = 25 << 20 // maximum bytes of a later frame
	maxBuffered = 50 << 20 // maximum bytes queued for a client before it is disconnected
)

// Conn is a client connection. Frames for the client are queued, so that a slow
// client doesn't delay others.
type Conn struct {
	runtime *Runtime
	boot    *boot
	ws      *websocket.Conn
	socket  net.Conn
	id      string
	nonce   string
	stop    context.CancelFunc // ends the goroutines that serve the connection
	done    chan struct{}      // closed when the connection is unregistered

	// Guarded by the runtime's lock.
	ready       bool // the handshake is complete
	clientID    string
	deviceID    string // empty without a device
	scopes      []string
	caps        []string
	displayName string
	subscribed  bool
	seq         int                    // number of the last event, from 1
	writes      map[string][]time.Time // recent times of calls that change jobs, by method

	helloSent atomic.Bool // hello-ok has been queued; events may follow only then
	queue     outbox      // has its own lock
}

// serveSocket upgrades a request to a WebSocket connection and serves the connection
// until it ends.
func (r *Runtime) serveSocket(b *boot, w http.ResponseWriter, req *http.Request) {
	socket := socketOf(req.Context())
	ws, err := websocket.Accept(w, req, nil) // refuses browsers on pages of other servers
	if err != nil {
		return
	}
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	ws.SetReadLimit(-1) // read enforces the limit itself, to close with the recorded reason
	c := &Conn{
		runtime: r, boot: b, ws: ws, socket: socket, id: uuid.NewString(), nonce: uuid.NewString(),
		stop: stop, done: make(chan struct{}), queue: outbox{wake: make(chan struct{}, 1)},
	}
	if !r.register(c) {
		_ = ws.CloseNow()
		return
	}
	defer r.unregister(c)
	c.serve(ctx)
}

// register adds a connection and sends the challenge to the client. It returns false if
// the simulated gateway process is stopping.
func (r *Runtime) register(c *Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.boot.draining {
		return false
	}
	r.work.Add(1)
	r.conns[c] = struct{}{}
	c.send(Frame{Name: eventChallenge, Body: object{"type": "event", "event": eventChallenge, "payload": object{
		"nonce": c.nonce, "ts": r.now(), "capabilities": []string{"model-catalog-snapshot"},
	}}})
	return true
}

// unregister removes a connection. Runs that the client started continue, but agent.wait
// requests that are pending on the connection are dropped.
func (r *Runtime) unregister(c *Conn) {
	r.mu.Lock()
	delete(r.conns, c)
	c.boot.dropWaiters(c)
	r.mu.Unlock()
	close(c.done)
	r.work.Done()
}

// serve serves the connection until the client or the runtime ends it.
func (c *Conn) serve(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { c.write(ctx) })
	wg.Go(func() { c.ping(ctx) })
	timeout := time.AfterFunc(c.runtime.options.Timing.Handshake, func() {
		c.runtime.mu.Lock()
		defer c.runtime.mu.Unlock()
		if !c.ready {
			c.Close(websocket.StatusNormalClosure, "")
		}
	})
	c.read(ctx)
	timeout.Stop()
	c.stop()
	wg.Wait()
	_ = c.ws.CloseNow()
}

// read handles frames until the connection ends. After the runtime has queued a close
// frame, read continues until the peer's close frame arrives.
func (c *Conn) read(ctx context.Context) {
	for first := true; ; first = false {
		kind, body, err := c.ws.Reader(ctx)
		if err != nil {
			return
		}
		limit := int64(maxPayload)
		if first {
			limit = maxFirst
		}
		data, err := io.ReadAll(io.LimitReader(body, limit+1))
		if err != nil {
			return
		}
		var req Request
		broken := kind != websocket.MessageText || json.Unmarshal(data, &req) != nil
		switch {
		case int64(len(data)) > limit:
			c.Close(websocket.StatusMessageTooBig, "")
			_, _ = io.Copy(io.Discard, body)
		case broken && first:
			c.Close(websocket.StatusNormalClosure, "")
		case broken:
			// After the handshake, the gateway silently ignores unreadable frames.
		case !c.runtime.options.Behavior.Receive(c, req):
		case first:
			c.runtime.connect(c, req)
		default:
			c.runtime.serve(c, req)
		}
	}
}

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// hasScope reports whether the client holds a scope. The caller must hold the runtime's
// lock.
func (c *Conn) hasScope(scope string) bool { return scope == "" || Covers(c.scopes, scope) }
