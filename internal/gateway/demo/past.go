package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Past describes the sample history of a runtime. The same values always give the same sessions,
// runs and IDs, so a client that mirrors them finds nothing new after a restart.
type Past struct {
	// Spans are the periods in which the team worked before this runtime started, earliest first.
	// In the gaps, earlier runtimes ran whose sessions are lost, so the gaps contain no work. But
	// the last hour before the end of a span always contains work, even if part of that hour is in
	// a gap.
	Spans []Span
	// Since excludes work before this time and leaves later work unchanged. The zero time
	// excludes nothing.
	Since time.Time
	Zone  *time.Location // in which days begin and the jobs' times are; nil is UTC
	Work  []Work         // tasks that the agents worked on
	Jobs  []Job
}

// zone returns the zone in which days begin.
func (p Past) zone() *time.Location { return cmp.Or(p.Zone, time.UTC) }

// Midnight returns the start of t's day in t's time zone, or an hour beside it on a day that has no midnight.
func Midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// Span is a period of time.
type Span struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// contains reports whether a run that starts at the given time and takes at most the given duration
// lies within the span.
func (s Span) contains(at time.Time, most time.Duration) bool {
	return !at.Before(s.From) && !at.Add(most).After(s.Until)
}

// SeedPast adds the sample history p to the runtime: sessions with completed work, and scheduled
// jobs with past runs. In p's first span, some job runs are late, missed or failed. SeedPast emits
// no events. Call it before clients connect. p must end before the current time.
func (r *Runtime) SeedPast(p Past) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, s := range p.Spans {
		for day := Midnight(s.From.In(p.zone())); day.Before(s.Until); day = day.AddDate(0, 0, 1) {
			if !day.Before(p.Since) {
				r.seedDay(day, s, p.Work)
			}
		}
		if n > 0 {
			s.From = p.Spans[n-1].Until // the end of the previous span is already seeded
		}
		if s.Until.After(p.Since) {
			r.seedLastHour(s, p.Work)
		}
	}
	for _, h := range p.Jobs {
		if err := r.seedJob(h, p); err != nil {
			return err
		}
	}
	ended := func(entry object) int64 {
		ms, _ := entry["ts"].(int64) // every entry has one
		return ms
	}
	slices.SortStableFunc(r.jobHistory, func(a, b object) int { return cmp.Compare(ended(a), ended(b)) })
	return nil
}

// maxRunDuration is longer than any run in the sample history.
const maxRunDuration = 5 * time.Minute

// seedDay adds the part of a day's work that lies within the span. Work takes place
// between 7 a.m. and 8 p.m., with little on weekends. The caller must hold r.mu.
func (r *Runtime) seedDay(day time.Time, s Span, work []Work) {
	date := day.Format("0102")
	often := int64(5) // out of 10
	if d := day.Weekday(); d == time.Saturday || d == time.Sunday {
		often = 1
	}
	for _, place := range threads() {
		e := place[0]
		key := place.key() + "-" + date
		if pseudoRandom(10, key, "held") >= often {
			continue
		}
		r.seedThread(key, day.Add(7*time.Hour+time.Duration(pseudoRandom(11*3600, key))*time.Second), s,
			e.place == subAgentPlace, place)
	}
	for _, w := range work {
		at := max(day.Unix()+7*3600+pseudoRandom(3*3600, w.Key, date), w.From.Unix())
		r.seedThread(w.session(date), time.Unix(at, 0).UTC(), s, false, w.on(day))
	}
}

// seedLastHour adds work in the last hour of a span, so that there is recent activity at
// any time of day. The caller must hold r.mu.
func (r *Runtime) seedLastHour(s Span, work []Work) {
	id := s.Until.UTC().Format("0102-150405")
	all := threads()
	for n, before := range []time.Duration{52 * time.Minute, 33 * time.Minute, 19 * time.Minute, 8 * time.Minute} {
		// The scenarios are a quarter of the list apart, so that each has a different agent.
		place := all[(int(pseudoRandom(uint32(len(all)), id))+n*len(all)/4)%len(all)]
		r.seedThread(place.key()+"-"+id, s.Until.Add(-before), s, place[0].place == subAgentPlace, place[:1])
	}
	work = slices.DeleteFunc(slices.Clone(work), func(w Work) bool { return w.Latest.Ask == "" })
	if len(work) > 0 {
		w := work[pseudoRandom(uint32(len(work)), id)]
		r.seedThread(w.session(id), s.Until.Add(-14*time.Minute), s, false, thread{w.scenario(w.Latest)})
	}
}

