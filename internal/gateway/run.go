package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/gateway/wire"
)

// Question is a message to an agent. The gateway identifies the question by its RunID and
// asks the agent only once, however often the question is sent.
type Question struct {
	RunID      string // chosen by Wardroom; the gateway's idempotency key
	AgentID    string
	SessionKey string // such as "agent:cto:standup:2026-11-20"; the first message creates the session
	Message    string
	// the gateway ends the run after this time, rounded up to seconds; zero means the gateway's default
	Limit time.Duration
}

// Started is the gateway's response to a question.
type Started struct {
	RunID    string
	BootID   string  // of the gateway's process that took it; runs do not survive its restart
	InFlight bool    // the question was already known, and its run is in progress
	Answer   *Answer // set if the question was already known and its run has ended
}

// Outcome is the state of a run.
type Outcome string

// Possible outcomes of a run.
const (
	Finished Outcome = "finished"  // the agent answered; Text may be empty
	Running  Outcome = "running"   // the run did not end during the wait
	TimedOut Outcome = "timed_out" // the run reached its own limit
	Stopped  Outcome = "stopped"   // the run was stopped
	Failed   Outcome = "failed"    // the model or the gateway failed; see Error
)

// Answer is the state of a run. Once the run has ended, it also contains the result.
type Answer struct {
	RunID   string
	Outcome Outcome
	Text    string // the agent's answer, if Finished; untrusted
	Error   string // the gateway's error message; may be empty
	Usage   *Usage // nil when unknown
	// EndedAt is when the run ended, by the gateway's clock: for a run without an answer, the time of
	// its last message. It is zero if unknown, and can be long before Wardroom learns of the end.
	EndedAt time.Time
	// NotBegun means that the gateway rejected the question because it was shutting down. The agent
	// never received the question, so it can be sent again when the gateway is back.
	NotBegun bool
	// Overtaken means that the gateway accepted the question but dropped it before the
	// agent received it, because the session had changed. This happens after a restart,
	// when the gateway resumes interrupted turns. If the question is repeated with the
	// same run id, it fails in the same way. Use Find to see whether the resumed turn
	// answers the question. If not, ask again with another run id.
	Overtaken bool
	// Cut means that Text is truncated because the gateway did not provide the rest.
	Cut bool
}

// Start sends a question. It returns when the gateway has accepted the question; Wait
// returns the answer. After ErrUnreachable or ErrTimeout, repeat the call with the same
// RunID. The agent is not asked twice, unless the gateway has restarted.
func (c *Client) Start(ctx context.Context, q Question) (Started, error) {
	k, err := c.ConnFor("agent")
	if err != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, err)
	}
	r := c.runs.begin(q.RunID)
	c.runs.place(q.RunID, q.SessionKey)
	params := agentParams{
		Message:        q.Message,
		AgentID:        q.AgentID,
		SessionKey:     q.SessionKey,
		IdempotencyKey: q.RunID,
		Timeout:        int64((q.Limit + time.Second - 1) / time.Second),
	}
	f, err := c.Exchange(ctx, k, link.Request{Method: "agent", Params: params, Each: func(f link.Frame) (last bool) {
		a, ended := readEnd(f)
		if ended {
			c.runs.finish(q.RunID, c.cleaned(q.RunID, a))
		}
		return ended || f.Error != nil
	}})
	if err != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, err)
	}
	s := Started{RunID: q.RunID, BootID: k.BootID()}
	if a, ended := readEnd(f); ended {
		a = c.cleaned(q.RunID, a)
		s.Answer = &a
		return s, nil
	}
	if f.Error != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, explained(c.Refused(f.Error)))
	}
	var p struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		return Started{}, fmt.Errorf("ask %s: %w", q.AgentID, link.ErrUnreadable("agent"))
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
	Deliver        bool   `json:"deliver"` // false: do not send the answer to a chat channel
	Timeout        int64  `json:"timeout,omitempty"`
}

// Wait waits for a run to end. It waits at most limit, plus up to Options.Timeout for the
// response. If the run has not ended by then, the Outcome is Running, and the caller can
// call Wait again. The Outcome for an unknown run is also Running. After a gateway
// restart, only Find shows whether the run existed.
func (c *Client) Wait(ctx context.Context, runID string, limit time.Duration) (Answer, error) {
	r := c.runs.watch(runID)
	if a, ended := r.ended(); ended {
		return a, nil
	}
	k, err := c.ConnFor("agent.wait")
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
	if a = c.awaitUsage(ctx, k, r, a); a.Cut {
		return c.completeText(ctx, runID, a)
	}
	return a, nil
}

