package link

import "context"

// Watch calls report with the current status, and again whenever the status changes, until ctx
// ends. If the status changes several times during a call, the next call gets only the latest
// status.
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
