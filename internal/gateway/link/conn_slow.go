package link

import (
	"fmt"
	"time"
)

// answered records that a response arrived in time. If the client's state is Slow,
// answered ends that state. It is not called for late responses.
func (c *Client) answered(k *Conn) {
	k.answeredAt.Store(int64(time.Since(k.born)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == k && c.status.State == Slow {
		c.setState(c.attachedState())
	}
}

// unanswered records that a request got no response in time. The gateway is considered
// slow only if it has answered no other request since this one was sent.
func (c *Client) unanswered(k *Conn, method string, sent time.Time) {
	if k.answeredAt.Load() >= int64(sent.Sub(k.born)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != k || c.status.State == Slow {
		return
	}
	c.setState(&failure{state: Slow, text: fmt.Sprintf(
		"The gateway is connected but did not answer %s within %s. Wardroom keeps sending requests; the gateway's host may be overloaded.", method, c.opt.Timeout)})
	k.probing.Go(func() { c.probe(k) })
}

// longestProbe is the maximum interval between two probes of a slow gateway.
const longestProbe = 15 * time.Second

// probe sends health requests to a slow gateway until the gateway answers. Without them,
// a client that sends no other requests would not notice the recovery. The health method
// requires no scope.
func (c *Client) probe(k *Conn) {
	wait := time.NewTicker(min(c.opt.Timeout, longestProbe))
	defer wait.Stop()
	for {
		select {
		case <-k.gone:
			return
		case <-wait.C:
		}
		if c.Status().State != Slow || c.probeOnce(k) {
			return
		}
	}
}

// probeOnce sends one health request. It reports whether probing can stop, either because
// the gateway answered or because the connection was lost.
func (c *Client) probeOnce(k *Conn) bool {
	answer, forget, err := k.send(Request{Method: "health", Params: struct{}{}}, c.opt.Timeout)
	if err != nil {
		return true // the reader closes the connection
	}
	defer forget()
	limit := time.NewTimer(c.opt.Timeout)
	defer limit.Stop()
	select {
	case <-answer: // an error is an answer, too
		c.answered(k)
		return true
	case <-k.gone:
		return true
	case <-limit.C:
		return false
	}
}
