package demo

import (
	"bytes"
	"maps"
	"math"
	"net"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// This file applies the frame faults to outgoing frames. A frame has the name of its event,
// or of the method that it answers; a setting for a name takes precedence over the one for
// the empty name. Functions in this file must be called with the runtime's lock held unless
// their comments say otherwise.

// neverAnswer is the delay for an answer that is never sent.
const neverAnswer = time.Duration(math.MaxInt64)

// frameFaults holds the faults for outgoing frames, by method or event name.
type frameFaults struct {
	lag     map[string]time.Duration // answers only
	reverse map[string]int           // answers only
	repeat  map[string]int
	bloat   map[string]int
	lose    map[string]bool // events only
	tear    map[string]bool
	swap    bool // events only
	muted   bool // events only
	garbage []Garbage
}

func newFrameFaults() frameFaults {
	return frameFaults{
		lag: map[string]time.Duration{}, reverse: map[string]int{}, repeat: map[string]int{},
		bloat: map[string]int{}, lose: map[string]bool{}, tear: map[string]bool{},
	}
}

// none reports whether all faults that change or delay frames are off.
func (w *frameFaults) none() bool {
	return len(w.lag)+len(w.reverse)+len(w.repeat)+len(w.bloat)+len(w.lose)+len(w.tear)+len(w.garbage) == 0 && !w.swap
}

// heldFrames contains a connection's frames that faults are holding back.
type heldFrames struct {
	delayed  []delayedFrame // ordered by due time
	timer    *time.Timer
	reversed map[string][]outFrame // answers to send in reverse order, by the name of the setting
	swapped  *outFrame             // event to send after the next one
}

// delayedFrame is a frame and the time at which it is due.
type delayedFrame struct {
	at    time.Time
	frame outFrame
}

// clear discards all held frames. It is called when the connection ends.
func (k *heldFrames) clear() {
	if k.timer != nil {
		k.timer.Stop()
	}
	*k = heldFrames{}
}

// applyFaults applies the faults to a frame and sends it: first the faults that drop or
// delay the frame, then those that change its content.
func (c *connection) applyFaults(l outFrame) {
	w := &c.runtime.faults.frames
	switch {
	case l.answer:
		switch d := setting(w.lag, l.name); {
		case d == neverAnswer:
		case d > 0:
			c.delay(l, d)
		default:
			c.applyReverse(l)
		}
	case l.name == eventChallenge || !setting(w.lose, l.name):
		c.applySwap(l)
	}
}

// delay schedules a frame to be sent after the duration d.
func (c *connection) delay(l outFrame, d time.Duration) {
	k, at := &c.held, time.Now().Add(d)
	i, _ := slices.BinarySearchFunc(k.delayed, at, func(e delayedFrame, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	k.delayed = slices.Insert(k.delayed, i, delayedFrame{at: at, frame: l})
	c.resetTimer()
}

// resetTimer sets the timer for the frame that is due next.
func (c *connection) resetTimer() {
	k := &c.held
	if k.timer != nil {
		k.timer.Stop()
	}
	if len(k.delayed) > 0 {
		k.timer = time.AfterFunc(time.Until(k.delayed[0].at), c.sendDue)
	}
}

// sendDue sends the delayed frames that are due. The caller must not hold the lock.
func (c *connection) sendDue() {
	c.runtime.mu.Lock()
	defer c.runtime.mu.Unlock()
	for k := &c.held; len(k.delayed) > 0 && !k.delayed[0].at.After(time.Now()); {
		l := k.delayed[0].frame
		k.delayed = k.delayed[1:]
		c.applyReverse(l)
	}
	c.resetTimer()
}

// applyReverse sends a response, or holds it until there are enough responses to send in reverse
// order.
func (c *connection) applyReverse(l outFrame) {
	w, key := &c.runtime.faults.frames, l.name
	n, own := w.reverse[key]
	if !own && l.name != methodConnect {
		n, key = w.reverse[""], ""
	}
	if n < 2 {
		c.sendAltered(l)
		return
	}
	k := &c.held
	if k.reversed == nil {
		k.reversed = map[string][]outFrame{}
	}
	k.reversed[key] = append(k.reversed[key], l)
	if len(k.reversed[key]) < n {
		return
	}
	for _, l := range slices.Backward(k.reversed[key]) {
		c.sendAltered(l)
	}
	delete(k.reversed, key)
}

// applySwap sends an event, or holds it until the next event has been sent.
func (c *connection) applySwap(l outFrame) {
	k := &c.held
	switch {
	case !c.runtime.faults.frames.swap || l.name == eventChallenge:
		c.sendAltered(l)
	case k.swapped == nil:
		k.swapped = &l
	default:
		c.sendAltered(l)
		c.sendAltered(*k.swapped)
		k.swapped = nil
	}
}

// releaseDelayed sends all delayed answers, in order.
func (c *connection) releaseDelayed() {
	list := c.held.delayed
	c.held.delayed = nil
	for _, l := range list {
		c.applyReverse(l.frame)
	}
}

// releaseReversed sends the frames that applyReverse is holding back, in their original order.
func (c *connection) releaseReversed() {
	waiting := c.held.reversed
	c.held.reversed = nil
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		for _, l := range waiting[key] {
			c.sendAltered(l)
		}
	}
}

// releaseSwapped sends the event that applySwap is holding back, if any.
func (c *connection) releaseSwapped() {
	if e := c.held.swapped; e != nil {
		c.held.swapped = nil
		c.sendAltered(*e)
	}
}

// sendAltered applies the faults that change a frame's content, then queues the frame.
func (c *connection) sendAltered(l outFrame) {
	w := &c.runtime.faults.frames
	frame := l.frame
	for _, g := range w.garbage {
		if change := changes[g]; change != nil {
			frame = change(frame)
		}
	}
	data := encode(frame)
	if slices.Contains(w.garbage, ControlCharacters) {
		data = loneSurrogates(data)
	}
	if size := setting(w.bloat, l.name); size > len(data) {
		data = bloat(frame, size)
	}
	p := textPacket(data)
	p.torn = setting(w.tear, l.name)
	packets := slices.Repeat([]packet{p}, 1+setting(w.repeat, l.name))
	for _, g := range w.garbage {
		packets = append(packets, c.garbagePackets(g)...)
	}
	c.queueFrame(l, packets...)
}

// bloat encodes a frame and pads it to the given size in bytes. The padding is a member
// of the payload, or of the frame itself if the frame has no payload.
func bloat(frame object, size int) []byte {
	const member = `"padding":"`
	padded := merge(frame, object{"padding": ""})
	if payload, ok := frame["payload"].(object); ok {
		padded = merge(frame, object{"payload": merge(payload, object{"padding": ""})})
	}
	data := encode(padded)
	at := bytes.Index(data, []byte(member)) + len(member)
	return slices.Concat(data[:at], bytes.Repeat([]byte("x"), max(0, size-len(data))), data[at:])
}

// tear sends the first half of a frame and resets the connection. Call it without holding
// the lock, because writing may block.
func (c *connection) tear(data []byte) {
	n := len(data)
	header := []byte{0x81, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	_, _ = c.socket.Write(append(header, data[:n/2]...)) // the connection is closed in any case
	reset(c.socket)
	c.cut()
}

// reset makes the connection close abruptly: buffered data is discarded and the peer
// receives a TCP reset.
func reset(c net.Conn) {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// messageType returns the WebSocket message type for an injected frame.
func messageType(binary bool) websocket.MessageType {
	if binary {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}
