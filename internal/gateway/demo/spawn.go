package demo

import (
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
)

// ErrNoSession is returned if no session has the given key.
var ErrNoSession = errors.New("demo: no such session")

// Spawn starts a sub-agent, as the agents' spawn tool does. It creates a child session
// for the same agent, starts a run in it, and sends the usual events. It returns the key
// of the new session and the id of the run.
func (r *Runtime) Spawn(parentKey, label, message string) (sessionKey, runID string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent := r.sessions[canonical(parentKey)]
	if parent == nil || r.boot == nil {
		return "", "", fmt.Errorf("%w: %s", ErrNoSession, parentKey)
	}
	key := "agent:" + parent.agentID + ":subagent:" + uuid.NewString()
	s, created := r.sessionOf(key, parent.agent)
	s.parent, s.label = parentKey, label
	q := &run{
		boot: r.boot, session: s, agent: parent.agent, id: uuid.NewString(), message: message, taskID: uuid.NewString(),
		createdAt: r.now(),
	}
	r.enqueue(q, created)
	return key, q.id, nil
}

// Label sets a session's title, as users do in the gateway's dashboard. An empty label
// removes it.
func (r *Runtime) Label(sessionKey, label string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[canonical(sessionKey)]
	if s == nil {
		return fmt.Errorf("%w: %s", ErrNoSession, sessionKey)
	}
	s.label = label
	r.emitSession(s, object{"reason": "patch"})
	return nil
}

// addOrigin adds the session's origin and title to a session row.
func (s *session) addOrigin(row object) {
	if s.label != "" {
		row["label"], row["displayName"] = s.label, s.label
	}
	if s.cron {
		maps.Copy(row, object{"createdVia": "cron", "classification": "cron", "isBackground": true, "createdActor": object{"type": "system"}})
	}
	if s.parent == "" {
		return
	}
	active := s.active != nil
	state := "historical"
	if active {
		state = "active"
	}
	maps.Copy(row, object{
		"spawnedBy": s.parent, "parentSessionKey": s.parent, "controlOwnerSessionKey": s.parent, "spawnDepth": 1,
		"subagentRole": "orchestrator", "subagentControlScope": "children", "createdVia": "spawn",
		"classification": "subagent", "isBackground": true,
		"subagentRunState": state, "hasActiveSubagentRun": active,
	})
}

// addSpawnedBy adds the parent session's key to the payload of an event about a
// sub-agent's run.
func (s *session) addSpawnedBy(payload object) {
	if s.parent != "" {
		payload["spawnedBy"] = s.parent
	}
}
