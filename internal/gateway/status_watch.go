package gateway

import "context"

// Watch calls report with the current status and after each change, until ctx ends. If
// the status changes while report runs, report gets only the latest one.
func (c *Client) Watch(ctx context.Context, report func(Status)) {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		report(c.Status()) // read after changed, so that no change is missed
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
