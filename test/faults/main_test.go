package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"wardroom/internal/gateway/demo"
)

// No goroutine may outlive Close.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "demo-test-token"

// patience is how long a test waits for an expected event. Passing tests never wait that
// long.
const patience = time.Minute

// shortTimeout is for requests that get no answer. It is long enough for the preceding
// requests on a busy machine.
const shortTimeout = 3 * time.Second

// fast is the gateway's timing, shortened where a test would have to wait.
var fast = demo.Timing{
	Handshake: patience, Ping: patience, Pong: patience, Tick: patience, Health: patience,
	Second: 10 * time.Millisecond, Linger: time.Second, Cron: 5 * time.Millisecond,
}

const (
	scopeRead  = "operator.read"
	scopeWrite = "operator.write"
)

// open starts a runtime that closes when the test ends.
func open(t *testing.T, o demo.Options, change ...func(*demo.Timing)) *Runtime {
	t.Helper()
	return opened(t, Start, o, change)
}

// openTLS is like open, but the runtime serves with TLS.
func openTLS(t *testing.T, change ...func(*demo.Timing)) *Runtime {
	t.Helper()
	return opened(t, StartTLS, demo.Options{}, change)
}

func opened(t *testing.T, start func(context.Context, demo.Options) (*Runtime, error), o demo.Options, change []func(*demo.Timing)) *Runtime {
	t.Helper()
	o.Token, o.Timing = token, fast
	for _, c := range change {
		c(&o.Timing)
	}
	r, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// client is a raw protocol client that keeps every frame.
type client struct {
	t   *testing.T
	ws  *websocket.Conn
	end chan struct{} // closed when the connection ends
	// the test expects invalid frames; set by the test only
	garbled bool

	mu     sync.Mutex
	more   chan struct{} // closed and replaced with every frame
	frames []object
	raw    []demo.Packet // everything received, including invalid frames
	err    error
	calls  int
}

// dial opens a socket without a handshake.
func dial(t *testing.T, r *Runtime, o *websocket.DialOptions) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, r.URL(), o)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(25 << 20)
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	c := &client{t: t, ws: ws, end: make(chan struct{}), more: make(chan struct{})}
	go c.listen()
	t.Cleanup(func() {
		_ = ws.CloseNow()
		<-c.end
		if !c.garbled && len(c.raw) != len(c.frames) {
			t.Errorf("%d frames arrived, and %d invalid ones", len(c.frames), len(c.raw)-len(c.frames))
		}
	})
	return c
}

