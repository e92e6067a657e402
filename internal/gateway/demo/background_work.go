package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

const (
	// subAgentRetention is how long a finished sub-agent stays listed.
	subAgentRetention = 2 * time.Minute
	// contextLimitPercent is how much of the model's context a session of sample work may
	// fill before it is reset.
	contextLimitPercent = 8
)

// StartBackgroundWork makes the agents work on their own until the runtime closes. At random
// intervals, an idle agent starts a scenario, with tool calls and pauses. rest is the average
// interval, except that the first two scenarios start almost immediately. The same seed always
// produces the same order and intervals.
func (r *Runtime) StartBackgroundWork(rest time.Duration, seed string) {
	r.work.Go(func() {
		s := workOrder{seed: seed}
		for n := 0; sleep(r.ctx, s.pause(n, rest)) == nil; n++ {
			r.mu.Lock()
			r.removeFinishedSubAgents()
			if e, ok := s.next(r.idle); ok {
				r.startScenario(e)
			}
			r.mu.Unlock()
		}
	})
}

// workOrder determines the order of the scenarios. Every round contains each scenario
// once, sorted by part of the day. Within a part of the day, the order is random and
// differs between rounds.
type workOrder struct {
	seed  string
	round int
	todo  []scenario // rest of the current round
}

// pause returns the length of the n-th pause. The first two are short; the others last between
// 0.5 and 1.5 times rest.
func (s *workOrder) pause(n int, rest time.Duration) time.Duration {
	switch n {
	case 0:
		return rest / 90
	case 1:
		return rest / 30
	}
	return rest/2 + time.Duration(pseudoRandom(1000, s.seed, "rest", strconv.Itoa(n)))*rest/1000
}

// next returns the next scenario whose agent is idle, if there is one.
func (s *workOrder) next(idle func(agentID string) bool) (scenario, bool) {
	if len(s.todo) == 0 {
		s.todo, s.round = s.newRound(), s.round+1
	}
	for i, e := range s.todo {
		if idle(e.agent) {
			s.todo = slices.Delete(s.todo, i, i+1)
			return e, true
		}
	}
	return scenario{}, false
}

// newRound returns all scenarios, sorted by part of the day and shuffled within each
// part.
func (s *workOrder) newRound() []scenario {
	var all []scenario
	for _, part := range dayParts() {
		place := func(e scenario) int64 { return pseudoRandom(1<<31, s.seed, strconv.Itoa(s.round), e.agent, e.ask) }
		slices.SortStableFunc(part, func(a, b scenario) int { return cmp.Compare(place(a), place(b)) })
		all = append(all, part...)
	}
	return all
}

// idle reports whether an agent exists and can start work now. The caller must hold r.mu.
func (r *Runtime) idle(agentID string) bool {
	_, ok := r.agent(agentID)
	return ok && r.boot != nil && !r.boot.draining && !r.busy(agentID)
}

// startScenario starts a run that performs a scenario. The caller must hold r.mu.
func (r *Runtime) startScenario(e scenario) {
	a, ok := r.agent(e.agent)
	if !ok {
		return
	}
	key := "agent:" + a.ID + ":" + e.place
	if e.place == subAgentPlace {
		key = "agent:" + a.ID + ":subagent:" + uuid.NewString()
	}
	s, created := r.scenarioSession(key, a, r.now())
	s.label, s.live = e.label, true
	if e.place == subAgentPlace {
		s.parent = "agent:" + a.ID + ":main"
	}
	q := &run{
		boot: r.boot, session: s, agent: a, id: uuid.NewString(), message: e.ask, taskID: uuid.NewString(),
		createdAt: r.now(), work: &e,
	}
	r.enqueue(q, created)
}

// StartWork starts a run that performs a script. place is the session's key without the agent, label its
// title, which may be empty, and every is how long each step takes.
func (r *Runtime) StartWork(agentID, place, label string, every time.Duration, does Script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startScenario(scenario{
		agent: agentID, place: place, label: label, ask: does.Ask, steps: does.Steps, answer: does.Answer, every: every,
	})
}

