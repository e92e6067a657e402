package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// ending says how a run ended.
type ending uint8

const (
	answered ending = iota
	failed          // the model refused, or the board could not be read
	timedOut        // the run's own timeout
	aborted         // by chat.abort or tasks.cancel
	drained         // still queued when the gateway stopped
)

// task returns the status that a run with this ending has in the task ledger.
func (e ending) task() string {
	return [...]string{"completed", "failed", "timed_out", "cancelled", "failed"}[e]
}

func (e ending) session() string {
	return [...]string{"done", "failed", "timeout", "killed", "killed"}[e]
}

// Error messages in the wording of the real gateway.
const (
	errTimeout  = "Request timed out before a response was generated. Please try again, or increase `agents.defaults.timeoutSeconds` in your config."
	errAborted  = "This operation was aborted"
	errDraining = "Gateway is draining; new tasks are not accepted"
)

// runRetention limits how long completed runs are kept, and maxRuns limits how many. The runtime
// needs these runs to answer late agent.wait requests and requests that repeat an idempotency key.
const (
	runRetention = 5 * time.Minute
	maxRuns      = 1000
)

// defaultTimeout is the gateway's default for agents.defaults.timeoutSeconds, in seconds.
const defaultTimeout = 600

// outcome is the result of a run.
type outcome struct {
	kind  ending
	text  string // the answer; may be empty
	error string // why the run failed
	spent spent
}

// run is one agent turn. The fields id, message and session never change, and agent not after the start. The
// runtime's lock guards the other fields.
type run struct {
	boot        *boot
	session     *session
	agent       Agent
	id          string // idempotency key
	message     string
	taskID      string
	timeout     time.Duration // 0 means none
	prompt      Prompt        // how it appears in the transcript; only if the gateway itself started it
	callers     []call        // calls that receive the second response
	owner       *owner        // client that may stop it, besides admins; nil means all clients
	viaChatSend bool          // started with chat.send, so not in the task ledger
	job         *cronJob      // nil if a client started it
	jobRun      string        // run id in the job's history
	work        *scenario     // steps to perform; nil if the agent only answers

	createdAt, startedAt, endedAt int64
	begun, ended                  bool
	stop                          context.CancelFunc
	timer                         *time.Timer
	seq                           int // of its events
	outcome                       outcome
}

// waiter is an agent.wait request that has not been answered yet.
type waiter struct {
	call  call
	runID string
	timer *time.Timer
}

// enqueue adds a run. The run starts immediately if its session is idle. The caller must
// hold r.mu.
func (r *Runtime) enqueue(q *run, created bool) {
	q.boot.store(q, r.options.Now())
	q.session.updatedAt = r.now()
	idle := q.session.active == nil && (q.prompt.Instead != "" || !r.options.Behavior.Held(q.session.key))
	if idle {
		q.session.active = q
	} else {
		q.session.queue = append(q.session.queue, q)
	}
	r.emitAccepted(q, created)
	if idle {
		r.begin(q)
	}
}

// begin starts a run's turn. At this point, a real runtime would call a model. The caller
// must hold r.mu.
func (r *Runtime) begin(q *run) {
	s := q.session
	chosen := r.chooseModel(q)
	q.begun, q.startedAt = true, r.now()
	r.emitBegin(q, func() {
		s.startedAt, s.updatedAt = q.startedAt, q.startedAt
	}, func() (message, int) {
		return s.append(q.question())
	})
	ctx, stop := context.WithCancel(q.boot.ctx)
	q.stop = stop
	if q.timeout > 0 {
		q.timer = time.AfterFunc(q.timeout, func() { r.timeOut(q) })
	}
	question := Question{
		AgentID: q.agent.ID, SessionKey: s.key, RunID: q.id, Message: q.message, At: time.UnixMilli(q.startedAt).UTC(),
	}
	turn := r.options.Behavior.Turn(question)
	if name := r.unknownModel(q.agent); name != "" && !chosen {
		q.work, turn = nil, Turn{Fail: errUnknownModel(name)}
	}
	if q.work == nil && turn.Answer == nil && turn.Fail == "" {
		q.work = r.scripted(q, question)
	}
	r.work.Go(func() {
		if o, ok := r.think(ctx, question, q, turn); ok {
			r.end(q, o)
		}
	})
}

