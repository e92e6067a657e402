package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// howToReport begins the part of a prompt that says how to report on a task.
const howToReport = "\nReport to the board over HTTP"

// scripted returns the work that a run's message asks for: a scheduled job of the sample history, or
// what Options.Script knows. It returns nil for any other message. The caller must hold r.mu.
func (r *Runtime) scripted(q *run, in Question) *scenario {
	for _, j := range pastJobs() {
		if q.job != nil && q.agent.ID == j.agent && q.message == j.ask {
			return &scenario{agent: j.agent, place: "cron", ask: j.ask, steps: j.steps, answer: j.answer, paced: true}
		}
	}
	script, ok := r.options.Script(in, q.session.delivered)
	if !ok {
		return nil
	}
	return &scenario{agent: q.agent.ID, ask: q.id, steps: script.Steps, answer: script.Answer, paced: true}
}

// callBoard makes the call of a step and returns the step with the answer. It holds no lock.
func (r *Runtime) callBoard(ctx context.Context, q *run, st Step) Step {
	// The end of a prompt says how to report. What comes before quotes people and agents.
	from := max(0, strings.LastIndex(q.message, howToReport))
	base, key, err := r.apiTarget(q.agent.ID, q.message[from:])
	if err != nil {
		st.Result, st.Failed = err.Error(), true
		return st
	}
	a, err := post(ctx, newClient(), base+st.Path, key, st.Body)
	if st.Failed = err != nil || a.status >= http.StatusMultipleChoices; st.Failed {
		st.Result = a.failureReason(err)
		return st
	}
	st.Result = fmt.Sprintf("HTTP %d %s", a.status, strings.TrimSpace(a.Key+" "+a.Status))
	if strings.Contains(st.Body, `"kind":"done"`) {
		r.mu.Lock()
		q.session.delivered = true
		r.mu.Unlock()
	}
	return st
}
