// Package session serves the sessions of the agent runtime, with their tokens, costs and messages.
//
// Service keeps a mirror of the runtime's sessions (mirror.go). It applies the rows in the
// gateway's events (gateway_events.go) and regularly reads the list of all sessions
// (reader.go), so the load on the gateway does not depend on the number of clients. Requests
// never return stale data. If an event reports a change without its details, they wait until the
// list has been read again. While the gateway is unreachable, they fail.
package session

import (
	"cmp"
	"slices"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
	"wardroom/internal/usage"
)

// ErrNotFound means that the runtime has no session with the given key.
var ErrNotFound = fault.New(fault.NotFound, "session_not_found", "Session not found.")

// Session is an agent's conversation in the runtime. Unknown values are null, never zero.
type Session struct {
	Key          string      `json:"key" example:"agent:cto:main" doc:"The session's key in the runtime."`
	AgentID      string      `json:"agent_id" example:"cto" doc:"Empty for a session without an agent."`
	Kind         *string     `json:"kind" doc:"The runtime's kind of session, such as main, custom, subagent, cron or dashboard."`
	Label        *string     `json:"label"`
	Status       *string     `json:"status" doc:"The runtime's status of the current or last run, such as running, done, failed, killed or timeout."`
	Active       bool        `json:"active" doc:"Whether a run is in progress or queued."`
	Stalled      bool        `json:"stalled" doc:"Whether a run is in progress and has shown no activity for longer than STALLED_AFTER."`
	SilentSince  *clock.Time `json:"silent_since" doc:"Last activity of the stalled run; null unless stalled."`
	ActiveRunID  *string     `json:"active_run_id" doc:"The ID of the run in progress; null if no run is in progress or its ID is unknown."`
	Model        *string     `json:"model" doc:"Provider and model."`
	Context      *int64      `json:"context_tokens" doc:"Tokens of the last prompt."`
	ContextLimit *int64      `json:"context_limit" doc:"The context window of the model in tokens."`
	Tokens       *Tokens     `json:"tokens" doc:"Total usage of the session, without what it has copied from another one. Null while unknown, usually for about a second after a run. During a run the last steps may be missing."`
	CostUSD      *money.Nano `json:"cost_usd" doc:"Total cost, as in /usage, with what was estimated with the prices of /prices. Null while unknown or if the models have no price."`
	CostComplete *bool       `json:"cost_complete" doc:"False if some usage has no price and is not in cost_usd. Null while unknown."`
	StartedAt    *clock.Time `json:"started_at" doc:"When the current or last run started."`
	UpdatedAt    *clock.Time `json:"updated_at"`
	LastMessage  *string     `json:"last_message" doc:"The start of the last message by a user or the agent, on one line."`
	LastBy       *string     `json:"last_message_by" enum:"user,assistant" doc:"Who wrote the last message; null if unknown. A user is also the one who starts a job or a task."`
	ParentKey    *string     `json:"parent_key" doc:"The session that started this one."`
	AsOf         clock.Time  `json:"as_of" doc:"When the runtime last reported this state. Never decreases."`
}

// Tokens is the number of tokens that a session has used, by class.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// row is a session in a snapshot. Rows can be compared with ==.
type row struct {
	gateway.Session
	total   usage.Total
	counted bool       // total is known
	began   clock.Time // start of the run in progress; zero if unknown
	asOf    clock.Time
	by      string // the role of the last message's author; empty if unknown
}

// same reports whether two rows are equal except for asOf.
func (r row) same(other *row) bool {
	r.asOf = other.asOf
	return r == *other
}

// compare orders positions. Active sessions come first, and within each group the most recently
// changed sessions come first.
func (p position) compare(q position) int {
	if p.active != q.active {
		if p.active {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(q.updated, p.updated), strings.Compare(p.key, q.key))
}

// position is the sort key of a session in lists.
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

// api converts the row to a Session for API responses.
func (r *row) api() Session {
	s := Session{
		Key: r.Key, AgentID: r.AgentID, Kind: text(r.Kind), Label: text(r.Label), Status: text(r.Status), Active: r.Active,
		Model: text(r.Model), Context: count(r.Context), ContextLimit: count(r.ContextLimit),
		StartedAt: timePtr(r.started()), UpdatedAt: timePtr(r.UpdatedAt),
		LastMessage: text(r.LastMessage), LastBy: text(r.by), ParentKey: text(r.ParentKey), AsOf: r.asOf,
	}
	if r.Active {
		s.ActiveRunID = text(r.RunID)
	}
	if r.counted {
		t := r.total
		s.Tokens = &Tokens{
			Input: t.Tokens.Input, Output: t.Tokens.Output, CacheRead: t.Tokens.CacheRead, CacheWrite: t.Tokens.CacheWrite,
		}
		s.CostComplete = &t.Complete
		if t.Priced {
			s.CostUSD = &t.Cost
		}
	}
	return s
}

// apiSession converts a row to a Session for API responses, which includes whether its run is
// stalled.
func (s *Service) apiSession(r *row) Session {
	out := r.api()
	if since, stalled := s.silentSince(r); stalled {
		out.Stalled, out.SilentSince = true, clock.Ptr(since)
	}
	return out
}

// started returns the start time of the current or last run. Until a queued run starts, the row contains
// the times of the previous run.
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

// ended returns the end time of the last run or, if that is unknown, the time of the last activity.
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

func timePtr(t clock.Time) *clock.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Filter selects sessions to list. The zero Filter selects all.
type Filter struct {
	AgentID, Kind, Status string
	Active                *bool
}

func (f Filter) matches(r *row) bool {
	return (f.AgentID == "" || r.AgentID == f.AgentID) && (f.Kind == "" || r.Kind == f.Kind) &&
		(f.Status == "" || r.Status == f.Status) && (f.Active == nil || r.Active == *f.Active)
}

// Activity summarizes the sessions of one agent.
type Activity struct {
	Active int        // sessions with a run in progress
	Key    string     // the active session whose run started first
	Since  clock.Time // when that run started or, without an active session, the last activity; zero if unknown

	Stalled int        // active sessions with a stalled run
	Silent  clock.Time // the earliest last activity of those
}

// activities summarizes each agent's session rows.
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

// sortRows sorts rows in the order in which the API lists sessions.
func sortRows(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return a.position().compare(b.position()) })
}
