package demo

import (
	"time"
)

// EndLogin makes an agent's login to its provider of models end at the given time. The zero time
// gives the agent a key that does not end.
func (r *Runtime) EndLogin(agentID string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loginEnds == nil {
		r.loginEnds = map[string]time.Time{}
	}
	r.loginEnds[agentID] = at
}

// handleLogins returns the state of an agent's login.
func (r *Runtime) handleLogins(c call) (any, *Failure) {
	var in struct{ AgentID string }
	if f := (params{optional: words("agentId refresh")}).read("models.authStatus", "", c.params, &in); f != nil {
		return nil, f
	}
	a, known := r.agent(in.AgentID)
	if !known {
		a = r.options.Agents[0]
	}
	provider := modelOf(a).provider
	row := object{"provider": provider, "displayName": provider, "status": "static", "profiles": []object{}}
	if end := r.loginEnds[a.ID]; end.IsZero() {
		row["apiKey"] = object{"source": "env"}
	} else {
		left := end.Sub(r.options.Now())
		status := "ok"
		switch {
		case left <= 0:
			status = "expired"
		case left <= 24*time.Hour:
			status = "expiring"
		}
		expiry := object{"at": end.UnixMilli(), "label": left.Round(time.Hour).String()}
		profile := object{"type": "token", "status": status, "source": "saved", "expiry": expiry}
		row["status"], row["expiry"], row["profiles"] = status, expiry, []object{profile}
	}
	return object{"ts": r.now(), "providers": []object{row}}, nil
}