// thread is a sequence of scenarios in one session.
type thread []scenario

// threads groups the scenarios by session. Each sub-agent scenario is a thread of its own.
func threads() []thread {
	var all []thread
	place := map[string]int{}
	for _, e := range allScenarios() {
		key := e.agent + ":" + e.place
		if i, ok := place[key]; ok && e.place != subAgentPlace {
			all[i] = append(all[i], e)
			continue
		}
		place[key] = len(all)
		all = append(all, thread{e})
	}
	return all
}

// key returns a thread's session key without the date, which the caller appends.
func (t thread) key() string {
	if t[0].place == subAgentPlace {
		return "agent:" + t[0].agent + ":subagent:" + t[0].label
	}
	return "agent:" + t[0].agent + ":" + t[0].place
}

// seedThread adds a thread's runs that lie within the span. The caller must hold r.mu.
func (r *Runtime) seedThread(key string, at time.Time, s Span, spawned bool, t thread) {
	var parent string
	if spawned {
		parent, key = "agent:"+t[0].agent+":main", "agent:"+t[0].agent+":subagent:"+fixedID(key).String()
	}
	for n, e := range t {
		if !s.contains(at, maxRunDuration) {
			return
		}
		r.seedRun(key, parent, at, e)
		at = at.Add(maxRunDuration + time.Duration(pseudoRandom(20*60, key, strconv.Itoa(n)))*time.Second)
	}
}

// fixedID returns a UUID that depends only on the given words.
func fixedID(words ...string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(strings.Join(append([]string{"wardroom-demo"}, words...), "\x00")))
}

// seedRun adds a finished run to the session with the given key and returns the session.
// The caller must hold r.mu.
func (r *Runtime) seedRun(key, parent string, at time.Time, e scenario) *session {
	a, ok := r.agent(e.agent)
	if !ok {
		return nil // another team
	}
	s := r.seedSession(key, a, at)
	s.parent, s.label = parent, e.label
	runID := fixedID(key, strconv.FormatInt(at.UnixMilli(), 10)).String()
	w := &writer{s: s, runID: runID, at: at.UnixMilli()}
	w.add(message{role: "user", text: e.ask, key: runID + ":user"}, 0)
	for n, st := range e.steps {
		tool := toolDuration(e, n)
		w.at += (stepDuration(e, n) - tool).Milliseconds()
		w.call(n, st)
		w.at += 800 + tool.Milliseconds()
		w.result(n, st)
	}
	w.at += stepDuration(e, len(e.steps)).Milliseconds()
	w.add(message{role: "assistant", text: e.answer, runID: runID, stop: "stop", spent: s.modelCall(e.answer, w.at)}, 0)
	s.setEnded(runID, "done", at.UnixMilli(), w.at)
	return s
}

// seedSession returns the session with the given key. If it doesn't exist, seedSession
// creates it with the given time as its creation time. The caller must hold r.mu.
func (r *Runtime) seedSession(key string, a Agent, at time.Time) *session {
	s, created := r.sessionOf(key, a)
	if created {
		id := fixedID(s.key)
		s.id = id.String()
		s.createdAt, s.updatedAt = at.UnixMilli(), at.UnixMilli()
	}
	return s
}

// setEnded updates a session's state after a run has ended.
func (s *session) setEnded(runID, status string, from, to int64) {
	s.ranBefore, s.lastRun, s.status = true, runID, status
	s.startedAt, s.endedAt = from, to
	s.updatedAt, s.activeAt = to, to
}

// modelCall records a model call that produced the given text, and returns its usage. The provider
// caches the conversation only in whole blocks of tokens. The tokens after the last whole block
// count as uncached input.
func (s *session) modelCall(text string, at int64) *spent {
	s.expireCache(at)
	fresh := s.context - s.cached
	u := spend(modelOf(s.agent), s.context-fresh%cacheBlock, s.cached, "", text)
	u.input = fresh % cacheBlock
	u.output += 120 + pseudoRandom(400, s.id, strconv.FormatInt(s.context, 10)) // thinking tokens
	s.cached, s.last = s.cached+u.cacheWrite, &u
	return &u
}

