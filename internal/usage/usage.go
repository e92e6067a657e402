// Package usage keeps the ledger of the tokens and costs of all agent runs. Except for answers, the
// ledger is append-only and independent of the runtime's own retention, so the cost
// of a past day does not change.
//
// Rows have two sources. A feature that starts a run adds the usage in its answer with Note, which
// can be that of the last model call alone. For every run the reader (reader.go) reads the
// transcript, where the runtime records the tokens and the cost of each model call. Both sources use
// the run's ID in the runtime: a transcript replaces an answer, so each run is in the ledger only
// once. The sums are then reconciled with the runtime's totals for each transcript (reconcile.go);
// differences become adjustments.
package usage

import (
	"cmp"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
)

// Errors that the usage operations return.
var (
	ErrPeriod = fault.New(fault.Invalid, "usage_period", "The period is invalid.")
	ErrStale  = fault.New(fault.Stale, "prices_stale", "The prices have changed since you read them.")
)

// Source says what started a run.
type Source string

// Values of Source.
const (
	Human     Source = "human"     // a person sent a message to the agent
	Schedule  Source = "schedule"  // a scheduled job of the runtime
	Heartbeat Source = "heartbeat" // the agent's heartbeat, without a message
	SubAgent  Source = "sub_agent" // another agent
	Standup   Source = "standup"
	Task      Source = "task" // a task was dispatched to the agent
	Unknown   Source = "unknown"
)

// Tokens holds token counts in the five classes that have separate prices.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Other      int64 `json:"other" doc:"Tokens in the runtime's total that are in none of the other classes."`
}

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{
		t.Input + o.Input, t.Output + o.Output, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite, t.Other + o.Other,
	}
}

// Sum returns the number of all tokens.
func (t Tokens) Sum() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite + t.Other }

func (t Tokens) minus(o Tokens) Tokens {
	return Tokens{
		t.Input - o.Input, t.Output - o.Output, t.CacheRead - o.CacheRead, t.CacheWrite - o.CacheWrite, t.Other - o.Other,
	}
}

// covers reports whether t has at least as many tokens as o in every class.
func (t Tokens) covers(o Tokens) bool {
	d := t.minus(o)
	return min(d.Input, d.Output, d.CacheRead, d.CacheWrite, d.Other) >= 0
}

// Run is the usage of one run as reported by the runtime. RunID and AgentID are
// required.
type Run struct {
	RunID      string
	AgentID    string
	SessionKey string
	SessionID  string // the transcript; empty if unknown
	Source     Source // derived from the IDs if empty
	JobID      string // derived from the IDs if empty, like TaskKey and StandupID
	TaskKey    string
	StandupID  string
	StartedAt  time.Time // zero if unknown
	EndedAt    time.Time
	Parts      []Part // one per model, the last used one last
	Partial    bool   // some of the run's model calls may be missing in Parts
}

// tokens returns the number of tokens in all parts.
func tokens(parts []Part) (n int64) {
	for _, p := range parts {
		n += p.Tokens.Sum()
	}
	return n
}

// used returns the parts that keep selects. The calls and the time of the others become part of the last one.
func (r Run) used(keep func(Part) bool) (used []Part) {
	var rest Part
	for _, p := range r.Parts {
		if keep(p) {
			used = append(used, p)
			continue
		}
		rest.Calls, rest.Took = rest.Calls+p.Calls, rest.Took+p.Took
	}
	if n := len(used); n > 0 {
		used[n-1].Calls, used[n-1].Took = used[n-1].Calls+rest.Calls, used[n-1].Took+rest.Took
	}
	return used
}

// Part is the usage of one model in a run.
type Part struct {
	Provider, Model string
	Tokens          Tokens
	Cost            *money.Nano // as computed by the runtime; nil without a price
	Estimated       bool        // the runtime's numbers contradict each other
	Calls           int64       // of the model; 0 if unknown
	// until the ends of its calls, each since the end of the call before or the start of the run
	Took time.Duration
}

// PartOf returns the usage that the runtime reported for a run.
func PartOf(u gateway.Usage) Part {
	p := Part{
		Provider: u.Provider, Model: u.Model, Estimated: u.Estimated,
		Tokens: Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Other: u.Other},
	}
	if u.CostNanoUSD != nil {
		p.Cost = new(money.Nano(*u.CostNanoUSD))
	}
	return p
}

// maxTokens (per class) and maxCost (in nano-dollars) limit one row to a trillion tokens and a
// million dollars. No run uses that much; a larger number indicates a bug in the gateway. A few
// rows with larger numbers would overflow the sums and make every report fail.
const maxTokens, maxCost = 1_000_000_000_000, 1_000_000_000_000_000

