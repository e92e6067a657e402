package schedule

import (
	"fmt"
	"slices"
	"time"

	"wardroom/internal/platform/clock"
)

const (
	// punctual is how late a run may begin and still be on time: a busy runtime
	// begins what is due together one after the other.
	punctual = time.Minute
	// early is how much sooner than its slot a run may seem to begin.
	early = time.Second
	// repair is how long a slot that was missed, or failed, may still be made up
	// for by a later run: a gateway that comes back runs what it has missed.
	repair = time.Hour
)

// facts are what a slot of a job is judged by.
type facts struct {
	now       time.Time
	knownFrom time.Time // all runs that ended between these two are among runs
	knownTo   time.Time
	since     time.Time // when the job became what it is: before, it was another one, or there was none
	running   time.Time // when the run that is going began; zero when none is
	last      time.Time // when the last run began that the runtime knows to have ended; zero when none did
	errors    int64     // runs that failed in a row, as the runtime counts
	runs      []Run     // of this job, by their beginning
}

// judge says what is to be said of a slot by now. next is the time of the slot
// that follows, zero when nobody can tell. It changes nothing of what is settled.
//
// What is true is what the runtime itself has run: a slot is missed when its
// deadline is over and everything up to then is known, and unknown while it is
// not.
func (f facts) judge(s Slot, next time.Time) Slot {
	if s.settled {
		return s
	}
	if s.DueAt.Before(f.since) && (next.IsZero() || f.since.Before(next)) {
		next = f.since // what runs later runs by another schedule
	}
	was := s.State
	s.State, s.Reason, s.StartedAt = f.verdict(s, next)
	if s.State != was {
		s.JudgedAt = clock.Ptr(f.now)
	}
	s.lookAt, s.settled = nil, false
	switch s.State {
	case Pending:
		s.lookAt, s.JudgedAt = clock.Ptr(s.Deadline.Time), nil
	case OnTime, Late, Skipped:
		s.settled = true
	case Unknown:
		s.settled = f.forgotten(s)
	case Missed, Failed:
		end := s.JudgedAt.Add(repair)
		if !next.IsZero() && next.Before(end) {
			end = next
		}
		switch {
		case end.After(f.now):
			s.lookAt = clock.Ptr(end)
		default:
			s.settled = !f.within(f.running, s, next) // its end tells
		}
	case Running:
	}
	return s
}

// forgotten reports whether the runtime will not be able to say any more.
func (f facts) forgotten(s Slot) bool {
	return s.DueAt.Before(f.knownFrom) && !f.knownTo.Before(s.Deadline.Time)
}

func (f facts) verdict(s Slot, next time.Time) (State, string, *clock.Time) {
	if run := f.runOf(s, next); run != nil {
		return f.ofRun(s, *run)
	}
	// What was missed stays so until a run of its own has ended: one that goes on
	// may be somebody's by hand, and the runtime does not say whose it is.
	if s.State != Missed {
		if f.within(f.running, s, next) {
			return Running, "", clock.Ptr(f.running)
		}
		if f.within(f.last, s, next) && f.untold() {
			return Running, "", clock.Ptr(f.last)
		}
	}
	switch {
	case f.now.Before(s.Deadline.Time):
		return Pending, "", nil
	case f.knownTo.Before(s.Deadline.Time):
		return Unknown, "The runtime could not be asked since.", nil
	case f.forgotten(s):
		return Unknown, "The runtime does not remember that far back.", nil
	}
	if s.State == Missed {
		return Missed, s.Reason, nil // what became of the job since excuses nothing
	}
	if why := f.excuse(s); why != "" {
		return Skipped, why, nil
	}
	return Missed, "No run had begun by " + s.Deadline.Format("15:04 MST") + ".", nil
}

// untold reports whether the last run has ended and is not in the history yet: the
// runtime may write the one a moment before the other. After a day it never will be.
func (f facts) untold() bool {
	return f.now.Sub(f.last) < 24*time.Hour && !slices.ContainsFunc(f.runs, func(r Run) bool { return !r.StartedAt.Before(f.last) })
}

// within reports whether a run that began then belongs to s.
func (f facts) within(began time.Time, s Slot, next time.Time) bool {
	return !began.IsZero() && !began.Before(s.DueAt.Add(-early)) && (next.IsZero() || began.Before(next.Add(-early)))
}

// runOf is the run of a slot: the first that went well, else the last one,
// because the runtime may try again what failed. What somebody had run by hand
// is nobody's slot.
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
		return Skipped, or(r.Error, "The runtime skipped it."), &began
	case r.Status != "ok":
		return Failed, or(r.Error, "The runtime does not say why."), &began
	case began.After(s.DueAt.Add(s.spread).Add(min(punctual, s.Deadline.Sub(s.DueAt.Time)-s.spread))):
		return Late, "", &began
	}
	return OnTime, "", &began
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// happened is when what became of a slot happened: a run failed at its end, and
// one that was missed was missed when it was due.
func (f facts) happened(s Slot) time.Time {
	for _, r := range f.runs {
		if s.State == Failed && s.StartedAt != nil && r.StartedAt.Equal(s.StartedAt.Time) {
			return r.EndedAt.Time
		}
	}
	return s.DueAt.Time
}

// excuse is why the runtime did not run a slot although nothing is wrong with
// its clockwork; empty when there is no such reason.
func (f facts) excuse(s Slot) string {
	if s.DueAt.Before(f.since) {
		return "The job was changed, disabled or removed before it ran."
	}
	if !f.running.IsZero() && f.running.Before(s.DueAt.Time) {
		return "The run before was still going."
	}
	failures, last := int64(0), time.Time{}
	for i, r := range f.runs {
		if !r.StartedAt.Before(s.DueAt.Time) {
			break
		}
		if r.EndedAt.After(s.DueAt.Add(s.spread)) {
			return "The run before was still going."
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
		return fmt.Sprintf("The runtime waits longer after %d failures in a row.", failures)
	}
	return ""
}

// backoff is how long the runtime leaves a job alone that has failed so many
// times in a row (docs/automation/cron-jobs/managing-jobs.md of the gateway).
func backoff(failures int64) time.Duration {
	steps := []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, longestBackoff}
	return steps[min(max(failures, 1), int64(len(steps)))-1]
}

const longestBackoff = time.Hour
