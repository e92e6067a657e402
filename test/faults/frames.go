package faults

import "time"

// This file contains the faults for outgoing frames, in the order in which they apply to
// a frame. A name selects an event
// or the answers to a method. The empty name selects all events and methods that have no
// setting of their own.

// Lag delays the answers to a method by the duration d. Zero turns the fault off. The
// request takes effect immediately, so its events arrive before the answer. Both answers
// to `agent` are delayed. If the answer to `connect` is delayed, events are delayed until
// it has been sent.
func (r *Runtime) Lag(method string, d time.Duration) {
	r.changeFrames(func(w *frameFaults) { set(w.lag, method, d, d <= 0) }, (*connection).releaseDelayed)
}

// Hang makes the runtime handle requests for a method without ever answering them. The
// dropped answers are not sent when Hang is turned off.
func (r *Runtime) Hang(method string, on bool) {
	r.changeFrames(func(w *frameFaults) { set(w.lag, method, neverAnswer, !on) }, (*connection).releaseDelayed)
}

// Reverse holds answers to a method until a connection has n of them, then sends them in reverse
// order. If the method is empty, the answers to all methods except connect are reversed together.
// For example, with the method `agent` and n = 2, a run's result is sent before its "accepted"
// response. If n is less than 2, the fault is turned off.
func (r *Runtime) Reverse(method string, n int) {
	r.changeFrames(func(w *frameFaults) { set(w.reverse, method, n, n < 2) }, (*connection).releaseReversed)
}

// LoseEvents drops events of one kind after giving them sequence numbers, so that clients
// see a gap in the sequence.
func (r *Runtime) LoseEvents(event string, on bool) {
	r.changeFrames(func(w *frameFaults) { set(w.lose, event, true, !on) })
}

// SwapEvents makes the runtime send events in pairs, with the second event of each pair first.
func (r *Runtime) SwapEvents(on bool) {
	r.changeFrames(func(w *frameFaults) { w.swap = on }, (*connection).releaseSwapped)
}

// MuteEvents drops all events, including ticks and shutdown, before they are numbered, so
// that clients see no gap. The runtime still answers requests and sends pings.
func (r *Runtime) MuteEvents(on bool) {
	r.changeFrames(func(w *frameFaults) { w.muted = on })
}

// Repeat sends each answer or event with the given name n more times in a row, with its
// id and sequence number unchanged. Zero turns the fault off.
func (r *Runtime) Repeat(name string, n int) {
	r.changeFrames(func(w *frameFaults) { set(w.repeat, name, n, n <= 0) })
}

// Bloat pads each answer or event with the given name to exactly the given size in bytes,
// by adding an unknown member. Larger frames are unchanged. The size may exceed the real
// gateway's limit of 26214400 bytes (25 MiB). Zero turns the fault off.
func (r *Runtime) Bloat(name string, size int) {
	r.changeFrames(func(w *frameFaults) { set(w.bloat, name, size, size <= 0) })
}

// Tear makes the runtime send only the first half of an answer or event with the given
// name, and then reset the connection.
func (r *Runtime) Tear(name string, on bool) {
	r.changeFrames(func(w *frameFaults) { set(w.tear, name, true, !on) })
}

// changeFrames changes a frame fault and sends the frames that the old setting held back.
func (r *Runtime) changeFrames(change func(*frameFaults), release ...func(*connection)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.faults.frames)
	r.release(release...)
}

func (r *Runtime) release(release ...func(*connection)) {
	for _, c := range r.clients {
		for _, send := range release {
			send(c)
		}
	}
}
