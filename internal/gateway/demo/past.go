package demo

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Past is what a runtime is to remember of the time before it was started. It is
// made of the calendar alone: the same Past has the same sessions, runs and ids,
// so that whoever keeps a ledger of them finds nothing new at the second look.
type Past struct {
	Until time.Time // where it ends
	Days  int       // how far it reaches back
	Work  []Work    // tasks that were worked at
}

// Work is a task that an agent has worked at, in the session that a task has.
type Work struct{ AgentID, Key, Title string }

// Remember gives the runtime a past: sessions in which the team has worked, and
// timed jobs that have run, one of them late, one not at all and one without
// success. Nobody is told; it is for a runtime to which nobody is connected yet.
func (r *Runtime) Remember(p Past) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := p.Until.AddDate(0, 0, -p.Days).UTC().Truncate(24 * time.Hour)
	for day := first; day.Before(p.Until); day = day.AddDate(0, 0, 1) {
		r.rememberDay(day, p)
	}
	for _, j := range habits() {
		if err := r.rememberJob(j, first, p.Until); err != nil {
			return err
		}
	}
	ended := func(entry object) int64 {
		ms, _ := entry["ts"].(int64) // each has it
		return ms
	}
	slices.SortStableFunc(r.ran, func(a, b object) int { return cmp.Compare(ended(a), ended(b)) })
	return nil
}

// rememberDay is what was asked on one day, between seven and eight in the
// evening. The lock is held.
func (r *Runtime) rememberDay(day time.Time, p Past) {
	date := day.Format("0102")
	for _, e := range episodes() {
		key := "agent:" + e.agent + ":" + e.place + "-" + date
		at := day.Add(7*time.Hour + time.Duration(chance(13*3600, key))*time.Second)
		if chance(5, key, "held") == 0 || at.Add(5*time.Minute).After(p.Until) {
			continue
		}
		var parent string
		if e.place == sub {
			parent, key = "agent:"+e.agent+":main", "agent:"+e.agent+":subagent:"+known(key).String()
		}
		r.rememberRun(key, parent, at, e)
	}
	for _, w := range p.Work {
		at := day.Add(8*time.Hour + time.Duration(chance(10*3600, w.Key, date))*time.Second)
		if chance(2, w.Key, date) == 0 || at.Add(5*time.Minute).After(p.Until) {
			continue
		}
		r.rememberRun("agent:"+w.AgentID+":task:"+w.Key, "", at, episode{
			agent: w.AgentID, place: "task:" + w.Key, ask: "Go on with " + w.Key + ": " + w.Title + ".",
			steps: []step{
				{tool: "read", args: object{"path": "work/" + strings.ToLower(w.Key) + ".md"}, result: "notes of the day before", reads: 2200},
				{says: "I go on where I stood.", tool: "exec", args: object{"command": "bin/check " + w.Key}, result: "no findings", reads: 1100},
			},
			answer: "I went on with " + w.Key + ". What is done and what is left stands in its notes.",
		})
	}
}

// known is an id that is always the same for the same words.
func known(words ...string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(strings.Join(append([]string{"wardroom-demo"}, words...), "\x00")))
}

// rememberRun writes a run into its session. The lock is held.
func (r *Runtime) rememberRun(key, parent string, at time.Time, e episode) *session {
	a, ok := r.agent(e.agent)
	if !ok {
		return nil // it is another team
	}
	s := r.rememberSession(key, a, at)
	s.parent, s.label = parent, e.label
	runID := known(key, strconv.FormatInt(at.UnixMilli(), 10)).String()
	w := &writer{s: s, runID: runID, at: at.UnixMilli()}
	w.add(message{role: "user", text: e.ask, key: runID + ":user"}, 0)
	for n, st := range e.steps {
		w.at += takes(e, n).Milliseconds()
		w.call(n, st)
		w.at += 800
		w.result(n, st)
	}
	w.at += takes(e, len(e.steps)).Milliseconds()
	w.add(message{role: "assistant", text: e.answer, runID: runID, stop: "stop", took: w.at - at.UnixMilli(), spent: s.pay(e.answer)}, 0)
	s.rest(runID, "done", at.UnixMilli(), w.at)
	return s
}

