package demo

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// This file is where frames leave. All of them pass through send; what the
// switches do to them on the way is in bend.go.

// eventChallenge is the event that a connection begins with.
const eventChallenge = "connect.challenge"

// letter is a frame that is about to leave.
type letter struct {
	name   string // of the event, or of the method that it answers
	answer bool   // to a request
	frame  object
}

// packet is a frame as bytes.
type packet struct {
	kind websocket.MessageType
	data []byte
	torn bool // only half of it leaves, and then the connection is reset
}

func text(data []byte) packet { return packet{kind: websocket.MessageText, data: data} }

// outbox is what waits to be sent to a client.
type outbox struct {
	mu      sync.Mutex
	packets []packet
	bytes   int
	closing *websocket.CloseError // sent after the packets; nothing is taken any more
	wake    chan struct{}         // one slot
}

// send is the one way out for frames. The runtime's lock is held.
func (c *connection) send(l letter) {
	if c.runtime.faults.wire.calm() {
		c.leave(l, text(encode(l.frame)))
		return
	}
	c.bend(l)
}

// leave queues a frame as what it has become.
func (c *connection) leave(l letter, packets ...packet) {
	for _, p := range packets {
		c.post(p)
	}
	if l.name == methodConnect {
		c.greeted = c.ready
	}
}

// event sends an event. The runtime's lock is held.
func (c *connection) event(name string, payload, stateVersion any) {
	if c.runtime.faults.wire.hushed {
		return
	}
	c.seq++
	frame := object{"type": "event", "event": name, "payload": payload, "seq": c.seq}
	if stateVersion != nil {
		frame["stateVersion"] = stateVersion
	}
	c.send(letter{name: name, frame: frame})
}

// reply answers a request, refuse refuses it.
func (c call) reply(payload any) {
	c.send(object{"type": "res", "id": c.id, "ok": true, "payload": payload})
}

func (c call) refuse(f *failure) {
	c.send(object{"type": "res", "id": c.id, "ok": false, "error": f})
}

func (c call) send(frame object) {
	c.conn.send(letter{name: c.method, answer: true, frame: frame})
}

// post queues a packet. A client that is too far behind is cut off.
func (c *connection) post(p packet) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing != nil {
		return
	}
	q.packets, q.bytes = append(q.packets, p), q.bytes+len(p.data)
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

// cut drops the TCP connection: no close frame, no goodbye.
func (c *connection) cut() {
	_ = c.socket.Close()
	c.stop()
}

// take removes the oldest packet, or tells of the close when none is left.
func (q *outbox) take() (p packet, closing *websocket.CloseError, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.packets) == 0 {
		return packet{}, q.closing, false
	}
	p, q.packets = q.packets[0], q.packets[1:]
	q.bytes -= len(p.data)
	return p, nil, true
}

func (q *outbox) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// write sends what is queued, in order, and closes at the end of it when asked to.
func (c *connection) write(ctx context.Context) {
	for c.runtime.thaw(ctx) == nil {
		p, closing, more := c.queue.take()
		switch {
		case closing != nil:
			// A peer that does not answer the close must not hold us up.
			impatient := time.AfterFunc(c.runtime.timing.linger, c.cut)
			_ = c.ws.Close(closing.Code, closing.Reason)
			impatient.Stop()
			return
		case more && p.torn:
			c.tear(p.data)
			return
		case more:
			if c.ws.Write(ctx, p.kind, p.data) != nil {
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
	for sleep(ctx, c.runtime.timing.ping) == nil && c.runtime.thaw(ctx) == nil {
		patience, cancel := context.WithTimeout(ctx, c.runtime.timing.pong)
		err := c.ws.Ping(patience)
		cancel()
		if err != nil && !c.runtime.frozen() {
			c.cut()
			return
		}
	}
}
