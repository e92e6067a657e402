package gateway

import (
	"fmt"
	"time"
)

// answered notes an answer that came in time; with it a slow connection is well
// again. One that came too late says nothing new: the gateway is still slow.
func (c *Client) answered(k *conn) {
	k.answeredAt.Store(int64(time.Since(k.born)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == k && c.status.State == Slow {
		c.enter(c.attached())
	}
}

// unanswered notes a request, sent at the given moment, that had no answer in
// time. One stuck request does not make a gateway slow that has answered others
// since.
func (c *Client) unanswered(k *conn, method string, sent time.Time) {
	if k.answeredAt.Load() >= int64(sent.Sub(k.born)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != k || c.status.State == Slow {
		return
	}
	c.enter(&failure{state: Slow, text: fmt.Sprintf(
		"The gateway is connected and did not answer %s within %s. Requests are still tried. Its host may be overloaded.", method, c.opt.Timeout)})
	k.probing.Go(func() { c.probe(k) })
}

// longestProbe is how long a slow gateway is left alone between two questions.
const longestProbe = 15 * time.Second

// probe asks a slow gateway how it is until it answers, so that it is seen to be
// well again also when nobody else asks. `health` needs no scope.
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

// probeOnce says whether the probe is over: it was answered, or cannot be.
func (c *Client) probeOnce(k *conn) bool {
	answer, forget, err := k.send("health", struct{}{}, "", c.opt.Timeout)
	if err != nil {
		return true // the reader ends the connection
	}
	defer forget()
	limit := time.NewTimer(c.opt.Timeout)
	defer limit.Stop()
	select {
	case <-answer: // also an error is an answer
		c.answered(k)
		return true
	case <-k.gone:
		return true
	case <-limit.C:
		return false
	}
}
