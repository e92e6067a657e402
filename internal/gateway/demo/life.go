package demo

import (
	"time"

	"github.com/google/uuid"
)

const (
	// subAgentStays is how long a sub-agent that has answered is still listed.
	subAgentStays = 2 * time.Minute
	// roomy is how much of a model's context a session of the team's daily work
	// fills, in percent, before it begins anew.
	roomy = 30
)

// Live has the agents work by themselves until the runtime closes: after each
// rest the next of them begins the next piece of work, with tools and a pause
// at each step, unless it is busy. It costs nothing while no step is due.
func (r *Runtime) Live(rest time.Duration) {
	r.work.Go(func() {
		for n := 0; sleep(r.ctx, rest) == nil; n++ {
			r.mu.Lock()
			r.tidy()
			r.undertake(n)
			r.mu.Unlock()
		}
	})
}

// undertake begins the n-th piece of work. The lock is held.
func (r *Runtime) undertake(n int) {
	all := episodes()
	e := all[n%len(all)]
	a, ok := r.agent(e.agent)
	if !ok || r.boot == nil || r.boot.draining || r.busy(a.ID) {
		return
	}
	key := "agent:" + a.ID + ":" + e.place
	if e.place == sub {
		key = "agent:" + a.ID + ":subagent:" + uuid.NewString()
	}
	if s := r.sessions[key]; s != nil && s.context > modelOf(a).window*roomy/100 {
		delete(r.sessions, key)
		r.tellSession(s, object{"reason": "reset"})
	}
	s, made := r.sessionOf(key, a)
	s.label, s.live = e.label, true
	if e.place == sub {
		s.parent = "agent:" + a.ID + ":main"
	}
	q := &run{
		boot: r.boot, session: s, agent: a, id: uuid.NewString(), message: e.ask, taskID: uuid.NewString(), createdAt: r.now(), work: &e,
	}
	r.enqueue(q, made)
}

// busy says whether an agent works at something already. The lock is held.
func (r *Runtime) busy(agentID string) bool {
	for _, s := range r.sessions {
		if s.agentID == agentID && s.active != nil {
			return true
		}
	}
	return false
}

// tidy lets go of sub-agents that have been done for a while. The lock is held.
func (r *Runtime) tidy() {
	before := r.now() - subAgentStays.Milliseconds()
	for key, s := range r.sessions {
		if s.parent != "" && s.live && s.active == nil && len(s.queue) == 0 && s.endedAt > 0 && s.endedAt < before {
			delete(r.sessions, key)
			r.tellSession(s, object{"reason": "delete"})
		}
	}
}

// labour does the steps of a piece of work, each in its time, and says whether
// the run is still going.
func (r *Runtime) labour(q *run, wait func(time.Duration) error) bool {
	for n, st := range q.work.steps {
		if wait(r.lasts(takes(*q.work, n))) != nil {
			return false
		}
		w := &writer{s: q.session, runID: q.id}
		if !r.told(q, w, func() (message, int) { return w.call(n, st) }) || wait(r.lasts(time.Second)) != nil ||
			!r.told(q, w, func() (message, int) { return w.result(n, st) }) {
			return false
		}
	}
	return wait(r.lasts(takes(*q.work, len(q.work.steps)))) == nil
}

// lasts is d in the seconds of the runtime, which are shorter in tests.
func (r *Runtime) lasts(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.timing.second.Seconds())
}

// told adds a row to a run that is going, and tells of it.
func (r *Runtime) told(q *run, w *writer, row func() (message, int)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.ended {
		return false
	}
	w.at = r.now()
	m, seq := row()
	r.tellMessage(q.session, m, seq)
	return true
}
