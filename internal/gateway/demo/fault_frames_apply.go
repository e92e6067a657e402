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

// This file is what the switches do to frames that leave. A name is that of an
// event, or of the method that is answered; what is set for a name wins over
// what is set for the empty one. Everything here runs with the runtime's lock
// held, except where it says otherwise.

// forever is the lag of an answer that never comes.
const forever = time.Duration(math.MaxInt64)

// wireFaults are the switches for frames that leave.
type wireFaults struct {
	lag     map[string]time.Duration // of answers
	reverse map[string]int           // of answers
	repeat  map[string]int
	bloat   map[string]int
	lose    map[string]bool // of events
	torn    map[string]bool
	swapped bool // of events
	hushed  bool // of events
	garbage []Garbage
}

func newWireFaults() wireFaults {
	return wireFaults{
		lag: map[string]time.Duration{}, reverse: map[string]int{}, repeat: map[string]int{},
		bloat: map[string]int{}, lose: map[string]bool{}, torn: map[string]bool{},
	}
}

// calm says that frames leave as they are.
func (w *wireFaults) calm() bool {
	return len(w.lag)+len(w.reverse)+len(w.repeat)+len(w.bloat)+len(w.lose)+len(w.torn)+len(w.garbage) == 0 && !w.swapped
}

// kept is what the switches hold back on one connection.
type kept struct {
	late    []late // by when it is due
	clock   *time.Timer
	answers map[string][]letter // that wait to leave in reverse, by the name of the switch
	event   *letter             // that waits for the next one to overtake it
}

// late is a frame that is due later.
type late struct {
	at     time.Time
	letter letter
}

// forget drops what is held back: the connection is gone.
func (k *kept) forget() {
	if k.clock != nil {
		k.clock.Stop()
	}
	*k = kept{}
}

// bend sends a frame through the switches: first those that hold it back, then
// those that change what it looks like.
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

// delay lets a frame leave after d, and after those that are due before.
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

// windUp sets the alarm for the frame that is due first.
func (c *connection) windUp() {
	k := &c.kept
	if k.clock != nil {
		k.clock.Stop()
	}
	if len(k.late) > 0 {
		k.clock = time.AfterFunc(time.Until(k.late[0].at), c.deliver)
	}
}

// deliver lets what is due leave. It takes the lock itself.
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

// arrange lets answers leave in reverse, when that is wanted.
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

// swap lets events leave in swapped pairs, when that is wanted.
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

// releaseLate lets the answers leave that are late, in their order.
func (c *connection) releaseLate() {
	list := c.kept.late
	c.kept.late = nil
	for _, l := range list {
		c.arrange(l.letter)
	}
}

// releaseAnswers lets the answers leave that wait to be reversed, in their order.
func (c *connection) releaseAnswers() {
	waiting := c.kept.answers
	c.kept.answers = nil
	for _, key := range slices.Sorted(maps.Keys(waiting)) {
		for _, l := range waiting[key] {
			c.distort(l)
		}
	}
}

// releaseEvent lets the event leave that waits for another one.
func (c *connection) releaseEvent() {
	if e := c.kept.event; e != nil {
		c.kept.event = nil
		c.distort(*e)
	}
}

// distort makes of a frame what the switches want it to look like.
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

// bloat pads the frame's payload, or the frame when it has none, to size bytes.
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

// tear sends the first half of a frame as it is on the wire, and resets the
// connection. It is called by the writer, without the lock.
func (c *connection) tear(data []byte) {
	n := len(data)
	header := []byte{0x81, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	_, _ = c.socket.Write(append(header, data[:n/2]...)) // it is cut anyway
	reset(c.socket)
	c.cut()
}

// reset makes the end of a connection an abrupt one: what waits in the buffers
// is dropped, and the peer is told so instead of goodbye.
func reset(c net.Conn) {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// messageType is how a piece of garbage is sent.
func messageType(binary bool) websocket.MessageType {
	if binary {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}
