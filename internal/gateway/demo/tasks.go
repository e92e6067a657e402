package demo

import (
	"slices"

	"github.com/google/uuid"
)

var (
	tasksParams  = params{optional: words("status agentId sessionKey limit cursor sortBy")}
	cancelParams = params{required: words("taskId"), optional: words("reason")}
)

// handleTasks lists the active and queued runs in one session, or in all sessions. Unlike
// the real gateway, it omits runs that have ended. Like the real gateway, it finds a
// session only if the request contains the session's key in lowercase.
func (r *Runtime) handleTasks(c call) (any, *Failure) {
	var in struct {
		SessionKey, AgentID string
		Status              []string
	}
	if f := tasksParams.read("tasks.list", "", c.params, &in); f != nil {
		return nil, f
	}
	list := []object{}
	for _, q := range r.activeRuns() {
		if in.SessionKey != "" && q.session.key != in.SessionKey || in.AgentID != "" && q.agent.ID != in.AgentID {
			continue
		}
		if len(in.Status) == 0 || slices.Contains(in.Status, "running") {
			list = append(list, r.taskJSON(q, "running"))
		}
	}
	return object{"tasks": list}, nil
}

// handleCancel ends a task's run. It does not matter which client started the run. The end of a sub-agent's run wakes
// its parent.
func (r *Runtime) handleCancel(c call) (any, *Failure) {
	var in struct{ TaskID string }
	if f := cancelParams.read("tasks.cancel", "", c.params, &in); f != nil {
		return nil, f
	}
	for _, q := range r.activeRuns() {
		if q.taskID == in.TaskID {
			r.finish(q, outcome{kind: aborted})
			r.next(q.session)
			r.wakeParent(q)
			return object{"found": true, "cancelled": true, "task": r.taskJSON(q, aborted.task())}, nil
		}
	}
	return object{"found": false, "cancelled": false}, nil
}

// wakeParent starts a run that tells a session about the canceled run of its sub-agent. The caller must hold r.mu.
func (r *Runtime) wakeParent(q *run) {
	if p := r.sessions[canonical(q.session.parent)]; p != nil {
		text := "A sub-agent was cancelled: " + clip(q.message, 120)
		r.enqueue(&run{
			boot: q.boot, session: p, agent: q.agent, id: uuid.NewString(), message: text,
			prompt: Prompt{Tool: "subagent_announce"}, taskID: uuid.NewString(), owner: q.owner, createdAt: r.now(),
		}, false)
	}
}

// activeRuns returns those runs in the task ledger that have not ended. The caller must
// hold r.mu.
func (r *Runtime) activeRuns() []*run {
	var runs []*run
	for _, s := range r.sessions {
		for _, q := range append([]*run{s.active}, s.queue...) {
			if q != nil && !q.viaChatSend {
				runs = append(runs, q)
			}
		}
	}
	slices.SortFunc(runs, func(a, b *run) int { return int(b.createdAt - a.createdAt) })
	return runs
}

// emitTask sends a `task` event with the run's entry in the task ledger.
func (r *Runtime) emitTask(q *run, status string) {
	r.broadcast(audience{scope: scopeRead}, "task", object{"action": "upserted", "task": r.taskJSON(q, status)})
}

// taskJSON returns the run's entry in the task ledger.
func (r *Runtime) taskJSON(q *run, status string) object {
	started := q.startedAt
	if started == 0 {
		started = q.createdAt
	}
	task := object{
		"id": q.taskID, "taskId": q.taskID, "kind": "cli", "status": status, "title": clip(q.message, 120),
		"agentId": q.agent.ID, "sessionKey": q.session.key, "childSessionKey": q.session.key, "runId": q.id,
		"createdAt": q.createdAt, "updatedAt": r.now(), "startedAt": started,
	}
	if parent := q.session.parent; parent != "" {
		task["kind"], task["sessionKey"] = "subagent", parent
		if q.session.label != "" {
			task["title"] = q.session.label
		}
	}
	if j := q.job; j != nil {
		task["kind"], task["title"], task["sessionKey"] = "automation_run", j.Name, ""
	}
	if status != "running" {
		task["endedAt"] = q.endedAt
		switch q.outcome.kind {
		case answered:
			task["terminalSummary"] = "completed"
		case timedOut:
			task["terminalSummary"], task["error"] = "aborted", clip(q.outcome.error, 120)
		case aborted:
			task["terminalSummary"], task["error"] = errAborted, errAborted
		case failed, drained:
			task["terminalSummary"], task["error"] = q.outcome.error, q.outcome.error
		}
	}
	return task
}
