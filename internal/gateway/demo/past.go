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
// made of the calendar alone: the same spans have the same sessions, runs and ids,
// so that whoever keeps a ledger of them finds nothing new at the second look.
type Past struct {
	// Spans are the times in which the team has worked and nobody was looking, the
	// earliest first. In between there was a runtime whose memory is lost, and of
	// that time only the last hour before a start is made up for.
	Spans []Span
	// Since is from when on the team remembers; the zero time is all. What it has
	// forgotten changes nothing of the rest.
	Since time.Time
	Work  []Work // tasks that were worked at
}

// Span is a time from one moment until another.
type Span struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// holds says whether something that began then, and took so long at most, is
// within it.
func (s Span) holds(at time.Time, most time.Duration) bool {
	return !at.Before(s.From) && !at.Add(most).After(s.Until)
}

// Work is a task that an agent has worked at, in a session of each day.
type Work struct{ AgentID, Key, Title string }

// Remember gives the runtime a past: sessions in which the team has worked, and
// timed jobs that have run; in the first span some of them late, not at all, and
// without success. Nobody is told; it is for a runtime to which nobody is
// connected yet, and whose clock is not before the last span's end.
func (r *Runtime) Remember(p Past) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, s := range p.Spans {
		for day := s.From.UTC().Truncate(24 * time.Hour); day.Before(s.Until); day = day.AddDate(0, 0, 1) {
			if !day.Before(p.Since) {
				r.rememberDay(day, s, p.Work)
			}
		}
		if n > 0 {
			s.From = p.Spans[n-1].Until // what was last before the start before is there already
		}
		if s.Until.After(p.Since) {
			r.rememberLast(s, p.Work)
		}
	}
	for _, h := range habits() {
		if err := r.rememberJob(h, p); err != nil {
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

// longRun is longer than any run of the past takes.
const longRun = 5 * time.Minute

// rememberDay is what of a day's work is in a span: between seven and eight in the
// evening, and little of it on a weekend. The lock is held.
func (r *Runtime) rememberDay(day time.Time, s Span, work []Work) {
	date := day.Format("0102")
	often := int64(9) // of ten
	if d := day.Weekday(); d == time.Saturday || d == time.Sunday {
		often = 3
	}
	for _, place := range threads() {
		e := place[0]
		key := place.key() + "-" + date
		if chance(10, key, "held") >= often {
			continue
		}
		r.rememberThread(key, day.Add(7*time.Hour+time.Duration(chance(11*3600, key))*time.Second), s, e.place == sub, place)
	}
	for _, w := range work {
		for _, half := range []string{date, date + "-2"} { // before noon and after it
			at := day.Add(7*time.Hour + time.Duration(chance(3*3600, w.Key, half))*time.Second)
			if half != date {
				at = at.Add(6 * time.Hour)
			}
			if chance(10, w.Key, half) < often {
				r.rememberThread(w.session(half), at, s, false, w.thread(half))
			}
		}
	}
}

// rememberLast is what was asked in the last hour of a span: people have looked in
// a moment ago, whatever the time of the day is. The lock is held.
func (r *Runtime) rememberLast(s Span, work []Work) {
	id := s.Until.UTC().Format("0102-150405")
	all := threads()
	for n, before := range []time.Duration{52 * time.Minute, 33 * time.Minute, 19 * time.Minute, 8 * time.Minute} {
		// Each is another agent's: they are a quarter of the list apart.
		place := all[(int(chance(uint32(len(all)), id))+n*len(all)/4)%len(all)]
		r.rememberThread(place.key()+"-"+id, s.Until.Add(-before), s, place[0].place == sub, place[:1])
	}
	if len(work) > 0 {
		w := work[chance(uint32(len(work)), id)]
		r.rememberThread(w.session(id), s.Until.Add(-14*time.Minute), s, false, w.thread(id)[:1])
	}
}

// thread is what was asked in one session, one thing after the other.
type thread []episode

// threads are the episodes by their places; what a sub-agent does stands alone.
func threads() []thread {
	var all []thread
	place := map[string]int{}
	for _, e := range episodes() {
		key := e.agent + ":" + e.place
		if i, ok := place[key]; ok && e.place != sub {
			all[i] = append(all[i], e)
			continue
		}
		place[key] = len(all)
		all = append(all, thread{e})
	}
	return all
}

// key is the session of a thread without its day.
func (t thread) key() string {
	if t[0].place == sub {
		return "agent:" + t[0].agent + ":subagent:" + t[0].label
	}
	return "agent:" + t[0].agent + ":" + t[0].place
}

// rememberThread writes what of a thread is in a span. The lock is held.
func (r *Runtime) rememberThread(key string, at time.Time, s Span, spawned bool, t thread) {
	var parent string
	if spawned {
		parent, key = "agent:"+t[0].agent+":main", "agent:"+t[0].agent+":subagent:"+known(key).String()
	}
	for n, e := range t {
		if !s.holds(at, longRun) {
			return
		}
		r.rememberRun(key, parent, at, e)
		at = at.Add(longRun + time.Duration(chance(20*60, key, strconv.Itoa(n)))*time.Second)
	}
}

// session is where an agent works at a task on a day.
func (w Work) session(day string) string {
	return "agent:" + w.AgentID + ":task:" + w.Key + ":" + day
}

// thread is what an agent is asked on a day about a task that takes it days.
func (w Work) thread(day string) thread {
	read := func(n int, file string) step {
		what := file + strconv.Itoa(n) + ".md"
		return step{tool: "read", args: object{"path": "work/" + strings.ToLower(w.Key) + "/" + what}, result: "# " + w.Title + "\n\n…", reads: 3500 + chance(5000, w.Key, day, what)}
	}
	all := thread{}
	for n := range 5 + int(chance(5, w.Key, day, "turns")) {
		again := strconv.Itoa(n + 1)
		e := episode{
			agent: w.AgentID, place: "task:" + w.Key, ask: "Go on with " + w.Key + ": " + w.Title + ".",
			steps: []step{
				read(n, "notes-"), read(n, "findings-"),
				{says: "I go on where I stood.", tool: "edit", args: object{"path": "work/" + strings.ToLower(w.Key) + "/draft.md", "part": again}, result: "part " + again + " written", reads: 1200},
				{tool: "exec", args: object{"command": "bin/check " + w.Key + " --part " + again}, result: "no findings", reads: 1500 + chance(2500, w.Key, day, again)},
			},
			answer: "Part " + again + " of " + w.Key + " is there and has been looked through. What is left stands in its notes.",
		}
		if n > 0 {
			e.ask = "Good. Take the next part."
		}
		all = append(all, e)
	}
	return all
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
	w.add(message{role: "assistant", text: e.answer, runID: runID, stop: "stop", took: w.at - at.UnixMilli(), spent: s.pay(e.answer, w.at)}, 0)
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

// pay is what a model takes at a time for the next thing that it says in a
// session. From then on the provider has in its cache what was said before, in
// whole blocks; what is left over it reads as it is.
func (s *session) pay(text string, at int64) *spent {
	s.forget(at)
	fresh := s.context - s.cached
	u := spend(modelOf(s.agent), s.context-fresh%cacheBlock, s.cached, "", text)
	u.input = fresh % cacheBlock
	u.output += 120 + chance(400, s.id, strconv.FormatInt(s.context, 10)) // it thinks before it speaks
	s.cached, s.last = s.cached+u.cacheWrite, &u
	return &u
}

// ask is what a model takes for the answer to a question that was the last thing
// said in a session.
func (s *session) ask(question, answer string, at int64) *spent {
	s.forget(at)
	before := s.context - tokens(question)
	u := spend(modelOf(s.agent), before, s.cached, question, answer)
	s.cached, s.last = before, &u
	return &u
}

// forget notes that the model is asked at a time: what was said long before that
// is in the provider's cache no more.
func (s *session) forget(at int64) {
	if at-s.calledAt > cacheStays.Milliseconds() {
		s.cached = 0
	}
	s.calledAt = at
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
	return w.add(message{role: l.Role, text: l.Text, runID: w.runID, stop: "toolUse", line: l, spent: w.s.pay(written, w.at)}, tokens(written)-tokens(l.Text))
}

// result is the row of what came of it.
func (w *writer) result(n int, st step) (message, int) {
	l := &Line{Role: "toolResult", Text: st.result, Call: w.callID(n), Tool: st.tool, Error: st.failed}
	return w.add(message{role: l.Role, text: l.Text, runID: w.runID, line: l}, st.reads)
}

func (w *writer) callID(n int) string { return "call_" + known(w.runID, strconv.Itoa(n)).String()[:8] }

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
	u := s.ask(question, text, w.at)
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
