package faults

import (
	"bytes"
	"maps"
	"math"
	"net"
	"slices"
	"time"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/demo"
)

// This file applies the frame faults to outgoing frames. A frame has the name of its event,
// or of the method that it answers; a setting for a name takes precedence over the one for
// the empty name. Functions in this file must be called with Runtime.mu held unless their
// comments say otherwise.

// eventChallenge is the first event on a connection, methodConnect the method of the first
// request.
const (
	eventChallenge = "connect.challenge"
	methodConnect  = "connect"
)

// neverAnswer is the delay for an answer that is never sent.
const neverAnswer = time.Duration(math.MaxInt64)

// frameFaults holds the faults for outgoing frames, by method or event name.
type frameFaults struct {
	lag     map[string]time.Duration // answers only
	reverse map[string]int           // answers only
	repeat  map[string]int
	bloat   map[string]int
	lose    map[string]bool // events only
	hidden  map[string]bool // jobs, by ID
	tear    map[string]bool
	swap    bool // events only
	muted   bool // events only
	garbage []Garbage
	unclean []Unclean
}

func newFrameFaults() frameFaults {
	return frameFaults{
		lag: map[string]time.Duration{}, reverse: map[string]int{}, repeat: map[string]int{},
		bloat: map[string]int{}, lose: map[string]bool{}, tear: map[string]bool{}, hidden: map[string]bool{},
	}
}

// none reports whether all faults that change or delay frames are off.
func (w *frameFaults) none() bool {
	return len(w.lag)+len(w.reverse)+len(w.repeat)+len(w.bloat)+len(w.lose)+len(w.tear)+len(w.hidden)+len(w.garbage)+len(w.unclean) == 0 && !w.swap
}

// heldFrames contains a connection's frames that faults are holding back.
type heldFrames struct {
	delayed  []delayedFrame // ordered by due time
	timer    *time.Timer
	reversed map[string][]demo.Frame // answers to send in reverse order, by the name of the setting
	swapped  *demo.Frame             // event to send after the next one
}

// delayedFrame is a frame and the time at which it is due.
type delayedFrame struct {
	at    time.Time
	frame demo.Frame
}

// clear discards all held frames. It is called when the connection ends.
func (k *heldFrames) clear() {
	if k.timer != nil {
		k.timer.Stop()
	}
	*k = heldFrames{}
}

// Send applies the faults to a frame and queues it: first the faults that drop or delay the
// frame, then those that change its content.
func (b behavior) Send(conn *demo.Conn, l demo.Frame) {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	c, w := b.r.connection(conn), &b.r.faults.frames
	if l.Name == methodConnect && l.Body["ok"] == true {
		c.ready = true
	}
	if seq, ok := l.Body["seq"].(int); ok {
		if w.muted {
			c.shift--
			return
		}
		c.seq = seq + c.shift
		l.Body["seq"] = c.seq
	}
	switch {
	case w.none():
		conn.Queue(l, textPacket(demo.Encode(l.Body)))
	case l.Answer:
		switch d := setting(w.lag, l.Name); {
		case d == neverAnswer:
		case d > 0:
			c.delay(l, d)
		default:
			c.applyReverse(l)
		}
	case l.Name == eventChallenge || !setting(w.lose, l.Name):
		c.applySwap(l)
	}
}

// delay schedules a frame to be sent after the duration d.
func (c *connection) delay(l demo.Frame, d time.Duration) {
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
func (c *connection) applyReverse(l demo.Frame) {
	w, key := &c.runtime.faults.frames, l.Name
	n, own := w.reverse[key]
	if !own && l.Name != methodConnect {
		n, key = w.reverse[""], ""
	}
	if n < 2 {
		c.sendAltered(l)
		return
	}
	k := &c.held
	if k.reversed == nil {
		k.reversed = map[string][]demo.Frame{}
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
func (c *connection) applySwap(l demo.Frame) {
	k := &c.held
	switch {
	case !c.runtime.faults.frames.swap || l.Name == eventChallenge:
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
func (c *connection) sendAltered(l demo.Frame) {
	w := &c.runtime.faults.frames
	frame := l.Body
	if l.Answer && l.Name == "cron.list" && len(w.hidden) > 0 {
		frame = withoutJobs(frame, w.hidden)
	}
	for _, u := range w.unclean {
		frame = taints[u](frame)
	}
	for _, g := range w.garbage {
		if change := changes[g]; change != nil {
			frame = change(frame)
		}
	}
	data := demo.Encode(frame)
	if slices.Contains(w.garbage, ControlCharacters) {
		data = loneSurrogates(data)
	}
	if size := setting(w.bloat, l.Name); size > len(data) {
		data = bloat(frame, size)
	}
	p := textPacket(data)
	if setting(w.tear, l.Name) {
		p.Last = func(socket net.Conn) { tear(socket, data) }
	}
	packets := slices.Repeat([]demo.Packet{p}, 1+setting(w.repeat, l.Name))
	for _, g := range w.garbage {
		packets = append(packets, c.garbagePackets(g, l)...)
	}
	c.conn.Queue(l, packets...)
}

// bloat encodes a frame and pads it to the given size in bytes. The padding is a member
// of the payload, or of the frame itself if the frame has no payload.
func bloat(frame object, size int) []byte {
	const member = `"padding":"`
	padded := with(frame, "padding", "")
	if payload, ok := frame["payload"].(object); ok {
		padded = with(frame, "payload", with(payload, "padding", ""))
	}
	data := demo.Encode(padded)
	at := bytes.Index(data, []byte(member)) + len(member)
	return slices.Concat(data[:at], bytes.Repeat([]byte("x"), max(0, size-len(data))), data[at:])
}

// with returns a copy of an object with one member added or replaced.
func with(o object, member string, v any) object {
	o = maps.Clone(o)
	o[member] = v
	return o
}

// tear sends the first half of a frame and resets the connection.
func tear(socket net.Conn, data []byte) {
	n := len(data)
	header := []byte{0x81, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	_, _ = socket.Write(append(header, data[:n/2]...)) // the connection is closed in any case
	reset(socket)
}

func textPacket(data []byte) demo.Packet { return demo.Packet{Kind: websocket.MessageText, Data: data} }
