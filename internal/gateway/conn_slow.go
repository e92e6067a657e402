package gateway

import (
	"fmt"
	"time"
)

// answered records a response that arrived in time, which ends the state Slow. Late
// responses do not end it.
func (c *Client) answered(k *conn) {
	k.answeredAt.Store(int64(time.Since(k.born)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == k && c.status.State == Slow {
		c.setState(c.attachedState())
	}
}

// unanswered records a request, sent at the given time, that got no response in time.
// The gateway counts as slow only if it has answered nothing since then.
func (c *Client) unanswered(k *conn, method string, sent time.Time) {
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

// probe sends health requests to a slow gateway until it answers, so that the client
// notices the recovery even if nothing else is requested. The method health requires no
// scope.
func (c *Client) probe(k *conn) {
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

// probeOnce sends one health request. It reports whether probing can stop, because the
// gateway answered or the connection is lost.
func (c *Client) probeOnce(k *conn) bool {
	answer, forget, err := k.send("health", struct{}{}, "", c.opt.Timeout)
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
