package demo

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// How long requests to people wait, as in the real gateway.
const (
	approvalLife = 30 * time.Minute
	questionLife = 15 * time.Minute
)

// asked is an approval or a question that waits for a person, or has ended.
type asked struct {
	id, kind             string // kind is exec, plugin or question
	request              object // of an approval
	always               bool   // whether an approval may be answered with allow-always
	question             object // of a question, except for its state
	createdAt, expiresAt int64
	status, reason       string // pending, or how it ended
	decision, by         string
	answers              object
	endedAt              int64
	over                 chan struct{} // closed at the end
}

// Ending is how a request to a person ended. It is empty if nobody answered, or the question was skipped.
type Ending struct {
	Decision string              // of an approval
	Answers  map[string][]string // of a question, by questionId
}

// Command is a command for which an agent needs an approval.
type Command struct {
	AgentID, SessionKey, RunID string
	Text, Directory            string
	Warnings                   []string
	Always                     bool          // whether allow-always is offered
	Life                       time.Duration // defaults to 30 minutes
}

// AskApproval makes a command wait for a person and returns the approval's id. The gateway denies it at once if
// clients are connected but none is a route to people, or if a sub-agent asks.
func (r *Runtime) AskApproval(c Command) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	decisions := words("allow-once deny")
	if c.Always {
		decisions = words("allow-once allow-always deny")
	}
	a := r.newAsked("exec", uuid.NewString(), c.Life, approvalLife)
	a.always = c.Always
	program, _, _ := strings.Cut(c.Text, " ")
	a.request = object{
		"command": c.Text, "cwd": c.Directory, "nodeId": nil, "host": "gateway", "warningText": nil,
		"commandAnalysis":  object{"riskKinds": []string{}, "warningLines": append([]string{}, c.Warnings...)},
		"allowedDecisions": decisions, "agentId": c.AgentID, "resolvedPath": "/usr/bin/" + program,
		"sessionKey": canonical(c.SessionKey), "runId": c.RunID, "toolCallId": "call_1_0",
	}
	if s := r.sessions[canonical(c.SessionKey)]; s != nil && s.parent != "" || len(r.conns) > 0 && !r.hasRoute() {
		a.status, a.reason, a.endedAt = "denied", "no-route", r.now()
		close(a.over)
		return a.id
	}
	r.broadcast(approvers, "exec.approval.requested", a.row())
	return a.id
}

// approvers receive the events about approvals. Any of them is a route to people.
var approvers = audience{scope: scopeAdmin, capable: "approvals"}

// HasRoute reports whether a client is connected that may answer approvals.
func (r *Runtime) HasRoute() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasRoute()
}

// hasRoute is HasRoute. The caller must hold r.mu.
func (r *Runtime) hasRoute() bool {
	for c := range r.conns {
		if approvers.has(c) {
			return true
		}
	}
	return false
}

// AskQuestion makes a question wait for a person and returns its id. Each part is as in question.requested. The
// question ends with its run, if runID names one.
func (r *Runtime) AskQuestion(agentID, sessionKey, runID string, life time.Duration, parts ...map[string]any) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.newAsked("question", "ask_"+strings.ReplaceAll(uuid.NewString(), "-", ""), life, questionLife)
	a.question = object{
		"questions": parts, "agentId": agentID, "sessionKey": canonical(sessionKey), "runId": cmp.Or(runID, uuid.NewString()),
	}
	r.broadcast(audience{scope: scopeQuestions}, "question.requested", a.row())
	return a.id
}

// newAsked adds a pending request, which expires by itself. The caller must hold r.mu.
func (r *Runtime) newAsked(kind, id string, life, usual time.Duration) *asked {
	if life == 0 {
		life = usual
	}
	a := &asked{id: id, kind: kind, createdAt: r.now(), status: "pending", over: make(chan struct{})}
	a.expiresAt = a.createdAt + life.Milliseconds()
	r.asked = append(r.asked, a)
	r.work.Go(func() {
		if sleep(r.ctx, life) == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.endAsked(a, "expired", "timeout")
		}
	})
	return a
}