// rememberSession finds a session, or makes it as of then. The lock is held.
func (r *Runtime) rememberSession(key string, a Agent, at time.Time) *session {
	s, made := r.sessionOf(key, a)
	if made {
		id := known(s.key)
		s.id, s.source = id.String(), base64.RawURLEncoding.EncodeToString(append(id[:], id[:]...))
		s.createdAt, s.updatedAt, s.interactedAt = at.UnixMilli(), at.UnixMilli(), at.UnixMilli()
		s.participants = []string{"gateway-client"}
	}
	return s
}

// rest is how a session stands after a run.
func (s *session) rest(runID, status string, from, to int64) {
	s.ranBefore, s.lastRun, s.status = true, runID, status
	s.startedAt, s.endedAt, s.ranMs = from, to, to-from
	s.updatedAt, s.activeAt, s.interactedAt, s.budgetAt = to, to, from, from
}

// pay is what a model takes for the next thing that it says in a session. From
// then on the provider has in its cache what was said before.
func (s *session) pay(text string) *spent {
	u := spend(modelOf(s.agent), s.context, s.cached, "", text)
	s.cached, s.last = s.context, &u
	return &u
}

// writer adds rows to a session as of a time.
type writer struct {
	s     *session
	runID string
	at    int64
	rows  int
}

// add adds a row; reads is how much of the model's context it takes beside its text.
func (w *writer) add(m message, reads int64) (message, int) {
	m.at, m.recorded = w.at, w.at
	m, seq := w.s.append(m)
	w.rows++
	m.id = known(w.s.id, w.runID, strconv.Itoa(seq), strconv.Itoa(w.rows)).String()
	w.s.messages[seq-1] = m
	w.s.context += reads
	w.s.updatedAt, w.s.activeAt = w.at, w.at
	return m, seq
}

// call is the row in which the agent calls the tool of its n-th step.
func (w *writer) call(n int, st step) (message, int) {
	l := &Line{Role: "assistant", Text: st.says, Call: w.callID(n), Tool: st.tool, Args: st.args}
	// The call itself is written by the model, and paid for like any word.
	written := st.says + st.tool + fmt.Sprint(st.args)
	return w.add(message{role: l.Role, text: l.Text, runID: w.runID, stop: "toolUse", line: l, spent: w.s.pay(written)}, tokens(written)-tokens(l.Text))
}

// result is the row of what came of it.
func (w *writer) result(n int, st step) (message, int) {
	l := &Line{Role: "toolResult", Text: st.result, Call: w.callID(n), Tool: st.tool, Error: st.failed}
	return w.add(message{role: l.Role, text: l.Text, runID: w.runID, line: l}, st.reads)
}

func (w *writer) callID(n int) string { return "call_" + known(w.runID, strconv.Itoa(n)).String()[:8] }

// habit is a timed job that the team has had for long, and which of its last
// times did not go as they should, counted back from the last one.
type habit struct {
	agent, name, what, expr, ask, answer string
	late, missed, failed                 int // 0 is none
	reads                                int64
}

func habits() []habit {
	return []habit{
		{agent: "coo", name: "Morning numbers", what: "What the day before cost and what broke.", expr: "0 6 * * *", ask: "Sum up yesterday: cost, failures, what is due today.", answer: "Yesterday was within its budget. Nothing broke that is not on the board; two tasks are due today.", reads: 9000},
		{agent: "cto", name: "Watch the error rate", what: "Every four hours.", expr: "10 */4 * * *", ask: "Is the error rate as usual?", answer: "0.04 %, as usual.", late: 4, reads: 5000},
		{agent: "cto", name: "Check the backup", what: "Restores the newest backup into an empty machine.", expr: "15 2 * * *", ask: "Restore the newest backup and compare the counts.", answer: "Restored in 6 minutes. The counts are the same.", failed: 1, reads: 12000},
		{agent: "cpo", name: "Read the support mail", what: "Sorts what customers write.", expr: "30 5-19/3 * * *", ask: "Sort the new support mail and name what is urgent.", answer: "Eleven letters, none urgent. Three ask for shared workspaces.", missed: 5, reads: 14000},
		{agent: "cmo", name: "Who mentions us?", what: "Looks through the public forums.", expr: "45 */6 * * *", ask: "Who has mentioned us since the last time?", answer: "Four mentions, all friendly. One asks for the price of Business.", reads: 8000},
	}
}

