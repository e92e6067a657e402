package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// habit is a timed job that the team has had for long, and which of its times in
// the first span did not go as they should, counted back from the last one.
type habit struct {
	agent, name, what, expr, ask, answer string
	late, missed, failed                 []int
	reads                                int64
}

func habits() []habit {
	return []habit{
		{agent: "coo", name: "Morning numbers", what: "What the day before cost and what broke.", expr: "0 6 * * *", ask: "Sum up yesterday: cost, failures, what is due today.", answer: "Yesterday was within its budget. Nothing broke that is not on the board; two tasks are due today.", reads: 9000},
		{agent: "cto", name: "Watch the error rate", what: "Every four hours.", expr: "10 */4 * * *", ask: "Is the error rate as usual?", answer: "0.04 %, as usual.", late: []int{4, 39}, reads: 5000},
		{agent: "cto", name: "Check the backup", what: "Restores the newest backup into an empty machine.", expr: "15 2 * * *", ask: "Restore the newest backup and compare the counts.", answer: "Restored in 6 minutes. The counts are the same.", failed: []int{1, 10}, reads: 12000},
		{agent: "cpo", name: "Read the support mail", what: "Sorts what customers write.", expr: "30 5-19/3 * * *", ask: "Sort the new support mail and name what is urgent.", answer: "Eleven letters, none urgent. Three ask for shared workspaces.", missed: []int{5, 47}, reads: 14000},
		{agent: "cmo", name: "Who mentions us?", what: "Looks through the public forums.", expr: "45 */6 * * *", ask: "Who has mentioned us since the last time?", answer: "Four mentions, all friendly. One asks for the price of Business.", reads: 8000},
	}
}

// jobRun is longer than a run of these jobs takes.
const jobRun = 2 * time.Minute

// The words in which a run of a job fails, as the gateway has them.
const errNoMachine = "LLM request failed: the tool `exec` ended with 1: no empty machine is free"

// rememberJob makes a job and its runs. The lock is held.
func (r *Runtime) rememberJob(h habit, p Past) error {
	if _, ok := r.agent(h.agent); !ok {
		return nil // it is another team
	}
	if len(p.Spans) == 0 {
		return nil
	}
	made := p.Spans[0].From.AddDate(0, 0, -30).UnixMilli()
	j := &cronJob{
		spec: spec{
			Name: h.name, Description: h.what, AgentID: h.agent, Enabled: true, SessionTarget: "isolated", WakeMode: "now",
			Schedule: schedule{Kind: "cron", Expr: h.expr, Tz: "UTC"}, Payload: payload{Kind: "agentTurn", Message: h.ask},
		},
		id: known("job", h.name).String(), createdAt: made, updatedAt: made,
	}
	if f := r.usable("cron.add", &j.spec); f != nil {
		return fmt.Errorf("demo: remember %q: %s", h.name, f.Message)
	}
	for n, s := range p.Spans {
		due := slices.Collect(j.Schedule.times.Between(s.From, s.Until.Add(-jobRun)))
		for i, at := range due {
			back := 0
			if n == 0 {
				back = len(due) - i
			}
			if !at.Before(p.Since) && !slices.Contains(h.missed, back) {
				r.rememberSlot(j, h, at, back)
			}
		}
	}
	// What was due in the last moment is run now.
	j.next = j.after(p.Spans[len(p.Spans)-1].Until.Add(-jobRun).UnixMilli() - 1)
	r.jobs = append(r.jobs, j)
	return nil
}

// rememberSlot writes one run of a job into its session and into the history.
func (r *Runtime) rememberSlot(j *cronJob, h habit, due time.Time, back int) {
	at := due.Add(400*time.Millisecond + time.Duration(chance(2000, j.id, due.String()))*time.Millisecond)
	if slices.Contains(h.late, back) {
		at = due.Add(150 * time.Second)
	}
	name := known(j.id, due.Format(time.RFC3339)).String()
	key := "agent:" + h.agent + ":cron:" + j.id + ":run:" + name
	e := episode{
		agent: h.agent, place: "cron", label: "Automation: " + j.Name, ask: h.ask, answer: h.answer,
		steps: []step{{tool: "exec", args: object{"command": "bin/" + strings.ToLower(strings.Fields(j.Name)[0])}, result: "done", reads: h.reads}},
	}
	s := r.rememberRun(key, "", at, e)
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
	r.ran = append(r.ran, q.entry(s.endedAt))
}
