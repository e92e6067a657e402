package demo

import (
	"context"
	"time"
)

// This file is the switches for the wire, in the order in which a frame meets
// them. Each may be turned while the runtime serves. A name is that of a method
// whose answers are meant, or of an event; the empty name means all of them
// that have no setting of their own.

// Heal turns every switch off: those of the agents, their scripts, and those of
// the wire. What was held back leaves. What is state stays as it is: the token,
// the paired devices, the certificate, and runs that have begun.
func (r *Runtime) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.melt()
	r.faults.enter(OpenDoor)
	r.faults = newFaults()
	r.starting = false
	r.release((*connection).releaseEvent, (*connection).releaseLate, (*connection).releaseAnswers)
}

// Lag lets the answers to a method leave d after they were made; zero heals.
// What was asked for happens at once, and its events overtake the answer. Of
// `agent` both answers are late. The answer to `connect` may be late as well,
// and then the events wait for it.
func (r *Runtime) Lag(method string, d time.Duration) {
	r.turn(func(w *wireFaults) { set(w.lag, method, d, d <= 0) }, (*connection).releaseLate)
}

// Hang makes a method never answered, although what was asked for happens.
// Turning it off brings no answer back.
func (r *Runtime) Hang(method string, on bool) {
	r.turn(func(w *wireFaults) { set(w.lag, method, forever, !on) }, (*connection).releaseLate)
}

// Reverse holds the answers to a method back until n of them wait on a
// connection, and lets them leave last first. Under the empty name the answers
// of all methods but connect wait together. With 2 for `agent`, the result of a
// run leaves before the word that it was accepted. Less than 2 heals.
func (r *Runtime) Reverse(method string, n int) {
	r.turn(func(w *wireFaults) { set(w.reverse, method, n, n < 2) }, (*connection).releaseAnswers)
}

// Lose makes events of a kind never leave, although they are counted: clients
// see a gap.
func (r *Runtime) Lose(event string, on bool) {
	r.turn(func(w *wireFaults) { set(w.lose, event, true, !on) })
}

// Swap makes events leave in pairs, the later one first.
func (r *Runtime) Swap(on bool) {
	r.turn(func(w *wireFaults) { w.swapped = on }, (*connection).releaseEvent)
}

// Hush makes the runtime send no events at all and not count them: no ticks, no
// farewell, no gap. Requests are answered, and pings are sent.
func (r *Runtime) Hush(on bool) {
	r.turn(func(w *wireFaults) { w.hushed = on })
}

// Repeat sends answers or events n times more than once, in a row and with the
// same id and number. Zero heals.
func (r *Runtime) Repeat(name string, n int) {
	r.turn(func(w *wireFaults) { set(w.repeat, name, n, n <= 0) })
}

// Bloat makes frames exactly so many bytes large, with a member that nobody
// knows; larger ones stay as they are. The limit of a real gateway is 26214400
// bytes (25 MiB), and nothing keeps this one to it. Zero heals.
func (r *Runtime) Bloat(name string, size int) {
	r.turn(func(w *wireFaults) { set(w.bloat, name, size, size <= 0) })
}

// Tear makes the connection break in the middle of a frame: half of it leaves,
// and the socket is reset.
func (r *Runtime) Tear(name string, on bool) {
	r.turn(func(w *wireFaults) { set(w.torn, name, true, !on) })
}

// turn changes a switch, and lets leave what the old setting held back.
func (r *Runtime) turn(change func(*wireFaults), release ...func(*connection)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.faults.wire)
	r.release(release...)
}

func (r *Runtime) release(release ...func(*connection)) {
	for c := range r.conns {
		for _, let := range release {
			let(c)
		}
	}
}

// Freeze makes every connection half open: it exists, and nothing comes from it
// any more, no answer, no event, no ping and no goodbye, nor is anything read.
// Who connects meanwhile is accepted and never answered. Turning it off lets
// everything go on where it stood. A restart cuts frozen connections.
func (r *Runtime) Freeze(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !on {
		r.melt()
	} else if r.faults.ice == nil {
		r.faults.ice = make(chan struct{})
	}
}

// melt ends a freeze. The lock is held.
func (r *Runtime) melt() {
	if r.faults.ice != nil {
		close(r.faults.ice)
		r.faults.ice = nil
	}
}

func (r *Runtime) frozen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.faults.ice != nil
}

// thaw waits until nothing is frozen, and says whether ctx ended first.
func (r *Runtime) thaw(ctx context.Context) error {
	for {
		r.mu.Lock()
		ice := r.faults.ice
		r.mu.Unlock()
		if ice == nil {
			return ctx.Err()
		}
		select {
		case <-ice:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
