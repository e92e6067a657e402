package faults

import (
	"strings"

	"github.com/google/uuid"

	"wardroom/internal/gateway/demo"
)

// Spawn starts a sub-agent, as the agents' spawn tool does. It creates a child session
// for the same agent, starts a run in it, and sends the usual events. It returns the key
// of the new session and the id of the run.
func (r *Runtime) Spawn(parentKey, label, message string) (sessionKey, runID string, err error) {
	agentID, _, _ := strings.Cut(strings.TrimPrefix(parentKey, "agent:"), ":")
	sessionKey, runID = "agent:"+agentID+":subagent:"+uuid.NewString(), uuid.NewString()
	return sessionKey, runID, r.Prompt(demo.Prompt{
		RunID: runID, SessionKey: sessionKey, Message: message, Parent: parentKey, Label: label,
	})
}

// Prompt, tool name and answer in a heartbeat run.
const (
	heartbeatText   = "[OpenClaw heartbeat poll]"
	heartbeatTool   = "heartbeat"
	heartbeatAnswer = "HEARTBEAT_OK"
)

// Heartbeat wakes an agent in its main session, as the gateway's timer does. The
// simulated agent always replies that it has nothing to do. The method chat.history omits
// the prompt and the reply. The method sessions.get returns both, and the session's usage
// totals include them.
func (r *Runtime) Heartbeat(agentID string) (runID string, err error) {
	runID = uuid.NewString()
	return runID, r.Prompt(demo.Prompt{
		RunID: runID, SessionKey: "agent:" + agentID + ":main", Message: heartbeatText, Tool: heartbeatTool, Hidden: true,
	})
}
