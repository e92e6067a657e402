package schedule

import (
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// mirroredJob is the stored state of one of the runtime's jobs.
type mirroredJob struct {
	job       gateway.Job
	text      string      // the job as JSON, for comparison
	present   bool        // false if removed from the runtime
	since     clock.Time  // see Job.Since
	nextDue   *clock.Time // the first slot that is not in the ledger; nil if none is expected
	lastDue   *clock.Time // the last slot in the ledger
	alarmed   bool        // the job may have items in the inbox
	changedAt clock.Time  // when the row was written
	task      *RunTask    // what each run makes; nil for nothing. It is not from the runtime
	taskAfter *clock.Time // start of the last run whose task was made
}

const (
	// maxAhead is more than the ledger can be ahead of a read, which takes a while.
	maxAhead = 10 * time.Minute
	// maxAbsence is how far back slots are added after a period without reads. Older slots are no
	// longer relevant.
	maxAbsence = 7 * 24 * time.Hour
	// maxSlotsAtOnce limits how many slots of one job are added after such a period; only the
	// latest ones are added. A job that runs every minute has thousands of slots in a week.
	maxSlotsAtOnce = 200
)

// due returns the due slots that are not in the ledger yet. It also returns the job with lastDue
// and nextDue updated accordingly.
func (w mirroredJob) due(now time.Time, grace time.Duration) (mirroredJob, []Slot) {
	var slots []Slot
	p, why := planOf(w.job)
	if !w.present || why != "" {
		w.nextDue = nil
		return w, nil
	}
	for w.nextDue != nil && !w.nextDue.After(now) {
		due := w.nextDue.Time
		w.lastDue, w.nextDue = clock.Ptr(due), nil
		if next := p.next(w.job, due); !next.IsZero() {
			w.nextDue = clock.Ptr(next)
		}
		if now.Sub(due) > maxAbsence {
			continue
		}
		if slots = append(slots, slotOf(w.job, due, grace)); len(slots) > maxSlotsAtOnce {
			slots = slices.Delete(slots, 0, 1)
		}
	}
	return w, slots
}

// observation is a job's state as read from the runtime at one time.
type observation struct {
	job     gateway.Job // zero if the job was removed
	text    string
	present bool
	at      time.Time // when the runtime was read
	knownTo time.Time // time of the previous read; zero without one
	began   time.Time // start of the last scheduled run; zero without one
}

// apply updates a stored job with an observation; was is nil for a new job. It returns the updated
// job, the slots to add for the job's previous definition, and whether the job has changed.
//
// A job can change at any time between two reads, so slots between those reads are added only if a
// run for them was observed.
func (s observation) apply(was *mirroredJob, grace time.Duration) (is mirroredJob, slots []Slot, changed bool) {
	is = mirroredJob{job: s.job, text: s.text, present: s.present, changedAt: clock.At(s.at)}
	if was == nil || !was.present {
		is.since = clock.At(s.at)
		if was != nil {
			is.lastDue, is.alarmed = was.lastDue, was.alarmed
		} else if made := s.job.CreatedAt; !s.knownTo.IsZero() && made.After(s.knownTo) && made.Before(s.at) {
			is.since = made
		}
		is.nextDue = is.upcoming()
		return is, nil, is.present
	}
	if last := was.lastDue; is.present && last != nil && last.After(s.at.Add(maxAhead)) {
		// The ledger has slots of the future, because the clock was wrong: begin anew.
		is.since, is.alarmed = clock.At(s.at), was.alarmed
		is.nextDue = is.upcoming()
		return is, nil, true
	}
	if is.present && was.text == is.text {
		return *was, nil, false
	}
	is.since, is.lastDue, is.alarmed = was.since, was.lastDue, was.alarmed
	if !is.present {
		is.job, is.text = was.job, was.text
	}
	if before, found := was.due(s.at, grace); !is.present || !sameTimes(was.job, is.job) {
		is.since, is.lastDue = clock.At(s.at), before.lastDue
		slots = s.observedSlots(found)
	} else if p, why := planOf(is.job); why == "" && p.times.IsZero() && was.nextDue != nil &&
		!same(was.nextDue, is.job.State.NextRunAt) {
		// Only the runtime can compute the time, and it has changed.
		kept := []Slot{slotOf(was.job, was.nextDue.Time, grace)}
		if !s.postponed(was) {
			kept = s.observedSlots(kept)
		}
		if len(kept) > 0 {
			slots, is.lastDue = kept, was.nextDue
		}
	}
	is.nextDue = is.upcoming()
	return is, slots, true
}

// postponed reports whether the runtime has put off a job's next run without a reason: the definition is the
// same, and no run has started. A job that runs at an interval may start a new one.
func (s observation) postponed(was *mirroredJob) bool {
	is, before := s.job.State, was.job.State
	if is.NextRunAt == nil || !is.NextRunAt.After(was.nextDue.Time) || is.RunningAt != nil ||
		!same(is.LastRunAt, before.LastRunAt) {
		return false
	}
	every := time.Duration(min(s.job.Schedule.EveryMS, maxInterval.Milliseconds())) * time.Millisecond
	return s.job.Schedule.Kind != "every" || is.NextRunAt.Sub(s.at) > every+time.Minute
}

// observedSlots returns the slots for which a run started and the slots that were due by the
// previous read. The job's previous definition applied at least until that read.
func (s observation) observedSlots(slots []Slot) []Slot {
	return slices.DeleteFunc(slots, func(slot Slot) bool {
		return slot.DueAt.After(s.knownTo) && s.began.Before(slot.DueAt.Add(-earlyTolerance)) ||
			slot.DueAt.After(s.at) && s.began.Before(slot.DueAt.Add(-earlyTolerance))
	})
}

// upcoming returns the time of the first slot that is not in the ledger yet, or nil if there is
// none.
func (w mirroredJob) upcoming() *clock.Time {
	p, why := planOf(w.job)
	if why != "" || !w.present {
		return nil
	}
	after := w.since.Add(-time.Nanosecond)
	if w.lastDue != nil && w.lastDue.After(after) {
		after = w.lastDue.Time
	}
	if next := p.next(w.job, after); !next.IsZero() {
		return clock.Ptr(next)
	}
	return nil
}

// change returns how the job's definition last changed, as a word for "The job was …".
func (w mirroredJob) change() string {
	switch {
	case !w.present:
		return "removed"
	case !w.job.Enabled:
		return "disabled"
	}
	return "changed"
}

// sameTimes reports whether two definitions of a job schedule the same run times.
func sameTimes(a, b gateway.Job) bool {
	return a.Enabled == b.Enabled && a.Schedule == b.Schedule && a.Conditional == b.Conditional
}

func same(a, b *clock.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b.Time)
}
