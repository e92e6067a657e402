package demo

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// pastJob is a scheduled job with past runs. The fields late, missed and failed list the
// runs in the first of Past.Spans that started late, did not start or failed. Runs are
// counted backward: 1 is the last run in that span.
type pastJob struct {
	agent, name, what, expr, ask, answer string
	late, missed, failed                 []int
	steps                                []Step
}

func pastJobs() []pastJob {
	shell := func(command, result string, reads int64) Step {
		return Step{Tool: "exec", Args: object{"command": command}, Result: result, Reads: reads}
	}
	return []pastJob{
		{agent: "coo", name: "Morning numbers", what: "Costs and failures of the previous day.", expr: "0 6 * * *", ask: "Summarize yesterday: costs, failures, and what's due today.", answer: "Yesterday was within budget. There were no failures that aren't already on the board. Two tasks are due today.", missed: []int{1}, steps: []Step{
			shell("bin/spend --yesterday", "hosting $27.08  models $9.61  email $1.63  budget $53.00", 3000), shell("bin/failures --yesterday --not-on-board", "none", 2000), shell("bin/board --due today", "2 tasks", 4000),
		}},
		{agent: "cto", name: "Check the error rate", what: "Compares the error rate with its usual level.", expr: "10 */4 * * *", ask: "Is the error rate normal?", answer: "Yes, 0.04%.", late: []int{4, 39}, steps: []Step{
			shell("bin/errors --hours 4 --compare 14d", "0.04%, usually 0.03% to 0.06%", 5000),
		}},
		{agent: "cto", name: "Check the backup", what: "Restores the latest backup to a clean machine.", expr: "15 2 * * *", ask: "Restore the latest backup and check the row counts.", answer: "Restored in 58 s. The row counts match.", failed: []int{1, 10}, steps: []Step{
			shell("bin/machines take --clean", "restore-2", 2000), shell("bin/restore latest --to restore-2", "6.2 GB in 58 s", 6000), shell("bin/compare-counts production restore-2", "41 tables, 0 differ", 4000),
		}},
		{agent: "cpo", name: "Triage support email", what: "Sorts new customer messages by urgency.", expr: "30 5-19/3 * * *", ask: "Triage the new support emails and tell me what's urgent.", answer: "Eleven new emails, none of them urgent. Three ask for shared workspaces.", missed: []int{47}, steps: []Step{
			shell("bin/mail --unread --support", "11 emails", 11000), shell("bin/mail tag --by topic", "workspaces 3  invoices 4  how-to 4", 3000),
		}},
		{agent: "cmo", name: "Brand mentions", what: "Searches public forums for our name.", expr: "45 */6 * * *", ask: "Who has mentioned us since your last check?", answer: "Four mentions, all positive. One asks what Business costs.", steps: []Step{
			shell("bin/mentions --since-last", "4 mentions in 2 forums", 8000),
		}},
	}
}

// maxJobDuration is longer than any run of the sample jobs.
const maxJobDuration = 4 * time.Minute

// errNoMachine is the error for a failed job run, in the wording of the real gateway, and noMachine
// is the tool's.
const (
	errNoMachine = "LLM request failed: the tool `exec` exited with status 1: no clean machine available"
	noMachine    = "error: no clean machine available (0 of 2 free, both in use for more than 3 h)"
)

// seedJob adds a job and its past runs. The caller must hold r.mu.
func (r *Runtime) seedJob(h pastJob, p Past) error {
	if _, ok := r.agent(h.agent); !ok {
		return nil // another team
	}
	if len(p.Spans) == 0 {
		return nil
	}
	createdAt := p.Spans[0].From.AddDate(0, 0, -30).UnixMilli()
	j := &cronJob{
		spec: spec{
			Name: h.name, Description: h.what, AgentID: h.agent, Enabled: true, SessionTarget: "isolated", WakeMode: "now",
			Schedule: schedule{Kind: "cron", Expr: h.expr, Tz: "UTC"}, Payload: payload{Kind: "agentTurn", Message: h.ask},
		},
		id: fixedID("job", h.name).String(), createdAt: createdAt, updatedAt: createdAt,
	}
	if f := r.validate("cron.add", &j.spec); f != nil {
		return fmt.Errorf("demo: seed job %q: %s", h.name, f.Message)
	}
	for n, s := range p.Spans {
		due := slices.Collect(j.Schedule.times.Between(s.From, s.Until.Add(-maxJobDuration)))
		for i, at := range due {
			back := 0
			if n == 0 {
				back = len(due) - i
			}
			if !at.Before(p.Since) && !slices.Contains(h.missed, back) {
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
func (r *Runtime) seedJobRun(j *cronJob, h pastJob, due time.Time, back int) {
	at := due.Add(400*time.Millisecond + time.Duration(pseudoRandom(2000, j.id, due.String()))*time.Millisecond)
	if slices.Contains(h.late, back) {
		at = due.Add(150 * time.Second)
	}
	name := fixedID(j.id, due.Format(time.RFC3339)).String()
	key := "agent:" + h.agent + ":cron:" + j.id + ":run:" + name
	e := scenario{agent: h.agent, place: "cron", label: "Automation: " + j.Name, ask: h.ask, answer: h.answer, steps: h.steps}
	if slices.Contains(h.failed, back) {
		e.steps = []Step{h.steps[0]}
		e.steps[0].Result, e.steps[0].Failed = noMachine, true
	}
	s := r.seedRun(key, "", at, e)
	s.cron = true
	last := len(s.messages) - 1 // the answer
	q := &run{
		session: s, agent: s.agent, job: j, jobRun: strconv.FormatInt(due.UnixMilli(), 10), id: s.lastRun,
		outcome: outcome{kind: answered, text: h.answer, spent: *s.messages[last].spent},
	}
	if slices.Contains(h.failed, back) {
		m := &s.messages[last]
		m.text, m.stop, m.key, m.spent = "⚠️ "+errNoMachine, "error", q.id+":terminal-error", &spent{model: modelOf(s.agent)}
		s.status, s.lastError = "failed", errNoMachine
		q.outcome = outcome{kind: failed, error: errNoMachine, spent: spent{model: modelOf(s.agent)}}
	}
	j.ended(q, s.startedAt, s.endedAt)
	r.jobHistory = append(r.jobHistory, q.historyEntry(s.endedAt))
}
