// Package mirror follows the agent runtime for the features that copy its state. A Follower
// subscribes to the gateway's events, decodes each event once, and passes it to every reader. A
// Loop runs a reader's passes, with one policy for wake-ups and retries, and a Claim lets one
// replica at a time do the work. Sessions passes the list of sessions on to the readers that
// store it.
package mirror

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// eventBuffer is how many events can be pending. When the buffer is full, the gateway client
// ends the subscription, and everything is read again.
const eventBuffer = 1024

// Runtime is the part of the gateway client that a Follower uses.
type Runtime interface {
	Events(buffer int) (events <-chan link.Event, stop func()) // starts with EventConnected if there is a connection
	Content(e link.Event) gateway.Content
}

// Event is an event of the gateway with its content.
type Event struct {
	link.Event
	gateway.Content
}

// Follower passes the gateway's events to readers, and the list of sessions from the reader that
// maintains it to those that store it. Its fields must not change after Run has been called.
type Follower struct {
	Runtime Runtime
	// Readers are called with each event, in order and one after the other. They must not block. An
	// event with Resync set means that events may have been missed.
	Readers []func(Event)
	// Sessions is the latest list of sessions.
	Sessions Sessions
}

// Run passes events to the readers until ctx ends, and then returns nil.
func (f *Follower) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		events, stop := f.Runtime.Events(eventBuffer)
		for open := true; open; {
			select {
			case e, ok := <-events:
				if open = ok; ok {
					f.pass(Event{e, f.Runtime.Content(e)})
				}
			case <-ctx.Done():
				open = false
			}
		}
		stop()
		// Events were missed because the readers were too slow, or the gateway client has ended.
		f.pass(Event{Event: link.Event{Resync: true}})
		Sleep(ctx, RetryFirst)
	}
	return nil
}

func (f *Follower) pass(e Event) {
	for _, read := range f.Readers {
		read(e)
	}
}

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	rest := time.NewTimer(d)
	defer rest.Stop()
	select {
	case <-ctx.Done():
	case <-rest.C:
	}
}
