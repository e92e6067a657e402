package demo

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

const (
	// subAgentRetention is how long a finished sub-agent stays listed.
	subAgentStays = 2 * time.Minute
	// contextLimitPercent is how much of the model's context a session of sample work may
	// fill before it is reset.
	roomy = 12
)

// StartBackgroundWork makes the agents work on their own until the runtime closes. About
// every rest, an idle agent starts a scenario with tool calls and pauses; the first two
// start almost at once. The same seed gives the same order and pauses. Nothing runs between
// steps.
func (r *Runtime) Live(rest time.Duration, seed string) {
	r.work.Go(func() {
		s := script{seed: seed}
		for n := 0; sleep(r.ctx, s.rest(n, rest)) == nil; n++ {
			r.mu.Lock()
			r.tidy()
			if e, ok := s.next(r.idle); ok {
				r.undertake(e)
			}
			r.mu.Unlock()
		}
	})
}

// workOrder determines the order of the scenarios. Each comes once per round, in its part
// of the day, and every round has a different order.
type script struct {
	seed  string
	round int
	todo  []episode // rest of the current round
}

// pause returns the n-th pause, which varies around rest.
func (s *script) rest(n int, rest time.Duration) time.Duration {
	switch n {
	case 0:
		return rest / 90
	case 1:
		return rest / 30
	}
	return rest/2 + time.Duration(chance(1000, s.seed, "rest", strconv.Itoa(n)))*rest/1000
}

// next returns the next scenario whose agent is idle, if there is one.
func (s *script) next(idle func(agentID string) bool) (episode, bool) {
	if len(s.todo) == 0 {
		s.todo, s.round = s.shuffled(), s.round+1
	}
	for i, e := range s.todo {
		if idle(e.agent) {
			s.todo = slices.Delete(s.todo, i, i+1)
			return e, true
		}
	}
	return episode{}, false
}

// newRound returns all scenarios by part of the day, shuffled within each part.
func (s *script) shuffled() []episode {
	var all []episode
	for _, part := range parts() {
		place := func(e episode) int64 { return chance(1<<31, s.seed, strconv.Itoa(s.round), e.agent, e.ask) }
		slices.SortStableFunc(part, func(a, b episode) int { return cmp.Compare(place(a), place(b)) })
		all = append(all, part...)
	}
	return all
}

// idle reports whether an agent exists and could start work. The caller must hold r.mu.
func (r *Runtime) idle(agentID string) bool {
	_, ok := r.agent(agentID)
	return ok && r.boot != nil && !r.boot.draining && !r.busy(agentID)
}

// startScenario starts a run that performs a scenario. The caller must hold r.mu.
func (r *Runtime) undertake(e episode) {
	a, ok := r.agent(e.agent)
	if !ok {
		return
	}
	key := "agent:" + a.ID + ":" + e.place
	if e.place == sub {
		key = "agent:" + a.ID + ":subagent:" + uuid.NewString()
	}
	s, made := r.workplace(key, a, r.now())
	s.label, s.live = e.label, true
	if e.place == sub {
		s.parent = "agent:" + a.ID + ":main"
	}
	q := &run{
		boot: r.boot, session: s, agent: a, id: uuid.NewString(), message: e.ask, taskID: uuid.NewString(), createdAt: r.now(), work: &e,
	}
	r.enqueue(q, made)
}

// scenarioSession returns the session of a scenario that starts at a time. It replaces a
// session whose context is too full. A new session starts with the agent's system prompt in
// the provider's cache if the agent worked recently. The caller must hold r.mu.
func (r *Runtime) workplace(key string, a Agent, at int64) (s *session, made bool) {
	key = canonical(key)
	if s := r.sessions[key]; s != nil && s.context > modelOf(a).window*roomy/100 {
		delete(r.sessions, key)
		r.tellSession(s, object{"reason": "reset"})
	}
	s, made = r.sessionOf(key, a)
	if last, ok := r.primed[a.ID]; ok && made && at-last <= cacheStays.Milliseconds() {
		s.cached, s.calledAt = baseContext-baseContext%cacheBlock, last
	}
	r.primed[a.ID] = at
	return s, made
}

// busy reports whether an agent has an active run. The caller must hold r.mu.
func (r *Runtime) busy(agentID string) bool {
	for _, s := range r.sessions {
		if s.agentID == agentID && s.active != nil {
			return true
		}
	}
	return false
}

// removeFinishedSubAgents deletes sub-agent sessions that ended before subAgentRetention.
// The caller must hold r.mu.
func (r *Runtime) tidy() {
	before := r.now() - subAgentStays.Milliseconds()
	for key, s := range r.sessions {
		if s.parent != "" && s.live && s.active == nil && len(s.queue) == 0 && s.endedAt > 0 && s.endedAt < before {
			delete(r.sessions, key)
			r.tellSession(s, object{"reason": "delete"})
		}
	}
}

// runSteps performs the steps of a scenario with pauses. It reports whether the run is
// still active.
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

// scale converts d to the runtime's seconds, which are shorter in tests.
func (r *Runtime) lasts(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.timing.second.Seconds())
}

// appendStep adds a row to an active run's transcript and emits it. It reports whether the
// run is still active.
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
