package demo

import (
	"fmt"

	"github.com/google/uuid"
)

// The words of a run by which an agent wakes on its own.
const (
	pollText   = "[OpenClaw heartbeat poll]"
	pollTool   = "heartbeat"
	pollAnswer = "HEARTBEAT_OK"
)

// Poll wakes an agent as the gateway's own clock does: in its main session, where
// it finds nothing to do. Neither the question nor the answer is in chat.history;
// both are in sessions.get, and what they used is in the totals.
func (r *Runtime) Poll(agentID string) (runID string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.agent(agentID)
	if !ok || r.boot == nil {
		return "", fmt.Errorf("demo: no agent %q is running", agentID)
	}
	s, made := r.sessionOf("agent:"+a.ID+":main", a)
	q := &run{boot: r.boot, session: s, agent: a, id: uuid.NewString(), message: pollText, polls: true, taskID: uuid.NewString(), createdAt: r.now()}
	r.enqueue(q, made)
	return q.id, nil
}

// handleKept is the newest rows of a transcript, with those that are left out
// where people read it.
func (r *Runtime) handleKept(c call) (any, *failure) {
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
