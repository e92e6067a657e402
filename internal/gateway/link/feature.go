package link

import (
	"fmt"
	"slices"
	"strings"
)

// Tested is the version of the gateway that Wardroom is tested with.
const Tested = "2026.9.6"

// Unavailable describes a feature that does not work because the connected gateway's
// version lacks a method.
type Unavailable struct {
	Feature string `json:"feature" doc:"Feature that does not work."`
	Method  string `json:"method" doc:"Gateway method that the feature needs."`
	Why     string `json:"why" doc:"How this was detected, and what to do."`
}

// need describes a gateway method that Wardroom uses.
type need struct {
	method  string
	feature string // what the method is for, as shown in lists
	scope   string // scope that the gateway requires for it; may be empty
	over    lane   // connection that carries it
	// hidden means that the gateway (version 2026.9.6) has the method but does not list
	// it, so its absence from the list means nothing.
	hidden bool
}

// needs returns all gateway methods that Wardroom uses, each with its lane: the
// connection over which it is called. Tests check that the list is complete and that each
// lane is correct. Methods that can wake an agent belong to runsLane. This includes
// tasks.cancel, because canceling a sub-agent's run wakes its parent in a new run.
func needs() []need {
	const (
		read, write, admin = scopeRead, scopeWrite, scopeAdmin
		schedules          = "changing scheduled jobs"
		agentFiles         = "warning before an agent's file is too long"
		approvals          = "answering approvals"
		questions          = "answering agents' questions"
		receipts           = "files and artifacts in the receipts of tasks"
	)
	return []need{
		{method: "health", over: watchLane, feature: "detecting that a slow gateway has recovered"},
		{method: "system.info", over: watchLane, feature: "warning before the gateway's disk is full", scope: read},
		{method: "agents.list", over: watchLane, feature: "listing agents", scope: read},
		{method: "agent", over: runsLane, feature: "sending questions to agents, as in standups", scope: write},
		{method: "agent.wait", over: runsLane, feature: "receiving agents' answers", scope: write},
		{method: "chat.abort", over: watchLane, feature: "stopping runs", scope: write},
		{method: "sessions.abort", over: watchLane, feature: "stopping sessions", scope: write},
		{method: "tasks.list", over: watchLane, feature: "finding runs that were started over an earlier connection", scope: read},
		{method: "tasks.cancel", over: runsLane, feature: "stopping runs that were started over an earlier connection", scope: write},
		{method: "chat.send", over: runsLane, feature: "sending messages to sessions", scope: write},
		{method: "chat.history", over: watchLane, feature: "transcripts, and answers given while Wardroom was disconnected", scope: read},
		{method: "chat.message.get", over: watchLane, feature: "long answers given while Wardroom was disconnected", scope: read},
		{method: "sessions.list", over: watchLane, feature: "listing sessions", scope: read},
		{method: "sessions.subscribe", over: watchLane, feature: "live updates of sessions", scope: read},
		{method: "sessions.describe", over: watchLane, feature: "reading a single session", scope: read},
		{method: "sessions.usage", over: watchLane, feature: "tokens and cost of sessions", scope: read, hidden: true},
		{method: "models.list", over: watchLane, feature: "listing models", scope: read},
		{method: "models.authStatus", over: watchLane, feature: "warning before a login to a provider of models ends", scope: read},
		{method: "agents.files.list", over: watchLane, feature: agentFiles, scope: read},
		{method: "agents.files.get", over: watchLane, feature: agentFiles, scope: read},
		{method: "tools.effective", over: watchLane, feature: "checking whether agents have their tools", scope: read},
		{method: "sessions.get", over: watchLane, feature: "the usage of runs without a visible message", scope: read, hidden: true},
		{method: "sessions.diff", over: watchLane, feature: receipts, scope: read},
		{method: "artifacts.list", over: watchLane, feature: receipts, scope: read},
		{method: "cron.list", over: watchLane, feature: "listing scheduled jobs", scope: read},
		{method: "cron.get", over: watchLane, feature: "reading a single scheduled job", scope: read},
		{method: "cron.runs", over: watchLane, feature: "listing the runs of scheduled jobs", scope: read},
		{method: "cron.add", over: adminLane, feature: schedules, scope: admin},
		{method: "cron.update", over: adminLane, feature: schedules, scope: admin},
		{method: "cron.remove", over: adminLane, feature: schedules, scope: admin},
		{method: "config.get", over: watchLane, feature: "holding agents in the runtime, and knowing whether they ask before they run commands", scope: read},
		{method: "config.patch", over: adminLane, feature: "holding agents in the runtime", scope: admin},
		{method: "cron.run", over: adminLane, feature: "running a scheduled job now", scope: admin},
		{method: "exec.approval.list", over: adminLane, feature: approvals, scope: admin},
		{method: "exec.approval.resolve", over: adminLane, feature: approvals, scope: admin},
		{method: "plugin.approval.list", over: adminLane, feature: approvals, scope: admin},
		{method: "plugin.approval.resolve", over: adminLane, feature: approvals, scope: admin},
		{method: "approval.get", over: adminLane, feature: approvals, scope: admin},
		{method: "question.list", over: adminLane, feature: questions, scope: admin},
		{method: "question.get", over: adminLane, feature: questions, scope: admin},
		{method: "question.resolve", over: adminLane, feature: questions, scope: admin},
	}
}

