//go:build journey

package realgateway

import (
	"strings"
	"testing"
	"time"
)

// smokeQuestion is the question that smoke asks each agent.
const smokeQuestion = "Your report, please."

// smoke asks each agent once without the service. If it fails, the test setup is broken,
// not the service. It also covers the agents' first turns, which are slow.
func smoke(t *testing.T, model *Model, gateway *Gateway) {
	connect := func() *operator {
		op, hello := dial(t, gateway.http, gateway.URL, gateway.Token, nil)
		if !hello.OK {
			t.Fatalf("the gateway refused the connection: %s", hello.Error)
		}
		return op
	}
	op := connect()
	model.Script("coo", Reply{Text: "All is well."})
	defer model.Script("coo", Reply{})
	for agent, want := range map[string]string{
		"coo": "All is well.",
		"cto": "## Yesterday",
		"cpo": "**Yesterday:** talked to",
		"cmo": "Blockers: none.",
	} {
		t.Run("asks the "+agent+" once", func(t *testing.T) {
			begin := time.Now()
			got, stuck := op.tryAsk(t, agent, smokeQuestion)
			if stuck {
				t.Log("restarting the gateway: " + stuckDatabase)
				gateway.Restart(t)
				op = connect()
				got = op.ask(t, agent, smokeQuestion)
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s answered %q, want it to begin with %q", agent, got, want)
			}
			t.Logf("%s answered after %s", agent, time.Since(begin).Round(time.Millisecond))
			calls := model.Calls(agent)
			if len(calls) != 1 {
				t.Fatalf("%s asked the model %d times, want once: %+v", agent, len(calls), calls)
			}
			if !strings.Contains(calls[0].Prompt, smokeQuestion) {
				t.Errorf("the model was asked %q, want the question in it", calls[0].Prompt)
			}
		})
	}
	if stray := model.Calls(""); len(stray) > 0 {
		t.Errorf("%d calls without an agent: %+v", len(stray), stray)
	}
}
