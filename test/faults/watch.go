package faults

import (
	"encoding/json"

	"wardroom/internal/gateway/demo"
)

// Request describes a client's request. It is passed to the function set with Watch.
type Request struct {
	Method     string
	RunID      string // for `agent`, `agent.wait` and `chat.send` only
	AgentID    string // for `agent` only
	SessionKey string // if the request names one
	Admin      bool   // the connection holds operator.admin
}

// Watch sets a function that is called with every request when it arrives, before the
// runtime handles it. If the function returns false, the request is dropped, as if the
// client's last bytes had never arrived. While the function runs, no lock is held and
// later requests on the connection wait. A test can, for example, kill the client at
// exactly this point. A nil function turns this off.
func (r *Runtime) Watch(see func(Request) bool) { r.change(func(f *faults) { f.watch = see }) }

// WatchLogins sets a function that is called with what each client presents when it
// connects. It must not block. A nil function turns this off.
func (r *Runtime) WatchLogins(see func(demo.Login)) { r.change(func(f *faults) { f.logins = see }) }

// Receive passes a request to the function set with Watch, which says whether to handle it,
// and counts it.
func (b behavior) Receive(conn *demo.Conn, req demo.Request) bool {
	r := b.r
	var in struct{ RunID, IdempotencyKey, AgentID, SessionKey string }
	_ = json.Unmarshal(req.Params, &in) // unreadable params are refused later
	if in.RunID == "" {
		in.RunID = in.IdempotencyKey
	}
	r.mu.Lock()
	see := r.faults.watch
	q := Request{
		Method: req.Method, RunID: in.RunID, AgentID: in.AgentID, SessionKey: in.SessionKey,
		Admin: demo.Covers(r.connection(conn).scopes, scopeAdmin),
	}
	r.mu.Unlock()
	if see != nil && req.Method != methodConnect && !see(q) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Type == "req" && req.ID != "" {
		r.calls[req.Method]++
	}
	if _, known := r.asAdmin[q.RunID]; !known && (q.Method == "agent" || q.Method == "chat.send") {
		r.asAdmin[q.RunID] = q.Admin
	}
	return true
}
