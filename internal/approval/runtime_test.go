package approval

import (
	"context"
	"maps"
	"slices"
	"sync"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
)

// runtime mimics the gateway's rules: the first answer counts, the same decision again succeeds, and a
// restart forgets questions.
type runtime struct {
	mu        sync.Mutex
	approvals map[string]gateway.Approval
	questions map[string]gateway.PersonQuestion
	ended     map[string]gateway.Ending
	down      error  // returned by all requests
	sent      func() // called before an answer is taken; may be nil
	failSend  error  // returned instead of the answer's result
}

func newRuntime() *runtime {
	return &runtime{approvals: map[string]gateway.Approval{}, questions: map[string]gateway.PersonQuestion{}, ended: map[string]gateway.Ending{}}
}

func (r *runtime) Status() link.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down != nil {
		return link.Status{}
	}
	// The connection that starts runs comes later. Requests don't arrive over it.
	return link.Status{Connections: []link.Connection{
		{Purpose: link.StartsRuns, ScopesGranted: []string{}},
		{Purpose: link.Manages, ConnectedAt: clock.Ptr(noon), ScopesGranted: []string{"operator.admin"}},
	}}
}

func (r *runtime) Approvals(context.Context) ([]gateway.Approval, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.approvals)), r.down
}

func (r *runtime) Questions(context.Context) ([]gateway.PersonQuestion, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.questions)), r.down
}

func (r *runtime) DecideApproval(_ context.Context, id, _, decision string) error {
	state := "allowed"
	if decision == "deny" {
		state = "denied"
	}
	return r.take(id, gateway.Ending{State: state, Decision: decision, By: link.DisplayName})
}

func (r *runtime) AnswerQuestion(_ context.Context, id string, answers map[string][]string, by string) error {
	if len(answers) == 0 {
		return r.take(id, gateway.Ending{State: "cancelled"})
	}
	return r.take(id, gateway.Ending{State: "answered", Answers: answers, By: by})
}

// take ends a request, as the gateway does when an answer arrives.
func (r *runtime) take(id string, e gateway.Ending) error {
	if r.sent != nil {
		r.sent()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, ok := r.ended[id]; ok {
		if was.Decision != "" && was.Decision == e.Decision {
			return r.failSend
		}
		return gateway.ErrAnswered
	}
	r.ended[id] = e
	delete(r.approvals, id)
	delete(r.questions, id)
	return r.failSend
}

func (r *runtime) ApprovalEnding(_ context.Context, id string) (gateway.Ending, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.approvals[id]; ok {
		return gateway.Ending{State: "pending"}, r.down
	}
	e, ok := r.ended[id]
	if !ok {
		return gateway.Ending{}, gateway.ErrNoRequest
	}
	return e, r.down
}

func (r *runtime) QuestionEnding(_ context.Context, id string) (gateway.Ending, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.questions[id]; ok {
		return gateway.Ending{State: "pending"}, r.down
	}
	e, ok := r.ended[id]
	if !ok {
		return gateway.Ending{}, gateway.ErrNoRequest
	}
	return e, r.down
}

func (r *runtime) CommandPolicy(context.Context) (gateway.CommandPolicy, error) {
	return gateway.CommandPolicy{Mode: "full", Agents: map[string]string{"cto": "ask"}}, r.down
}

// ends ends a request in the runtime without Wardroom.
func (r *runtime) ends(id string, e gateway.Ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.approvals, id)
	delete(r.questions, id)
	r.ended[id] = e
}