// waits reports whether a run waits for a person. The caller must hold r.mu.
func (r *Runtime) waits(q *run, question bool) bool {
	return slices.ContainsFunc(r.asked, func(a *asked) bool {
		return a.status == "pending" && a.about()["runId"] == q.id && (a.kind == "question") == question
	})
}

// withdraw ends the pending requests of a run that has ended. The caller must hold r.mu.
func (r *Runtime) withdraw(q *run) {
	for _, a := range r.asked {
		if a.status == "pending" && a.about()["runId"] == q.id {
			r.endAsked(a, "cancelled", "run-aborted")
		}
	}
}

// loseAsked ends everything that waits when the process stops: approvals are remembered as cancelled,
// questions are forgotten. No event is sent. The caller must hold r.mu.
func (r *Runtime) loseAsked() {
	r.asked = slices.DeleteFunc(r.asked, func(a *asked) bool { return a.kind == "question" })
	for _, a := range r.asked {
		if a.status == "pending" {
			a.status, a.reason, a.endedAt = "cancelled", "gateway-restart", r.now()
		}
	}
}

// endAsked ends a request to which nobody answered. The caller must hold r.mu.
func (r *Runtime) endAsked(a *asked, status, reason string) {
	if a.status != "pending" {
		return
	}
	a.status, a.reason, a.endedAt = status, reason, r.now()
	if a.kind == "question" {
		a.status = "cancelled"
	}
	r.tellAsked(a)
}

// tellAsked sends the event about the end of a request, after which the agent continues. An approval that nobody
// answered looks denied.
func (r *Runtime) tellAsked(a *asked) {
	close(a.over)
	if a.kind == "question" {
		event := object{"id": a.id, "status": a.status}
		if a.answers != nil {
			event["answers"] = a.answers
		}
		r.broadcast(audience{scope: scopeQuestions}, "question.resolved", event)
		return
	}
	event := object{"id": a.id, "decision": a.decision, "resolvedBy": a.by, "ts": r.now(), "request": a.request}
	if a.by == "" {
		event["decision"], event["resolvedBy"] = "deny", nil
	}
	r.broadcast(approvers, a.kind+".approval.resolved", event)
}

func (r *Runtime) findAsked(id string) *asked {
	for _, a := range r.asked {
		if a.id == id {
			return a
		}
	}
	return nil
}

// about returns what the agent asked.
func (a *asked) about() object {
	if a.kind == "question" {
		return a.question
	}
	return a.request
}

// row returns a pending request as in events and lists.
func (a *asked) row() object {
	if a.kind == "question" {
		row := merge(a.question, object{
			"id": a.id, "createdAtMs": a.createdAt, "expiresAtMs": a.expiresAt, "status": a.status,
		})
		if a.answers != nil {
			row["answers"], row["resolvedBy"] = a.answers, a.by
		}
		return row
	}
	return object{
		"approvalKind": a.kind, "id": a.id, "request": a.request, "createdAtMs": a.createdAt, "expiresAtMs": a.expiresAt,
	}
}

func (r *Runtime) pendingAsked(kind string) []object {
	list := []object{}
	for _, a := range r.asked {
		if a.kind == kind && a.status == "pending" {
			list = append(list, a.row())
		}
	}
	return list
}

// listApprovals serves exec.approval.list and plugin.approval.list.
func (r *Runtime) listApprovals(kind string) func(call) (any, *Failure) {
	return func(call) (any, *Failure) { return r.pendingAsked(kind), nil }
}

func unknownApproval() *Failure {
	f := invalid("unknown or expired approval id")
	f.Details = object{
		"reason":      "APPROVAL_NOT_FOUND",
		"remediation": "Re-request the action; pending approvals are cleared after expiry or restart.",
	}
	return f
}

