package mirror

import (
	"context"
	"sync"
	"time"

	"wardroom/internal/gateway/link"
)

// Changes lets requests wait for a reader. The zero value is ready to use.
type Changes struct {
	mu   sync.Mutex
	next chan struct{} // closed and replaced at each change
}

func (c *Changes) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Broadcast makes all waiting requests try again.
func (c *Changes) Broadcast() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Await calls try at once and after each change, until it is done or fails. After patience, it
// returns gateway.ErrTimeout, which names what is read.
func (c *Changes) Await(
	ctx context.Context, patience time.Duration, what string, try func() (done bool, err error),
) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		changed := c.wait()
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-late.C:
			return link.ErrTimeout.With("Reading the %s took longer than %s.", what, patience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
