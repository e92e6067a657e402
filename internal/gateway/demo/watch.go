package demo

import "encoding/json"

// Request describes a client's request. It is passed to the function set with Watch.
type Request struct {
	Method     string
	RunID      string // for `agent` and `agent.wait` only
	AgentID    string // for `agent` only
	SessionKey string // if the request names one
	Admin      bool   // the connection holds operator.admin
}

// Watch sets a function that is called with every request when it arrives, before the
// runtime handles it. If the function returns false, the request is dropped, as if the
// client's last bytes had never arrived. While the function runs, no lock is held and
// later requests on the connection wait. A test can, for example, kill the client at
// exactly this point. A nil function turns this off.
func (r *Runtime) Watch(see func(Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.watch = see
}

// notifyWatcher passes a request to the function set with Watch. It reports whether the
// request should be served. The caller must not hold r.mu.
func (r *Runtime) notifyWatcher(c *connection, req request) bool {
	r.mu.Lock()
	see, admin := r.faults.watch, c.hasScope(scopeAdmin)
	r.mu.Unlock()
	if see == nil {
		return true
	}
	var in struct{ RunID, IdempotencyKey, AgentID, SessionKey string }
	_ = json.Unmarshal(req.Params, &in) // unreadable params are refused later
	if in.RunID == "" {
		in.RunID = in.IdempotencyKey
	}
	return see(Request{Method: req.Method, RunID: in.RunID, AgentID: in.AgentID, SessionKey: in.SessionKey, Admin: admin})
}

// Busy returns the number of active and queued runs.
func (r *Runtime) Busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sessions {
		n += len(s.queue)
		if s.active != nil {
			n++
		}
	}
	return n
}
