package demo

import (
	"cmp"
	"encoding/json"
	"math"
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
		"system.info":             {scope: scopeRead, serve: r.handleSystemInfo},
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
	return object{"ok": true, "ts": r.now()}, nil
}

func (r *Runtime) handleAgents(c call) (any, *Failure) {
	if f := (params{}).read("agents.list", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	list := make([]object, len(r.options.Agents))
	for i, a := range r.options.Agents {
		list[i] = object{
			"id": a.ID, "kind": "agent", "name": a.Name, "identity": object{"name": a.Name, "emoji": a.Emoji},
			"model": r.configuredModel(a),
		}
	}
	return object{"defaultId": r.options.Agents[0].ID, "scope": "per-sender", "agents": list}, nil
}

func (r *Runtime) handleModels(c call) (any, *Failure) {
	if f := (params{optional: words("agentId view")}).read("models.list", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	list := []object{}
	for i, m := range models {
		row := object{
			"id": m.id, "name": m.name, "provider": m.provider, "contextWindow": m.window, "available": true,
		}
		if i == 0 {
			row["tags"] = []string{"default"}
		}
		list = append(list, row)
	}
	return object{"models": list}, nil
}

// handleSystemInfo returns a disk of 250 GB that is half full.
func (r *Runtime) handleSystemInfo(c call) (any, *Failure) {
	if f := (params{}).read("system.info", "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	const disk = 250_000_000_000
	return object{"diskTotalBytes": disk, "diskAvailableBytes": disk / 2}, nil
}

func (r *Runtime) handleSubscribe(c call) (any, *Failure) {
	c.conn.subscribed = true
	return object{"subscribed": true}, nil
}

var sessionsParams = params{optional: words("limit offset includeLastMessage")}

func (r *Runtime) handleSessions(c call) (any, *Failure) {
	in := struct {
		Limit, Offset      int
		IncludeLastMessage bool
	}{Limit: 100}
	if f := sessionsParams.read("sessions.list", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := cmp.Or(
		checkRange("sessions.list", "limit", in.Limit, 1, math.MaxInt),
		checkRange("sessions.list", "offset", in.Offset, 0, math.MaxInt),
	); f != nil {
		return nil, f
	}
	all := r.listed()
	page := all[min(in.Offset, len(all)):]
	page = page[:min(in.Limit, len(page))]
	rows := []object{}
	for _, s := range page {
		row := r.row(s, s.listedKey())
		if in.IncludeLastMessage && len(s.messages) > 0 {
			row["lastMessagePreview"] = s.preview()
		}
		rows = append(rows, row)
	}
	var next any
	if end := in.Offset + len(page); end < len(all) {
		next = end
	}
	return object{
		"ts": r.now(), "totalCount": len(all), "nextOffset": next, "hasMore": next != nil, "sessions": rows,
	}, nil
}

func (r *Runtime) handleDescribe(c call) (any, *Failure) {
	var in struct {
		Key                string
		IncludeLastMessage bool
	}
	p := params{required: words("key"), optional: words("includeLastMessage")}
	if f := p.read("sessions.describe", "", c.params, &in); f != nil {
		return nil, f
	}
	s := r.find(in.Key)
	if s == nil {
		return object{"session": nil}, nil
	}
	row := r.row(s, canonical(in.Key))
	// The gateway omits these members here; sessions.list has them.
	delete(row, "hasActiveRun")
	delete(row, "activeRunIds")
	if in.IncludeLastMessage && len(s.messages) > 0 {
		row["lastMessagePreview"] = s.preview()
	}
	return object{"session": row}, nil
}
