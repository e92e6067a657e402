package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// howToReport begins the part of a prompt that says how to report on a task.
const howToReport = "\nReport to the board over HTTP"

// scripted returns the work that a run's message asks for, as Options.Script knows it, or nil. The
// caller must hold r.mu.
func (r *Runtime) scripted(q *run, in Question) *scenario {
	if script, ok := r.options.Script(in, q.session.delivered); ok {
		return &scenario{agent: q.agent.ID, ask: q.id, steps: script.Steps, answer: script.Answer, paced: true}
	}
	return nil
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
	r.mu.Lock()
	defer r.mu.Unlock()
	q.session.delivered = q.session.delivered || strings.Contains(st.Body, `"kind":"done"`)
	return st
}
