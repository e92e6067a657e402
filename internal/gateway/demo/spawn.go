package demo

import (
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
)

// ErrNoSession is returned for a session key that nobody has used yet.
var ErrNoSession = errors.New("demo: no such session")

// Spawn does what the tool does with which an agent starts a sub-agent: it makes
// a session below another one, of the same agent, and begins a run in it. Its
// events are those of any run. It returns the key of the new session and the id
// of the run.
func (r *Runtime) Spawn(parentKey, label, message string) (sessionKey, runID string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent := r.sessions[canonical(parentKey)]
	if parent == nil || r.boot == nil {
		return "", "", fmt.Errorf("%w: %s", ErrNoSession, parentKey)
	}
	key := "agent:" + parent.agentID + ":subagent:" + uuid.NewString()
	s, made := r.sessionOf(key, parent.agent)
	s.parent, s.label = parentKey, label
	q := &run{
		boot: r.boot, session: s, agent: parent.agent, id: uuid.NewString(), message: message, taskID: uuid.NewString(),
		createdAt: r.now(),
	}
	r.enqueue(q, made)
	return key, q.id, nil
}

// Label names a session, as people do in the gateway's own dashboard; empty
// takes the name away.
func (r *Runtime) Label(sessionKey, label string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[canonical(sessionKey)]
	if s == nil {
		return fmt.Errorf("%w: %s", ErrNoSession, sessionKey)
	}
	s.label = label
	r.tellSession(s, object{"reason": "patch"})
	return nil
}

// lineage adds to a row where its session comes from and what people call it.
func (s *session) lineage(row object) {
	if s.label != "" {
		row["label"], row["displayName"] = s.label, s.label
	}
	if s.cron {
		maps.Copy(row, object{"createdVia": "cron", "classification": "cron", "isBackground": true, "createdActor": object{"type": "system"}})
	}
	if s.parent == "" {
		return
	}
	going := s.active != nil
	state := "historical"
	if going {
		state = "active"
	}
	maps.Copy(row, object{
		"spawnedBy": s.parent, "parentSessionKey": s.parent, "controlOwnerSessionKey": s.parent, "spawnDepth": 1,
		"subagentRole": "orchestrator", "subagentControlScope": "children", "createdVia": "spawn",
		"classification": "subagent", "isBackground": true,
		"subagentRunState": state, "hasActiveSubagentRun": going,
	})
}

// spawned adds to an event of a sub-agent's run who spawned it.
func (s *session) spawned(payload object) {
	if s.parent != "" {
		payload["spawnedBy"] = s.parent
	}
}
