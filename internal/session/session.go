// Package session shows what the agents are doing: the sessions of the agent
// runtime with their tokens and costs, and what was said in them.
//
// The service keeps one mirror of the runtime's sessions (mirror.go), made of the
// rows that its events carry (heard.go) and of lists (read.go), so that the gateway
// is asked the same whether one person looks or five hundred. What it shows is
// true: a reader that comes after something has changed, and nobody said how,
// waits until the list has been read anew, and while the gateway is away there is
// nothing to see.
package session

import (
	"cmp"
	"slices"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// ErrNotFound means that the runtime has no session of that key.
var ErrNotFound = fault.New(fault.NotFound, "session_not_found", "There is no such session.")

// Session is a conversation of one agent in the runtime. What the runtime does
// not say is null, and never zero.
type Session struct {
	Key          string      `json:"key" example:"agent:cto:main" doc:"Names the session in the runtime."`
	AgentID      string      `json:"agent_id" example:"cto" doc:"Empty for a session of no agent."`
	Kind         *string     `json:"kind" doc:"In the runtime's words: main, custom, subagent, cron, dashboard and others."`
	Label        *string     `json:"label"`
	Status       *string     `json:"status" doc:"Of its present or last run, in the runtime's words: running, done, failed, killed, timeout and others."`
	Active       bool        `json:"active" doc:"Whether a run is going or waits for its turn."`
	Stalled      bool        `json:"stalled" doc:"Whether its run goes on and has told nothing of itself for longer than STALLED_AFTER."`
	SilentSince  *clock.Time `json:"silent_since" doc:"When that run last told anything; null unless it is stalled."`
	ActiveRunID  *string     `json:"active_run_id" doc:"Of the run that is going; null when there is none, or the runtime does not name it."`
	Model        *string     `json:"model" doc:"Provider and model."`
	Context      *int64      `json:"context_tokens" doc:"Tokens of the last prompt."`
	ContextLimit *int64      `json:"context_limit" doc:"Tokens that the model can take."`
	Tokens       *Tokens     `json:"tokens" doc:"All that the session has used; null while nobody knows, for about a second after a run. While one is going its last steps may be missing."`
	CostUSD      *money.Nano `json:"cost_usd" doc:"What that cost; null while nobody knows, and when the models have no price."`
	CostComplete *bool       `json:"cost_complete" doc:"Whether everything in it has a price. False: cost_usd is too small, or null. Null while nobody knows."`
	StartedAt    *clock.Time `json:"started_at" doc:"When its present or last run began."`
	UpdatedAt    *clock.Time `json:"updated_at"`
	LastMessage  *string     `json:"last_message" doc:"The beginning of what was said last, on one line."`
	ParentKey    *string     `json:"parent_key" doc:"Of the session that made this one."`
	AsOf         clock.Time  `json:"as_of" doc:"When the runtime last said all of this, in an event or a list. It never goes back."`
}

// Tokens are what a session or a message has used.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// row is a session as the mirror keeps it. Two rows can be compared.
type row struct {
	gateway.Session
	totals  gateway.Totals
	counted bool       // totals are known
	began   clock.Time // of the run that is going; zero when nobody says
	asOf    clock.Time
}

// same says whether two rows tell the same, whenever that was so.
func (r row) same(other *row) bool {
	r.asOf = other.asOf
	return r == *other
}

// before is the order of lists: what is active first, then what changed last.
func (p position) before(q position) int {
	if p.active != q.active {
		if p.active {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(q.updated, p.updated), strings.Compare(p.key, q.key))
}

// position is where a session stands in lists.
type position struct {
	active  bool
	updated int64 // milliseconds since 1970; 0 when unknown
	key     string
}

func (r *row) position() position {
	p := position{active: r.Active, key: r.Key}
	if !r.UpdatedAt.IsZero() {
		p.updated = r.UpdatedAt.UnixMilli()
	}
	return p
}

// show is a row as the API answers it.
func (r *row) show() Session {
	s := Session{
		Key: r.Key, AgentID: r.AgentID, Kind: text(r.Kind), Label: text(r.Label), Status: text(r.Status), Active: r.Active,
		Model: text(r.Model), Context: count(r.Context), ContextLimit: count(r.ContextLimit),
		StartedAt: moment(r.started()), UpdatedAt: moment(r.UpdatedAt),
		LastMessage: text(r.LastMessage), ParentKey: text(r.ParentKey), AsOf: r.asOf,
	}
	if r.Active {
		s.ActiveRunID = text(r.RunID)
	}
	if r.counted {
		t := r.totals
		s.Tokens = &Tokens{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite}
		complete := t.Pricing == gateway.Priced
		s.CostComplete = &complete
		if t.Pricing != gateway.Unpriced {
			cost := money.Nano(t.CostNanoUSD)
			s.CostUSD = &cost
		}
	}
	return s
}

// started is when the present or last run began. Before a run has really begun,
// its row still has the times of the run before.
func (r *row) started() clock.Time {
	switch {
	case !r.Active:
		return r.StartedAt
	case !r.began.IsZero():
		return r.began
	case r.EndedAt.IsZero() || r.StartedAt.After(r.EndedAt.Time):
		return r.StartedAt
	default:
		return clock.Time{}
	}
}

// ended is when anything last ended or was said here.
func (r *row) ended() clock.Time {
	if !r.EndedAt.IsZero() {
		return r.EndedAt
	}
	return r.ActiveAt
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func count(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

func moment(t clock.Time) *clock.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Filter says which sessions to list. The zero Filter lists all.
type Filter struct {
	AgentID, Kind, Status string
	Active                *bool
}

func (f Filter) takes(r *row) bool {
	return (f.AgentID == "" || r.AgentID == f.AgentID) && (f.Kind == "" || r.Kind == f.Kind) &&
		(f.Status == "" || r.Status == f.Status) && (f.Active == nil || r.Active == *f.Active)
}

// Activity is what the sessions tell of one agent.
type Activity struct {
	Active int        // sessions with a run that is going
	Key    string     // of the one whose run began first
	Since  clock.Time // when that run began; without one, when the last ended or anything was said; zero when nobody says

	Stalled int        // of the active ones, those whose run has stopped telling of itself
	Silent  clock.Time // since when the first of those has
}

// activities sums the rows up by agent.
func activities(rows []row) map[string]Activity {
	all := map[string]Activity{}
	for i := range rows {
		r := &rows[i]
		a := all[r.AgentID]
		switch began := r.started(); {
		case r.Active && a.Active == 0:
			a = Activity{Active: 1, Key: r.Key, Since: began}
		case r.Active:
			a.Active++
			if !began.IsZero() && (a.Since.IsZero() || began.Before(a.Since.Time)) {
				a.Key, a.Since = r.Key, began
			}
		case a.Active == 0 && r.ended().After(a.Since.Time):
			a.Since = r.ended()
		}
		all[r.AgentID] = a
	}
	return all
}

// order sorts rows for lists.
func order(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return a.position().before(b.position()) })
}