// scenarioSession returns the session for a scenario that starts at the given time. If the
// context of the existing session is too full, it creates a new session. If the agent
// worked recently, a new session starts with the agent's system prompt already in the
// provider's cache. The caller must hold r.mu.
func (r *Runtime) scenarioSession(key string, a Agent, at int64) (s *session, created bool) {
	key = canonical(key)
	if s := r.sessions[key]; s != nil && s.context > modelOf(a).window*contextLimitPercent/100 {
		delete(r.sessions, key)
		r.emitSession(s, object{"reason": "reset"})
	}
	s, created = r.sessionOf(key, a)
	if last, ok := r.lastWorkAt[a.ID]; ok && created && at-last <= cacheLifetime.Milliseconds() {
		s.cached, s.calledAt = baseContext-baseContext%cacheBlock, last
	}
	r.lastWorkAt[a.ID] = at
	return s, created
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

// removeFinishedSubAgents deletes sub-agent sessions that ended more than subAgentRetention ago.
// The caller must hold r.mu.
func (r *Runtime) removeFinishedSubAgents() {
	before := r.now() - subAgentRetention.Milliseconds()
	for key, s := range r.sessions {
		if s.parent != "" && s.live && s.active == nil && len(s.queue) == 0 && s.endedAt > 0 && s.endedAt < before {
			delete(r.sessions, key)
			r.emitSession(s, object{"reason": "delete"})
		}
	}
}

// runSteps performs the steps of a run's scenario, pausing between them. It reports whether the run
// is still active afterwards. If Wardroom refuses a call, the run ends with the reason as its answer.
func (r *Runtime) runSteps(ctx context.Context, q *run) bool {
	n := 0
	for ; n < len(q.work.steps); n++ { // a step that asks a person changes the steps after it
		st := q.work.steps[n]
		think, tool := r.pause(*q.work, n)
		if sleep(ctx, think) != nil {
			return false
		}
		w := &writer{s: q.session, runID: q.id}
		if !r.appendStep(q, w, func() (message, int) { return w.call(n, st) }) || sleep(ctx, tool) != nil {
			return false
		}
		if st.Path != "" {
			st = r.callBoard(ctx, q, st)
		}
		if st.Asks != nil && !r.askPerson(ctx, q, n, &st) {
			return false
		}
		if !r.appendStep(q, w, func() (message, int) { return w.result(n, st) }) {
			return false
		}
		if st.Path != "" && st.Failed {
			q.work.answer = "I stopped, because I can't report to the board: " + st.Result + "."
			return true
		}
	}
	think, _ := r.pause(*q.work, n)
	return sleep(ctx, think) == nil
}

// askPerson makes the n-th step of a run wait for a person, and changes the step and the work after it
// accordingly. It reports whether the run is still active.
func (r *Runtime) askPerson(ctx context.Context, q *run, n int, st *Step) bool {
	id := st.Asks(ctx, q.session.key, q.id)
	r.mu.Lock()
	a := r.findAsked(id)
	r.mu.Unlock()
	if a == nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-a.over:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := Ending{Decision: a.decision}
	if raw, err := json.Marshal(a.answers["answers"]); err == nil {
		_ = json.Unmarshal(raw, &ended.Answers) // answers of another shape count as none
	}
	result, rest := st.Then(ended)
	st.Result = result
	q.work.steps, q.work.answer = append(q.work.steps[:n+1:n+1], rest.Steps...), rest.Answer
	return true
}

// scale converts the duration d to the runtime's time scale. In tests, a simulated second
// is shorter than a real one.
func (r *Runtime) scale(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.options.Timing.Second.Seconds())
}

// appendStep adds a row to an active run's transcript and emits an event for it. It
// reports whether the run is still active.
func (r *Runtime) appendStep(q *run, w *writer, row func() (message, int)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.ended {
		return false
	}
	w.at = r.now()
	m, seq := row()
	r.emitMessage(q.session, m, seq)
	return true
}