// missingFeatures returns the features whose methods the gateway does not list. If the
// gateway lists no methods at all, the result is empty.
func missingFeatures(methods []string) []Unavailable {
	out := []Unavailable{}
	if len(methods) == 0 {
		return out
	}
	for _, n := range needs() {
		if !n.hidden && !slices.Contains(methods, n.method) {
			out = append(out, Unavailable{n.feature, n.method, "The gateway does not list this method. " + updateGateway})
		}
	}
	return out
}

const updateGateway = "Update the gateway: Wardroom is tested with version " + Tested + "."

// unknownMethod returns the method that the gateway reports as unknown, or nil if e
// reports none. It parses the message, because the gateway has no error code for this.
func unknownMethod(e *WireError) *need {
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

// withoutMethod records in the status that the gateway lacks a method. It returns the
// error for a request that needs the method.
func (c *Client) withoutMethod(n need) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := slices.ContainsFunc(c.status.Unavailable, func(u Unavailable) bool { return u.Method == n.method })
	if c.watching != nil && !known {
		c.status.Unavailable = append(c.status.Unavailable, Unavailable{n.feature, n.method, "The gateway answered that it does not have this method. " + updateGateway})
		c.notifyChange()
		c.opt.Log.Warn("the gateway lacks a method", "method", n.method, "without", n.feature)
	}
	return ErrRefused.With("The gateway does not have the %s method, which Wardroom needs for this feature: %s. %s", n.method, n.feature, updateGateway)
}

// NeededFor returns the features that require the given scope.
func NeededFor(scope string) []string {
	features := []string{}
	for _, n := range needs() {
		if n.scope == scope && !slices.Contains(features, n.feature) {
			features = append(features, n.feature)
		}
	}
	return features
}

// NeededScopes returns the scopes that Wardroom's features require, without duplicates,
// in the order in which needs() lists them.
func NeededScopes() []string {
	var scopes []string
	for _, n := range needs() {
		if n.scope != "" && !slices.Contains(scopes, n.scope) {
			scopes = append(scopes, n.scope)
		}
	}
	return scopes
}

// Covered reports whether the granted scopes include the given scope.
func Covered(granted []string, scope string) bool {
	return slices.ContainsFunc(granted, func(g string) bool { return covers(g, scope) })
}

// neededFor returns a sentence that lists the features that require the missing scopes,
// or an empty string if there are none.
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
	return fmt.Sprintf("Needed for: %s.", strings.Join(features, "; "))
}