// The words in which a run of a job fails, as the gateway has them.
const errNoMachine = "LLM request failed: the tool `exec` ended with 1: no empty machine is free"

// rememberJob makes a job and its runs. The lock is held.
func (r *Runtime) rememberJob(h habit, from, until time.Time) error {
	if _, ok := r.agent(h.agent); !ok {
		return nil // it is another team
	}
	made := from.AddDate(0, 0, -30).UnixMilli()
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
	due := slices.Collect(j.Schedule.times.Between(from, until.Add(-10*time.Minute)))
	for i, at := range due {
		if back := len(due) - i; back != h.missed {
			r.rememberSlot(j, h, at, back)
		}
	}
	j.next = j.after(until.UnixMilli())
	r.jobs = append(r.jobs, j)
	return nil
}

// rememberSlot writes one run of a job into its session and into the history.
func (r *Runtime) rememberSlot(j *cronJob, h habit, due time.Time, back int) {
	at := due.Add(400*time.Millisecond + time.Duration(chance(2000, j.id, due.String()))*time.Millisecond)
	if back == h.late {
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
	if back == h.failed {
		m := &s.messages[last]
		m.text, m.stop, m.key, m.spent = "⚠️ "+errNoMachine, "error", q.id+":terminal-error", &spent{model: modelOf(s.agent)}
		s.status, s.lastError = "failed", errNoMachine
		q.outcome = outcome{kind: failed, error: errNoMachine, spent: spent{model: modelOf(s.agent)}}
	}
	j.ended(q, s.startedAt, s.endedAt)
	r.ran = append(r.ran, q.entry(s.endedAt))
}

// Rehearsed is what an agent answered at once, and what that cost.
type Rehearsed struct {
	Text                                 string
	SessionID                            string
	Provider, Model                      string
	Input, Output, CacheRead, CacheWrite int64 // tokens
	CostNano                             int64 // dollars, in billionths
}

// Rehearse has an agent answer a question without a client and without a pause,
// at the moment that the clock of the runtime shows, as if it had taken so long.
// It is how a demo comes by standups of the days before: on a clock that its
// caller turns back.
func (r *Runtime) Rehearse(ctx context.Context, agentID, sessionKey, runID, question string, took time.Duration) (Rehearsed, error) {
	a, ok := r.agent(agentID)
	if !ok {
		return Rehearsed{}, fmt.Errorf("demo: no agent %q", agentID)
	}
	at := r.options.Now()
	text, err := r.speak(ctx, a, Question{AgentID: a.ID, SessionKey: sessionKey, RunID: runID, Message: question, At: at})
	if err != nil {
		return Rehearsed{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.rememberSession(sessionKey, a, at)
	w := &writer{s: s, runID: runID, at: at.UnixMilli()}
	w.add(message{role: "user", text: question, key: runID + ":user"}, 0)
	w.at += took.Milliseconds()
	u := s.pay(text)
	w.add(message{role: "assistant", text: text, runID: runID, stop: "stop", took: took.Milliseconds(), spent: u}, 0)
	s.rest(runID, "done", at.UnixMilli(), w.at)
	return Rehearsed{
		Text: text, SessionID: s.id, Provider: u.model.provider, Model: u.model.id,
		Input: u.input, Output: u.output, CacheRead: u.cacheRead, CacheWrite: u.cacheWrite, CostNano: u.cost(),
	}, nil
}

// Used counts the sessions of an agent in which something was said from one time
// on and until another, without those of standups.
func (r *Runtime) Used(agentID string, from, to time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.sessions {
		within := func(m message) bool { return m.at >= from.UnixMilli() && m.at <= to.UnixMilli() }
		if s.agentID == agentID && !strings.HasPrefix(s.name(), "standup:") && slices.ContainsFunc(s.messages, within) {
			n++
		}
	}
	return n
}
