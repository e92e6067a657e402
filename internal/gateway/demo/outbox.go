package demo

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// This file sends frames. All frames pass through send; fault_frames_apply.go applies the
// faults.

// eventChallenge is the name of the first event on a connection.
const eventChallenge = "connect.challenge"

// outFrame is a frame to be sent to a client.
type outFrame struct {
	name   string // of the event, or of the method that it answers
	answer bool   // answers a request
	frame  object
}

// packet is an encoded frame.
type packet struct {
	kind websocket.MessageType
	data []byte
	torn bool // send only half of it, then reset the connection
}

func textPacket(data []byte) packet { return packet{kind: websocket.MessageText, data: data} }

// outbox is the queue of packets for a client.
type outbox struct {
	mu      sync.Mutex
	packets []packet
	bytes   int
	closing *websocket.CloseError // sent after the packets; no packet is accepted after it
	wake    chan struct{}         // buffer of one
}

// send sends a frame after applying the faults that are set. The caller must hold the
// runtime's lock.
func (c *connection) send(l outFrame) {
	if c.runtime.faults.frames.none() {
		c.queueFrame(l, textPacket(encode(l.frame)))
		return
	}
	c.applyFaults(l)
}

// queueFrame queues the packets to send for the frame l.
func (c *connection) queueFrame(l outFrame, packets ...packet) {
	for _, p := range packets {
		c.enqueue(p)
	}
	if l.name == methodConnect {
		c.helloSent = c.ready
	}
}

// event sends an event. The caller must hold the runtime's lock.
func (c *connection) event(name string, payload, stateVersion any) {
	if c.runtime.faults.frames.muted {
		return
	}
	c.seq++
	frame := object{"type": "event", "event": name, "payload": payload, "seq": c.seq}
	if stateVersion != nil {
		frame["stateVersion"] = stateVersion
	}
	c.send(outFrame{name: name, frame: frame})
}

// reply answers a request with a payload. To answer with an error, use refuse.
func (c call) reply(payload any) {
	c.send(object{"type": "res", "id": c.id, "ok": true, "payload": payload})
}

func (c call) refuse(f *failure) {
	c.send(object{"type": "res", "id": c.id, "ok": false, "error": f})
}

func (c call) send(frame object) {
	c.conn.send(outFrame{name: c.method, answer: true, frame: frame})
}

// enqueue queues a packet. If too much data is queued for a slow client, enqueue
// disconnects it.
func (c *connection) enqueue(p packet) {
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
	q.signal()
}

// close queues a close frame behind the frames that are already queued.
func (c *connection) close(code websocket.StatusCode, reason string) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing == nil {
		q.closing = &websocket.CloseError{Code: code, Reason: reason}
	}
	q.signal()
}

// cut closes the TCP connection without a close frame.
func (c *connection) cut() {
	_ = c.socket.Close()
	c.stop()
}

// take removes and returns the oldest packet. If no packet is left, it returns the
// pending close frame, if there is one.
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

func (q *outbox) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// write sends the queued packets in order until the connection ends. If a close frame is
// queued, write closes the connection after the last packet.
func (c *connection) write(ctx context.Context) {
	for c.runtime.waitUnfrozen(ctx) == nil {
		p, closing, more := c.queue.take()
		switch {
		case closing != nil:
			// A peer that doesn't answer the close must not block this goroutine.
			timer := time.AfterFunc(c.runtime.timing.linger, c.cut)
			_ = c.ws.Close(closing.Code, closing.Reason)
			timer.Stop()
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

// ping sends pings and disconnects the peer if it doesn't answer one of them in time.
func (c *connection) ping(ctx context.Context) {
	for sleep(ctx, c.runtime.timing.ping) == nil && c.runtime.waitUnfrozen(ctx) == nil {
		pingCtx, cancel := context.WithTimeout(ctx, c.runtime.timing.pong)
		err := c.ws.Ping(pingCtx)
		cancel()
		if err != nil && !c.runtime.frozen() {
			c.cut()
			return
		}
	}
}