// answerCall records a model call that answers the question, which is the last message in
// the session. It returns the call's usage.
func (s *session) answerCall(question, answer string, at int64) *spent {
	s.expireCache(at)
	before := s.context - tokens(question)
	u := spend(modelOf(s.agent), before, s.cached, question, answer)
	s.cached, s.last = before, &u
	return &u
}

// expireCache records the time of a model call. It empties the provider's cache if the
// previous call was too long ago.
func (s *session) expireCache(at int64) {
	if at-s.calledAt > cacheLifetime.Milliseconds() {
		s.cached = 0
	}
	s.calledAt = at
}

// writer appends a run's rows to a session. The at field is the timestamp of every row.
type writer struct {
	s     *session
	runID string
	at    int64
	rows  int
}

// add appends a row to the transcript and returns it with its sequence number. The reads parameter
// is the number of context tokens that the row adds beyond its text.
func (w *writer) add(m message, reads int64) (message, int) {
	m.at = w.at
	m, seq := w.s.append(m)
	w.rows++
	m.id = fixedID(w.s.id, w.runID, strconv.Itoa(seq), strconv.Itoa(w.rows)).String()
	w.s.messages[seq-1] = m
	w.s.context += reads
	w.s.updatedAt, w.s.activeAt = w.at, w.at
	return m, seq
}

// call appends the row for the tool call of the n-th step.
func (w *writer) call(n int, st Step) (message, int) {
	l := &Line{Role: "assistant", Text: st.Says, Call: w.callID(n), Tool: st.Tool, Args: st.Args}
	// The model writes the tool call too, so it counts as output.
	written := st.Says + st.Tool + fmt.Sprint(st.Args)
	return w.add(
		message{role: l.Role, text: l.Text, runID: w.runID, stop: "toolUse", line: l, spent: w.s.modelCall(written, w.at)},
		tokens(written)-tokens(l.Text),
	)
}

// result appends the row for the result of the n-th step.
func (w *writer) result(n int, st Step) (message, int) {
	l := &Line{Role: "toolResult", Text: st.Result, Call: w.callID(n), Tool: st.Tool, Error: st.Failed}
	return w.add(message{role: l.Role, text: l.Text, runID: w.runID, line: l}, st.Reads)
}

func (w *writer) callID(n int) string {
	return "call_" + fixedID(w.runID, strconv.Itoa(n)).String()[:8]
}

// DirectAnswer is an answer from AnswerDirectly, with its usage.
type DirectAnswer struct {
	Text                                 string
	SessionID                            string
	Provider, Model                      string
	Input, Output, CacheRead, CacheWrite int64 // tokens
	CostNano                             int64 // billionths of a dollar
}

// AnswerDirectly makes an agent answer a question immediately and without a client. It records the
// question with the current time of the runtime's clock, and the answer with a time that is later
// by the given duration. To create standups for past days, the demo sets the clock back and calls
// AnswerDirectly.
func (r *Runtime) AnswerDirectly(
	ctx context.Context, agentID, sessionKey, runID, question string, took time.Duration,
) (DirectAnswer, error) {
	a, ok := r.agent(agentID)
	if !ok {
		return DirectAnswer{}, fmt.Errorf("demo: no agent %q", agentID)
	}
	at := r.options.Now()
	text, err := r.reply(ctx, a, Question{AgentID: a.ID, SessionKey: sessionKey, RunID: runID, Message: question, At: at})
	if err != nil {
		return DirectAnswer{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seedSession(sessionKey, a, at)
	w := &writer{s: s, runID: runID, at: at.UnixMilli()}
	w.add(message{role: "user", text: question, key: runID + ":user"}, 0)
	w.at += took.Milliseconds()
	u := s.answerCall(question, text, w.at)
	w.add(message{role: "assistant", text: text, runID: runID, stop: "stop", spent: u}, 0)
	s.setEnded(runID, "done", at.UnixMilli(), w.at)
	return DirectAnswer{
		Text: text, SessionID: s.id, Provider: u.model.provider, Model: u.model.id,
		Input: u.input, Output: u.output, CacheRead: u.cacheRead, CacheWrite: u.cacheWrite, CostNano: u.cost(),
	}, nil
}

// CountSessions returns the number of an agent's sessions that have messages in the given
// period. It does not count standup sessions.
func (r *Runtime) CountSessions(agentID string, from, to time.Time) int {
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
