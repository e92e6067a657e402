package demo

import "encoding/json"

// Request is a request of a client, as who watches the runtime sees it.
type Request struct {
	Method     string
	RunID      string // of `agent` and `agent.wait`; empty elsewhere
	AgentID    string // of `agent`
	SessionKey string // where the request names one
	Admin      bool   // it came over a connection that holds operator.admin
}

// Watch shows every request to see, in the moment in which it has arrived and
// before anything is done with it. One for which see says false is lost, as
// when the client's last bytes never came. No lock is held meanwhile, and the
// other requests of that connection wait: what see does to the client, such as
// ending its process, it does at exactly this point. Nil watches no more.
func (r *Runtime) Watch(see func(Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.watch = see
}

// seen shows a request to who watches, and says whether it is served. It is
// called without the lock.
func (r *Runtime) seen(c *connection, req request) bool {
	r.mu.Lock()
	see, admin := r.faults.watch, c.may(scopeAdmin)
	r.mu.Unlock()
	if see == nil {
		return true
	}
	var in struct{ RunID, IdempotencyKey, AgentID, SessionKey string }
	_ = json.Unmarshal(req.Params, &in) // what cannot be read is refused when it is served
	if in.RunID == "" {
		in.RunID = in.IdempotencyKey
	}
	return see(Request{Method: req.Method, RunID: in.RunID, AgentID: in.AgentID, SessionKey: in.SessionKey, Admin: admin})
}

// Busy is how many runs are going on or wait for their turn.
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