// think waits while the agent thinks, then returns the answer. It returns false if the
// run ends first.
func (r *Runtime) think(ctx context.Context, in Question, q *run, turn Turn) (outcome, bool) {
	if turn.Silent {
		<-ctx.Done()
		return outcome{}, false
	}
	if sleep(ctx, r.options.Pace+turn.Delay) != nil {
		return outcome{}, false
	}
	switch {
	case turn.Fail != "":
		return outcome{kind: failed, error: turn.Fail}, true
	case q.work != nil && !r.runSteps(ctx, q):
		return outcome{}, false
	case q.work != nil:
		return outcome{text: q.work.answer}, true
	case turn.Answer != nil:
		return outcome{text: turn.Answer(in)}, true
	}
	text, err := r.reply(ctx, q.agent, in)
	if err != nil {
		return outcome{
			kind: failed, error: fmt.Sprintf("LLM request failed: could not read the board: %v", err),
		}, ctx.Err() == nil
	}
	return outcome{text: text}, true
}

// timeOut ends a run whose time is up. While a run waits for an approval, it does not end: its time begins again. A
// question is canceled, and the run ends without an answer.
func (r *Runtime) timeOut(q *run) {
	r.mu.Lock()
	waits, o := r.waits(q, false) && !q.ended, outcome{kind: timedOut, error: errTimeout}
	if waits {
		q.timer.Reset(q.timeout)
	}
	if r.waits(q, true) {
		o = outcome{kind: answered}
	}
	r.mu.Unlock()
	if !waits {
		r.end(q, o)
	}
}

// end ends a run with the given outcome. Only the first call for a run has an effect.
func (r *Runtime) end(q *run, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.ended {
		return // already ended, or lost in a restart
	}
	r.finish(q, o)
	r.next(q.session)
}

// next starts the oldest queued run of an idle session, if there is one.
func (r *Runtime) next(s *session) {
	if s.active != nil || len(s.queue) == 0 || r.options.Behavior.Held(s.key) {
		return
	}
	q := s.queue[0]
	s.queue = s.queue[1:]
	s.active = q
	r.begin(q)
}

