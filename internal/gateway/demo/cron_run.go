package demo

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// maxJobHistory limits how many completed job runs are kept.
const maxJobHistory = 500

// errInterrupted is the error for a job run that was interrupted by a restart.
const errInterrupted = "cron: job interrupted by gateway restart"

// runScheduler starts due jobs until b.ctx ends. It polls, because the clock may jump.
func (r *Runtime) runScheduler(b *boot) {
	tick := time.NewTicker(r.options.Timing.Cron)
	defer tick.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-tick.C:
			r.mu.Lock()
			r.runDue(b)
			r.mu.Unlock()
		}
	}
}

// runDue starts the jobs that are due. It starts each job only once, even if the job
// missed several runs. The caller must hold r.mu.
func (r *Runtime) runDue(b *boot) {
	now := r.now()
	for _, j := range r.jobs {
		if j.next == 0 || j.next > now || b.draining {
			continue
		}
		due := j.next
		j.next = j.nextAfter(now)
		if j.active == nil && r.options.Behavior.JobsRun() {
			r.startJob(b, j, fmt.Sprintf("%d", due))
		}
	}
}

// skipMissedJobs skips the runs that came due during a restart and schedules the next
// ones. The caller must hold r.mu.
func (r *Runtime) skipMissedJobs() {
	for _, j := range r.jobs {
		if j.next > 0 && j.next <= r.now() {
			j.next = j.nextAfter(r.now())
		}
	}
}

// startJob starts a job run in the job's session. The caller must hold r.mu.
func (r *Runtime) startJob(b *boot, j *cronJob, id string) {
	a, ok := r.agent(j.AgentID)
	if !ok || b.draining {
		return
	}
	now := r.now()
	key, text := "agent:"+a.ID+":cron:"+j.id+":run:"+uuid.NewString(), j.Payload.Message
	switch j.SessionTarget {
	case "main", "current":
		key = "agent:" + a.ID + ":main"
	}
	if j.Payload.Kind == "systemEvent" {
		text = j.Payload.Text
	}
	s, created := r.sessionOf(key, a)
	if j.SessionTarget == "isolated" {
		s.cron, s.label, s.ofJob = true, "Automation: "+j.Name, canonical("agent:"+a.ID+":cron:"+j.id)
	}
	timeout := time.Duration(0)
	if j.Payload.TimeoutSeconds != nil {
		timeout = time.Duration(*j.Payload.TimeoutSeconds * float64(r.options.Timing.Second))
	}
	q := &run{
		boot: b, session: s, agent: a, id: fmt.Sprintf("cron:%s:%d:%s:%s", j.id, now, uuid.NewString(), id), message: text,
		taskID: uuid.NewString(), timeout: timeout, createdAt: now, job: j, jobRun: id,
	}
	j.active, j.runningAt = q, now
	r.emitJob(j, "started", object{"runAtMs": now})
	r.enqueue(q, created)
}

// jobEnded records the end of a job's run. The caller must hold r.mu.
func (r *Runtime) jobEnded(q *run) {
	j := q.job
	if j == nil || j.active != q {
		return
	}
	j.active, j.updatedAt = nil, r.now()
	j.ended(q, j.runningAt, r.now())
	entry := q.historyEntry(r.now())
	r.jobHistory = append(r.jobHistory, entry)
	r.jobHistory = r.jobHistory[max(0, len(r.jobHistory)-maxJobHistory):]
	finished := merge(entry, object{})
	for _, k := range words("ts jobId action jobName nextRunAtMs") {
		delete(finished, k)
	}
	r.emitJob(j, "finished", finished)
}

// ended records the result of the job's last run.
func (j *cronJob) ended(q *run, from, to int64) {
	j.lastRunAt, j.lastDuration, j.lastStatus, j.lastError = from, to-from, "ok", ""
	if q.outcome.kind == answered {
		j.errors = 0
		return
	}
	j.lastStatus, j.lastError = "error", q.outcome.error
	j.errors++
}

// historyEntry returns the cron.runs entry for a run that has just ended.
func (q *run) historyEntry(at int64) object {
	j, o := q.job, q.outcome
	completion := "succeeded"
	if o.kind != answered {
		completion = "failed"
	}
	m := o.spent.model
	entry := object{
		"ts": at, "jobId": j.id, "action": "finished", "status": j.lastStatus, "completionStatus": completion,
		"runId": q.jobRun, "runAtMs": j.lastRunAt, "durationMs": j.lastDuration, "model": m.id, "provider": m.provider,
		"sessionId": q.session.id, "sessionKey": q.session.key, "jobName": j.Name,
	}
	if o.kind == answered {
		entry["summary"] = clip(o.text, 2000)
		entry["usage"] = object{
			"input_tokens": o.spent.prompt(), "output_tokens": o.spent.output, "total_tokens": o.spent.total(),
		}
	} else {
		entry["error"] = o.error
	}
	if j.next > 0 {
		entry["nextRunAtMs"] = j.next
	}
	return entry
}

// emitJob sends a `cron` event about a job.
func (r *Runtime) emitJob(j *cronJob, action string, more object) {
	event := merge(object{"jobId": j.id, "action": action, "job": j.eventJSON()}, more)
	if j.next > 0 && action != "started" && action != "removed" {
		event["nextRunAtMs"] = j.next
	}
	r.broadcast(audience{scope: scopeRead}, "cron", event)
}
