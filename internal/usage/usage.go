// Package usage is the ledger of what the agents' runs used and cost. It only
// grows, and it stays when the runtime forgets: what a day cost is the same
// today and in a year.
//
// Its rows come from two sides. Whoever asked a run and learns from the runtime
// what it used notes it (Note); for all other runs the mirror (mirror.go) reads
// the transcripts, in which the runtime writes down the tokens and the cost of
// each model call. Both name the runtime's run, which is in the ledger once. Then
// the sums are held against the runtime's own totals of the transcript
// (reconcile.go), and what differs becomes a row of its own kind.
package usage

import (
	"cmp"
	"strings"
	"time"

	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// The ways in which asking for the usage fails.
var (
	ErrPeriod = fault.New(fault.Invalid, "usage_period", "The period cannot be counted.")
	ErrStale  = fault.New(fault.Stale, "prices_stale", "The prices have changed since.")
)

// Source says what a run was for.
type Source string

// The sources.
const (
	Human     Source = "human"     // somebody wrote to the agent
	Schedule  Source = "schedule"  // a timed job of the runtime
	Heartbeat Source = "heartbeat" // the agent's own clock, without a question
	SubAgent  Source = "sub_agent" // another agent asked for it
	Standup   Source = "standup"
	Task      Source = "task" // a task was handed to the agent
	Unknown   Source = "unknown"
)

// Sources lists all sources.
func Sources() []Source {
	return []Source{Human, Schedule, Heartbeat, SubAgent, Standup, Task, Unknown}
}

// Tokens are counted in the five classes in which they are sold.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other" doc:"In the runtime's total and in none of the four."`
}

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Output + o.Output, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite, t.Other + o.Other}
}

func (t Tokens) minus(o Tokens) Tokens {
	return Tokens{t.Input - o.Input, t.Output - o.Output, t.CacheRead - o.CacheRead, t.CacheWrite - o.CacheWrite, t.Other - o.Other}
}

// covers says whether no class of t is smaller than that of o.
func (t Tokens) covers(o Tokens) bool {
	d := t.minus(o)
	return min(d.Input, d.Output, d.CacheRead, d.CacheWrite, d.Other) >= 0
}

// Run is what one run used, as the runtime told. RunID and AgentID are needed.
type Run struct {
	RunID      string
	AgentID    string
	SessionKey string
	SessionID  string // of the transcript that it is counted in; empty while nobody knows it
	Source     Source // empty is what its ids tell
	JobID      string // what it was for, as far as the caller knows; else what its ids tell
	TaskKey    string
	StandupID  string
	StartedAt  time.Time // zero when nobody knows it
	EndedAt    time.Time
	Parts      []Part // one for each model that it used
}

// Part is what a run used of one model.
type Part struct {
	Provider, Model string
	Tokens          Tokens
	Cost            *money.Nano // as the runtime computed it; nil without a price
}

// mostTokens and mostCost are what one row may have of each class, and cost, in
// nano-dollars: a trillion tokens, a million dollars. No run has used as much. What
// a gateway says beyond it is a fault of its own, and a few such rows would make
// sums that no column holds, and with that every report fail.
const mostTokens, mostCost = 1_000_000_000_000, 1_000_000_000_000_000

// believable says whether a row may have that much.
func believable(t Tokens, cost *money.Nano) bool {
	for _, n := range []int64{t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other} {
		if n < -mostTokens || n > mostTokens {
			return false
		}
	}
	return cost == nil || *cost >= -mostCost && *cost <= mostCost
}

// said is what the transcript tells of how a run came about.
type said struct {
	asked  bool   // there is a question before it
	origin string // of the question, when nobody outside the runtime asked it
	job    string // the timed job that asked it
	from   string // the session from which another agent asked it
}

