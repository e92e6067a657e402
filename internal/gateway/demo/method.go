package demo

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// call is a request from a client.
type call struct {
	conn   *Conn
	id     string
	method string
	params json.RawMessage
}

// method describes a gateway method that clients can call.
type method struct {
	scope  string // scope that the client must hold; empty means none
	hidden bool   // served but not listed in hello-ok
	// serve is called with the lock held. It returns the payload or a failure, or neither
	// if it has answered or will answer later.
	serve func(c call) (any, *Failure)
}

// methodTable returns the methods that the runtime serves.
func (r *Runtime) methodTable() map[string]method {
	return map[string]method{
		"health":                  {serve: r.handleHealth},
		"status":                  {scope: scopeRead, serve: func(c call) (any, *Failure) { return r.status(c.conn.boot), nil }},
		"agents.list":             {scope: scopeRead, serve: r.handleAgents},
		"agent":                   {scope: scopeWrite, serve: r.handleAgent},
		"agent.wait":              {scope: scopeWrite, serve: r.handleWait},
		"chat.history":            {scope: scopeRead, serve: r.handleHistory},
		"chat.message.get":        {scope: scopeRead, serve: r.handleMessage},
		"chat.send":               {scope: scopeWrite, serve: r.handleSend},
		"chat.abort":              {scope: scopeWrite, serve: r.handleAbort},
		"sessions.abort":          {scope: scopeWrite, serve: r.handleAbortSession},
		"tasks.list":              {scope: scopeRead, serve: r.handleTasks},
		"tasks.cancel":            {scope: scopeWrite, serve: r.handleCancel},
		"sessions.list":           {scope: scopeRead, serve: r.handleSessions},
		"sessions.describe":       {scope: scopeRead, serve: r.handleDescribe},
		"sessions.subscribe":      {scope: scopeRead, serve: r.handleSubscribe},
		"sessions.get":            {scope: scopeRead, hidden: true, serve: r.handleSessionsGet},
		"sessions.usage":          {scope: scopeRead, hidden: true, serve: r.handleUsage},
		"models.list":             {scope: scopeRead, serve: r.handleModels},
		"models.authStatus":       {scope: scopeRead, serve: r.handleLogins},
		"agents.files.list":       {scope: scopeRead, serve: r.handleFiles},
		"agents.files.get":        {scope: scopeRead, serve: r.handleFile},
		"sessions.diff":           {scope: scopeRead, serve: r.handleDiff},
		"artifacts.list":          {scope: scopeRead, serve: r.handleArtifacts},
		"tools.effective":         {scope: scopeRead, serve: r.handleTools},
		"config.patch":            {scope: scopeAdmin, serve: r.rateLimited(r.handleConfigPatch)},
		"cron.status":             {scope: scopeRead, serve: r.handleCronStatus},
		"cron.list":               {scope: scopeRead, serve: r.handleCronList},
		"cron.get":                {scope: scopeRead, serve: r.handleCronGet},
		"cron.runs":               {scope: scopeRead, serve: r.handleCronRuns},
		"cron.add":                {scope: scopeAdmin, serve: r.rateLimited(r.handleCronAdd)},
		"cron.update":             {scope: scopeAdmin, serve: r.rateLimited(r.handleCronUpdate)},
		"cron.remove":             {scope: scopeAdmin, serve: r.rateLimited(r.handleCronRemove)},
		"cron.run":                {scope: scopeAdmin, serve: r.rateLimited(r.handleCronRun)},
		"exec.approval.list":      {scope: scopeApprovals, serve: r.listApprovals("exec")},
		"exec.approval.resolve":   {scope: scopeApprovals, serve: r.handleResolveApproval},
		"plugin.approval.list":    {scope: scopeApprovals, serve: r.listApprovals("plugin")},
		"plugin.approval.resolve": {scope: scopeApprovals, serve: r.handleResolveApproval},
		"approval.get":            {scope: scopeApprovals, serve: r.handleApproval},
		"question.list":           {scope: scopeQuestions, serve: r.handleQuestions},
		"question.get":            {scope: scopeQuestions, serve: r.handleQuestion},
		"question.resolve":        {scope: scopeQuestions, serve: r.handleAnswerQuestion},
		"config.get":              {scope: scopeRead, serve: r.handleConfigGet},
		"system-presence":         {scope: scopeRead, serve: func(call) (any, *Failure) { return r.presence(), nil }},
	}
}

