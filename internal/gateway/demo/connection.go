package demo

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// Limits of the gateway, as told in hello-ok.
const (
	maxFirst    = 64 << 10 // bytes of the frame before authentication
	maxPayload  = 25 << 20 // bytes of a frame
	maxBuffered = 50 << 20 // bytes a client may be behind before it is dropped
)

// connection is one client. Everything it is sent goes through a queue, so that
// a slow client delays nobody.
type connection struct {
	runtime *Runtime
	boot    *boot
	ws      *websocket.Conn
	socket  net.Conn
	id      string
	nonce   string
	origin  string             // of the upgrade; a browser's page may not come in
	stop    context.CancelFunc // ends what serves the connection
	done    chan struct{}      // closed when the connection is forgotten

	// Guarded by the runtime's lock.
	ready      bool // the handshake is complete
	greeted    bool // and hello-ok is on its way: only now may events follow
	clientID   string
	deviceID   string // empty without a device
	shared     bool   // it came in with the shared token
	scopes     []string
	subscribed bool
	seq        int                    // of events, from 1
	writes     map[string][]time.Time // when jobs were changed lately, by method
	kept       kept                   // what the switches hold back
	queue      outbox                 // guards itself
}

// serveSocket upgrades a request and serves the connection until it ends.
func (r *Runtime) serveSocket(b *boot, w http.ResponseWriter, req *http.Request) {
	socket := socketOf(req.Context())
	// The origin is refused in the handshake, with the gateway's own words.
	ws, err := websocket.Accept(w, req, &websocket.AcceptOptions{
		InsecureSkipVerify: true,
		OnPingReceived:     func(context.Context, []byte) bool { return !r.frozen() },
	})
	if err != nil {
		return
	}
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	ws.SetReadLimit(-1) // read counts by itself, to close with the recorded reason
	c := &connection{
		runtime: r, boot: b, ws: ws, socket: socket, id: uuid.NewString(), nonce: uuid.NewString(),
		origin: req.Header.Get("Origin"), stop: stop, done: make(chan struct{}),
		queue: outbox{wake: make(chan struct{}, 1)},
	}
	if !r.admit(c) {
		_ = ws.CloseNow()
		return
	}
	defer r.forget(c)
	c.serve(ctx)
}

// admit takes a connection in, unless this life of the runtime is over.
func (r *Runtime) admit(c *connection) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.boot.draining {
		return false
	}
	r.work.Add(1)
	r.conns[c] = struct{}{}
	c.send(letter{name: eventChallenge, frame: object{"type": "event", "event": eventChallenge, "payload": object{
		"nonce": c.nonce, "ts": r.now(), "capabilities": []string{"model-catalog-snapshot"},
	}}})
	return true
}

// forget takes a connection out. Its runs go on; whoever waited on it does not.
func (r *Runtime) forget(c *connection) {
	r.mu.Lock()
	delete(r.conns, c)
	c.boot.abandon(c)
	c.kept.forget()
	r.mu.Unlock()
	close(c.done)
	r.work.Done()
}

// serve reads until the client or we end it.
func (c *connection) serve(ctx context.Context) {
	var helpers sync.WaitGroup
	helpers.Go(func() { c.write(ctx) })
	helpers.Go(func() { c.ping(ctx) })
	late := time.AfterFunc(c.runtime.timing.handshake, func() {
		c.runtime.mu.Lock()
		defer c.runtime.mu.Unlock()
		if !c.ready {
			c.close(websocket.StatusNormalClosure, "")
		}
	})
	c.read(ctx)
	late.Stop()
	c.stop()
	helpers.Wait()
	_ = c.ws.CloseNow()
}

// read takes frames one by one. It returns when the connection is at its end;
// after we asked to close it goes on, because the peer's answer has to be read.
func (c *connection) read(ctx context.Context) {
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
		if err != nil || c.runtime.thaw(ctx) != nil {
			return
		}
		var req request
		broken := kind != websocket.MessageText || json.Unmarshal(data, &req) != nil
		switch {
		case int64(len(data)) > limit:
			c.close(websocket.StatusMessageTooBig, "")
			_, _ = io.Copy(io.Discard, body)
		case broken && first:
			c.close(websocket.StatusNormalClosure, "")
		case broken:
			// After the handshake the gateway drops what it cannot read, without a word.
		case first:
			c.runtime.connect(c, req)
		case c.runtime.seen(c, req):
			c.runtime.serve(c, req)
		}
	}
}

// may says whether the client holds a scope. The runtime's lock is held.
func (c *connection) may(scope string) bool { return scope == "" || covers(c.scopes, scope) }
