package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

const report = "Yesterday: finished the task assigned to cto\nToday: work on the next task of cto\nBlockers: none"

// Agents returns the recorded roster.
func TestAgents(t *testing.T) {
	t.Parallel()
	agents := recorded[exchange](t, "agents.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("agents.list"), agents.Response)
		p.gone()
	})
	got, err := g.connected(t).Agents(within(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []gateway.Agent{
		{ID: "coo", Name: "COO", IdentityName: "Operations", Emoji: "🧭", Model: "stub/stub-1", Default: true},
		{ID: "cmo", Name: "CMO", IdentityName: "Marketing", Emoji: "📣", Model: "stub/stub-2"},
	}
	if diff := cmp.Diff(want, got[:min(2, len(got))]); diff != "" || len(got) != 4 {
		t.Errorf("%d agents (-want +got):\n%s", len(got), diff)
	}
}

// The params of a question are exact: without deliver:false the answer would be posted
// to a chat channel, and a timeout in milliseconds would last for hours.
func TestStart(t *testing.T) {
	t.Parallel()
	seconds := recorded[map[string][]json.RawMessage](t, "both.json")["finished"]
	asked := make(chan req, 1)
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-7")
		r := p.expect("agent")
		asked <- r
		p.answer(r, seconds[0])
		p.gone()
	})
	got, err := g.connected(t).Start(within(t), gateway.Question{
		RunID: "two-res-1", AgentID: "cto", SessionKey: "agent:cto:standup:x",
		Message: "Daily standup please", Limit: 1500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gateway.Started{RunID: "two-res-1", BootID: "boot-7"}, got); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	var params map[string]any
	if err := json.Unmarshal((<-asked).Params, &params); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"message": "Daily standup please", "agentId": "cto", "sessionKey": "agent:cto:standup:x",
		"idempotencyKey": "two-res-1", "deliver": false, "timeout": 2.0,
	}
	if diff := cmp.Diff(want, params); diff != "" {
		t.Errorf("params (-want +sent):\n%s", diff)
	}
}

// A repeated question is in progress or already answered.
func TestStartAgain(t *testing.T) {
	t.Parallel()
	agent := recorded[map[string]exchange](t, "agent.json")
	failed := recorded[map[string][]json.RawMessage](t, "both.json")["failing"][1]
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("agent"), agent["agent duplicate idempotencyKey"].Response)
		p.answer(p.expect("agent"), agent["agent resend after completion (minutes later)"].Response)
		p.answer(p.expect("agent"), failed)
		p.answer(p.expect("agent"), agent["agent unknown agent"].Response)
		p.answer(p.expect("agent"), agent["agent key mismatch"].Response)
		p.gone()
	})
	c := g.connected(t)
	ask := func(run string) (gateway.Started, error) {
		return c.Start(within(t), gateway.Question{RunID: run, AgentID: "cto", Message: "again"})
	}
	if s, err := ask("idem-standup-1"); err != nil || !s.InFlight || s.Answer != nil {
		t.Errorf("while it runs: %+v, %v", s, err)
	}
	s, err := ask("two-res-1")
	if err != nil {
		t.Fatal(err)
	}
	want := gateway.Started{RunID: "two-res-1", BootID: "boot-1", Answer: &gateway.Answer{
		RunID: "two-res-1", Outcome: gateway.Finished, Text: report, Usage: told(7048, 24, 21_504_000),
	}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("after its end (-want +got):\n%s", diff)
	}
	// A known result needs no request.
	if a, err := c.Wait(within(t), "two-res-1", time.Minute); err != nil || a.Text != report {
		t.Errorf("Wait after the cached answer: %+v, %v", a, err)
	}
	// A failed run is a result, not a failure of the request.
	if s, err = ask("fail-1"); err != nil || s.Answer == nil || s.Answer.Outcome != gateway.Failed || !strings.Contains(s.Answer.Error, "LLM request failed") {
		t.Errorf("after its failure: %+v, %v", s, err)
	}
	for _, says := range []string{"unknown agent id", "belongs to"} {
		if _, err := ask("x"); !errors.Is(err, link.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("refused: %v, want something about %q", err, says)
		}
	}
}

func spent(in, out, nanos int64) *gateway.Usage {
	return &gateway.Usage{Provider: "stub", Model: "stub-1", Input: in, Output: out, CostNanoUSD: &nanos}
}

// told returns the usage that a run reports at its end, with its transcript.
func told(in, out, nanos int64) *gateway.Usage {
	u := spent(in, out, nanos)
	u.SessionID = "e123dd26-3855-44a5-8f8e-1fae77f6c472"
	return u
}

