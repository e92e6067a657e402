package standup

import (
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
)

// Matter is something that needs a human: it becomes an item of the inbox.
// Matters of one cause are one item, which counts them.
type InboxItem struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
	At                                   time.Time // when it happened; the zero time is now
}

// Used is what a run of a standup used, as the runtime told at its end.
type RunUsage struct {
	StandupID, RunID, AgentID, SessionKey string
	StartedAt, EndedAt                    time.Time
	Usage                                 gateway.Usage
}
