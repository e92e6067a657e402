package gateway

import (
	"fmt"
	"slices"
	"strings"
)

// Tested is the version of the gateway that this client is tested with.
const Tested = "2026.9.6"

// Unavailable is something that does not work because the gateway, in the
// version that is connected, lacks a method. Whatever else there is works.
type Unavailable struct {
	Feature string `json:"feature" doc:"What does not work, in words."`
	Method  string `json:"method" doc:"The method of the gateway that it needs."`
	Why     string `json:"why" doc:"How we know, and what to do."`
}

// need is a method of the gateway that we use, and what for.
type need struct {
	method  string
	feature string // in words, for a list
	scope   string // that the gateway asks for it; empty for none
	over    lane   // which connection carries it
	// hidden says that the gateway has the method and does not list it among its
	// features, as version 2026.9.6 does, so that its absence there says nothing.
	hidden bool
}

// needs are all the methods that we use, each with the connection that carries
// it. Tests hold that none is missing, and that each has its lane. A request that
// can wake an agent belongs to runsLane: tasks.cancel wakes the parent of a
// sub-agent, in a run of its own.
func needs() []need {
	const (
		read, write, admin = scopeRead, scopeWrite, scopeAdmin
		schedules          = "changing the runtime's timed jobs"
	)
	return []need{
		{method: "health", over: watchLane, feature: "noticing that a slow gateway is well again"},
		{method: "agents.list", over: watchLane, feature: "the roster of agents", scope: read},
		{method: "agent", over: runsLane, feature: "asking agents, as standups do", scope: write},
		{method: "agent.wait", over: runsLane, feature: "the answers of agents", scope: write},
		{method: "chat.abort", over: watchLane, feature: "stopping a run", scope: write},
		{method: "tasks.list", over: watchLane, feature: "finding what was begun over an earlier connection, to stop it", scope: read},
		{method: "tasks.cancel", over: runsLane, feature: "stopping what was begun over an earlier connection", scope: write},
		{method: "chat.send", over: runsLane, feature: "sending messages to sessions", scope: write},
		{method: "chat.history", over: watchLane, feature: "transcripts, and answers that came while the connection was away", scope: read},
		{method: "chat.message.get", over: watchLane, feature: "long answers that came while the connection was away", scope: read},
		{method: "sessions.list", over: watchLane, feature: "the runtime's sessions", scope: read},
		{method: "sessions.subscribe", over: watchLane, feature: "sessions that change as they are watched", scope: read},
		{method: "sessions.describe", over: watchLane, feature: "one session", scope: read},
		{method: "sessions.usage", over: watchLane, feature: "tokens and cost of sessions", scope: read, hidden: true},
		{method: "models.list", over: watchLane, feature: "the list of models", scope: read},
		{method: "sessions.get", over: watchLane, feature: "telling what for agents worked that had nothing to say", scope: read, hidden: true},
		{method: "cron.list", over: watchLane, feature: "the runtime's timed jobs", scope: read},
		{method: "cron.get", over: watchLane, feature: "one timed job", scope: read},
		{method: "cron.runs", over: watchLane, feature: "the runs of timed jobs", scope: read},
		{method: "cron.add", over: adminLane, feature: schedules, scope: admin},
		{method: "cron.update", over: adminLane, feature: schedules, scope: admin},
		{method: "cron.remove", over: adminLane, feature: schedules, scope: admin},
		{method: "cron.run", over: adminLane, feature: "running a timed job now", scope: admin},
	}
}

// lacking is what the gateway's own list of methods leaves out. A gateway that
// lists none says nothing of them.
func lacking(methods []string) []Unavailable {
	out := []Unavailable{}
	if len(methods) == 0 {
		return out
	}
	for _, n := range needs() {
		if !n.hidden && !slices.Contains(methods, n.method) {
			out = append(out, Unavailable{n.feature, n.method, "The gateway does not list the method among its features. " + updateGateway})
		}
	}
	return out
}

const updateGateway = "Update the gateway: this service is tested with version " + Tested + "."

// unknownMethod is which of the methods that we use the gateway refuses because
// it does not have it; nil when that is not what it says. There is no code for it.
func unknownMethod(e *wireError) *need {
	named, ok := strings.CutPrefix(e.Message, "unknown method: ")
	if !ok {
		return nil
	}
	for _, n := range needs() {
		if n.method == strings.TrimSpace(named) {
			return &n
		}
	}
	return nil
}

// withoutMethod notes that the gateway does not know a method, which it may not
// have told in its list, and is the fault of who needs it.
func (c *Client) withoutMethod(n need) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := slices.ContainsFunc(c.status.Unavailable, func(u Unavailable) bool { return u.Method == n.method })
	if c.watching != nil && !known {
		c.status.Unavailable = append(c.status.Unavailable, Unavailable{n.feature, n.method, "The gateway answers that it does not know the method. " + updateGateway})
		c.bump()
		c.opt.Log.Warn("the gateway lacks a method", "method", n.method, "without", n.feature)
	}
	return ErrRefused.With("It does not have the method %s, which is needed for: %s. %s", n.method, n.feature, updateGateway)
}

// NeededFor is what does not work without a scope, in words; empty when nothing
// of ours needs it.
func NeededFor(scope string) []string {
	features := []string{}
	for _, n := range needs() {
		if n.scope == scope && !slices.Contains(features, n.feature) {
			features = append(features, n.feature)
		}
	}
	return features
}

// NeededScopes are the scopes that something of ours needs, the least first.
func NeededScopes() []string {
	var scopes []string
	for _, n := range needs() {
		if n.scope != "" && !slices.Contains(scopes, n.scope) {
			scopes = append(scopes, n.scope)
		}
	}
	return scopes
}

// Covered says whether one of the scopes that were granted is, or includes, scope.
func Covered(granted []string, scope string) bool {
	return slices.ContainsFunc(granted, func(g string) bool { return covers(g, scope) })
}

// neededFor says what does not work without the given scopes.
func neededFor(missing []string) string {
	var features []string
	for _, n := range needs() {
		if slices.Contains(missing, n.scope) && !slices.Contains(features, n.feature) {
			features = append(features, n.feature)
		}
	}
	if len(features) == 0 {
		return ""
	}
	return fmt.Sprintf("That is needed for: %s.", strings.Join(features, "; "))
}