// Every recorded response of agent.wait. "timeout" has two meanings; confusing them
// would lose an answer or wait forever.
func TestWaitOutcomes(t *testing.T) {
	t.Parallel()
	waits := recorded[map[string]exchange](t, "wait.json")
	for name, want := range map[string]gateway.Answer{
		"agent.wait ok":                  {Outcome: gateway.Finished, Text: report},
		"agent.wait again after end":     {Outcome: gateway.Finished, Text: report},
		"agent.wait minutes later":       {Outcome: gateway.Finished, Text: report},
		"agent.wait timeout":             {Outcome: gateway.Running},
		"agent.wait unknown run":         {Outcome: gateway.Running},
		"agent.wait on chat run timeout": {Outcome: gateway.Running},
		"after restart":                  {Outcome: gateway.Running},
		"agent.wait aborted":             {Outcome: gateway.Stopped},
		"agent.wait run timed out":       {Outcome: gateway.TimedOut, Error: "Request timed out before a response was generated. Please try again, or increase `agents.defaults.timeoutSeconds` in your config."},
		"agent.wait model error":         {Outcome: gateway.Failed, Error: "LLM request failed: provider rejected the request schema or tool payload."},
		"draining":                       {Outcome: gateway.Failed, Error: "Gateway is draining; new tasks are not accepted", NotBegun: true},
		"agent.wait tool":                {Outcome: gateway.Finished, Text: "stub answer to:"},
		"agent.wait on sessions.send":    {Outcome: gateway.Finished, Text: strings.ReplaceAll(report, "cto", "cmo")},
		"wait mm-3":                      {Outcome: gateway.Finished, Text: strings.ReplaceAll(report, "cto", "cmo")},
		"wait appr-1":                    {Outcome: gateway.Finished, Text: "tool said: hello-approval"},
	} {
		t.Run(name, func(t *testing.T) {
			g := replay(t, func(_ int, p *peer) {
				p.greet("boot-1")
				r := p.expect("agent.wait")
				if got := string(r.Params); got != `{"runId":"some-run","timeoutMs":1500}` {
					t.Errorf("params = %s", got)
				}
				p.answer(r, waits[name].Response)
				p.gone()
			})
			var recordedEnd struct{ Payload struct{ EndedAt int64 } }
			if err := json.Unmarshal(waits[name].Response, &recordedEnd); err != nil {
				t.Fatal(err)
			}
			if ms := recordedEnd.Payload.EndedAt; ms > 0 {
				want.EndedAt = at(ms).Time
			}
			want.RunID = "some-run"
			got, err := g.connected(t).Wait(within(t), "some-run", 1500*time.Millisecond)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		g := replay(t, func(_ int, p *peer) {
			p.greet("boot-1")
			p.answer(p.expect("agent.wait"), waits["agent.wait invalid"].Response)
			p.gone()
		})
		if _, err := g.connected(t).Wait(within(t), "", 0); !errors.Is(err, link.ErrRefused) {
			t.Errorf("Wait: %v", err)
		}
	})
}

// The second response to a question contains the cost of its run. It may arrive before,
// after or instead of the response of agent.wait; the result is always the same.
func TestSecondResponse(t *testing.T) {
	t.Parallel()
	both := recorded[map[string][]json.RawMessage](t, "both.json")
	waits := recorded[map[string]exchange](t, "wait.json")
	finished := gateway.Answer{Outcome: gateway.Finished, Text: report, Usage: told(7048, 24, 21_504_000)}
	timedOut := gateway.Answer{Outcome: gateway.TimedOut, Error: "Request timed out before a response was generated. Please try again, or increase `agents.defaults.timeoutSeconds` in your config."}
	failed := gateway.Answer{Outcome: gateway.Failed, Error: "LLM request failed: provider rejected the request schema or tool payload."}
	for name, test := range map[string]struct {
		wait string
		want gateway.Answer
	}{
		"finished":  {"agent.wait ok", finished},
		"timed out": {"agent.wait run timed out", timedOut},
		"failing":   {"agent.wait model error", failed},
		"aborted":   {"agent.wait aborted", gateway.Answer{Outcome: gateway.Stopped}},
	} {
		for order, play := range map[string]func(p *peer, asked, waited req){
			"before": func(p *peer, asked, waited req) {
				p.answer(asked, both[name][1])
				p.answer(waited, waits[test.wait].Response)
			},
			"after": func(p *peer, asked, waited req) {
				p.answer(waited, waits[test.wait].Response)
				p.answer(asked, both[name][1])
			},
			"alone": func(p *peer, asked, _ req) { p.answer(asked, both[name][1]) },
			"twice": func(p *peer, asked, waited req) {
				p.answer(asked, both[name][1])
				p.answer(asked, both[name][1])
				p.answer(asked, both[name][0])
				p.answer(waited, waits[test.wait].Response)
			},
		} {
			t.Run(name+" "+order, func(t *testing.T) {
				g := replay(t, func(_ int, p *peer) {
					p.greet("boot-1")
					asked := p.expect("agent")
					p.answer(asked, both[name][0])
					play(p, asked, p.expect("agent.wait"))
					p.gone()
				})
				c := client(t, g.options())
				c.UsageWait = patience
				await(t, c)
				if _, err := c.Start(within(t), gateway.Question{RunID: "q-1", AgentID: "cto", Message: "hi"}); err != nil {
					t.Fatal(err)
				}
				got, err := c.Wait(within(t), "q-1", time.Minute)
				test.want.RunID = "q-1"
				// Only agent.wait tells when the run ended.
				if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(gateway.Answer{}, "EndedAt")); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// A question that was sent twice may end twice; the first result counts.
func TestTwoEnds(t *testing.T) {
	t.Parallel()
	both := recorded[map[string][]json.RawMessage](t, "both.json")
	duplicate := recorded[map[string]exchange](t, "agent.json")["agent duplicate idempotencyKey"].Response
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		first := p.expect("agent")
		p.answer(first, both["finished"][0])
		second := p.expect("agent")
		p.answer(second, duplicate)
		p.answer(first, both["finished"][1])
		p.answer(second, both["aborted"][1])
		p.answer(p.expect("agents.list"), recorded[exchange](t, "agents.json").Response)
		p.gone()
	})
	c := g.connected(t)
	for range 2 {
		if _, err := c.Start(within(t), gateway.Question{RunID: "q-1", AgentID: "cto", Message: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Agents(within(t)); err != nil { // both results have been read by then
		t.Fatal(err)
	}
	if a, err := c.Wait(within(t), "q-1", time.Minute); err != nil || a.Outcome != gateway.Finished {
		t.Errorf("Wait: %+v, %v", a, err)
	}
}

// If the second response does not arrive, Wait returns the answer without it.
func TestSecondResponseMissing(t *testing.T) {
	t.Parallel()
	both := recorded[map[string][]json.RawMessage](t, "both.json")
	waits := recorded[map[string]exchange](t, "wait.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("agent"), both["finished"][0])
		p.answer(p.expect("agent.wait"), waits["agent.wait ok"].Response)
		p.gone()
	})
	c := client(t, g.options())
	c.UsageWait = 10 * time.Millisecond
	await(t, c)
	if _, err := c.Start(within(t), gateway.Question{RunID: "q-1", AgentID: "cto", Message: "hi"}); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Wait(within(t), "q-1", time.Minute); err != nil || a.Text != report || a.Usage != nil {
		t.Errorf("Wait: %+v, %v", a, err)
	}
}

// A question that a stopping gateway rejected is asked again with the same run id; the
// earlier result is discarded.
func TestAskAgainAfterDraining(t *testing.T) {
	t.Parallel()
	both := recorded[map[string][]json.RawMessage](t, "both.json")
	const words = "Gateway is draining; new tasks are not accepted"
	draining := with(t, with(t, both["failing"][1], "payload.summary", words), "error.message", words)
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		r := p.expect("agent")
		p.answer(r, both["failing"][0])
		p.expect("agent.wait")
		p.answer(r, draining)
		r = p.expect("agent")
		p.answer(r, both["finished"][0])
		p.expect("agent.wait")
		p.answer(r, both["finished"][1])
		p.gone()
	})
	c := g.connected(t)
	for _, want := range []gateway.Outcome{gateway.Failed, gateway.Finished} {
		if _, err := c.Start(within(t), gateway.Question{RunID: "q-1", AgentID: "cto", Message: "hi"}); err != nil {
			t.Fatal(err)
		}
		a, err := c.Wait(within(t), "q-1", time.Minute)
		if err != nil || a.Outcome != want || a.NotBegun != (want == gateway.Failed) {
			t.Errorf("Wait: %+v, %v, want %s", a, err, want)
		}
	}
}

// Two runs can be waited for on one connection.
func TestTwoWaits(t *testing.T) {
	t.Parallel()
	waits := recorded[map[string]exchange](t, "wait.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		asked := map[string]req{}
		for range 2 {
			r := p.expect("agent.wait")
			var params struct{ RunID string }
			if err := json.Unmarshal(r.Params, &params); err != nil {
				t.Error(err)
			}
			asked[params.RunID] = r
		}
		for _, run := range []string{"second", "first"} {
			p.answer(asked[run], with(t, waits["agent.wait ok"].Response, "payload.terminalReply.text", "I am "+run))
		}
		p.gone()
	})
	c := g.connected(t)
	var both sync.WaitGroup
	for _, run := range []string{"first", "second"} {
		both.Go(func() {
			if a, err := c.Wait(within(t), run, time.Minute); err != nil || a.Text != "I am "+run {
				t.Errorf("Wait %s: %+v, %v", run, a, err)
			}
		})
	}
	both.Wait()
}

// The wait is not limited by the timeout for requests.
func TestWaitOutlivesTimeout(t *testing.T) {
	t.Parallel()
	waits := recorded[map[string]exchange](t, "wait.json")
	due := make(chan struct{})
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		asked := map[string]req{} // agents.list is never answered and times out
		for range 2 {
			r := p.read()
			asked[r.Method] = r
		}
		<-due
		p.answer(asked["agent.wait"], waits["agent.wait ok"].Response)
		p.gone()
	})
	opt := g.options()
	opt.Timeout = 500 * time.Millisecond
	c := client(t, opt)
	await(t, c)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if a, err := c.Wait(within(t), "q-1", time.Minute); err != nil || a.Outcome != gateway.Finished {
			t.Errorf("Wait: %+v, %v", a, err)
		}
	})
	if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrTimeout) {
		t.Errorf("Agents: %v", err)
	}
	close(due)
	waiting.Wait()
}

