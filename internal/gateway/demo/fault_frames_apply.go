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

// This file applies the frame faults to outgoing frames. A name is an event's, or that of
// the method being answered; a setting for a name takes precedence over the one for the
// empty name. Functions in this file must be called with the runtime's lock held unless
// they say otherwise.

// neverAnswer is the lag of an answer that is never sent.
const forever = time.Duration(math.MaxInt64)

// frameFaults are the faults for outgoing frames, by name.
type wireFaults struct {
	lag     map[string]time.Duration // answers only
	reverse map[string]int           // answers only
	repeat  map[string]int
	bloat   map[string]int
	lose    map[string]bool // events only
	torn    map[string]bool
	swapped bool // events only
	hushed  bool // events only
	garbage []Garbage
}

func newWireFaults() wireFaults {
	return wireFaults{
		lag: map[string]time.Duration{}, reverse: map[string]int{}, repeat: map[string]int{},
		bloat: map[string]int{}, lose: map[string]bool{}, torn: map[string]bool{},
	}
}

// none reports whether no fault changes or delays frames.
func (w *wireFaults) calm() bool {
	return len(w.lag)+len(w.reverse)+len(w.repeat)+len(w.bloat)+len(w.lose)+len(w.torn)+len(w.garbage) == 0 && !w.swapped
}

// heldFrames are the frames that faults hold back on a connection.
type kept struct {
	late    []late // ordered by due time
	clock   *time.Timer
	answers map[string][]letter // answers to send in reverse order, by the name of the setting
	event   *letter             // event to send after the next one
}

// delayedFrame is a frame to send later.
type late struct {
	at     time.Time
	letter letter
}

// clear discards the held frames of a closed connection.
func (k *kept) forget() {
	if k.clock != nil {
		k.clock.Stop()
	}
	*k = kept{}
}

// applyFaults sends a frame subject to the faults: first those that drop or delay it, then
// those that change its content.
func (c *connection) bend(l letter) {
	w := &c.runtime.faults.wire
	switch {
	case l.answer:
		switch d := of(w.lag, l.name); {
		case d == forever:
		case d > 0:
			c.delay(l, d)
		default:
			c.arrange(l)
		}
	case l.name == eventChallenge || !of(w.lose, l.name):
		c.swap(l)
	}
}

// delay sends a frame after d, behind the frames that are due earlier.
func (c *connection) delay(l letter, d time.Duration) {
	k, at := &c.kept, time.Now().Add(d)
	i, _ := slices.BinarySearchFunc(k.late, at, func(e late, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	k.late = slices.Insert(k.late, i, late{at: at, letter: l})
	c.windUp()
}

// resetTimer sets the timer for the frame that is due first.
func (c *connection) windUp() {
	k := &c.kept
	if k.clock != nil {
		k.clock.Stop()
	}
	if len(k.late) > 0 {
		k.clock = time.AfterFunc(time.Until(k.late[0].at), c.deliver)
	}
}

// sendDue sends the delayed frames that are due. It acquires the lock itself.
func (c *connection) deliver() {
	c.runtime.mu.Lock()
	defer c.runtime.mu.Unlock()
	for k := &c.kept; len(k.late) > 0 && !k.late[0].at.After(time.Now()); {
		l := k.late[0].letter
		k.late = k.late[1:]
		c.arrange(l)
	}
	c.windUp()
}

// applyReverse sends an answer, or holds it until there are enough to send in reverse
// order.
func (c *connection) arrange(l letter) {
	w, key := &c.runtime.faults.wire, l.name
	n, own := w.reverse[key]
	if !own && l.name != methodConnect {
		n, key = w.reverse[""], ""
	}
	if n < 2 {
		c.distort(l)
		return
	}
	k := &c.kept
	if k.answers == nil {
		k.answers = map[string][]letter{}
	}
	k.answers[key] = append(k.answers[key], l)
	if len(k.answers[key]) < n {
		return
	}
	for _, l := range slices.Backward(k.answers[key]) {
		c.distort(l)
	}
	delete(k.answers, key)
}

// applySwap sends an event, or holds it until the next event has been sent.
func (c *connection) swap(l letter) {
	k := &c.kept
	switch {
	case !c.runtime.faults.wire.swapped || l.name == eventChallenge:
		c.distort(l)
	case k.event == nil:
		k.event = &l
	default:
		c.distort(l)
		c.distort(*k.event)
		k.event = nil
	}
}

// releaseDelayed sends all delayed answers, in order.
func (c *connection) releaseLate() {
	list := c.kept.late
	c.kept.late = nil
	for _, l := range list {
		c.arrange(l.letter)
	}
}

// releaseReversed sends the answers held for reversal, in their original order.
func (c *connection) releaseAnswers() {
	waiting := c.kept.answers
	c.kept.answers = nil
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		for _, l := range waiting[key] {
			c.distort(l)
		}
	}
}

// releaseSwapped sends the event that waits for the next one.
func (c *connection) releaseEvent() {
	if e := c.kept.event; e != nil {
		c.kept.event = nil
		c.distort(*e)
	}
}

// sendAltered queues a frame with the faults that change its content applied.
func (c *connection) distort(l letter) {
	w := &c.runtime.faults.wire
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
	if size := of(w.bloat, l.name); size > len(data) {
		data = bloat(frame, size)
	}
	p := text(data)
	p.torn = of(w.torn, l.name)
	packets := slices.Repeat([]packet{p}, 1+of(w.repeat, l.name))
	for _, g := range w.garbage {
		packets = append(packets, c.litter(g)...)
	}
	c.leave(l, packets...)
}

// bloat pads the payload, or the frame if it has no payload, to size bytes.
func bloat(frame object, size int) []byte {
	const member = `"padding":"`
	padded := with(frame, object{"padding": ""})
	if payload, ok := frame["payload"].(object); ok {
		padded = with(frame, object{"payload": with(payload, object{"padding": ""})})
	}
	data := encode(padded)
	at := bytes.Index(data, []byte(member)) + len(member)
	return slices.Concat(data[:at], bytes.Repeat([]byte("x"), max(0, size-len(data))), data[at:])
}

// tear sends the first half of a frame and resets the connection. The writer calls it
// without the lock.
func (c *connection) tear(data []byte) {
	n := len(data)
	header := []byte{0x81, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	_, _ = c.socket.Write(append(header, data[:n/2]...)) // the connection is closed in any case
	reset(c.socket)
	c.cut()
}

// reset makes closing c abrupt: buffered data is discarded and the peer receives a TCP
// reset.
func reset(c net.Conn) {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// messageType returns the WebSocket message type of an injected frame.
func messageType(binary bool) websocket.MessageType {
	if binary {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}