func (c *client) listen() {
	defer close(c.end)
	for {
		kind, data, err := c.ws.Read(context.Background())
		var frame object
		c.mu.Lock()
		if err != nil {
			c.err = err
		} else {
			c.raw = append(c.raw, demo.Packet{Kind: kind, Data: data})
			if json.Unmarshal(slim(data), &frame) == nil && kind == websocket.MessageText {
				c.frames = append(c.frames, frame)
			}
		}
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// slim returns a huge frame without its padding, which would be slow to decode.
func slim(data []byte) []byte {
	const member = `"padding":"`
	if i := bytes.Index(data, []byte(member)); len(data) > 1<<20 && i >= 0 {
		i += len(member) + 1
		return slices.Concat(data[:i], data[i+bytes.IndexByte(data[i:], '"'):])
	}
	return data
}

// until waits for the n-th matching frame, counted from 0.
func (c *client) until(what string, n int, fits func(object) bool) object {
	c.t.Helper()
	late := time.After(patience)
	for {
		c.mu.Lock()
		left := n
		for _, f := range c.frames {
			if fits(f) {
				if left == 0 {
					c.mu.Unlock()
					return f
				}
				left--
			}
		}
		more, err := c.more, c.err
		c.mu.Unlock()
		if err != nil {
			c.t.Fatalf("the connection ended before %s: %v", what, err)
		}
		select {
		case <-more:
		case <-late:
			c.t.Fatalf("no %s within %s", what, patience)
		}
	}
}

// send writes one frame.
func (c *client) send(kind websocket.MessageType, data string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.ws.Write(ctx, kind, []byte(data)); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a request and returns its id.
func (c *client) ask(method string, params any) string {
	c.t.Helper()
	c.mu.Lock()
	c.calls++
	id := fmt.Sprintf("r%d", c.calls)
	c.mu.Unlock()
	c.send(websocket.MessageText, string(demo.Encode(object{"type": "req", "id": id, "method": method, "params": params})))
	return id
}

// answer waits for the n-th response to a request, counted from 0.
func (c *client) answer(id string, n int) object {
	c.t.Helper()
	return c.until("response "+id, n, func(f object) bool { return f["type"] == "res" && f["id"] == id })
}

// call sends a request and waits for the first response.
func (c *client) call(method string, params any) object {
	c.t.Helper()
	return c.answer(c.ask(method, params), 0)
}

// ok is like call, but fails the test unless the request succeeds. It returns the payload.
func (c *client) ok(method string, params any) object {
	c.t.Helper()
	f := c.call(method, params)
	if f["ok"] != true {
		c.t.Fatalf("%s was refused: %v", method, f["error"])
	}
	p, _ := f["payload"].(object)
	return p
}

// event waits for the first event of a kind.
func (c *client) event(name string) object {
	c.t.Helper()
	return c.until("event "+name, 0, func(f object) bool { return f["event"] == name })
}

// wire returns everything received so far, undecoded.
func (c *client) wire() []demo.Packet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.raw)
}

// seen returns the frames received so far.
func (c *client) seen() []object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames)
}

// closed waits for the end of the connection and returns its close code and reason, or -1
// if there was no close frame.
func (c *client) closed() (websocket.StatusCode, string) {
	c.t.Helper()
	select {
	case <-c.end:
	case <-time.After(patience):
		c.t.Fatal("the connection does not end")
	}
	if e, ok := errors.AsType[websocket.CloseError](c.err); ok {
		return e.Code, e.Reason
	}
	return -1, ""
}

// hello returns the params of a valid connect.
func hello(change func(object)) object {
	p := object{
		"minProtocol": 4, "maxProtocol": 4,
		"client": object{"id": "gateway-client", "version": "1.0.0", "platform": "linux", "mode": "backend", "displayName": "test"},
		"role":   "operator", "scopes": []string{scopeRead, scopeWrite}, "caps": []string{"tool-events"},
		"auth": object{"token": token}, "locale": "en-US", "userAgent": "test/1.0",
	}
	if change != nil {
		change(p)
	}
	return p
}

// join connects a client with the scopes read and write.
func join(t *testing.T, r *Runtime) *client {
	t.Helper()
	c := dial(t, r, nil)
	c.event("connect.challenge")
	c.ok("connect", hello(nil))
	return c
}

// question returns the params of `agent`.
func question(agentID, runID, text string) object {
	return object{
		"message": text, "agentId": agentID, "sessionKey": "agent:" + agentID + ":test", "idempotencyKey": runID, "deliver": false,
	}
}

// wait calls agent.wait with a long timeout.
func (c *client) wait(runID string) object {
	c.t.Helper()
	return c.ok("agent.wait", object{"runId": runID, "timeoutMs": patience.Milliseconds()})
}

// eventually waits for a condition that no event reports.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !cond(); {
		if time.Now().After(late) {
			t.Fatalf("timed out waiting for: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// dig returns a value in nested objects, or the zero value if it is missing.
func dig[T any](o any, path ...string) T {
	for _, k := range path {
		m, _ := o.(object)
		o = m[k]
	}
	v, _ := o.(T)
	return v
}

// must is like dig, but fails the test if the value is missing.
func must[T any](t *testing.T, o any, path ...string) T {
	t.Helper()
	v, ok := dig[any](o, path...).(T)
	if !ok {
		t.Fatalf("%v is %v, want %T", path, dig[any](o, path...), v)
	}
	return v
}
