// Package archive keeps the runtime's sessions and their transcripts, so that
// both can be read while the gateway is unavailable and after the runtime has
// deleted them.
//
// One replica at a time reads the transcripts that have changed, at a limited rate (archiver.go).
// Secrets are redacted before anything is stored (archiver.go).
package archive

import (
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/money"
	"wardroom/internal/transcript"
)

// ErrNotFound means that the archive has no session with that ID.
var ErrNotFound = fault.New(fault.NotFound, "archived_session_not_found", "Archived session not found.")

// Archived is a session in the archive. Values that the runtime did not report
// are null.
type Archived struct {
	ID          string      `json:"id"`
	Key         string      `json:"key" example:"agent:cto:main" doc:"Key of the session in the runtime. A reset starts a new session with the same key, which is a separate entry here."`
	AgentID     string      `json:"agent_id" example:"cto" doc:"Empty if the session belongs to no agent."`
	Kind        *string     `json:"kind" doc:"As reported by the runtime: main, custom, subagent, cron, dashboard, or another."`
	Label       *string     `json:"label"`
	Status      *string     `json:"status" doc:"Status of the last run, as reported by the runtime: done, failed, killed, timeout, or another."`
	Active      bool        `json:"active" doc:"Whether a run was in progress when the runtime was last read."`
	Model       *string     `json:"model" doc:"Provider and model."`
	ParentKey   *string     `json:"parent_key" doc:"Key of the session that created this one."`
	BeganAt     *clock.Time `json:"began_at" doc:"Time of the first message, or else the start of the first known run."`
	StartedAt   *clock.Time `json:"started_at" doc:"Start of the last run."`
	EndedAt     *clock.Time `json:"ended_at" doc:"End of the last run."`
	LastAt      clock.Time  `json:"last_at" doc:"Last activity in the session."`
	LastMessage *string     `json:"last_message" doc:"Beginning of the last message, on one line."`
	Messages    int64       `json:"messages" doc:"Number of archived messages."`
	Coverage    Coverage    `json:"coverage" enum:"none,partial,whole" doc:"How much of the transcript is archived. none: the runtime deleted it before it was read. partial: the session continued, and the rest is not archived yet or was deleted before it was read."`
	Ended       *Ended      `json:"ended" enum:"rests,finished,deleted,reset" doc:"Why the session was archived. rests: idle, may continue. finished: a one-time session has ended. deleted: deleted in the runtime. reset: replaced by a new session with the same key. Null before it is archived."`
	ArchivedAt  *clock.Time `json:"archived_at" doc:"When the session was last archived; null if it is not archived yet."`
	Present     bool        `json:"present" doc:"Whether the runtime still had the session when it was last read."`
	AsOf        clock.Time  `json:"as_of" doc:"When these values were read from the runtime."`
	Age         int64       `json:"age_seconds" doc:"Number of seconds since as_of."`
	Tokens      *Tokens     `json:"tokens" doc:"Total tokens from the usage ledger; null if it has no entry for the session."`
	CostUSD     *money.Nano `json:"cost_usd" doc:"Total cost, including estimates; null if none of the usage has a price."`
	Complete    *bool       `json:"cost_complete" doc:"Whether all usage has a price; null if the ledger has no entry for the session."`
}

// Tokens holds a session's token counts, such as input and output tokens.
type Tokens = transcript.Tokens

// Coverage says how much of a transcript is archived.
type Coverage string

// Values of Coverage.
const (
	None    Coverage = "none"
	Partial Coverage = "partial"
	Whole   Coverage = "whole"
)

// Ended is the reason why a session was archived.
type Ended string

// Reasons why a session was archived.
const (
	Rests    Ended = "rests"
	Finished Ended = "finished"
	Deleted  Ended = "deleted"
	Reset    Ended = "reset"
)

// onceOnly reports whether sessions of the given kind run once and are never resumed.
func onceOnly(kind string) bool { return kind == subagent || kind == "cron" }

// subagent is the kind of a session that an agent started.
const subagent = "subagent"

// lastOf returns the time of a session's last activity, or the given fallback if that time is
// unknown.
func lastOf(g *gateway.Session, otherwise clock.Time) clock.Time {
	for _, t := range []clock.Time{g.UpdatedAt, g.ActiveAt, g.EndedAt, g.StartedAt} {
		if !t.IsZero() {
			return t
		}
	}
	return otherwise
}
