package demo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// session is a conversation with an agent and its transcript. It survives restarts, but
// its active and queued runs do not.
type session struct {
	key, agentID, id string
	agent            Agent
	label            string // title set by a user; may be empty
	model            string // chosen for this session only; empty if none was
	cron             bool   // created by a scheduled job
	// key under which lists have the latest run of a job. It is empty for the runs before the start of the demo, which
	// are all listed: Wardroom has followed them.
	ofJob     string
	live      bool   // created by StartBackgroundWork
	delivered bool   // its task was reported as done
	parent    string // key of the session that spawned it; empty if none did
	messages  []message
	context   int64 // tokens of the conversation so far
	cached    int64 // how many of them are in the provider's cache
	calledAt  int64 // last model call

	createdAt, updatedAt int64 // Unix milliseconds, like all times here
	activeAt             int64
	active               *run
	queue                []*run
	status               string // running, done, failed, timeout or killed
	startedAt, endedAt   int64  // of the last run; startedAt is that of the active run, if any
	lastRun, lastError   string
	ranBefore            bool
	last                 *spent
}

// message is a row of a transcript.
type message struct {
	role, text   string
	runID        string // set on answers; questions have it only in key
	id, key      string // key is the row's idempotency key
	at           int64
	stop, errors string
	source       string // gateway tool that wrote it; empty if a client did
	hidden       bool   // omitted from chat.history
	spent        *spent // nil for a question
	line         *Line  // content, if it is more than text
}

// Line is a message that is added to a transcript without starting a run.
type Line struct {
	Role     string // user, assistant or toolResult
	Text     string
	Thinking string // assistant only
	Call     string // id of the tool call that an assistant makes or that a result belongs to; empty if none
	Tool     string // name of the tool
	Args     any    // arguments of the call
	Error    bool   // the tool failed
}

// write adds the line's content to a transcript row.
func (l *Line) write(row object) {
	parts := []object{}
	if l.Thinking != "" {
		parts = append(parts, object{"type": "thinking", "thinking": l.Thinking})
	}
	if l.Text != "" {
		parts = append(parts, object{"type": "text", "text": l.Text})
	}
	if l.Role == "toolResult" {
		row["toolCallId"], row["toolName"], row["isError"] = l.Call, l.Tool, l.Error
	} else if l.Call != "" {
		parts = append(parts, object{"type": "toolCall", "id": l.Call, "name": l.Tool, "arguments": l.Args})
	}
	row["content"] = parts
}

// canonical returns a session key in lowercase. The gateway stores keys in this form.
func canonical(key string) string { return strings.ToLower(key) }

// sessionOf returns the session with the given key. It creates the session if necessary.
// The caller must hold r.mu.
func (r *Runtime) sessionOf(key string, a Agent) (s *session, created bool) {
	key = canonical(key)
	if s = r.find(key); s != nil {
		return s, false
	}
	s = &session{
		key: key, agentID: a.ID, agent: a, id: uuid.NewString(), context: baseContext,
		createdAt: r.now(), updatedAt: r.now(),
	}
	if _, id, ok := strings.Cut(key, ":run:"); ok {
		s.id = id // as on the gateway, where a job's run names its transcript
	}
	r.sessions[key] = s
	return s, true
}

// find returns a session by its own key or by the one in lists, or nil. The gateway forgets a run of a job that
// succeeded when the next one begins; here, all can be read. The caller must hold r.mu.
func (r *Runtime) find(key string) *session {
	key = canonical(key)
	if s := r.sessions[key]; s != nil {
		return s
	}
	all := r.latest("")
	if i := slices.IndexFunc(all, func(s *session) bool { return s.listedKey() == key }); i >= 0 {
		return all[i]
	}
	return nil
}

// listed returns the sessions that lists have: of the runs of a job, only the latest. The caller must hold r.mu.
func (r *Runtime) listed() []*session {
	seen := map[string]bool{}
	return slices.DeleteFunc(r.latest(""), func(s *session) bool {
		key := s.listedKey()
		again := seen[key]
		seen[key] = true
		return again
	})
}

// listedKey returns the key of the session in lists.
func (s *session) listedKey() string { return cmp.Or(s.ofJob, s.key) }

// latest returns an agent's sessions, or all sessions if agentID is empty. The most
// recently updated session comes first. The caller must hold r.mu.
func (r *Runtime) latest(agentID string) []*session {
	list := []*session{}
	for _, s := range r.sessions {
		if agentID == "" || s.agentID == agentID {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *session) int {
		return cmp.Or(cmp.Compare(b.updatedAt, a.updatedAt), cmp.Compare(a.key, b.key))
	})
	return list
}

