package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// token is the token in the recordings, and long enough to be searched for.
const token = "test-gateway-token-0123456789abcdef"

// patience limits every wait of these tests; only a failing test reaches it.
const patience = time.Minute

// shortTimeout is the limit for requests without a response. It is long enough for the
// requests before them on a busy machine.
const shortTimeout = 3 * time.Second

// replayer is a gateway that plays recorded frames over a real socket, following a
// script.
type replayer struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	dialed  int
	closing bool
	header  http.Header // of the last upgrade
	log     bytes.Buffer
}

// peer is the gateway's side of one connection.
type peer struct {
	t  *testing.T
	ws *websocket.Conn
}

// req is a request as the gateway reads it.
type req struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// replay serves the script to each connection; n counts them from 1.
func replay(t *testing.T, script func(n int, p *peer)) *replayer {
	t.Helper()
	g := newReplayer(t, script)
	g.Start()
	return g
}

// newReplayer is like replay, but does not start the server.
func newReplayer(t *testing.T, script func(n int, p *peer)) *replayer {
	t.Helper()
	g := &replayer{t: t}
	var serving sync.WaitGroup
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		if g.closing {
			g.mu.Unlock()
			return // the client left while dialing
		}
		serving.Add(1)
		defer serving.Done()
		g.dialed++
		n := g.dialed
		g.header = r.Header.Clone()
		g.mu.Unlock()
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Errorf("accept: %v", err)
			return
		}
		defer ws.CloseNow()
		ws.SetReadLimit(1 << 20)
		script(n, &peer{t, ws})
	}))
	t.Cleanup(func() {
		g.mu.Lock()
		g.closing = true
		g.mu.Unlock()
		serving.Wait()
		g.Close()
	})
	return g
}

func (g *replayer) dials() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dialed
}

// Write collects the client's log lines.
func (g *replayer) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.Write(p)
}

func (g *replayer) logged() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.String()
}

// options returns the client's options for this replayer, with short delays.
func (g *replayer) options() link.Options {
	return link.Options{
		URL:     g.URL,
		Token:   token,
		Scopes:  []string{"operator.read", "operator.write"},
		Timeout: patience,
		Version: "1.2.3",
		Log:     slog.New(slog.NewTextHandler(g, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Backoff: link.Backoff{Min: time.Millisecond, Max: 5 * time.Millisecond, Quick: 2 * time.Millisecond},
	}
}

// client runs a client until the test ends.
func client(t *testing.T, opt link.Options) *gateway.Client {
	t.Helper()
	c, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c
}

// connected returns a connected client.
func (g *replayer) connected(t *testing.T) *gateway.Client {
	t.Helper()
	c := client(t, g.options())
	await(t, c)
	return c
}

func await(t *testing.T, c *gateway.Client) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	boot, err := c.Await(ctx)
	if err != nil {
		t.Fatalf("Await: %v", err)
	}
	return boot
}

// until waits for a status that satisfies ok.
func until(t *testing.T, c *gateway.Client, what string, ok func(link.Status) bool) link.Status {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		if s := c.Status(); ok(s) {
			return s
		}
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("it never came to %s; it is %+v", what, c.Status())
		}
	}
}

func untilState(t *testing.T, c *gateway.Client, want link.State) link.Status {
	t.Helper()
	return until(t, c, string(want), func(s link.Status) bool { return s.State == want })
}

// read returns the next request. The script ends if the client has left.
func (p *peer) read() req {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	typ, data, err := p.ws.Read(ctx)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var r req
	if err := json.Unmarshal(data, &r); err != nil || typ != websocket.MessageText || r.Type != "req" || r.ID == "" {
		p.t.Errorf("the client sent %q", data)
		panic(http.ErrAbortHandler)
	}
	return r
}

func (p *peer) expect(method string) req {
	r := p.read()
	if r.Method != method {
		p.t.Errorf("the client asked %s, want %s", r.Method, method)
		panic(http.ErrAbortHandler)
	}
	return r
}

// gone reads until the client has left.
func (p *peer) gone() {
	for {
		p.read()
	}
}

func (p *peer) write(data []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.ws.Write(ctx, websocket.MessageText, data); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (p *peer) send(frame any) {
	data, err := json.Marshal(frame)
	if err != nil {
		p.t.Error(err)
		panic(http.ErrAbortHandler)
	}
	p.write(data)
}

// answer replies to r with a recorded response.
func (p *peer) answer(r req, response any) {
	p.send(with(p.t, response, "id", r.ID))
}

func (p *peer) close(code int, reason string) {
	_ = p.ws.Close(websocket.StatusCode(code), reason) // the client may have left first
}

// greet plays the whole handshake and returns the connect request.
func (p *peer) greet(boot string, scopes ...string) req {
	if scopes == nil {
		scopes = []string{"operator.read", "operator.write"}
	}
	h := recorded[handshakes](p.t, "handshake.json")
	p.send(h.Challenge)
	r := p.expect("connect")
	hello := with(p.t, h.Hello, "id", r.ID)
	hello = with(p.t, hello, "payload.server.bootId", boot)
	hello = with(p.t, hello, "payload.auth.scopes", scopes)
	p.send(hello)
	return r
}

type handshakes struct {
	Challenge, Connect, Hello json.RawMessage
	Refused                   map[string]struct {
		Response json.RawMessage
		Close    closing
	}
	Restarting      json.RawMessage `json:"shutdown restarting"`
	CloseRestarting closing         `json:"close restarting"`
	Stopping        json.RawMessage `json:"shutdown stopping"`
}

type closing struct {
	Code   int
	Reason string
}

// exchange is a recorded request and its response.
type exchange struct{ Request, Response json.RawMessage }

func recorded[T any](t *testing.T, name string) T {
	t.Helper()
	var v T
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Errorf("read %s: %v", name, err)
	}
	return v
}

// with returns frame with the value at a dotted path replaced.
func with(t *testing.T, frame any, path string, value any) map[string]any {
	t.Helper()
	data, err := json.Marshal(frame)
	if err != nil {
		t.Error(err)
	}
	root := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // keep amounts exactly as recorded
	if err := dec.Decode(&root); err != nil {
		t.Error(err)
	}
	at := root
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	at[names[len(names)-1]] = value
	return root
}

// within returns a context that ends after patience.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// next returns the next event.
func next(t *testing.T, events <-chan link.Event) link.Event {
	t.Helper()
	select {
	case e, open := <-events:
		if !open {
			t.Fatal("the subscription has ended")
		}
		return e
	case <-time.After(patience):
		t.Fatal("no event came")
	}
	return link.Event{}
}
