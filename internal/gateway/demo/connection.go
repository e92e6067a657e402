package demo

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
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
	origin  string        // of the upgrade; a browser's page may not come in
	done    chan struct{} // closed when the connection is forgotten

	// Guarded by the runtime's lock.
	ready      bool // the handshake is complete
	clientID   string
	scopes     []string
	subscribed bool
	seq        int // of events, from 1

	queue outbox
}

// outbox is what waits to be sent to a client.
type outbox struct {
	mu      sync.Mutex
	frames  [][]byte
	bytes   int
	closing *websocket.CloseError // sent after the frames; nothing is taken any more
	wake    chan struct{}         // one slot
}

// serveSocket upgrades a request and serves the connection until it ends.
func (r *Runtime) serveSocket(b *boot, w http.ResponseWriter, req *http.Request) {
	socket := socketOf(req.Context())
	// The origin is refused in the handshake, with the gateway's own words.
	ws, err := websocket.Accept(w, req, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	ws.SetReadLimit(-1) // read counts by itself, to close with the recorded reason
	c := &connection{
		runtime: r, boot: b, ws: ws, socket: socket, id: uuid.NewString(), nonce: uuid.NewString(),
		origin: req.Header.Get("Origin"), done: make(chan struct{}),
		queue: outbox{wake: make(chan struct{}, 1)},
	}
	if !r.admit(c) {
		_ = ws.CloseNow()
		return
	}
	defer r.forget(c)
	c.serve()
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
	c.send(object{"type": "event", "event": "connect.challenge", "payload": object{
		"nonce": c.nonce, "ts": r.now(), "capabilities": []string{"model-catalog-snapshot"},
	}})
	return true
}

// forget takes a connection out. Its runs go on; whoever waited on it does not.
func (r *Runtime) forget(c *connection) {
	r.mu.Lock()
	delete(r.conns, c)
	c.boot.abandon(c)
	r.mu.Unlock()
	close(c.done)
	r.work.Done()
}

// serve reads until the client or we end it.
func (c *connection) serve() {
	ctx, cancel := context.WithCancel(c.runtime.ctx)
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
	cancel()
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
		if err != nil {
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
		default:
			c.runtime.serve(c, req)
		}
	}
}

// write sends what is queued, in order, and closes at the end of it when asked to.
func (c *connection) write(ctx context.Context) {
	for {
		frame, closing, more := c.queue.take()
		switch {
		case closing != nil:
			// A peer that does not answer the close must not hold us up.
			impatient := time.AfterFunc(c.runtime.timing.linger, c.cut)
			_ = c.ws.Close(closing.Code, closing.Reason)
			impatient.Stop()
			return
		case more:
			if c.ws.Write(ctx, websocket.MessageText, frame) != nil {
				c.cut()
				return
			}
		default:
			select {
			case <-c.queue.wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// ping asks the peer for a sign of life, and cuts off one that gives none.
func (c *connection) ping(ctx context.Context) {
	for sleep(ctx, c.runtime.timing.ping) == nil {
		patience, cancel := context.WithTimeout(ctx, c.runtime.timing.pong)
		err := c.ws.Ping(patience)
		cancel()
		if err != nil {
			c.cut()
			return
		}
	}
}

// take removes the oldest frame, or tells of the close when none is left.
func (q *outbox) take() (frame []byte, closing *websocket.CloseError, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return nil, q.closing, false
	}
	frame, q.frames = q.frames[0], q.frames[1:]
	q.bytes -= len(frame)
	return frame, nil, true
}

// send queues a frame. A client that is too far behind is cut off.
func (c *connection) send(frame any) {
	data := encode(frame)
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing != nil {
		return
	}
	q.frames, q.bytes = append(q.frames, data), q.bytes+len(data)
	if q.bytes > maxBuffered {
		c.cut()
	}
	q.nudge()
}

// close queues a close. Frames that are queued already still go out.
func (c *connection) close(code websocket.StatusCode, reason string) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing == nil {
		q.closing = &websocket.CloseError{Code: code, Reason: reason}
	}
	q.nudge()
}

func (q *outbox) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// cut drops the TCP connection: no close frame, no goodbye.
func (c *connection) cut() { _ = c.socket.Close() }

// event queues an event. The runtime's lock is held.
func (c *connection) event(name string, payload, stateVersion any) {
	c.seq++
	frame := object{"type": "event", "event": name, "payload": payload, "seq": c.seq}
	if stateVersion != nil {
		frame["stateVersion"] = stateVersion
	}
	c.send(frame)
}

// reply queues the answer to a request, and refuse its refusal.
func (c *connection) reply(id string, payload any) {
	c.send(object{"type": "res", "id": id, "ok": true, "payload": payload})
}

func (c *connection) refuse(id string, f *failure) {
	c.send(object{"type": "res", "id": id, "ok": false, "error": f})
}

// may says whether the client holds a scope. The runtime's lock is held.
func (c *connection) may(scope string) bool {
	return scope == "" || slices.Contains(c.scopes, scope) || slices.Contains(c.scopes, scopeAdmin) ||
		scope == scopeRead && slices.Contains(c.scopes, scopeWrite)
}
