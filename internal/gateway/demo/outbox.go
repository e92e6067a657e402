package demo

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// eventChallenge is the name of the first event on a connection.
const eventChallenge = "connect.challenge"

// Frame is a frame to be sent to a client.
type Frame struct {
	Name   string // of the event, or of the method that it answers
	Answer bool   // answers a request
	Body   map[string]any
}

// Packet is an encoded frame.
type Packet struct {
	Kind websocket.MessageType
	Data []byte
	Last func(net.Conn) // if set, it writes to the socket in place of Data, and the connection is closed
}

// outbox is the queue of packets for a client.
type outbox struct {
	mu      sync.Mutex
	packets []Packet
	bytes   int
	closing *websocket.CloseError // sent after the packets; no packet is accepted after it
	wake    chan struct{}         // buffer of one
}

// send passes a frame to the runtime's Behavior, which queues it. The caller must hold the
// runtime's lock.
func (c *Conn) send(f Frame) { c.runtime.options.Behavior.Send(c, f) }

// Queue queues a frame to be sent as the given packets.
func (c *Conn) Queue(f Frame, packets ...Packet) {
	for _, p := range packets {
		c.enqueue(p)
	}
	if f.Name == methodConnect && f.Body["ok"] == true {
		c.helloSent.Store(true)
	}
}

// Event sends an event. The caller must hold the runtime's lock.
func (c *Conn) Event(name string, payload any) {
	c.seq++
	frame := object{"type": "event", "event": name, "payload": payload, "seq": c.seq}
	c.send(Frame{Name: name, Body: frame})
}

// reply answers a request with a payload. To answer with an error, use refuse.
func (c call) reply(payload any) {
	c.send(object{"type": "res", "id": c.id, "ok": true, "payload": payload})
}

func (c call) refuse(f *Failure) {
	c.send(object{"type": "res", "id": c.id, "ok": false, "error": f})
}

func (c call) send(frame object) {
	c.conn.send(Frame{Name: c.method, Answer: true, Body: frame})
}

// enqueue queues a packet. If too much data is queued for a slow client, enqueue
// disconnects it.
func (c *Conn) enqueue(p Packet) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing != nil {
		return
	}
	q.packets, q.bytes = append(q.packets, p), q.bytes+len(p.Data)
	if q.bytes > maxBuffered {
		c.Cut()
	}
	q.signal()
}

// Close queues a close frame behind the frames that are already queued.
func (c *Conn) Close(code websocket.StatusCode, reason string) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing == nil {
		q.closing = &websocket.CloseError{Code: code, Reason: reason}
	}
	q.signal()
}

// Cut closes the TCP connection without a close frame.
func (c *Conn) Cut() {
	_ = c.socket.Close()
	c.stop()
}

// take removes and returns the oldest packet. If no packet is left, it returns the
// pending close frame, if there is one.
func (q *outbox) take() (p Packet, closing *websocket.CloseError, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.packets) == 0 {
		return Packet{}, q.closing, false
	}
	p, q.packets = q.packets[0], q.packets[1:]
	q.bytes -= len(p.Data)
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
func (c *Conn) write(ctx context.Context) {
	for ctx.Err() == nil {
		p, closing, more := c.queue.take()
		switch {
		case closing != nil:
			// A peer that doesn't answer the close must not block this goroutine.
			timer := time.AfterFunc(c.runtime.options.Timing.Linger, c.Cut)
			_ = c.ws.Close(closing.Code, closing.Reason)
			timer.Stop()
			return
		case more && p.Last != nil:
			p.Last(c.socket)
			c.Cut()
			return
		case more:
			if c.ws.Write(ctx, p.Kind, p.Data) != nil {
				c.Cut()
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
func (c *Conn) ping(ctx context.Context) {
	for sleep(ctx, c.runtime.options.Timing.Ping) == nil {
		if c.runtime.options.Behavior.Frozen() {
			continue
		}
		pingCtx, cancel := context.WithTimeout(ctx, c.runtime.options.Timing.Pong)
		err := c.ws.Ping(pingCtx)
		cancel()
		if err != nil && !c.runtime.options.Behavior.Frozen() {
			c.Cut()
			return
		}
	}
}