// attribute fills in what the ids of a run tell: session keys and run ids have
// a shape (OpenClaw 2026.9.6, and our own).
func (r *Run) attribute(s said) {
	// The runtime keeps session keys in small letters, whoever made them.
	r.SessionKey = strings.ToLower(r.SessionKey)
	if rest, ok := strings.CutPrefix(r.SessionKey, "agent:"); ok {
		agent, _, _ := strings.Cut(rest, ":")
		r.AgentID = cmp.Or(r.AgentID, agent)
	}
	place, detail := placeOf(r.SessionKey)
	source := Unknown
	switch {
	case place == "task" && detail != "":
		key, _, _ := strings.Cut(detail, ":")
		source, r.TaskKey = Task, cmp.Or(r.TaskKey, strings.ToUpper(key)) // the runtime may write its keys small
	case place == "standup" || strings.HasPrefix(r.RunID, "standup-"):
		source, r.StandupID = Standup, cmp.Or(r.StandupID, standupOf(r.RunID))
	case place == "cron":
		job, _, _ := strings.Cut(detail, ":")
		source, r.JobID = Schedule, cmp.Or(r.JobID, job)
	case s.origin == "cron":
		source, r.JobID = Schedule, cmp.Or(r.JobID, s.job)
	case place == "subagent", strings.HasPrefix(r.RunID, "announce:"), strings.HasPrefix(s.origin, "sessions_"), s.origin == "inter_session":
		source = SubAgent
	case s.origin == "heartbeat", place == "main" && s == said{}:
		source = Heartbeat
	case s.asked && s.origin == "" && (place == "main" || place == "dashboard" || place == "openai" || place == "openai-user"):
		source = Human
	}
	r.Source = cmp.Or(r.Source, source)
}

// standupOf is the standup in a run id like "standup-<id>-cto-1"; empty for any other.
func standupOf(runID string) string {
	const uuid = 36
	rest, ok := strings.CutPrefix(runID, "standup-")
	if !ok || len(rest) <= uuid || rest[uuid] != '-' {
		return ""
	}
	return rest[:uuid]
}

// Sums are what is added up over a part of the ledger. Each of them is the sum of
// those of the parts, to the last digit.
type Sums struct {
	Runs        int64       `json:"runs" doc:"Runs; one that used two models counts for each of them."`
	Unpriced    int64       `json:"unpriced_runs" doc:"Of which nobody knows what they cost: cost_usd is without them."`
	Corrections int64       `json:"corrections" doc:"Rows that are no run: what the runtime's totals have beyond its runs, and prices that were found later."`
	Tokens      Tokens      `json:"tokens"`
	CostUSD     *money.Nano `json:"cost_usd" doc:"Null when nothing here has a price; never zero for it."`
	Estimated   money.Nano  `json:"estimated_usd" doc:"The part of cost_usd that was computed with the service's own prices."`
}

// amounts are Sums as they are added up.
type amounts struct {
	runs, unpriced, corrections, priced int64
	tokens                              Tokens
	cost, estimated                     int64
}

func (a amounts) plus(o amounts) amounts {
	return amounts{
		a.runs + o.runs, a.unpriced + o.unpriced, a.corrections + o.corrections, a.priced + o.priced,
		a.tokens.plus(o.tokens), a.cost + o.cost, a.estimated + o.estimated,
	}
}

func (a amounts) minus(o amounts) amounts {
	return amounts{
		a.runs - o.runs, a.unpriced - o.unpriced, a.corrections - o.corrections, a.priced - o.priced,
		a.tokens.minus(o.tokens), a.cost - o.cost, a.estimated - o.estimated,
	}
}

func (a amounts) sums() Sums {
	s := Sums{Runs: a.runs, Unpriced: a.unpriced, Corrections: a.corrections, Tokens: a.tokens, Estimated: money.Nano(a.estimated)}
	if a.priced > 0 || a.unpriced == 0 {
		cost := money.Nano(a.cost)
		s.CostUSD = &cost
	}
	return s
}