// If the connection is lost, the wait ends with the reason, and the client repeats
// nothing by itself.
func TestWaitDropped(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var methods []string
	g := replay(t, func(n int, p *peer) {
		p.greet(fmt.Sprintf("boot-%d", n))
		if n == 1 {
			p.expect("agent.wait")
			p.close(1012, "service restart")
			return
		}
		for {
			r := p.read()
			mu.Lock()
			methods = append(methods, r.Method)
			mu.Unlock()
			p.answer(r, recorded[exchange](t, "agents.json").Response)
		}
	})
	c := g.connected(t)
	if _, err := c.Wait(within(t), "q-1", time.Minute); !errors.Is(err, link.ErrUnreachable) {
		t.Errorf("Wait: %v, want unreachable", err)
	}
	if boot := await(t, c); boot != "boot-2" {
		t.Errorf("boot id = %s", boot)
	}
	if _, err := c.Agents(within(t)); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(methods, " "); got != "agents.list" {
		t.Errorf("after the drop it sent %s", got)
	}
}

// Stop reports whether there was anything to stop.
func TestStop(t *testing.T) {
	t.Parallel()
	aborts := recorded[map[string]exchange](t, "abort.json")
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for _, name := range []string{"chat.abort agent run", "chat.abort nothing running"} {
			r := p.expect("chat.abort")
			if got := string(r.Params); got != `{"sessionKey":"agent:cpo:q","runId":"q-1"}` {
				t.Errorf("params = %s", got)
			}
			p.answer(r, aborts[name].Response)
		}
		p.gone()
	})
	c := g.connected(t)
	for _, want := range []bool{true, false} {
		if got, err := c.Stop(within(t), "agent:cpo:q", "q-1"); got != want || err != nil {
			t.Errorf("Stop: %t, %v, want %t", got, err, want)
		}
	}
}

