//go:build journey

package realgateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// If this fails, the harness is broken (or the gateway is another one), and
// what the journey says about the service means nothing.
func TestGatewaySmoke(t *testing.T) {
	model := StartModel(t)
	gateway := StartGateway(t, t.TempDir(), model)
	op := dial(t, gateway)
	model.Script("coo", Reply{Text: "All is well."})
	for agent, want := range map[string]string{
		"coo": "All is well.",
		"cto": "## Yesterday",
		"cpo": "**Yesterday:** talked to",
		"cmo": "Blockers: none.",
	} {
		t.Run("asks the "+agent+" once", func(t *testing.T) {
			begin := time.Now()
			if got := op.ask(t, agent, "Your report, please."); !strings.HasPrefix(got, want) {
				t.Errorf("%s answered %q, want it to begin with %q", agent, got, want)
			}
			t.Logf("%s answered after %s", agent, time.Since(begin).Round(time.Millisecond))
			calls := model.Calls(agent)
			if len(calls) != 1 {
				t.Fatalf("%s asked the model %d times, want once: %+v", agent, len(calls), calls)
			}
			if !strings.Contains(calls[0].Prompt, "Your report, please.") {
				t.Errorf("the model was asked %q, want the question in it", calls[0].Prompt)
			}
		})
	}
	if stray := model.Calls(""); len(stray) > 0 {
		t.Errorf("%d calls of nobody: the asking agent was not recognised: %+v", len(stray), stray)
	}
}

// operator is as little of a gateway client as this test needs. The service's
// own client is what the journey tests; it must not vouch for itself here.
type operator struct {
	conn *websocket.Conn
	last int
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

func dial(t *testing.T, g *Gateway) *operator {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), g.URL, nil)
	if err != nil {
		t.Fatalf("connect to the gateway: %v", err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(32 << 20)
	op := &operator{conn: conn}
	var challenge frame
	if err := wsjson.Read(t.Context(), conn, &challenge); err != nil || challenge.Event != "connect.challenge" {
		t.Fatalf("the gateway began with %+v, %v; want a challenge", challenge, err)
	}
	op.call(t, "connect", map[string]any{
		"minProtocol": 4, "maxProtocol": 4,
		"client": map[string]any{"id": "gateway-client", "version": "0", "platform": "linux", "mode": "backend"},
		"role":   "operator", "scopes": []string{"operator.read", "operator.write"},
		"auth": map[string]any{"token": g.Token},
	})
	return op
}

// ask puts a question to an agent and waits for its answer.
func (o *operator) ask(t *testing.T, agent, question string) string {
	t.Helper()
	run := fmt.Sprintf("smoke-%s-%d", agent, time.Now().UnixNano())
	o.call(t, "agent", map[string]any{
		"message": question, "agentId": agent, "sessionKey": "agent:" + agent + ":smoke",
		"idempotencyKey": run, "deliver": false, "timeout": 60,
	})
	var out struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Reply  struct {
			Text string `json:"text"`
		} `json:"terminalReply"`
	}
	answer := o.call(t, "agent.wait", map[string]any{"runId": run, "timeoutMs": 60_000})
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatalf("decode the answer: %v\n%s", err, answer)
	}
	if out.Status != "ok" {
		t.Fatalf("the run ended with %s: %s", out.Status, answer)
	}
	return out.Reply.Text
}

// call makes one request and returns what the first answer to it carries.
func (o *operator) call(t *testing.T, method string, params any) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	o.last++
	id := fmt.Sprintf("smoke-%d", o.last)
	if err := wsjson.Write(ctx, o.conn, frame{Type: "req", ID: id, Method: method, Params: params}); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	for {
		var f frame
		if err := wsjson.Read(ctx, o.conn, &f); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if f.Type != "res" || f.ID != id {
			continue // an event, or the second answer to an earlier request
		}
		if !f.OK {
			t.Fatalf("%s was refused: %s", method, f.Error)
		}
		return f.Payload
	}
}