// plausible reports whether tokens and cost are within the limits for a row.
func plausible(t Tokens, cost *money.Nano) bool {
	for _, n := range []int64{t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other} {
		if n < -maxTokens || n > maxTokens {
			return false
		}
	}
	return cost == nil || *cost >= -maxCost && *cost <= maxCost
}

// trigger describes how a run was started, according to its transcript.
type trigger struct {
	asked  bool   // a message precedes the run
	origin string // the origin of a message that came from inside the runtime
	job    string // the scheduled job that sent the message
	from   string // the session of the agent that sent the message
}

// attribute sets a run's source and the job, task or standup that caused the run. It derives them
// from the run's trigger, session key and run ID, whose formats OpenClaw 2026.9.6 and Wardroom
// define.
func (r *Run) attribute(s trigger) {
	// The runtime stores session keys in lower case.
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
		source, r.TaskKey = Task, cmp.Or(r.TaskKey, strings.ToUpper(key)) // the runtime may lower the case of the key
	case place == "standup" || strings.HasPrefix(r.RunID, "standup-"):
		source, r.StandupID = Standup, cmp.Or(r.StandupID, standupOf(r.RunID))
	case place == "cron":
		job, _, _ := strings.Cut(detail, ":")
		source, r.JobID = Schedule, cmp.Or(r.JobID, job)
	case s.origin == "cron":
		source, r.JobID = Schedule, cmp.Or(r.JobID, s.job)
	case place == "subagent", strings.HasPrefix(r.RunID, "announce:"), strings.HasPrefix(s.origin, "sessions_"),
		s.origin == "inter_session":
		source = SubAgent
	case s.origin == "heartbeat", place == "main" && s == trigger{}:
		source = Heartbeat
	case s.asked && s.origin == "" &&
		(place == "main" || place == "dashboard" || place == "openai" || place == "openai-user"):
		source = Human
	}
	r.Source = cmp.Or(r.Source, source)
}

// standupOf extracts the standup's ID from a run ID such as "standup-<id>-cto-1". It
// returns "" for other run IDs.
func standupOf(runID string) string {
	const uuid = 36
	rest, ok := strings.CutPrefix(runID, "standup-")
	if !ok || len(rest) <= uuid || rest[uuid] != '-' {
		return ""
	}
	return rest[:uuid]
}

// Sums are the totals of a part of the ledger. If the ledger is split into parts, the sums of the
// parts add up exactly to the sums of the whole.
type Sums struct {
	Runs        int64       `json:"runs" doc:"Number of runs. A run that used two models counts twice."`
	Unpriced    int64       `json:"unpriced_runs" doc:"Number of runs with an unknown cost. cost_usd does not include them."`
	Corrections int64       `json:"corrections" doc:"Number of adjustments: usage in the runtime's totals that no run accounts for, and prices found later."`
	Tokens      Tokens      `json:"tokens"`
	CostUSD     *money.Nano `json:"cost_usd" doc:"Null if none of this usage has a price; 0 only if the cost is known to be zero."`
	Estimated   money.Nano  `json:"estimated_usd" doc:"The part of cost_usd that was estimated with the prices of /prices."`
}

// amounts are Sums in a form that supports addition.
type amounts struct {
	runs, unpriced, corrections, priced int64
	tokens                              Tokens
	cost, estimated                     int64
	calls, took                         int64
}

func (a amounts) plus(o amounts) amounts {
	return amounts{
		a.runs + o.runs, a.unpriced + o.unpriced, a.corrections + o.corrections, a.priced + o.priced,
		a.tokens.plus(o.tokens), a.cost + o.cost, a.estimated + o.estimated, a.calls + o.calls, a.took + o.took,
	}
}

func (a amounts) minus(o amounts) amounts {
	return amounts{
		a.runs - o.runs, a.unpriced - o.unpriced, a.corrections - o.corrections, a.priced - o.priced,
		a.tokens.minus(o.tokens), a.cost - o.cost, a.estimated - o.estimated, a.calls - o.calls, a.took - o.took,
	}
}

func (a amounts) sums() Sums {
	s := Sums{
		Runs: a.runs, Unpriced: a.unpriced, Corrections: a.corrections, Tokens: a.tokens, Estimated: money.Nano(a.estimated),
	}
	if a.priced > 0 || a.unpriced == 0 {
		cost := money.Nano(a.cost)
		s.CostUSD = &cost
	}
	return s
}