// StopSession reports that something stopped even if the gateway names no run.
func TestStopSession(t *testing.T) {
	t.Parallel()
	// Recorded from OpenClaw 2026.9.6.
	bodies := []string{
		`{"ok":true,"abortedRunId":"r-C2","status":"aborted"}`,
		`{"ok":true,"abortedRunId":null,"status":"aborted"}`,
		`{"ok":true,"abortedRunId":null,"status":"no-active-run"}`,
	}
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for _, body := range bodies {
			r := p.expect("sessions.abort")
			if got := string(r.Params); got != `{"key":"agent:cto:c2","clearQueued":true}` {
				t.Errorf("params = %s", got)
			}
			p.answer(r, map[string]any{"type": "res", "ok": true, "payload": json.RawMessage(body)})
			if strings.Contains(body, `"aborted"`) { // without operator.admin, others' runs may be left
				p.answer(p.expect("tasks.list"), map[string]any{"type": "res", "ok": true, "payload": json.RawMessage(`{"tasks":[]}`)})
			}
		}
		p.gone()
	})
	c := g.connected(t)
	for _, want := range []string{"[r-C2] true", "[] true", "[] false"} {
		ids, stopped, err := c.StopSession(within(t), "agent:cto:c2", "")
		if got := fmt.Sprint(ids, " ", stopped); got != want || err != nil {
			t.Errorf("StopSession: %s, %v, want %s", got, err, want)
		}
	}
}
