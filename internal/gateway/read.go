package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/coder/websocket"
)

// serve reads until the connection ends. The reader never waits for anybody:
// the gateway drops a client that does not answer its pings, and pings are
// answered while reading.
func (c *Client) serve(ctx context.Context, k *conn) *failure {
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		k.farewell()
	})
	defer func() {
		if !stop() {
			<-left
		}
	}()
	for {
		typ, data, err := k.ws.Read(k.life)
		if err != nil {
			return c.readFailure(context.Background(), k, err, "")
		}
		k.heard()
		c.receive(k, typ, c.secrets.frame(data))
	}
}

// receive handles one frame. One that makes no sense is skipped, and told in
// the log once for each connection.
func (c *Client) receive(k *conn, typ websocket.MessageType, data []byte) {
	f, err := decodeFrame(data)
	if err != nil || typ != websocket.MessageText {
		if !k.warned {
			k.warned = true
			c.opt.Log.Warn("the gateway sent a frame that makes no sense; skipped, and so will be further ones", "bytes", len(data))
		}
		return
	}
	if f.Type == "event" {
		c.receiveEvent(k, f)
		return
	}
	if run, ok := k.run(f.ID); ok {
		c.receiveRun(k, run, f)
	}
	k.answer(f)
}

// receiveRun notes what an answer to a question says of its run. Such an answer
// comes twice: at once, and when the run has ended; which of the two this is,
// only its content says. It is noted before anybody gets the answer, so that
// whoever waits for the run next finds it ended.
func (c *Client) receiveRun(k *conn, run string, f frame) {
	if a, ended := readOutcome(f.Payload); ended {
		k.settled(f.ID)
		c.runs.finish(run, c.cleaned(run, a))
	} else if a, ended := readOvertaken(f); ended {
		k.settled(f.ID)
		c.runs.finish(run, c.cleaned(run, a))
	} else if f.Error != nil {
		k.settled(f.ID)
	}
}

func (c *Client) receiveEvent(k *conn, f frame) {
	k.eventAt.Store(c.opt.Now().UnixMilli())
	if f.Event == "shutdown" {
		var p struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(f.Payload, &p) == nil {
			k.shutdown = p.Reason
		}
	}
	seq, _ := f.Seq.whole()
	if seq > 0 {
		// Repeated, or overtaken by a later one. What it tells is known, or was in
		// the gap that has been signalled, after which everything is read anew:
		// passed on now, it would put older state over newer.
		if seq <= k.lastSeq {
			return
		}
		// The first event of a connection is number 1, so that also the loss of the
		// very first ones shows.
		if seq-1 > k.lastSeq {
			c.publish(k, Event{Name: EventGap, BootID: k.bootID, Resync: true})
		}
		k.lastSeq = seq
	}
	c.publish(k, Event{Name: f.Event, Payload: f.Payload, Seq: seq, BootID: k.bootID})
}

// roundTrip notes how long the gateway took for an answer that it gives at once.
func (c *Client) roundTrip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = d
}