// serve handles a request that arrives after the handshake.
func (r *Runtime) serve(conn *Conn, req Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !conn.ready || req.Type != "req" || req.ID == "" {
		return
	}
	c := call{conn: conn, id: req.ID, method: req.Method, params: req.Params}
	f := r.checkAllowed(c, req.Method)
	var payload any
	if f == nil {
		payload, f = r.methods[req.Method].serve(c)
	}
	switch {
	case f != nil:
		c.refuse(f)
	case payload != nil:
		c.reply(payload)
	}
}

// checkAllowed returns the reason why a call must be refused, or nil if the call is
// allowed.
func (r *Runtime) checkAllowed(c call, name string) *Failure {
	m, known := r.methods[name]
	switch {
	case name == methodConnect:
		return invalid("connect is only valid as the first request")
	case !known, !r.options.Behavior.Serves(name):
		return invalid("unknown method: %s", name)
	case c.conn.boot.draining:
		return &Failure{
			Code: "UNAVAILABLE", Message: name + " unavailable during gateway restart", Retryable: true, RetryAfterMs: 1000,
			Details: object{"method": name, "reason": "gateway-restarting", "phase": "accepting"},
		}
	case !c.conn.hasScope(m.scope):
		return missing(m.scope)
	}
	return nil
}

func missing(scope string) *Failure {
	return &Failure{
		Code: "FORBIDDEN", Message: "missing scope: " + scope,
		Details: object{"code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": []string{scope}},
	}
}

