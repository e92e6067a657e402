//go:build journey

package realgateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stopsSubAgents stops a session whose own run has ended while its sub-agent works, and then the
// session of a sub-agent. No agent may be woken with the owner tools by either.
func (j *journey) stopsSubAgents(t *testing.T) {
	const parent = "agent:cpo:main"
	for i, what := range []string{parent, "the sub-agent"} {
		task := fmt.Sprintf("Count flock %d.", i)
		j.owner.Post(t, "/api/v1/agents/cpo/messages", map[string]string{
			"text": fmt.Sprintf(`Round %d [[use sessions_spawn {"task":"%s [[wait 2m]]","label":"helper%d"}]]`, i, task, i),
		}).Want(t, http.StatusAccepted)
		child := ""
		working := func() bool {
			for _, s := range j.sessions(t, "agent_id=cpo") {
				if strings.Contains(s.Key, ":subagent:") && s.Active {
					child = s.Key
					return true
				}
			}
			return false
		}
		WaitFor(t, 2*time.Minute, "the sub-agent to work", func() bool { return len(j.model.Ever("cpo", task)) > 0 && working() })
		WaitFor(t, 2*time.Minute, "its parent to be done", func() bool { return !j.session(t, parent).Active })
		key := what
		if key != parent {
			key = child
		}
		var out struct {
			Stopped bool     `json:"stopped"`
			RunIDs  []string `json:"run_ids"`
		}
		j.owner.Post(t, sessionPath(key)+"/stop", map[string]any{}).Into(t, http.StatusOK, &out)
		if t.Logf("%s: %+v", what, out); !out.Stopped {
			t.Errorf("%s was not stopped", what)
		}
		WaitFor(t, time.Minute, "the sub-agent to stop", func() bool { return !working() })
	}
	time.Sleep(5 * time.Second) // in which a parent would be woken
	if tools := owned(j.model.Calls("cpo")); len(tools) > 0 {
		t.Errorf("a run was offered %v", tools)
	}
}
