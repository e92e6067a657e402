package demo

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Job is a scheduled job with past runs. The fields Late, Missed and Failed list the runs in the
// first of Past.Spans that started late, did not start or failed. Runs are counted backward: 1 is
// the last run in that span.
type Job struct {
	AgentID, Name, What, Expr, Ask string
	Run                            func(id string) Script // the work of the run with the given id
	Late, Missed, Failed           []int
	Error, Output                  string // of a failed run, and of the tool that failed
}

// maxJobDuration is longer than any run of the sample jobs.
const maxJobDuration = 4 * time.Minute

// seedJob adds a job and its past runs. The caller must hold r.mu.
func (r *Runtime) seedJob(h Job, p Past) error {
	if _, ok := r.agent(h.AgentID); !ok {
		return nil // another team
	}
	if len(p.Spans) == 0 {
		return nil
	}
	createdAt := p.Spans[0].From.AddDate(0, 0, -30).UnixMilli()
	j := &cronJob{
		spec: spec{
			Name: h.Name, Description: h.What, AgentID: h.AgentID, Enabled: true, SessionTarget: "isolated", WakeMode: "now",
			Schedule: schedule{Kind: "cron", Expr: h.Expr, Tz: p.zone().String()},
			Payload:  payload{Kind: "agentTurn", Message: h.Ask},
		},
		id: fixedID("job", h.Name).String(), createdAt: createdAt, updatedAt: createdAt,
	}
	if f := r.validate("cron.add", &j.spec); f != nil {
		return fmt.Errorf("demo: seed job %q: %s", h.Name, f.Message)
	}
	for n, s := range p.Spans {
		due := slices.Collect(j.Schedule.times.Between(s.From, s.Until.Add(-maxJobDuration)))
		for i, at := range due {
			back := 0
			if n == 0 {
				back = len(due) - i
			}
			if !at.Before(p.Since) && !slices.Contains(h.Missed, back) {
				r.seedJobRun(j, h, at, back)
			}
		}
	}
	// A job that came due right before the end of the last span runs now.
	j.next = j.nextAfter(p.Spans[len(p.Spans)-1].Until.Add(-maxJobDuration).UnixMilli() - 1)
	r.jobs = append(r.jobs, j)
	return nil
}

// seedJobRun adds one past run of a job to the job's history and to the run's session.
func (r *Runtime) seedJobRun(j *cronJob, h Job, due time.Time, back int) {
	at := due.Add(400*time.Millisecond + time.Duration(pseudoRandom(2000, j.id, due.String()))*time.Millisecond)
	if slices.Contains(h.Late, back) {
		at = due.Add(150 * time.Second)
	}
	name := fixedID(j.id, due.Format(time.RFC3339)).String()
	key := "agent:" + h.AgentID + ":cron:" + j.id + ":run:" + name
	did := h.Run(name)
	e := scenario{
		agent: h.AgentID, place: "cron", label: "Automation: " + j.Name, ask: h.Ask, steps: did.Steps, answer: did.Answer,
	}
	if slices.Contains(h.Failed, back) {
		e.steps = e.steps[:1]
		e.steps[0].Result, e.steps[0].Failed = h.Output, true
	}
	s := r.seedRun(key, "", at, e)
	s.cron, s.id = true, name
	last := len(s.messages) - 1 // the answer
	q := &run{
		session: s, agent: s.agent, job: j, jobRun: strconv.FormatInt(due.UnixMilli(), 10), id: s.lastRun,
		outcome: outcome{kind: answered, text: e.answer, spent: *s.messages[last].spent},
	}
	if slices.Contains(h.Failed, back) {
		m := &s.messages[last]
		m.text, m.stop, m.key, m.spent = "⚠️ "+h.Error, "error", q.id+":terminal-error", &spent{model: modelOf(s.agent)}
		s.status, s.lastError = "failed", h.Error
		q.outcome = outcome{kind: failed, error: h.Error, spent: spent{model: modelOf(s.agent)}}
	}
	j.ended(q, s.startedAt, s.endedAt)
	r.jobHistory = append(r.jobHistory, q.historyEntry(s.endedAt))
}
