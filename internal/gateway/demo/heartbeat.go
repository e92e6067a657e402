package demo

import (
	"fmt"

	"github.com/google/uuid"
)

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
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.agent(agentID)
	if !ok || r.boot == nil {
		return "", fmt.Errorf("demo: no agent %q is running", agentID)
	}
	s, created := r.sessionOf("agent:"+a.ID+":main", a)
	q := &run{boot: r.boot, session: s, agent: a, id: uuid.NewString(), message: heartbeatText, heartbeat: true, taskID: uuid.NewString(), createdAt: r.now()}
	r.enqueue(q, created)
	return q.id, nil
}

// handleSessionsGet returns the newest rows of a transcript, including those that
// chat.history omits.
func (r *Runtime) handleSessionsGet(c call) (any, *failure) {
	in := struct {
		Key   string
		Limit int
	}{Limit: 200}
	p := params{required: words("key"), optional: words("limit agentId")}
	if f := p.read("sessions.get", "", c.params, &in); f != nil {
		return nil, f
	}
	rows := []object{}
	if s := r.sessions[canonical(in.Key)]; s != nil {
		for i := max(0, len(s.messages)-max(1, in.Limit)); i < len(s.messages); i++ {
			rows = append(rows, s.json(s.messages[i], i+1))
		}
	}
	return object{"messages": rows}, nil
}
