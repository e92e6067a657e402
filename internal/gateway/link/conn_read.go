package link

import (
	"context"
	"encoding/json"
	"time"

	"github.com/coder/websocket"
)

// serve reads frames until the connection ends. It must not block except to read: pings are
// answered only during a read, and the gateway disconnects a client that does not answer pings.
func (c *Client) serve(ctx context.Context, k *Conn) *failure {
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		k.closeGracefully()
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
		k.markAlive()
		c.receive(k, typ, c.secrets.Frame(data))
	}
}

// receive handles one frame. It skips malformed frames, and logs only the first one on
// each connection.
func (c *Client) receive(k *Conn, typ websocket.MessageType, data []byte) {
	f, err := decodeFrame(data)
	if err != nil || typ != websocket.MessageText {
		if !k.warned {
			k.warned = true
			c.opt.Log.Warn("the gateway sent a malformed frame; ignoring it and further ones", "bytes", len(data))
		}
		return
	}
	if f.Type == "event" {
		c.receiveEvent(k, f)
		return
	}
	k.answer(f)
}

func (c *Client) receiveEvent(k *Conn, f Frame) {
	k.eventAt.Store(c.opt.Now().UnixMilli())
	if f.Event == "shutdown" {
		var p struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(f.Payload, &p) == nil {
			k.shutdown = p.Reason
		}
	}
	seq, _ := f.Seq.Whole()
	if seq > 0 {
		// A repeated or late event: subscribers already have it, or reload everything
		// because of the gap. Publishing it now would replace newer state with older.
		if seq <= k.lastSeq {
			return
		}
		// Events are numbered from 1, so a loss of the first ones is detected, too.
		if seq-1 > k.lastSeq {
			c.publish(k, Event{Name: EventGap, BootID: k.bootID, Resync: true})
		}
		k.lastSeq = seq
	}
	c.publish(k, Event{Name: f.Event, Payload: f.Payload, Seq: seq, BootID: k.bootID})
}

// setLatency records the round-trip time of a request. It is not called for agent.wait, because the gateway
// sends that response only when the run ends.
func (c *Client) setLatency(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = d
}
