//go:build journey

package realgateway

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// ownerTools returns the tools that the gateway offers only to runs started with
// operator.admin (its own list, OpenClaw 2026.9.6). `transcripts` and `intent` are not
// among them: other runs get them too, in a limited form, as every message shows.
func ownerTools() []string {
	return []string{
		"automations", "computer", "conversations_list", "conversations_send", "conversations_turn", "gateway", "mobile_ui",
		"nodes", "openclaw", "plugins", "portal", "screen", "sessions", "terminal",
	}
}

// owned returns the owner tools that were offered in the calls.
func owned(calls []Call) (tools []string) {
	for _, tool := range ownerTools() {
		if slices.ContainsFunc(calls, func(c Call) bool { return slices.Contains(c.Tools, tool) }) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// offersNoOwnerTools checks the standups and the dispatch of decides, and a message, of a
// service that has operator.admin. With the owner tools, an agent could change the
// gateway's configuration.
func (j *journey) offersNoOwnerTools(t *testing.T) {
	// The control: a run started with operator.admin does get the tools.
	j.administrator(t).call(t, "agent", map[string]any{
		"message": "Count the stars.", "agentId": "cmo", "sessionKey": "agent:cmo:control", "idempotencyKey": "control", "deliver": false, "timeout": 120,
	})
	control := func() []Call { return j.model.Ever("cmo", "Count the stars.") }
	WaitFor(t, 2*time.Minute, "the control to be asked", func() bool { return len(control()) > 0 })
	if tools := owned(control()); len(tools) < 5 {
		t.Fatalf("started with operator.admin, a run is offered only %v of %v", tools, control()[0].Tools)
	}

	j.owner.Post(t, sessionPath(cpoStandup)+"/messages", map[string]string{"text": "Count the doors."}).Want(t, http.StatusAccepted)
	for _, asked := range []struct{ what, agent, question string }{
		{"the standup", "cto", "Give your standup report"},
		{"the standup", "cpo", "Give your standup report"},
		{"the standup", "cmo", "Give your standup report"},
		{"the review", "coo", "action_items"},
		{"the dispatch", "cto", "You are assigned task "},
		{"the message", "cpo", "Count the doors."},
	} {
		calls := func() []Call { return j.model.Ever(asked.agent, asked.question) }
		WaitFor(t, 2*time.Minute, asked.what+" to reach the "+asked.agent, func() bool { return len(calls()) > 0 })
		is := calls()
		if tools := owned(is); len(tools) > 0 || len(is[0].Tools) < 5 {
			t.Errorf("%s offers the %s the owner tools %v, of %d tools", asked.what, asked.agent, tools, len(is[0].Tools))
		}
	}
}

// cpoStandup is the session of the CPO in the first standup of decides.
const cpoStandup = "agent:cpo:standup:2026-09-21"

// stops stops a run of the service and one that another client has started.
func (j *journey) stops(t *testing.T) {
	j.model.Script("cpo", Reply{Text: "At last.", Delay: 2 * time.Minute})
	defer j.model.Script("cpo", Reply{})
	op, hello := dial(t, j.gateway.http, j.gateway.URL, j.gateway.Token, nil)
	if !hello.OK {
		t.Fatalf("the gateway refused the connection: %s", hello.Error)
	}
	j.owner.Post(t, sessionPath(cpoStandup)+"/messages", map[string]string{"text": "Count the trees."}).Want(t, http.StatusAccepted)
	op.call(t, "chat.send", map[string]any{"sessionKey": "agent:cpo:theirs", "message": "Count the birds.", "idempotencyKey": "theirs", "deliver": false})
	for key, question := range map[string]string{cpoStandup: "Count the trees.", "agent:cpo:theirs": "Count the birds."} {
		WaitFor(t, 2*time.Minute, "the agent to begin", func() bool { return len(j.model.Ever("cpo", question)) > 0 })
		WaitFor(t, time.Minute, "the session to be known", func() bool { return j.owner.Get(t, sessionPath(key)).Status == http.StatusOK })
		var out struct {
			RunIDs []string `json:"run_ids"`
		}
		j.owner.Post(t, sessionPath(key)+"/stop", map[string]any{}).Into(t, http.StatusOK, &out)
		if len(out.RunIDs) != 1 {
			t.Errorf("%s: stopped %v", key, out.RunIDs)
		}
	}
}

// jobTools logs which tools the runs of a scheduled job get. The gateway decides that by
// its own rules.
func (j *journey) jobTools(t *testing.T) {
	t.Helper()
	for _, c := range j.model.Ever("cto", "How is it going?") {
		t.Logf("a job's run was offered %d tools; owner tools: %v", len(c.Tools), owned([]Call{c}))
	}
}