// finish records a run's outcome and emits its events. The caller must hold r.mu.
func (r *Runtime) finish(q *run, o outcome) {
	s := q.session
	q.ended, q.endedAt = true, r.now()
	if q.stop != nil {
		q.stop()
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	o.spent = spent{model: modelOf(q.agent)}
	if o.kind == answered && q.work != nil {
		o.spent = *s.modelCall(o.text, q.endedAt)
	} else if o.kind == answered {
		o.spent = *s.answerCall(q.message, o.text, q.endedAt)
	}
	q.outcome = o
	r.withdraw(q)
	r.emitEnd(q, func() {
		if s.active == q {
			s.active = nil
		}
		s.queue = slices.DeleteFunc(s.queue, func(other *run) bool { return other == q })
		if !q.begun {
			return // it leaves no trace in the session
		}
		s.ranBefore, s.status, s.lastRun = true, o.kind.session(), q.id
		s.lastError, s.startedAt, s.endedAt = o.error, q.startedAt, q.endedAt
		s.updatedAt, s.activeAt = q.endedAt, q.endedAt
	})
	r.jobEnded(q)
}

// answerCallers sends the second response to the `agent` request and answers the
// agent.wait requests for the run.
func (r *Runtime) answerCallers(q *run) {
	for _, c := range q.callers {
		c.sendFinal(q)
	}
	waiting := q.boot.waiters[q.id]
	delete(q.boot.waiters, q.id)
	for _, w := range waiting {
		w.timer.Stop()
		w.call.reply(q.waitResult())
	}
}

// question returns the transcript row for the message that started a run.
func (q *run) question() message {
	return message{
		role: "user", text: cmp.Or(q.prompt.Shown, q.message), source: q.prompt.Tool, hidden: q.prompt.Hidden,
		key: q.id + ":user", at: q.createdAt,
	}
}

// transcriptRow returns the transcript row for a run's answer or failure. It returns
// false for an aborted run, which has no such row.
func (q *run) transcriptRow(now int64) (message, bool) {
	m := message{role: "assistant", runID: q.id, at: now, spent: &q.outcome.spent}
	switch q.outcome.kind {
	case answered:
		m.text, m.stop = q.outcome.text, "stop"
	case failed:
		m.text, m.stop, m.key = "⚠️ "+q.outcome.error, "error", q.id+":terminal-error"
	case timedOut:
		m.stop, m.errors = "aborted", "request timed out"
	case aborted, drained:
		return message{}, false
	}
	return m, true
}

// drain ends the runs that a shutdown interrupts. Queued runs end with an error. Active runs are
// lost, and their sessions are marked as killed. drain returns the active runs. The caller must
// hold r.mu.
func (r *Runtime) drain(b *boot) (active []Run) {
	for _, s := range r.sessions {
		for _, q := range slices.Clone(s.queue) {
			r.finish(q, outcome{kind: drained, error: errDraining})
		}
		q := s.active
		if q == nil {
			continue
		}
		q.ended, q.outcome = true, outcome{kind: drained, error: errInterrupted, spent: spent{model: modelOf(q.agent)}}
		r.jobEnded(q)
		active = append(active, Run{SessionKey: s.key, Message: q.message})
		if q.timer != nil {
			q.timer.Stop()
		}
		s.active, s.ranBefore, s.status = nil, true, "killed"
		s.lastRun, s.endedAt, s.updatedAt = q.id, r.now(), r.now()
	}
	for _, list := range b.waiters {
		for _, w := range list {
			w.timer.Stop()
		}
	}
	clear(b.waiters)
	return active
}

// store adds a run under its id. Before that, it removes the runs that ended more than runRetention
// ago. If there are still too many runs, it removes those that ended longest ago.
func (b *boot) store(q *run, now time.Time) {
	for id, old := range b.runs {
		if old.ended && now.Sub(time.UnixMilli(old.endedAt)) > runRetention {
			delete(b.runs, id)
		}
	}
	for len(b.runs) >= maxRuns {
		oldest := ""
		for id, old := range b.runs {
			if old.ended && (oldest == "" || old.endedAt < b.runs[oldest].endedAt) {
				oldest = id
			}
		}
		if oldest == "" {
			break
		}
		delete(b.runs, oldest)
	}
	b.runs[q.id] = q
}

// find returns the stored run with the given id, or nil if there is none.
func (b *boot) find(id string, now time.Time) *run {
	q := b.runs[id]
	if q != nil && q.ended && now.Sub(time.UnixMilli(q.endedAt)) > runRetention {
		return nil
	}
	return q
}

// dropWaiters removes a closed connection's pending agent.wait requests.
func (b *boot) dropWaiters(c *Conn) {
	for id, list := range b.waiters {
		list = slices.DeleteFunc(list, func(w *waiter) bool {
			if w.call.conn == c {
				w.timer.Stop()
			}
			return w.call.conn == c
		})
		if b.waiters[id] = list; len(list) == 0 {
			delete(b.waiters, id)
		}
	}
}

// newRun returns a run that has not been queued yet.
func newRun(c call, s *session, a Agent, id, text string, timeout time.Duration, now int64) *run {
	return &run{
		boot: c.conn.boot, session: s, agent: a, id: id, message: text, taskID: uuid.NewString(),
		timeout: timeout, callers: []call{c}, createdAt: now,
		owner: &owner{c.conn.id, c.conn.deviceID},
	}
}

// owner is the client that started a run.
type owner struct{ connID, deviceID string }

// mayStop reports whether a client may abort a run. Only the run's owner and clients with
// the admin scope may do so.
func (c *Conn) mayStop(q *run) bool {
	return c.hasScope(scopeAdmin) || q.owner == nil || q.owner.connID == c.id ||
		c.deviceID != "" && q.owner.deviceID == c.deviceID
}
