package gateway

import "context"

// Watch calls tell with the status of the connection, and again after each
// change of its state, until ctx ends. When the state changes faster than tell
// returns, only the latest is told.
func (c *Client) Watch(ctx context.Context, tell func(Status)) {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		tell(c.Status()) // read after changed, so that no change is missed
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
