package schedule

import (
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// watched is what is kept of one of the runtime's jobs.
type watched struct {
	job       gateway.Job
	text      string // the job as JSON, which tells two apart
	present   bool
	since     clock.Time  // see Job.Since
	nextDue   *clock.Time // the first time that is not in the ledger; nil when none is expected
	lastDue   *clock.Time // the last one that is
	alarmed   bool        // something about it may wait in the inbox
	changedAt clock.Time  // when the row was written
}

const (
	// longestAbsence is how far back slots are made up for, when nobody looked for
	// long. What is older is no news.
	longestAbsence = 7 * 24 * time.Hour
	// mostAtOnce is how many slots of one job are made up for, the last ones: one
	// that runs every minute has thousands in a week.
	mostAtOnce = 200
)

// due takes the slots that have come by now into the ledger, and says when the
// next one comes.
func (w watched) due(now time.Time, grace time.Duration) (watched, []Slot) {
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
		if now.Sub(due) > longestAbsence {
			continue
		}
		if slots = append(slots, slotOf(w.job, due, grace)); len(slots) > mostAtOnce {
			slots = slices.Delete(slots, 0, 1)
		}
	}
	return w, slots
}

// sighting is how a job was seen in the runtime, or not seen any more.
type sighting struct {
	job     gateway.Job // its id alone, when there is none
	text    string
	present bool
	at      time.Time // when the runtime was asked
	knownTo time.Time // until when everything was known before that; zero when nothing was
	began   time.Time // of the last run that is known to have begun by the clock; zero for none
}

// see is the row after a sighting, with the slots that only the row before could
// tell of, and whether anything is other than before. was is nil for a job that
// is new.
//
// What was to happen in the time between a change and the moment at which we
// learn of it, nobody can say: it is expected only where the runtime was seen to
// do it.
func (s sighting) see(was *watched, grace time.Duration) (is watched, slots []Slot, changed bool) {
	is = watched{job: s.job, text: s.text, present: s.present, changedAt: clock.At(s.at)}
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
	if is.present && was.text == is.text {
		return *was, nil, false
	}
	is.since, is.lastDue, is.alarmed = was.since, was.lastDue, was.alarmed
	if !is.present {
		is.job, is.text = was.job, was.text
	}
	if before, found := was.due(s.at, grace); !is.present || !sameTimes(was.job, is.job) {
		is.since, is.lastDue = clock.At(s.at), before.lastDue
		slots = s.witnessed(found)
	} else if p, why := planOf(is.job); why == "" && p.times.IsZero() && was.nextDue != nil && !same(was.nextDue, is.job.State.NextRunAt) {
		// Only the runtime knew that time, and it knows another one now.
		if kept := s.witnessed([]Slot{slotOf(was.job, was.nextDue.Time, grace)}); len(kept) > 0 {
			slots, is.lastDue = kept, was.nextDue
		}
	}
	is.nextDue = is.upcoming()
	return is, slots, true
}

// witnessed are the slots that were due while the runtime was known to be as it
// was, or at which something began.
func (s sighting) witnessed(slots []Slot) []Slot {
	return slices.DeleteFunc(slots, func(slot Slot) bool {
		return slot.DueAt.After(s.knownTo) && s.began.Before(slot.DueAt.Add(-early)) || slot.DueAt.After(s.at) && s.began.Before(slot.DueAt.Add(-early))
	})
}

// upcoming is the first time that is not in the ledger.
func (w watched) upcoming() *clock.Time {
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

// sameTimes reports whether two definitions of a job run at the same times.
func sameTimes(a, b gateway.Job) bool {
	return a.Enabled == b.Enabled && a.Schedule == b.Schedule && a.Conditional == b.Conditional
}

func same(a, b *clock.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b.Time)
}
