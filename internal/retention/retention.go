// Package retention archives or deletes old data in small batches, every night and on
// request.
//
// Each feature provides a Policy for its data. This package decides when to apply it, sets
// the batch size, and records the results.
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

// ErrRunning means that a run is already in progress.
var ErrRunning = fault.New(fault.Conflict, "retention_running", "Retention is already running.")

// Policy is the retention policy for one kind of data.
type Policy struct {
	Name    string // such as activity; stored with the last run, so it must never change
	Setting string // environment variable with the number of days
	Days    int    // 0 keeps the data forever
	Does    string // a description of what is deleted and what is kept
	// NotYet, if not empty, is the reason why this version has no data of this kind. In that case,
	// Count and Apply are nil.
	NotYet string

	// Count returns the number of rows that Apply would process in total, and the time of the oldest
	// one. If there are no such rows, it returns the zero time.
	Count func(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error)
	// Apply archives or deletes up to limit rows older than the given time and returns how many it
	// processed. If that is fewer than limit, no such rows are left. The transaction is committed
	// right afterwards. A call can safely be repeated.
	Apply func(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error)
}

// State says whether a policy is enabled.
type State string

// States of a policy.
const (
	On     State = "on"
	Off    State = "off"     // 0 days: the data is kept forever
	NotYet State = "not_yet" // there is no such data
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

// Status is the current state of a policy.
type Status struct {
	Name      string      `json:"name"`
	Does      string      `json:"description" doc:"What is deleted and what is kept."`
	Setting   string      `json:"setting" doc:"The environment variable with the number of days."`
	Days      int         `json:"days" doc:"Whole days in the time zone; 0 keeps the data forever."`
	State     State       `json:"state" enum:"on,off,not_yet" doc:"off: 0 days. not_yet: this version has no such data; see note."`
	Note      *string     `json:"note" doc:"Why there is no such data; null unless state is not_yet."`
	NextRunAt *clock.Time `json:"next_run_at" doc:"Null unless state is on."`
	Preview   *Preview    `json:"preview" doc:"What a run would do now; null unless state is on."`
	LastRun   *Outcome    `json:"last_run" doc:"Null if there was none."`
}

// Preview describes what a run would do now.
type Preview struct {
	Before   clock.Time  `json:"before" doc:"Data from before this time would be processed. It is the start of a day in the time zone."`
	Count    int64       `json:"count"`
	OldestAt *clock.Time `json:"oldest_at" doc:"Null if there is nothing to process."`
}

// Due is what a run would do with another number of days.
type Due struct {
	Policy string `json:"policy"`
	Count  int64  `json:"count" doc:"The number of rows that a run would archive or delete now."`
}

// Overview is the current state of all policies.
type Overview struct {
	Timezone string   `json:"timezone" doc:"The time zone of the days."`
	Running  *Run     `json:"running" doc:"The run in progress; null if no run is in progress."`
	Policies []Status `json:"policies"`
}

// Phase is the progress of a run.
type Phase string

// Phases of a run.
const (
	Running Phase = "running" // queued or in progress
	Done    Phase = "done"    // policies may have failed; see their errors
	Failed  Phase = "failed"  // given up after several attempts
)

// Run is one run of all policies.
type Run struct {
	ID         string      `json:"id"`
	Status     Phase       `json:"status" enum:"running,done,failed" doc:"done does not mean that all policies succeeded; see their errors."`
	AskedAt    clock.Time  `json:"asked_at"`
	FinishedAt *clock.Time `json:"finished_at"`
	Policies   []Outcome   `json:"policies" doc:"The results so far."`
}

// Outcome is the result of applying one policy in a run.
type Outcome struct {
	Policy     string      `json:"policy"`
	RunID      string      `json:"run_id"`
	Before     clock.Time  `json:"before" doc:"Only older data is processed."`
	StartedAt  clock.Time  `json:"started_at"`
	FinishedAt *clock.Time `json:"finished_at" doc:"Null while in progress."`
	Count      int64       `json:"count" doc:"The number of rows archived or deleted."`
	Error      *string     `json:"error" doc:"Why the policy failed; null if it succeeded. The next run processes the rest."`
}

// daysAgo returns the start of a past day in the given time zone; if days is 1, the start of
// yesterday. A day starts at midnight. If the clocks skip midnight on that day, it starts right
// after the skipped time; if midnight occurs twice, it starts at the first one.
func daysAgo(now time.Time, zone *time.Location, days int) (time.Time, error) {
	midnight, err := cron.Parse("0 0 * * *", zone.String())
	if err != nil {
		return time.Time{}, fmt.Errorf("find the start of a day: %w", err)
	}
	y, m, d := now.In(zone).Date()
	return midnight.Next(time.Date(y, m, d-days-1, 12, 0, 0, 0, zone)), nil
}
