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
	// hidden says that the gateway has the method and does not list it among its
	// features, as version 2026.9.6 does, so that its absence there says nothing.
	hidden bool
}

// needs are all the methods that we use. A test holds that none is missing.
func needs() []need {
	const (
		read, write, admin = "operator.read", "operator.write", "operator.admin"
		schedules          = "changing the runtime's timed jobs"
	)
	return []need{
		{method: "health", feature: "noticing that a slow gateway is well again"},
		{method: "agents.list", feature: "the roster of agents", scope: read},
		{method: "agent", feature: "asking agents, as standups do", scope: write},
		{method: "agent.wait", feature: "the answers of agents", scope: write},
		{method: "chat.abort", feature: "stopping a run", scope: write},
		{method: "tasks.list", feature: "finding what was begun over an earlier connection, to stop it", scope: read},
		{method: "tasks.cancel", feature: "stopping what was begun over an earlier connection", scope: write},
		{method: "chat.send", feature: "sending messages to sessions", scope: write},
		{method: "chat.history", feature: "transcripts, and answers that came while the connection was away", scope: read},
		{method: "sessions.list", feature: "the runtime's sessions", scope: read},
		{method: "sessions.subscribe", feature: "sessions that change as they are watched", scope: read},
		{method: "sessions.describe", feature: "one session", scope: read},
		{method: "sessions.usage", feature: "tokens and cost of sessions", scope: read, hidden: true},
		{method: "models.list", feature: "the list of models", scope: read},
		{method: "sessions.get", feature: "telling what for agents worked that had nothing to say", scope: read, hidden: true},
		{method: "cron.list", feature: "the runtime's timed jobs", scope: read},
		{method: "cron.get", feature: "one timed job", scope: read},
		{method: "cron.runs", feature: "the runs of timed jobs", scope: read},
		{method: "cron.add", feature: schedules, scope: admin},
		{method: "cron.update", feature: schedules, scope: admin},
		{method: "cron.remove", feature: schedules, scope: admin},
		{method: "cron.run", feature: "running a timed job now", scope: admin},
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
	if c.conn != nil && !known {
		c.status.Unavailable = append(c.status.Unavailable, Unavailable{n.feature, n.method, "The gateway answers that it does not know the method. " + updateGateway})
		close(c.changed)
		c.changed = make(chan struct{})
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