// handleResolveApproval serves exec.approval.resolve and plugin.approval.resolve.
func (r *Runtime) handleResolveApproval(c call) (any, *Failure) {
	var in struct{ ID, Decision string }
	p := params{required: words("id decision"), optional: words("grantExpiresInDays")}
	if f := p.read(c.method, "", c.params, &in); f != nil {
		return nil, f
	}
	a := r.findAsked(in.ID)
	switch {
	case a == nil || a.kind == "question":
		return nil, unknownApproval()
	case !slices.Contains(words("allow-once allow-always deny"), in.Decision):
		return nil, invalid("invalid decision")
	case a.status != "pending" && in.Decision == a.decision:
		return object{"ok": true}, nil
	case a.status != "pending":
		f := invalid("approval already resolved")
		f.Details = object{"reason": "APPROVAL_ALREADY_RESOLVED"}
		return nil, f
	case in.Decision == "allow-always" && !a.always:
		f := invalid("allow-always is unavailable for this command")
		f.Details = object{"reason": "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"}
		return nil, f
	}
	a.status, a.reason, a.decision, a.by, a.endedAt = "allowed", "user", in.Decision, c.conn.displayName, r.now()
	if in.Decision == "deny" {
		a.status = "denied"
	}
	r.tellAsked(a)
	return object{"ok": true}, nil
}

func (r *Runtime) handleApproval(c call) (any, *Failure) {
	var in struct{ ID string }
	if f := (params{required: words("id")}).read(c.method, "", c.params, &in); f != nil {
		return nil, f
	}
	a := r.findAsked(in.ID)
	if a == nil || a.kind == "question" {
		return nil, unknownApproval()
	}
	is := object{
		"id": a.id, "status": a.status, "urlPath": "/approve/" + a.id, "createdAtMs": a.createdAt, "expiresAtMs": a.expiresAt,
		"presentation": object{
			"kind": a.kind, "commandText": a.request["command"], "agentId": a.request["agentId"],
			"allowedDecisions": a.request["allowedDecisions"],
		},
	}
	if a.status != "pending" {
		is["resolvedAtMs"], is["reason"], is["resolver"] = a.endedAt, a.reason, object{"kind": "system"}
	}
	if a.by != "" {
		is["decision"], is["resolver"] = a.decision, object{"kind": "runtime", "id": a.by}
	}
	return object{"approval": is}, nil
}

func (r *Runtime) handleQuestions(call) (any, *Failure) {
	return object{"questions": r.pendingAsked("question")}, nil
}

func (r *Runtime) readQuestion(c call, p params, in any, id *string) (*asked, *Failure) {
	if f := p.read(c.method, "", c.params, in); f != nil {
		return nil, f
	}
	a := r.findAsked(*id)
	if a == nil || a.kind != "question" {
		f := invalid("question '%s' was not found", *id)
		f.Details = object{"reason": "QUESTION_NOT_FOUND"}
		return nil, f
	}
	return a, nil
}

func (r *Runtime) handleQuestion(c call) (any, *Failure) {
	var in struct{ ID string }
	a, f := r.readQuestion(c, params{required: words("id")}, &in, &in.ID)
	if f != nil {
		return nil, f
	}
	return object{"question": a.row()}, nil
}

func (r *Runtime) handleAnswerQuestion(c call) (any, *Failure) {
	var in struct {
		ID         string
		Cancel     bool
		Answers    object
		ResolvedBy string
	}
	a, f := r.readQuestion(c, params{required: words("id"), optional: words("cancel answers resolvedBy")}, &in, &in.ID)
	if f != nil {
		return nil, f
	}
	if a.status != "pending" {
		f := invalid("question '%s' is already %s", in.ID, a.status)
		f.Details = object{"reason": "QUESTION_ALREADY_TERMINAL"}
		return nil, f
	}
	a.status, a.by, a.endedAt = "answered", in.ResolvedBy, r.now()
	if a.answers = in.Answers; in.Cancel {
		a.status, a.answers = "cancelled", nil
	}
	r.tellAsked(a)
	answer := object{"status": a.status}
	if a.answers != nil {
		answer["answers"] = a.answers
	}
	return answer, nil
}