// completeText replaces a truncated answer with the full text from the session's history.
func (c *Client) completeText(ctx context.Context, runID string, a Answer) (Answer, error) {
	key := c.runs.placed(runID)
	if key == "" {
		return a, nil
	}
	t, err := c.Find(ctx, key, runID)
	if err != nil {
		return Answer{}, fmt.Errorf("read the complete answer: %w", err)
	}
	if t.Answered {
		a.Text, a.Cut = t.Answer.Text, false
	}
	return a, nil
}

// waitOn waits for a run's answer by calling agent.wait. When a run ends, the gateway also sends a
// second response to the request that started it. If that response arrives first, waitOn returns
// the answer from it.
func (c *Client) waitOn(ctx context.Context, k *link.Conn, r *run, runID string, limit time.Duration) (Answer, error) {
	limit = max(limit, 0)
	params := struct {
		RunID     string `json:"runId"`
		TimeoutMS int64  `json:"timeoutMs"`
	}{runID, limit.Milliseconds()}
	f, err := c.Exchange(ctx, k, link.Request{Method: "agent.wait", Params: params, Wait: limit, Done: r.done})
	if err != nil {
		if a, ended := r.ended(); ended {
			return a, nil
		}
		return Answer{}, err
	}
	if f.Error != nil {
		return Answer{}, explained(c.Refused(f.Error))
	}
	a, err := readWait(f.Payload)
	if err != nil {
		return Answer{}, err
	}
	return c.cleaned(runID, a), nil
}

// awaitUsage waits briefly for the second response to the question, which the gateway
// sends within milliseconds of the run's end. Only that response contains the run's token
// counts and cost. If the run was started over another connection, awaitUsage does not
// wait.
func (c *Client) awaitUsage(ctx context.Context, k *link.Conn, r *run, a Answer) Answer {
	if c.runs.expected(r) != k {
		return a
	}
	limit := time.NewTimer(c.UsageWait)
	defer limit.Stop()
	select {
	case <-r.done:
		a.Usage = r.answer.Usage
		if a.Outcome == Finished && r.answer.Outcome == Failed {
			a.Outcome, a.Text, a.Error, a.Cut = Failed, "", r.answer.Error, false
		}
		if a.Outcome == Finished && (a.Text == "" || a.Cut) {
			a.Text, a.Cut = r.answer.Text, false
		}
	case <-k.Gone():
	case <-ctx.Done():
	case <-limit.C:
	}
	return a
}

// cleaned returns a copy of an answer with secrets and control characters removed from
// its text.
func (c *Client) cleaned(runID string, a Answer) Answer {
	a.RunID = runID
	a.Text = c.secrets.Lines(a.Text)
	a.Error = c.secrets.Line(a.Error)
	a.Usage = cleanUsage(c.secrets, a.Usage)
	return a
}

// runsKept limits how many runs are remembered with their answers.
const runsKept = 256

// runs holds the runs that this process started, by run id. When the gateway sends the second
// response to a run's question, all callers that wait for the run receive the answer.
type runs struct {
	mu   sync.Mutex
	ring wire.Ring[*run]
}

type run struct {
	session string        // session key; empty when unknown
	done    chan struct{} // closed when the run has ended and answer is set
	answer  Answer
	on      *link.Conn // connection that delivers the second response, or nil
}

func newRuns() *runs { return &runs{ring: wire.NewRing[*run](runsKept)} }

func newRun() *run { return &run{done: make(chan struct{})} }

func (r *run) ended() (Answer, bool) {
	select {
	case <-r.done:
		return r.answer, true
	default:
		return Answer{}, false
	}
}

// watch returns the run with the given id. If the run is unknown, watch creates it.
func (rs *runs) watch(id string) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.get(id)
}

// begin is like watch, but for a run that is about to be started. If the run already has
// a result, begin discards it, because the gateway may have restarted since the result
// arrived.
func (rs *runs) begin(id string) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.get(id)
	if _, ended := r.ended(); ended {
		r = newRun()
		rs.ring.Put(id, r)
	}
	return r
}

func (rs *runs) get(id string) *run {
	r, ok := rs.ring.Get(id)
	if !ok {
		r = newRun()
		rs.ring.Put(id, r)
	}
	return r
}

// place records the session key for a run.
func (rs *runs) place(id, sessionKey string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.get(id).session = sessionKey
}

// placed returns the session key of a run, as recorded by runs.place, or an empty string if none is recorded.
func (rs *runs) placed(id string) string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.get(id).session
}

func (rs *runs) expect(r *run, k *link.Conn) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.on = k
}

func (rs *runs) expected(r *run) *link.Conn {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return r.on
}

// finish records that a run has ended with the given answer. Later calls for the same run
// have no effect.
func (rs *runs) finish(id string, a Answer) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.get(id)
	if _, ended := r.ended(); !ended {
		r.answer = a
		close(r.done)
	}
}