// append adds a row to the session's transcript. It returns the row and its sequence
// number.
func (s *session) append(m message) (message, int) {
	m.id = uuid.NewString()
	s.messages = append(s.messages, m)
	s.context += tokens(m.text)
	return m, len(s.messages)
}

// runIDs returns the ids of the session's active and queued runs.
func (s *session) runIDs() []string {
	ids := []string{}
	if s.active != nil {
		ids = append(ids, s.active.id)
	}
	for _, q := range s.queue {
		ids = append(ids, q.id)
	}
	return ids
}

// name returns the session's key without the agent prefix, as session lists show it.
func (s *session) name() string { return strings.TrimPrefix(s.key, "agent:"+s.agentID+":") }

// preview returns the session's last message by a user or the agent as a single line, shortened if it is
// long. Like the gateway, it skips tool results.
func (s *session) preview() string {
	for _, m := range slices.Backward(s.messages) {
		if m.text != "" && m.role != "toolResult" {
			return clip(m.text, 240)
		}
	}
	return ""
}

// clip returns a text on a single line, truncated to at most n characters.
func clip(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > n {
		return strings.TrimSpace(string(runes[:n-1])) + "…"
	}
	return text
}

// json returns a transcript row in the form that chat.history and session.message use.
func (s *session) json(m message, seq int) object {
	meta := object{
		"id": m.id, "seq": seq,
	}
	row := object{"role": m.role, "timestamp": m.at, "__openclaw": meta}
	if m.key != "" {
		row["idempotencyKey"], meta["idempotencyKey"] = m.key, m.key
	}
	if m.role == "user" {
		meta["senderIsOwner"] = true
		row["content"] = m.text
		if m.source != "" {
			row["provenance"] = object{"kind": "internal_system", "sourceSessionKey": s.key, "sourceTool": m.source}
		}
		return row
	}
	if m.runID != "" {
		meta["runId"] = m.runID
	}
	if m.line != nil {
		m.line.write(row)
	}
	if m.role == "toolResult" {
		return row
	}
	if m.line == nil {
		row["content"] = content(m.text)
	}
	row["api"], row["provider"], row["model"] = "openai-completions", m.spent.model.provider, m.spent.model.id
	row["usage"], row["stopReason"] = m.spent.json(), m.stop
	switch {
	case m.errors != "":
		row["errorMessage"] = m.errors
	case m.stop == "stop":
		row["responseId"] = "chatcmpl-" + m.id
	}
	return row
}

func content(text string) []object { return []object{{"type": "text", "text": text}} }

// row returns a session in the form that sessions.list uses, under one of its keys. The caller must hold r.mu.
func (r *Runtime) row(s *session, key string) object {
	m := modelOf(s.agent)
	class := "custom"
	switch {
	case s.name() == "main":
		class = "main"
	case strings.HasPrefix(s.name(), "dashboard:"):
		class = "dashboard"
	}
	row := object{
		"key": key, "kind": "direct", "classification": class, "agentId": s.agentID, "displayName": s.name(),
		"createdAt": s.createdAt, "updatedAt": s.updatedAt, "archived": false, "sessionId": s.id,
		"totalTokensFresh": s.last != nil, "modelProvider": m.provider, "model": m.id, "contextTokens": m.window,
		"snapshotAt": r.now(),
	}
	s.addOrigin(row)
	s.progress(row)
	return row
}

// progress sets those members of a session row that depend on the session's runs. Like
// the real gateway, it omits members that don't apply.
func (s *session) progress(row object) {
	busy := s.runIDs()
	row["hasActiveRun"] = len(busy) > 0
	if s.active == nil || !s.active.begun {
		row["activeRunIds"] = busy // absent while a run is active
	}
	row["status"] = s.status
	if len(busy) > 0 {
		row["status"] = "running"
	}
	if s.startedAt > 0 {
		row["startedAt"] = s.startedAt
	}
	if s.ranBefore && (s.active == nil || !s.active.begun) {
		row["endedAt"] = s.endedAt
		if s.lastError != "" {
			row["lastRunError"] = s.lastError
		}
	}
	if s.activeAt > 0 {
		row["lastActivityAt"] = s.activeAt
	}
	if s.last != nil {
		row["inputTokens"], row["outputTokens"] = s.last.input, s.last.output
		row["totalTokens"], row["estimatedCostUsd"] = s.last.prompt(), usd(s.last.cost())
	}
}

// addOrigin adds the session's origin and title to a session row.
func (s *session) addOrigin(row object) {
	if s.label != "" {
		row["label"], row["displayName"] = s.label, s.label
	}
	if s.cron {
		row["classification"] = "cron"
	}
	if s.parent != "" {
		row["spawnedBy"], row["parentSessionKey"], row["classification"] = s.parent, s.parent, "subagent"
	}
}
