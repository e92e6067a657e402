package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Question is one message to one agent. It is asked once however often it is
// sent, because the gateway knows it by its RunID.
type Question struct {
	RunID      string // chosen by us; the gateway's idempotency key
	AgentID    string
	SessionKey string // such as "agent:cto:standup:2026-11-20"; it comes into being with its first message
	Message    string
	Limit      time.Duration // the gateway ends the run after it, rounded up to whole seconds; zero leaves that to the gateway
}

// Started is what the gateway said when it took a question.
type Started struct {
	RunID    string
	BootID   string  // of the gateway that took it; runs do not survive its restart
	InFlight bool    // it had the question already, and the run goes on
	Answer   *Answer // it had the question already, and this is how the run ended; otherwise nil
}

// Outcome is how a run stands.
type Outcome string

// The outcomes of a run.
const (
	Finished Outcome = "finished"  // the agent answered; Text may still be empty
	Running  Outcome = "running"   // our wait elapsed before the run ended
	TimedOut Outcome = "timed_out" // the run reached its own limit
	Stopped  Outcome = "stopped"   // somebody stopped it
	Failed   Outcome = "failed"    // the model or the gateway failed; Error says how
)

// Answer is how a run stands or ended.
type Answer struct {
	RunID   string
	Outcome Outcome
	Text    string // what the agent said, when it Finished; hostile like any text from outside
	Error   string // why not, in the gateway's words; may be empty
	Usage   *Usage // nil when the gateway has not told
	// NotBegun says that the gateway was going down and turned the question away,
	// so that the agent never saw it: ask again when the gateway is back.
	NotBegun bool
	// Overtaken says that the gateway took the question and gave it up before the
	// agent saw it, because its session changed in that moment: after its restart
	// it resumes interrupted turns by itself. The gateway answers this run id with
	// that failure from now on. Find tells whether the resumed turn brings, or
	// has brought, the answer; else ask again under another run id.
	Overtaken bool
	// Cut says that Text is only the beginning of what the agent said, and that the
	// gateway has not given the rest.
	Cut bool
}

// Start asks a question. It comes back as soon as the gateway has it; Wait
// brings the answer. After ErrUnreachable or ErrTimeout it may be repeated with
// the same RunID: while the gateway runs, the agent is not asked twice.
func (c *Client) Start(ctx context.Context, q Question) (Started, error) {
	k, err := c.connection("agent")
	if err != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, err)
	}
	r := c.runs.begin(q.RunID)
	c.runs.place(q.RunID, q.SessionKey)
	f, err := c.roundTripOn(ctx, k, "agent", agentParams{
		Message:        q.Message,
		AgentID:        q.AgentID,
		SessionKey:     q.SessionKey,
		IdempotencyKey: q.RunID,
		Timeout:        int64((q.Limit + time.Second - 1) / time.Second),
	}, q.RunID)
	if err != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, err)
	}
	s := Started{RunID: q.RunID, BootID: k.bootID}
	if a, ended := readOutcome(f.Payload); ended {
		a = c.cleaned(q.RunID, a)
		s.Answer = &a
		return s, nil
	}
	if a, ended := readOvertaken(f); ended {
		a = c.cleaned(q.RunID, a)
		s.Answer = &a
		return s, nil
	}
	if f.Error != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, c.wireFault(f.Error))
	}
	var p struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, ErrRefused.With("The gateway took the question in a way that this version does not understand."))
	}
	if s.InFlight = p.Status == "in_flight"; !s.InFlight {
		c.runs.expect(r, k)
	}
	return s, nil
}

type agentParams struct {
	Message        string `json:"message"`
	AgentID        string `json:"agentId,omitempty"`
	SessionKey     string `json:"sessionKey,omitempty"`
	IdempotencyKey string `json:"idempotencyKey"`
	Deliver        bool   `json:"deliver"` // false: the answer is for us, not for a chat channel
	Timeout        int64  `json:"timeout,omitempty"`
}

// Wait waits up to limit for the end of a run, and says Running when that has
// not come; then it may be called again. The time of one request comes on top of
// limit, for the answer to travel. The gateway answers Running for a run that it
// does not know, too: after a restart only Find tells whether there was one.
func (c *Client) Wait(ctx context.Context, runID string, limit time.Duration) (Answer, error) {
	r := c.runs.watch(runID)
	if a, ended := r.ended(); ended {
		return a, nil
	}
	k, err := c.connection("agent.wait")
	if err != nil {
		return Answer{}, fmt.Errorf("wait for run %s: %w", runID, err)
	}
	a, err := c.waitOn(ctx, k, r, runID, limit)
	if err != nil {
		return Answer{}, fmt.Errorf("wait for run %s: %w", runID, err)
	}
	if a.Outcome == Running || a.Usage != nil {
		return a, nil
	}
	if a = c.settle(ctx, k, r, a); a.Cut {
		return c.completed(ctx, runID, a)
	}
	return a, nil
}

