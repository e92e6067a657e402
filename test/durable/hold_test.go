package durable

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db/dbtest"
)

// holding is a point between the run that crosses a limit and the complete hold of its agent.
type holding struct {
	name string
	at   blow
}

func holdings() []holding {
	return []holding{
		{"before the crossing is committed", event("limit.reached", `SELECT 1 - COUNT(*) FROM spend_limit_crossings`)},
		{"before the hold is committed", event("agent.held", `SELECT 1 - COUNT(*) FROM agent_holds`)},
		{"after the hold, before its job begins", trap{
			on: "UPDATE ON jobs", when: "NEW.kind = 'hold' AND NEW.state = 'running' AND OLD.state = 'ready'",
			here: `SELECT COUNT(*) FROM jobs WHERE kind = 'hold' AND state = 'ready'`,
		}},
		{"before it is stored what a release restores", trap{
			on: "UPDATE ON agent_holds", when: "NEW.before <> '' AND OLD.before = ''", here: `SELECT COUNT(*) FROM agent_holds WHERE before = ''`,
		}},
		{"the change of the configuration leaves and does not arrive", wire{method: "config.patch", lost: true}},
		{"the configuration is changed, and nobody heard of it", wire{method: "config.patch"}},
		{"a job is noted and not disabled", wire{method: "cron.update", lost: true}},
		{"a job is disabled, and nobody heard of it", wire{method: "cron.update"}},
		{"the hold is complete, and that is not stored", trap{
			on: "UPDATE ON agent_holds", when: "NEW.runtime = 'held' AND OLD.runtime = 'pending'", here: `SELECT COUNT(*) FROM agent_holds WHERE runtime = 'pending'`,
		}},
		{"the hold is stored, and its job is not over", trap{
			on: "UPDATE ON jobs", when: "NEW.kind = 'hold' AND NEW.state = 'done'",
			here: `SELECT COUNT(*) FROM agent_holds JOIN jobs ON jobs.key = agent_holds.agent_id WHERE jobs.kind = 'hold' AND jobs.state = 'running' AND runtime = 'held'`,
		}},
	}
}

// A crash between the crossing of a limit and the hold must not leave the agent free, and its release
// must still restore what was before.
func TestKillHold(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			from := plant(t, engine)
			for _, p := range sample(holdings(), engine) {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					p.play(newTrial(t, from, map[string]string{"AGENTRT_GATEWAY_SCOPES": "operator.read,operator.write,operator.admin"}))
				})
			}
		})
	}
}

func (p holding) play(x *trial) {
	x.start()
	x.connected()
	x.want(http.MethodPatch, "/api/v1/settings", map[string]any{"holds": map[string]bool{"in_runtime": true}, "current_password": password}, http.StatusOK, nil)
	var job struct{ ID string }
	x.want(http.MethodPost, "/api/v1/agentrt/jobs", map[string]any{
		"name": "Each year", "agentId": "cto", "schedule": map[string]string{"expr": "0 9 1 1 *", "tz": "UTC"}, "payload": map[string]string{"message": "How is it going?"},
	}, http.StatusCreated, &job)
	x.want(http.MethodPost, "/api/v1/limits", map[string]string{
		"scope": "agent", "scope_id": "cto", "measure": "tokens", "amount": "1", "window": "day", "action": "hold",
	}, http.StatusCreated, nil)
	before := x.runtime.Config()
	struck := p.at.prepare(x)
	x.want(http.MethodPost, "/api/v1/agents/cto/messages", map[string]string{"text": "Go on."}, http.StatusAccepted, nil)
	struck()
	x.start()

	var agent struct {
		Hold *struct{ Runtime, Detail string }
	}
	is := func() string {
		agent.Hold = nil
		x.want(http.MethodGet, "/api/v1/agents/cto", nil, http.StatusOK, &agent)
		if agent.Hold == nil {
			return ""
		}
		return agent.Hold.Runtime
	}
	enabled := func() bool {
		var j struct{ Enabled bool }
		x.want(http.MethodGet, "/api/v1/agentrt/jobs/"+job.ID, nil, http.StatusOK, &j)
		return j.Enabled
	}
	until(x.T, "the hold", 60*time.Second, func() bool { return is() == "held" })
	until(x.T, "the job to be disabled", 60*time.Second, func() bool { return !enabled() })
	if is := x.runtime.Config(); !strings.Contains(is, "wardroom-hold/limit-reached") {
		x.Errorf("the configuration is %s", is)
	}
	for table, want := range map[string]int{"spend_limit_crossings WHERE level = 100": 1, "agent_holds": 1, "events WHERE kind = 'limit.reached'": 1} {
		if n := x.count(fmt.Sprint("SELECT COUNT(*) FROM ", table)); n != want {
			x.Errorf("%d of %s, want %d", n, table, want)
		}
	}
	x.want(http.MethodPost, "/api/v1/agents/cto/release", nil, http.StatusOK, nil)
	until(x.T, "the release", 60*time.Second, func() bool { return is() == "" })
	if after := x.runtime.Config(); after != before {
		x.Errorf("the configuration was\n%s\nand is\n%s", before, after)
	}
	until(x.T, "the job to be enabled", 60*time.Second, enabled)
}
