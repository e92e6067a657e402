// Package retention lets old data go: every night, what has passed the days
// that the settings give it is archived or deleted, a little at a time.
//
// What goes, and how, is a Policy, which the feature that owns the data fills
// in. This package decides when, in what portions, and tells of it.
package retention

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// ErrRunning refuses a second run beside one that is under way.
var ErrRunning = fault.New(fault.Conflict, "retention_running", "Retention is running already.")

// Policy is what happens to one kind of data when it is old.
type Policy struct {
	Name    string // such as activity; it names the last run, so that it never changes
	Setting string // the variable that gives the days
	Days    int    // 0 keeps for ever
	Does    string // a sentence that says what goes and what stays
	// NotYet says why there is nothing that could go; then Count and Go are nil.
	NotYet string

	// Count tells how much Go would take in all, and how old the oldest is: the
	// zero time when there is nothing.
	Count func(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error)
	// Go lets at most limit of what is older than before go, in a transaction
	// that is committed right afterwards, and says how much that was: less than
	// limit when nothing is left. It may be called again for what went already.
	Go func(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error)
}

// State says whether a policy does anything.
type State string

// The states.
const (
	On     State = "on"
	Off    State = "off"     // 0 days: it is kept for ever
	NotYet State = "not_yet" // there is nothing of the kind
)

func (p Policy) state() State {
	switch {
	case p.NotYet != "":
		return NotYet
	case p.Days == 0:
		return Off
	}
	return On
}

// Status is how a policy stands.
type Status struct {
	Name      string      `json:"name"`
	Does      string      `json:"description" doc:"What goes and what stays."`
	Setting   string      `json:"setting" doc:"The variable of the environment that gives the days."`
	Days      int         `json:"days" doc:"Whole days of the time zone; 0 keeps for ever."`
	State     State       `json:"state" enum:"on,off,not_yet" doc:"off: 0 days. not_yet: nothing of the kind is kept by this version; note says more."`
	Note      *string     `json:"note" doc:"Why nothing can go, where state is not_yet."`
	NextRunAt *clock.Time `json:"next_run_at" doc:"Null unless state is on."`
	Preview   *Preview    `json:"preview" doc:"What a run would do now; null unless state is on."`
	LastRun   *Outcome    `json:"last_run" doc:"Null when there was none."`
}

// Preview is what would go now.
type Preview struct {
	Before   clock.Time  `json:"before" doc:"What is older than this goes: the beginning of a day in the time zone."`
	Count    int64       `json:"count"`
	OldestAt *clock.Time `json:"oldest_at" doc:"Null when nothing would go."`
}

// Overview is how all policies stand.
type Overview struct {
	Timezone string   `json:"timezone" doc:"In which days begin and end."`
	Running  *Run     `json:"running" doc:"The run that is under way; null when there is none."`
	Policies []Status `json:"policies"`
}

// Phase is how far a run is.
type Phase string

// The phases.
const (
	Running Phase = "running" // or about to
	Done    Phase = "done"    // policies may have failed; see their errors
	Failed  Phase = "failed"  // it was given up
)

// Run is one run of all policies.
type Run struct {
	ID         string      `json:"id"`
	Status     Phase       `json:"status" enum:"running,done,failed" doc:"done also when a policy failed; its error says so."`
	AskedAt    clock.Time  `json:"asked_at"`
	FinishedAt *clock.Time `json:"finished_at"`
	Policies   []Outcome   `json:"policies" doc:"What each did so far."`
}

// Outcome is what a run did by one policy.
type Outcome struct {
	Policy     string      `json:"policy"`
	RunID      string      `json:"run_id"`
	Before     clock.Time  `json:"before" doc:"What was older than this was to go."`
	StartedAt  clock.Time  `json:"started_at"`
	FinishedAt *clock.Time `json:"finished_at" doc:"Null while it goes on."`
	Count      int64       `json:"count" doc:"How much has gone."`
	Error      *string     `json:"error" doc:"Why it ended early; null when it did not. What is left goes with the next run."`
}

// daysAgo is when the day began that was so many days before today, by the
// clocks of the zone: where they skip midnight, it is the first moment of that
// day, and where they show it twice, the first time.
func daysAgo(now time.Time, zone *time.Location, days int) (time.Time, error) {
	midnight, err := cron.Parse("0 0 * * *", zone.String())
	if err != nil {
		return time.Time{}, fmt.Errorf("find the beginning of a day: %w", err)
	}
	y, m, d := now.In(zone).Date()
	return midnight.Next(time.Date(y, m, d-days-1, 12, 0, 0, 0, zone)), nil
}