// completed reads the whole of an answer whose beginning agent.wait has told.
func (c *Client) completed(ctx context.Context, runID string, a Answer) (Answer, error) {
	key := c.runs.placed(runID)
	if key == "" {
		return a, nil
	}
	t, err := c.Find(ctx, key, runID)
	if err != nil {
		return Answer{}, fmt.Errorf("read the whole answer: %w", err)
	}
	if t.Answered {
		a.Text, a.Cut = t.Answer.Text, false
	}
	return a, nil
}

// waitOn asks the gateway, and takes the second answer to the question instead
// when that comes first.
func (c *Client) waitOn(ctx context.Context, k *conn, r *run, runID string, limit time.Duration) (Answer, error) {
	limit = max(limit, 0)
	params := struct {
		RunID     string `json:"runId"`
		TimeoutMS int64  `json:"timeoutMs"`
	}{runID, limit.Milliseconds()}
	answer, forget, err := k.send("agent.wait", params, "", c.opt.Timeout)
	if err != nil {
		return Answer{}, errSend
	}
	defer forget()
	late := time.NewTimer(limit + c.opt.Timeout)
	defer late.Stop()
	var f frame
	select {
	case f = <-answer:
		k.owner.answered(k)
	case <-r.done:
		return r.answer, nil
	case <-k.gone:
		if a, ended := r.ended(); ended {
			return a, nil
		}
		if f, err = c.late(answer); err != nil {
			return Answer{}, err
		}
	case <-ctx.Done():
		return Answer{}, interrupted(ctx, "agent.wait")
	case <-late.C:
		// What was due was only the answer at the end of the wait.
		k.owner.unanswered(k, "agent.wait", time.Now().Add(-c.opt.Timeout))
		return Answer{}, ErrTimeout.With("agent.wait had no answer %s after the wait was over.", c.opt.Timeout)
	}
	if f.Error != nil {
		return Answer{}, c.wireFault(f.Error)
	}
	a, err := readWait(f.Payload)
	if err != nil {
		return Answer{}, err
	}
	return c.cleaned(runID, a), nil
}

// settle stays a moment for the second answer to the question: only it has the
// tokens and the cost of exactly this run, and it comes within milliseconds of
// the end. A run that was asked on another connection has none to wait for.
func (c *Client) settle(ctx context.Context, k *conn, r *run, a Answer) Answer {
	if c.runs.expected(r) != k {
		return a
	}
	limit := time.NewTimer(c.opt.Settle)
	defer limit.Stop()
	select {
	case <-r.done:
		a.Usage = r.answer.Usage
		if a.Outcome == Finished && (a.Text == "" || a.Cut) {
			a.Text, a.Cut = r.answer.Text, false
		}
	case <-k.gone:
	case <-ctx.Done():
	case <-limit.C:
	}
	return a
}

// cleaned makes an answer fit to leave this package.
func (c *Client) cleaned(runID string, a Answer) Answer {
	a.RunID = runID
	a.Text = c.secrets.said(a.Text)
	a.Error = c.secrets.words(a.Error)
	a.Usage = c.secrets.usage(a.Usage)
	return a
}

// runsKept is how many runs are remembered, with their answers.
const runsKept = 256

// runs are the runs of this process, by id, so that the second answer to a
// question finds whoever waits for it. The zero value is ready to use.
type runs struct {
	mu   sync.Mutex
	ring ring[*run]
}

type run struct {
	session string        // key of its session; empty when unknown
	done    chan struct{} // closed when the run has ended and answer says how
	answer  Answer
	on      *conn // the connection that will bring the second answer; nil when none will
}

func newRun() *run { return &run{done: make(chan struct{})} }

func (r *run) ended() (Answer, bool) {
	select {
	case <-r.done:
		return r.answer, true
	default:
		return Answer{}, false
	}
}

// watch is the run of that id, whether or not it was asked here.
func (rs *runs) watch(id string) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.get(id)
}

// begin is watch for a run that is about to be asked. What an earlier attempt
// came to does not count any more: the gateway may have restarted since.
func (rs *runs) begin(id string) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.get(id)
	if _, ended := r.ended(); ended {
		r = newRun()
		rs.ring.put(id, r)
	}
	return r
}

func (rs *runs) get(id string) *run {
	if rs.ring.values == nil {
		rs.ring = newRing[*run](runsKept)
	}
	r, ok := rs.ring.get(id)
	if !ok {
		r = newRun()
		rs.ring.put(id, r)
	}
	return r
}

// place notes in which session a run is.
func (rs *runs) place(id, sessionKey string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.get(id).session = sessionKey
}

// placed is the key of the session of a run, if it is known.
func (rs *runs) placed(id string) string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.get(id).session
}

func (rs *runs) expect(r *run, k *conn) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.on = k
}

func (rs *runs) expected(r *run) *conn {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return r.on
}

// finish notes how a run ended. Only the first telling counts.
func (rs *runs) finish(id string, a Answer) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.get(id)
	if _, ended := r.ended(); !ended {
		r.answer = a
		close(r.done)
	}
}
