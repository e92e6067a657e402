//go:build journey

package realgateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// operator is a minimal gateway client. It shares no code with the service's own client,
// because that client is under test.
type operator struct {
	conn    *websocket.Conn
	last    int
	answers chan frame // in the order of arrival; closed with the connection
	failed  error      // reason of the close; valid after answers is closed
	hear    atomic.Pointer[func(frame)]
}

type frame struct {
	Type    string          `json:"type"`
	ID      string          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Event   string          `json:"event,omitempty"`
	OK      bool            `json:"ok,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// dial connects to the gateway at url in the same way as Wardroom. It sends the token and, if
// device is not nil, the device's signature. It requests the scopes for reading and writing, and
// those in more. The returned frame is the gateway's answer, which may be a rejection.
func dial(t *testing.T, client *http.Client, url, token string, device *Device, more ...string) (*operator, frame) {
	t.Helper()
	conn, res, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatalf("connect to the gateway: %v", err)
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(32 << 20)
	op := &operator{conn: conn, answers: make(chan frame, 1024)}
	var challenge frame
	var nonce struct {
		Nonce string `json:"nonce"`
		TS    int64  `json:"ts"`
	}
	if err := wsjson.Read(t.Context(), conn, &challenge); err != nil || challenge.Event != "connect.challenge" {
		t.Fatalf("the gateway began with %+v, %v; want a challenge", challenge, err)
	}
	if err := json.Unmarshal(challenge.Payload, &nonce); err != nil {
		t.Fatalf("decode the challenge: %v", err)
	}
	scopes := append([]string{"operator.read", "operator.write"}, more...)
	params := map[string]any{
		"minProtocol": 4, "maxProtocol": 4,
		"client": map[string]any{"id": "gateway-client", "version": "0", "platform": "linux", "mode": "backend"},
		"role":   "operator", "scopes": scopes,
		"auth": map[string]any{"token": token},
	}
	if device != nil {
		params["device"] = device.sign(scopes, token, nonce.Nonce, nonce.TS)
	}
	go op.listen(t.Context())
	return op, op.exchange(t, "connect", params)
}

// listen reads everything that the gateway sends. Reading also answers pings; the
// gateway closes a connection on which they are not answered.
func (o *operator) listen(ctx context.Context) {
	defer close(o.answers)
	for {
		var f frame
		if o.failed = wsjson.Read(ctx, o.conn, &f); o.failed != nil {
			return
		}
		if f.Type == "res" {
			o.answers <- f
		} else if hear := o.hear.Load(); hear != nil {
			(*hear)(f)
		}
	}
}

// stuckDatabase is the error of every run of an agent whose database the gateway could not open while it was tidying up
// another one. It happens in the first seconds on a busy disk, before the run reaches the model, and lasts until the
// gateway restarts (openclaw/openclaw#144355).
const stuckDatabase = "Agent database cleanup failed"

// ask asks an agent a question and waits for its answer.
func (o *operator) ask(t *testing.T, agent, question string) string {
	t.Helper()
	text, stuck := o.tryAsk(t, agent, question)
	if stuck {
		t.Fatalf("the run of %s failed: %s", agent, stuckDatabase)
	}
	return text
}

// tryAsk is like ask, but also reports whether the agent's database is stuck.
func (o *operator) tryAsk(t *testing.T, agent, question string) (text string, stuck bool) {
	t.Helper()
	run := fmt.Sprintf("smoke-%s-%d", agent, time.Now().UnixNano())
	o.call(t, "agent", map[string]any{
		"message": question, "agentId": agent, "sessionKey": "agent:" + agent + ":smoke",
		"idempotencyKey": run, "deliver": false, "timeout": 120,
	})
	var out struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Reply  struct {
			Text string `json:"text"`
		} `json:"terminalReply"`
	}
	answer := o.call(t, "agent.wait", map[string]any{"runId": run, "timeoutMs": 120_000})
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatalf("decode the answer: %v\n%s", err, answer)
	}
	switch {
	case out.Status == "ok":
		return out.Reply.Text, false
	case strings.Contains(out.Error, stuckDatabase):
		return "", true
	}
	t.Fatalf("the run ended with %s: %s", out.Status, answer)
	return "", false
}

// call sends a request and returns the payload of the first answer. It fails the test
// if the gateway refuses the request.
func (o *operator) call(t *testing.T, method string, params any) json.RawMessage {
	t.Helper()
	f := o.exchange(t, method, params)
	if !f.OK {
		t.Fatalf("%s was refused: %s", method, f.Error)
	}
	return f.Payload
}

// exchange sends a request and returns the first response to it.
func (o *operator) exchange(t *testing.T, method string, params any) frame {
	t.Helper()
	return o.await(t, o.send(t, method, params))
}

// send sends a request and returns its ID.
func (o *operator) send(t *testing.T, method string, params any) (id string) {
	t.Helper()
	o.last++
	id = fmt.Sprintf("%s-%d", method, o.last)
	if err := wsjson.Write(t.Context(), o.conn, frame{Type: "req", ID: id, Method: method, Params: params}); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return id
}

// await returns the first response to a request.
func (o *operator) await(t *testing.T, id string) frame {
	t.Helper()
	late := time.After(150 * time.Second)
	for {
		select {
		case f, ok := <-o.answers:
			if !ok {
				t.Fatalf("%s: %v", id, o.failed)
			}
			if f.ID == id {
				return f // any other frame is the second answer to an earlier request
			}
		case <-late:
			t.Fatalf("%s: no answer", id)
		}
	}
}
