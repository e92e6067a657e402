// Package archive keeps the sessions of the runtime: which there were when it
// was last heard, and what was said in those that ended or rest, so that both
// can be read while the runtime is away and after it has forgotten them.
//
// One process reads the transcripts (keeper.go), a bounded number of times a
// second, and only those that have changed. Secrets are masked before anything is
// written (mask.go).
package archive

import (
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
	"wardroom/internal/transcript"
)

// ErrNotFound means that the archive has no session of that id.
var ErrNotFound = fault.New(fault.NotFound, "archived_session_not_found", "There is no such session in the archive.")

// Archived is a session as the archive knows it. What the runtime did not say is
// null, and never zero.
type Archived struct {
	ID          string      `json:"id"`
	Key         string      `json:"key" example:"agent:cto:main" doc:"Names the session in the runtime. After a reset another session has it, which is another one here."`
	AgentID     string      `json:"agent_id" example:"cto" doc:"Empty for a session of no agent."`
	Kind        *string     `json:"kind" doc:"In the runtime's words: main, custom, subagent, cron, dashboard and others."`
	Label       *string     `json:"label"`
	Status      *string     `json:"status" doc:"Of its last run, in the runtime's words: done, failed, killed, timeout and others."`
	Active      bool        `json:"active" doc:"Whether a run was going when the runtime was last heard."`
	Model       *string     `json:"model" doc:"Provider and model."`
	ParentKey   *string     `json:"parent_key" doc:"Of the session that made this one."`
	BeganAt     *clock.Time `json:"began_at" doc:"Of its first message, or else when the first run began that was seen."`
	StartedAt   *clock.Time `json:"started_at" doc:"When its last run began."`
	EndedAt     *clock.Time `json:"ended_at" doc:"When its last run ended."`
	LastAt      clock.Time  `json:"last_at" doc:"When anything last happened in it."`
	LastMessage *string     `json:"last_message" doc:"The beginning of what was said last, on one line."`
	Messages    int64       `json:"messages" doc:"How many messages are here."`
	Coverage    Coverage    `json:"coverage" enum:"none,partial,whole" doc:"How much of its transcript is here: none when the runtime had forgotten it before it was read, partial when it went on and was forgotten then."`
	Ended       *Ended      `json:"ended" enum:"rests,finished,deleted,reset" doc:"Why it was archived. rests: nothing happens in it, and it may go on. finished: it had one thing to do, and that is over. deleted: the runtime has it no more. reset: it was begun anew under the same key. Null before it is archived."`
	ArchivedAt  *clock.Time `json:"archived_at" doc:"When it was last archived; null when it is only known."`
	Present     bool        `json:"present" doc:"Whether the runtime had it when it was last heard."`
	AsOf        clock.Time  `json:"as_of" doc:"When the runtime last said so."`
	Age         int64       `json:"age_seconds" doc:"How long ago that was."`
	Tokens      *Tokens     `json:"tokens" doc:"All that it used, by the usage ledger; null when that has nothing of it."`
	CostUSD     *money.Nano `json:"cost_usd" doc:"What that cost, estimates included; null when nothing of it has a price."`
	Complete    *bool       `json:"cost_complete" doc:"Whether everything in it has a price; null when the ledger has nothing of it."`
}

// Tokens are what a session used, by class.
type Tokens = transcript.Tokens

// Coverage says how much of a transcript is here.
type Coverage string

// How much of a transcript is here.
const (
	None    Coverage = "none"
	Partial Coverage = "partial"
	Whole   Coverage = "whole"
)

// Ended says why a session was archived.
type Ended string

// Why sessions are archived.
const (
	Rests    Ended = "rests"
	Finished Ended = "finished"
	Deleted  Ended = "deleted"
	Reset    Ended = "reset"
)

// onceOnly says whether sessions of a kind have one thing to do, so that their first
// end is their last.
func onceOnly(kind string) bool { return kind == subagent || kind == "cron" }

// subagent is the kind of the sessions that agents begin.
const subagent = "subagent"

// versionOf is when a session last changed, by the runtime's clock.
func versionOf(g *gateway.Session) int64 {
	if g.UpdatedAt.IsZero() {
		return 0
	}
	return g.UpdatedAt.UnixMilli()
}

// lastOf is when anything last happened in a session; otherwise when nobody says.
func lastOf(g *gateway.Session, otherwise clock.Time) clock.Time {
	for _, t := range []clock.Time{g.UpdatedAt, g.ActiveAt, g.EndedAt, g.StartedAt} {
		if !t.IsZero() {
			return t
		}
	}
	return otherwise
}
