package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/platform/clock"
)

const (
	// lateAfter is how late a run can start and still be on time. A busy runtime starts
	// jobs that are due together one after the other.
	lateAfter = time.Minute
	// earlyTolerance is how long before the time of its slot a run can appear to start.
	earlyTolerance = time.Second
	// recoveryWindow is how long a later run can recover a missed or failed slot. A
	// restarted gateway runs the jobs that it missed.
	recoveryWindow = time.Hour
)

// facts holds the data that determines the states of a job's slots.
type facts struct {
	now       time.Time
	knownFrom time.Time // runs has all runs that ended between knownFrom and knownTo
	knownTo   time.Time
	since     time.Time // when the current definition of the job took effect
	change    string    // how the definition changed then: changed, disabled or removed
	away      outage    // the last one
	running   time.Time // start of the run in progress; zero without one
	last      time.Time // start of the last ended run; zero without one
	errors    int64     // failed runs in a row, as counted by the runtime
	runs      []Run     // of this job, by start
}

// judge returns a slot with its current state; the state of a final slot does not change. Pass the
// time of the following slot as next, or the zero time if it is unknown.
//
// The state depends only on the runs in the runtime. After its deadline, a slot without a run is
// missed if all runs up to the deadline are known, and unknown otherwise.
func (f facts) judge(s Slot, next time.Time) Slot {
	if s.final {
		return s
	}
	if s.DueAt.Before(f.since) && (next.IsZero() || f.since.Before(next)) {
		next = f.since // later runs belong to the new schedule
	}
	was := s.State
	s.State, s.Reason, s.StartedAt = f.verdict(s, next)
	if s.State != was {
		s.JudgedAt = clock.Ptr(f.now)
	}
	s.recheckAt, s.final = nil, false
	switch s.State {
	case Pending:
		s.recheckAt, s.JudgedAt = clock.Ptr(s.Deadline.Time), nil
	case OnTime, Late, Skipped:
		s.final = true
	case Unknown:
		s.final = f.historyGone(s)
	case Missed, Failed:
		end := s.JudgedAt.Add(recoveryWindow)
		if !next.IsZero() && next.Before(end) {
			end = next
		}
		switch {
		case end.After(f.now):
			s.recheckAt = clock.Ptr(end)
		default:
			s.final = !f.within(f.running, s, next) // wait for the run in progress to end
		}
	case Running:
	}
	return s
}

// historyGone reports whether the runtime's history no longer covers the slot.
func (f facts) historyGone(s Slot) bool {
	return s.DueAt.Before(f.knownFrom) && !f.knownTo.Before(s.Deadline.Time)
}

func (f facts) verdict(s Slot, next time.Time) (State, string, *clock.Time) {
	if run := f.runOf(s, next); run != nil {
		return f.ofRun(s, *run)
	}
	// A missed slot stays missed until a scheduled run has ended. A run in progress may
	// have been started manually, which the runtime reports only at its end.
	if s.State != Missed {
		if f.within(f.running, s, next) {
			return Running, "", clock.Ptr(f.running)
		}
		if f.within(f.last, s, next) && f.unrecorded() {
			return Running, "", clock.Ptr(f.last)
		}
	}
	switch {
	case f.now.Before(s.Deadline.Time):
		return Pending, "", nil
	case f.knownTo.Before(s.Deadline.Time):
		return Unknown, "The runtime has been unreachable since then.", nil
	case f.historyGone(s):
		return Unknown, "The runtime's history does not go back that far.", nil
	}
	if s.State == Missed {
		return Missed, s.Reason, nil // later changes to the job do not matter
	}
	if why := f.skipReason(s); why != "" {
		return Skipped, why, nil
	}
	if f.away.overlaps(s) {
		return Missed, f.away.String(), nil
	}
	return Missed, "The runtime did not start it by " + s.Deadline.Format("15:04 MST") + ".", nil
}

// unrecorded reports whether the last run has ended but is not in the history yet. The runtime
// writes the history slightly after a run ends. A run that is still missing after a day will never
// appear there.
func (f facts) unrecorded() bool {
	return f.now.Sub(f.last) < 24*time.Hour && !slices.ContainsFunc(f.runs, func(r Run) bool {
		return !r.StartedAt.Before(f.last)
	})
}

// within reports whether a run that started at began belongs to the slot s. If there is a later slot, next is its
// time.
func (f facts) within(began time.Time, s Slot, next time.Time) bool {
	return !began.IsZero() && !began.Before(s.DueAt.Add(-earlyTolerance)) &&
		(next.IsZero() || began.Before(next.Add(-earlyTolerance)))
}

// runOf returns the run of a slot. A slot can have several runs, because the runtime can retry. In
// that case, runOf returns the first successful run, or else the last run. Manual runs do not
// belong to a slot.
func (f facts) runOf(s Slot, next time.Time) (found *Run) {
	for i := range f.runs {
		r := &f.runs[i]
		if r.Manual || !f.within(r.StartedAt.Time, s, next) {
			continue
		}
		if found = r; r.Status == "ok" {
			return found
		}
	}
	return found
}

func (f facts) ofRun(s Slot, r Run) (State, string, *clock.Time) {
	began := r.StartedAt
	switch {
	case r.Status == "skipped":
		return Skipped, cmp.Or(r.Error, "The runtime skipped it."), &began
	case r.Status != "ok":
		return Failed, cmp.Or(r.Error, "The runtime gave no reason."), &began
	case began.After(s.DueAt.Add(s.spread).Add(min(lateAfter, s.Deadline.Sub(s.DueAt.Time)-s.spread))):
		return Late, "", &began
	}
	return OnTime, "", &began
}

// event returns the time at which a slot reached its state, and the run that failed. For a failed
// slot the time is the end of that run, and for a missed slot, which has no run, the due time.
func (f facts) event(s Slot) (at time.Time, failed *Run) {
	for i, r := range f.runs {
		if s.State == Failed && s.StartedAt != nil && r.StartedAt.Equal(s.StartedAt.Time) {
			return r.EndedAt.Time, &f.runs[i]
		}
	}
	return s.DueAt.Time, nil
}

// skipReason returns the reason why the runtime deliberately skipped a slot, or "" if no reason is
// known.
func (f facts) skipReason(s Slot) string {
	if s.DueAt.Before(f.since) {
		return fmt.Sprintf("The job was %s before it ran. Wardroom noticed at %s.", f.change, minute(f.since))
	}
	if !f.running.IsZero() && f.running.Before(s.DueAt.Time) {
		return "The previous run was still in progress."
	}
	failures, last := int64(0), time.Time{}
	for i, r := range f.runs {
		if !r.StartedAt.Before(s.DueAt.Time) {
			break
		}
		if r.EndedAt.After(s.DueAt.Add(s.spread)) {
			return "The previous run was still in progress."
		}
		failures++
		if r.Status != "error" {
			failures = 0
		} else if i == len(f.runs)-1 {
			failures = max(failures, f.errors)
		}
		last = r.EndedAt.Time
	}
	if failures > 0 && s.DueAt.Before(last.Add(backoff(failures))) {
		return fmt.Sprintf("The runtime backed off after %d failures in a row.", failures)
	}
	return ""
}

// backoff returns how long the runtime pauses a job after the given number of consecutive failures (see
// docs/automation/cron-jobs/managing-jobs.md in the gateway's repository).
func backoff(failures int64) time.Duration {
	steps := []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, maxBackoff}
	return steps[min(max(failures, 1), int64(len(steps)))-1]
}

const maxBackoff = time.Hour
