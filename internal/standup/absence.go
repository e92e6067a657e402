package standup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// longestAbsence is how far back missed standups are told of, when nobody looked
// for long. What is older is no news.
const longestAbsence = 31 * 24 * time.Hour

// FallbackKind is the kind of the jobs that begin a standup that was missed;
// their key is its day.
const FallbackKind = "standup fallback"

// missed is a time of the schedule at which no standup began.
type missed struct {
	day string // of the standup
	due time.Time
}

// WatchSchedule looks at the schedule in the runtime and then at what should
// have begun by it: a job that was disabled while this service was away has
// missed nothing.
func (s *Service) WatchSchedule(ctx context.Context) error {
	return errors.Join(s.LookAtSchedule(ctx), s.NoticeAbsence(ctx))
}

// NoticeAbsence looks which standups should have begun by now, tells a human of
// each that did not, and has it begun where that is wished for. It goes by the
// schedule as it was last seen in the runtime, so that it also works while the
// runtime is away, which is when it is needed.
//
// A day has one standup: of its times the first one counts. Each is looked at
// once, whoever does it and however often.
func (s *Service) NoticeAbsence(ctx context.Context) error {
	was, err := findSchedule(ctx, s.DB, defaultTeam)
	if err != nil {
		return fmt.Errorf("notice absence: %w", err)
	}
	until := s.Now().Add(-s.StartGrace)
	if !was.Present || !was.Job.Enabled || !until.After(was.CheckedTo.Time) {
		return nil
	}
	due := s.due(was, until)
	if len(due) == 0 {
		return nil
	}
	var told []missed
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		told = nil
		if err := tx.Lock(ctx, scheduleLock); err != nil {
			return err
		}
		is, err := findSchedule(ctx, tx, defaultTeam)
		if err != nil || is.Version != was.Version {
			return err // another replica was faster, or the schedule is another one: next time
		}
		is.CheckedTo, is.CheckedDay = clock.At(until), due[len(due)-1].day
		is.Version++
		if err := putSchedule(ctx, tx, defaultTeam, is); err != nil {
			return err
		}
		for _, d := range due {
			began, err := s.began(ctx, tx, d)
			if err != nil {
				return err
			}
			if began {
				continue
			}
			if err := s.miss(ctx, tx, is, d); err != nil {
				return err
			}
			told = append(told, d)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("notice absence: %w", err)
	}
	for _, d := range told {
		s.Log.WarnContext(ctx, "a standup did not begin", "day", d.day, "due", d.due)
	}
	return nil
}

// due are the first times of the days that have not been looked at, up to until.
func (s *Service) due(was seenJob, until time.Time) []missed {
	at, why := times(was.Job)
	if why != "" {
		return nil
	}
	from := was.CheckedTo.Time
	if oldest := until.Add(-longestAbsence); from.Before(oldest) {
		from = oldest
	}
	var due []missed
	last := was.CheckedDay
	for slot := range at.Between(from.Add(time.Nanosecond), until.Add(time.Nanosecond)) {
		if day := slot.In(s.Zone).Format(time.DateOnly); day > last {
			due = append(due, missed{day, slot})
			last = day
		}
	}
	return due
}

// began reports whether the standup of a day has been run, or somebody did not
// want it. One that is due shortly before midnight may be of the next day.
func (s *Service) began(ctx context.Context, tx *db.Tx, d missed) (bool, error) {
	m, err := findByDay(ctx, tx, defaultTeam, d.day)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if err == nil && m.begun() {
		return true, nil
	}
	next := d.due.Add(s.StartGrace).In(s.Zone).Format(time.DateOnly)
	if next == d.day {
		return false, nil
	}
	m, err = findByDay(ctx, tx, defaultTeam, next)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && m.begun() && m.CreatedAt.Before(d.due.Add(s.StartGrace)), err
}

// begun reports whether the meeting has begun, or was called off.
func (s Standup) begun() bool {
	return s.Attempt > 0 || s.Failure != nil && s.Failure.Code == Cancelled
}

// miss tells of a standup that did not begin.
func (s *Service) miss(ctx context.Context, tx *db.Tx, is seenJob, d missed) error {
	now := s.Now()
	again := s.Fallback && d.day == now.In(s.Zone).Format(time.DateOnly)
	text := fmt.Sprintf("The runtime's job `%s` was to start it at %s, and %s later nobody had run it. Look whether the gateway runs, what became of the job's last run there, "+
		"and whether %s has its key in the variable %s of the gateway's environment.",
		jobName, wallClock(d.due, is.Job.Schedule.Zone), s.StartGrace, is.Job.AgentID, KeyVariable)
	if again {
		text += " This service begins it now."
	} else {
		text += " It can be run by hand: `POST /api/v1/standups`, then `/run`."
	}
	err := s.raise(ctx, tx, Matter{
		Cause: missedCause(d.day), Kind: "standup_missed", Severity: "high",
		Title: fmt.Sprintf("The standup of %s did not begin", d.day), Detail: text, Subject: scheduleSubject(),
	})
	if err != nil {
		return err
	}
	if again {
		if _, err := s.Jobs.Enqueue(ctx, tx, FallbackKind, d.day, nil); err != nil {
			return err
		}
	}
	return event.Record(ctx, tx, now, event.Activity, "standup.missed", scheduleSubject(),
		map[string]any{"date": d.day, "due_at": clock.At(d.due), "job_id": is.Job.ID, "fallback": again})
}

// wallClock is a moment as the clocks of a zone show it.
func wallClock(at time.Time, zone string) string {
	if loc, err := time.LoadLocation(zone); err == nil {
		at = at.In(loc)
	}
	return at.Format("2006-01-02 15:04 ") + zone
}

// missedCause names why a human was told, so that it can be taken back.
func missedCause(day string) string { return "standup/missed/" + defaultTeam + "/" + day }

// settleMissed takes back that the standup of a day did not begin.
func (s *Service) settleMissed(ctx context.Context, tx *db.Tx, m Standup) error {
	if m.Team != defaultTeam {
		return nil
	}
	return s.settle(ctx, tx, missedCause(m.Date), "The standup of "+m.Date+" is completed.")
}

// Fallbacks is how the queue begins standups that were missed.
func (s *Service) Fallbacks() job.Kind { return job.Kind{Do: s.beginMissed, Attempts: 3} }

// beginMissed opens and runs the standup of its day, unless somebody has by now,
// or the day is over.
func (s *Service) beginMissed(ctx context.Context, h *job.Held) error {
	if h.Key != s.Now().In(s.Zone).Format(time.DateOnly) {
		return nil
	}
	m, _, err := s.Open(ctx, New{Date: h.Key})
	if err != nil {
		return fmt.Errorf("begin a missed standup: %w", err)
	}
	if m.begun() {
		return nil
	}
	_, err = s.Run(ctx, m.ID, false)
	if errors.Is(err, ErrRunning) || errors.Is(err, ErrCompleted) {
		return nil
	}
	return err
}