func (r *Runtime) handleHealth(c call) (any, *Failure) {
	if f := (params{optional: words("probe")}).read("health", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	return merge(r.health(), object{"modelRuntime": object{"degraded": false, "pendingAgents": []string{}}}), nil
}

func (r *Runtime) handleAgents(c call) (any, *Failure) {
	if f := (params{}).read("agents.list", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	list := make([]object, len(r.options.Agents))
	for i, a := range r.options.Agents {
		list[i] = object{
			"id": a.ID, "kind": "agent", "name": a.Name, "identity": object{"name": a.Name, "emoji": a.Emoji},
			"workspace": "demo/workspace-" + a.ID, "workspaceGit": false, "agentRuntime": runtimeChoice(),
			"thinkingLevels": thinking(), "thinkingOptions": []string{"off"}, "thinkingDefault": "off",
			"model": r.configuredModel(a), "defaultPermissionMode": "full",
		}
	}
	return object{
		"defaultId": r.options.Agents[0].ID, "ownership": "explicit", "selectionRequired": false,
		"mainKey": "main", "scope": "per-sender", "agents": list,
	}, nil
}

func (r *Runtime) handleModels(c call) (any, *Failure) {
	if f := (params{optional: words("agentId view")}).read("models.list", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	list := []object{}
	for i, m := range models {
		row := object{
			"id": m.id, "name": m.name, "provider": m.provider, "contextWindow": m.window, "reasoning": false,
			"thinkingLevels": thinking(), "thinkingDefault": "off", "available": true,
		}
		if i == 0 {
			row["tags"] = []string{"default"}
		}
		list = append(list, row)
	}
	return object{"models": list}, nil
}

func (r *Runtime) handleSubscribe(c call) (any, *Failure) {
	c.conn.subscribed = true
	return object{"subscribed": true}, nil
}

var sessionsParams = params{optional: words(`limit offset activeMinutes requireLastInteraction sortBy includeGlobal
	includeUnknown configuredAgentsOnly includeDerivedTitles includeLastMessage label boardFace creatorId ownerId
	ownerFirst involvingMe involvingProfileId includePeople spawnedBy agentId search archived`)}

type sessionsRequest struct {
	Limit, Offset, ActiveMinutes             int
	AgentID, Search, Label, SpawnedBy        string
	Archived                                 any // true, false or "all"
	IncludeLastMessage, IncludeDerivedTitles bool
}

func (r *Runtime) handleSessions(c call) (any, *Failure) {
	in := sessionsRequest{Limit: 100}
	if f := sessionsParams.read("sessions.list", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := cmp.Or(checkRange("sessions.list", "limit", in.Limit, 1, math.MaxInt), checkRange("sessions.list", "offset", in.Offset, 0, math.MaxInt)); f != nil {
		return nil, f
	}
	all := slices.DeleteFunc(r.latest(in.AgentID), func(s *session) bool {
		// No session is archived, so a list of archived ones is empty.
		other := in.Archived == true || in.Label != "" && in.Label != s.label || in.SpawnedBy != "" && in.SpawnedBy != s.parent
		old := other || in.ActiveMinutes > 0 && r.now()-s.updatedAt > (time.Duration(in.ActiveMinutes)*time.Minute).Milliseconds()
		return old || !strings.Contains(strings.ToLower(s.key), strings.ToLower(in.Search))
	})
	page := all[min(in.Offset, len(all)):]
	page = page[:min(in.Limit, len(page))]
	rows := []object{}
	for _, s := range page {
		row := r.row(s)
		if in.IncludeLastMessage && len(s.messages) > 0 {
			row["lastMessagePreview"] = s.preview()
		}
		if in.IncludeDerivedTitles {
			row["derivedTitle"] = s.name()
		}
		rows = append(rows, row)
	}
	var next any
	if end := in.Offset + len(page); end < len(all) {
		next = end
	}
	path := "(multiple)"
	if in.AgentID != "" {
		path = storePath(in.AgentID)
	}
	return object{
		"ts": r.now(), "path": path, "count": len(rows), "totalCount": len(all), "limitApplied": in.Limit,
		"nextOffset": next, "hasMore": next != nil, "owners": []object{}, "defaults": r.defaults(true), "sessions": rows,
	}, nil
}

// defaults returns the settings that apply to a session without overrides.
func (r *Runtime) defaults(levels bool) object {
	m := modelOf(r.options.Agents[0])
	d := object{
		"modelProvider": m.provider, "model": m.id, "contextTokens": m.window,
		"agentRuntime": runtimeChoice(), "modelSelectionTarget": "session",
	}
	if levels {
		d["thinkingLevels"], d["thinkingOptions"], d["thinkingDefault"] = thinking(), []string{"off"}, "off"
	}
	return d
}

func (r *Runtime) handleDescribe(c call) (any, *Failure) {
	var in struct {
		Key                string
		IncludeLastMessage bool
	}
	p := params{required: words("key"), optional: words("includeDerivedTitles includeLastMessage")}
	if f := p.read("sessions.describe", "", c.params, &in); f != nil {
		return nil, f
	}
	s := r.sessions[canonical(in.Key)]
	if s == nil {
		return object{"session": nil}, nil
	}
	row := r.row(s)
	row["activitySummary"] = object{"state": "unavailable", "canEnsure": true}
	// The gateway omits these members here; sessions.list has them.
	delete(row, "hasActiveRun")
	delete(row, "activeRunIds")
	if in.IncludeLastMessage && len(s.messages) > 0 {
		row["lastMessagePreview"] = s.preview()
	}
	return object{"session": row}, nil
}

// sessionInfo returns the session row that accompanies a transcript.
func (r *Runtime) sessionInfo(s *session) object {
	row := r.row(s)
	row["activitySummary"] = object{"state": "unavailable", "canEnsure": true}
	for _, k := range words("thinkingLevels thinkingOptions thinkingDefault") {
		delete(row, k)
	}
	if n := len(s.messages); n > 0 {
		row["activeLeafEntryId"] = s.messages[n-1].id
	}
	return row
}
