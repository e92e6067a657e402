package demo

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

const (
	// subAgentStays is how long a sub-agent that has answered is still listed.
	subAgentStays = 2 * time.Minute
	// roomy is how much of a model's context a session of the team's daily work
	// fills, in percent, before it begins anew.
	roomy = 12
)

// Live has the agents work by themselves until the runtime closes: after a rest of
// about that length one of them begins a piece of work, with tools and a pause at
// each step; the first two almost at once. What comes when is always the same for
// the same seed. It costs nothing while no step is due.
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

// script is in which order the episodes come. Each comes once in a round, in its
// part of it: so nothing is seen again soon, and no two rounds are alike.
type script struct {
	seed  string
	round int
	todo  []episode // what is left of the round
}

// rest is the n-th one, of about the length that is wanted.
func (s *script) rest(n int, rest time.Duration) time.Duration {
	switch n {
	case 0:
		return rest / 90
	case 1:
		return rest / 30
	}
	return rest/2 + time.Duration(chance(1000, s.seed, "rest", strconv.Itoa(n)))*rest/1000
}

// next is the next episode whose agent is idle, if there is one.
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

// shuffled is a round: the parts of the day in their order, and each in another one.
func (s *script) shuffled() []episode {
	var all []episode
	for _, part := range parts() {
		place := func(e episode) int64 { return chance(1<<31, s.seed, strconv.Itoa(s.round), e.agent, e.ask) }
		slices.SortStableFunc(part, func(a, b episode) int { return cmp.Compare(place(a), place(b)) })
		all = append(all, part...)
	}
	return all
}

// idle says whether an agent is there and could begin something. The lock is held.
func (r *Runtime) idle(agentID string) bool {
	_, ok := r.agent(agentID)
	return ok && r.boot != nil && !r.boot.draining && !r.busy(agentID)
}

// undertake begins a piece of work. The lock is held.
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

// workplace is the session of a piece of work that begins at a time; one that is
// full begins anew. What stands before every conversation of an agent the provider
// still has from its last one. The lock is held.
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
