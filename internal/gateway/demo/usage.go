package demo

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// sum adds up the usage of several answers.
type sum struct {
	input, output, cacheRead, cacheWrite       int64 // tokens
	inputCost, outputCost, readCost, writeCost int64 // nano-dollars
}

func (s *sum) add(u spent) {
	s.input, s.output = s.input+u.input, s.output+u.output
	s.cacheRead, s.cacheWrite = s.cacheRead+u.cacheRead, s.cacheWrite+u.cacheWrite
	s.inputCost, s.outputCost = s.inputCost+u.input*u.model.input, s.outputCost+u.output*u.model.output
	s.readCost, s.writeCost = s.readCost+u.cacheRead*u.model.cacheRead, s.writeCost+u.cacheWrite*u.model.cacheWrite
}

func (s *sum) tokens() int64 { return s.input + s.output + s.cacheRead + s.cacheWrite }

func (s *sum) cost() json.Number { return usd(s.inputCost + s.outputCost + s.readCost + s.writeCost) }

func (s *sum) json() object {
	return object{
		"input": s.input, "output": s.output, "cacheRead": s.cacheRead, "cacheWrite": s.cacheWrite,
		"totalTokens": s.tokens(), "totalCost": s.cost(), "inputCost": usd(s.inputCost), "outputCost": usd(s.outputCost),
		"cacheReadCost": usd(s.readCost), "cacheWriteCost": usd(s.writeCost), "missingCostEntries": 0,
	}
}

// modelKey identifies a model.
type modelKey struct{ provider, id string }

func (k modelKey) compare(o modelKey) int {
	return cmp.Or(cmp.Compare(k.provider, o.provider), cmp.Compare(k.id, o.id))
}

// ledger aggregates the usage in the transcript of one session.
type ledger struct {
	total  sum
	last   int64 // time of the last message; 0 without one
	models map[modelKey]*sum
}

// SpentSince returns what the agents have spent since a time, in nano-dollars.
func (r *Runtime) SpentSince(from time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all sum
	for _, s := range r.sessions {
		for _, m := range s.messages {
			if m.spent != nil && m.at >= from.UnixMilli() && (m.stop == "stop" || m.stop == "toolUse") {
				all.add(*m.spent)
			}
		}
	}
	return all.inputCost + all.outputCost + all.readCost + all.writeCost
}

// Usage is the usage of runs.
type Usage struct {
	Runs                                 int
	Input, Output, CacheRead, CacheWrite int64 // tokens
	CostNano                             int64 // billionths of a dollar
}

// UsageBetween returns the usage of an agent's runs that ended in the given period, which includes
// both of its ends. Like a ledger of usage, it leaves out runs that used nothing.
func (r *Runtime) UsageBetween(agentID string, from, to time.Time) Usage {
	type run struct {
		used sum
		last int64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var u Usage
	for _, s := range r.sessions {
		if s.agentID != agentID {
			continue
		}
		runs := map[string]*run{}
		for _, m := range s.messages {
			if m.role != "assistant" || m.runID == "" {
				continue
			}
			of := entryAt(runs, m.runID)
			if of.last = max(of.last, m.at); m.spent != nil {
				of.used.add(*m.spent)
			}
		}
		for _, of := range runs {
			if t := &of.used; of.last >= from.UnixMilli() && of.last <= to.UnixMilli() && t.tokens() > 0 {
				u.Runs++
				u.Input, u.Output, u.CacheRead, u.CacheWrite = u.Input+t.input, u.Output+t.output, u.CacheRead+t.cacheRead,
					u.CacheWrite+t.cacheWrite
				u.CostNano += t.inputCost + t.outputCost + t.readCost + t.writeCost
			}
		}
	}
	return u
}

// entryAt returns the map entry for the key k. It creates the entry if necessary.
func entryAt[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

func (l *ledger) add(m message) {
	l.last = max(l.last, m.at)
	if m.spent == nil || m.stop != "stop" && m.stop != "toolUse" {
		return
	}
	l.total.add(*m.spent)
	entryAt(l.models, modelKey{m.spent.model.provider, m.spent.model.id}).add(*m.spent)
}

var usageParams = params{optional: words("agentScope range mode limit")}

// handleUsage returns the usage of all sessions since they began.
func (r *Runtime) handleUsage(c call) (any, *Failure) {
	in := struct {
		AgentScope, Range, Mode string
		Limit                   int
	}{Limit: 50}
	if f := usageParams.read("sessions.usage", "", c.params, &in); f != nil {
		return nil, f
	}
	if f := checkRange("sessions.usage", "limit", in.Limit, 1, math.MaxInt); f != nil {
		return nil, f
	}
	agent := ""
	if in.AgentScope != "all" {
		agent = r.options.Agents[0].ID // as on the gateway: only the default agent
	}
	fresh := r.options.Behavior.UsageFresh()
	rows := []object{}
	for _, s := range r.latest(agent) {
		own := ledger{models: map[modelKey]*sum{}}
		for _, m := range s.messages {
			own.add(m)
		}
		row := object{"key": s.key, "sessionId": s.id, "agentId": s.agentID, "usage": nil}
		if fresh {
			row["usage"] = own.json()
		}
		if !fresh || own.last > 0 {
			rows = append(rows, row)
		}
	}
	answer := object{"updatedAt": r.now(), "sessions": rows[:min(in.Limit, len(rows))]}
	switch {
	case len(rows) == 0: // the gateway omits the status if there are no sessions
	case fresh:
		answer["cacheStatus"] = object{"status": "fresh"}
	default:
		answer["cacheStatus"] = object{"status": "refreshing"}
	}
	return answer, nil
}

// json returns the usage member of a sessions.usage row.
func (l *ledger) json() object {
	models := []object{}
	for _, k := range slices.SortedFunc(maps.Keys(l.models), modelKey.compare) {
		models = append(models, object{"provider": k.provider, "model": k.id, "totals": l.models[k].json()})
	}
	return merge(l.total.json(), object{"lastActivity": l.last, "modelUsage": models})
}
