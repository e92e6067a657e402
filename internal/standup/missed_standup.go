package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// longestAbsence is how far back missed standups are told of, when nobody looked
// for long. What is older is no news.
const maxMissedAge = 31 * 24 * time.Hour

// FallbackKind is the kind of the jobs that begin a standup that was missed;
// their key is its day and team.
const FallbackKind = "standup fallback"

// missed is a time of the schedule at which no standup began.
type missedSlot struct {
	day string // of the standup
	due time.Time
}

// WatchSchedule looks at the schedules in the runtime and then at what should
// have begun by them: a job that was disabled while this service was away has
// missed nothing.
func (s *Service) WatchSchedule(ctx context.Context) error {
	return errors.Join(s.RefreshSchedules(ctx), s.CheckMissed(ctx))
}

// NoticeAbsence looks which standups of which teams should have begun by now,
// tells a human of each that did not, and has it begun where that is wished for.
// It goes by the schedules as they were last seen in the runtime, so that it
// also works while the runtime is away, which is when it is needed.
//
// A team's day has one standup: of its times the first one counts. Each is
// looked at once, whoever does it and however often. A team in the archive has
// none, and misses none.
func (s *Service) CheckMissed(ctx context.Context) error {
	all, err := s.teamSchedules(ctx)
	if err != nil {
		return fmt.Errorf("notice absence: %w", err)
	}
	until := s.Now().Add(-s.StartGrace)
	var errs []error
	for _, of := range all {
		if of.team.ArchivedAt != nil || !of.Present || !of.Job.Enabled || !until.After(of.CheckedTo.Time) {
			continue
		}
		due := s.due(of, until)
		if len(due) == 0 {
			continue
		}
		if err := s.checkMissedOf(ctx, of, due, until); err != nil {
			errs = append(errs, fmt.Errorf("notice absence in the team %s: %w", of.team.Key, err))
		}
	}
	return errors.Join(errs...)
}

// noticeAbsent looks at what was due in one team up to until.
func (s *Service) checkMissedOf(ctx context.Context, of teamSchedule, due []missedSlot, until time.Time) error {
	var told []missedSlot
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		told = nil
		if err := tx.Lock(ctx, scheduleLock(of.team.Key)); err != nil {
			return err
		}
		is, err := findSchedule(ctx, tx, of.team.Key)
		if err != nil || is.Version != of.Version {
			return err // another replica was faster, or the schedule is another one: next time
		}
		t, err := s.findTeam(ctx, tx, of.team.ID)
		if err != nil || t.Version != of.team.Version {
			return err // its zone may be another one, or it is in the archive: next time
		}
		is.CheckedTo, is.CheckedDay = clock.At(until), due[len(due)-1].day
		is.Version++
		if err := putSchedule(ctx, tx, t.Key, is); err != nil {
			return err
		}
		for _, d := range due {
			began, err := s.began(ctx, tx, t, d)
			if err != nil {
				return err
			}
			if began {
				continue
			}
			if err := s.raiseMissed(ctx, tx, t, is.Job, d); err != nil {
				return err
			}
			told = append(told, d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range told {
		s.Log.WarnContext(ctx, "a standup did not begin", "team", of.team.Key, "day", d.day, "due", d.due)
	}
	return nil
}

// due are the first times of the team's days that have not been looked at, up
// to until.
func (s *Service) due(of teamSchedule, until time.Time) []missedSlot {
	at, why := times(of.Job)
	if why != "" {
		return nil
	}
	from, zone := of.CheckedTo.Time, s.zone(of.team)
	if oldest := until.Add(-maxMissedAge); from.Before(oldest) {
		from = oldest
	}
	var due []missedSlot
	last := of.CheckedDay
	for slot := range at.Between(from.Add(time.Nanosecond), until.Add(time.Nanosecond)) {
		if day := slot.In(zone).Format(time.DateOnly); day > last {
			due = append(due, missedSlot{day, slot})
			last = day
		}
	}
	return due
}

// began reports whether the team's standup of a day has been run, or somebody
// did not want it. One that is due shortly before midnight may be of the next day.
func (s *Service) began(ctx context.Context, tx *db.Tx, t Team, d missedSlot) (bool, error) {
	m, err := findByDay(ctx, tx, t.Key, d.day)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if err == nil && m.begun() {
		return true, nil
	}
	next := d.due.Add(s.StartGrace).In(s.zone(t)).Format(time.DateOnly)
	if next == d.day {
		return false, nil
	}
	m, err = findByDay(ctx, tx, t.Key, next)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && m.begun() && m.CreatedAt.Before(d.due.Add(s.StartGrace)), err
}

// begun reports whether the meeting has begun, or was called off.
func (s Standup) begun() bool {
	return s.Attempt > 0 || s.Failure != nil && s.Failure.Code == Cancelled
}

// miss tells of a standup of t that did not begin.
func (s *Service) raiseMissed(ctx context.Context, tx *db.Tx, t Team, j gateway.Job, d missedSlot) error {
	now := s.Now()
	again := s.Fallback && d.day == now.In(s.zone(t)).Format(time.DateOnly)
	title := fmt.Sprintf("The standup of %s did not begin", d.day)
	if t.Key != Executive {
		title = fmt.Sprintf("%s: the standup of %s did not begin", t.Name, d.day)
	}
	text := fmt.Sprintf("The runtime's job `%s` was to start it at %s, and %s later nobody had run it. Look whether the gateway runs, what became of the job's last run there, "+
		"and whether %s has its key in the variable %s of the gateway's environment.",
		j.Name, wallClock(d.due, j.Schedule.Zone), s.StartGrace, j.AgentID, KeyVariable)
	if again {
		text += " This service begins it now."
	} else {
		text += " You can hold today's, here or under Standups."
	}
	err := s.raise(ctx, tx, InboxItem{
		Cause: missedCause(t.Key, d.day), Kind: "standup_missed", Severity: "high",
		Title: title, Detail: text, Subject: t.scheduleSubject(), At: d.due,
	})
	if err != nil {
		return err
	}
	if again {
		if _, err := s.Jobs.Enqueue(ctx, tx, FallbackKind, fallbackKey(t.Key, d.day), nil); err != nil {
			return err
		}
	}
	return event.Record(ctx, tx, now, event.Activity, "standup.missed", t.scheduleSubject(),
		map[string]any{"date": d.day, "due_at": clock.At(d.due), "job_id": j.ID, "fallback": again})
}

// fallbackKey is the key of the job that begins a standup that was missed. For
// the team executive it is the day alone, as it was before there were others.
func fallbackKey(team, day string) string {
	if team == Executive {
		return day
	}
	return day + "/" + team
}

// readFallbackKey is the way back.
func readFallbackKey(key string) (team, day string) {
	day, team, _ = strings.Cut(key, "/")
	return cmp.Or(team, Executive), day
}

// wallClock is a moment as the clocks of a zone show it.
func wallClock(at time.Time, zone string) string {
	if loc, err := time.LoadLocation(zone); err == nil {
		at = at.In(loc)
	}
	return at.Format("2006-01-02 15:04 ") + zone
}

// missedCause names why a human was told, so that it can be taken back.
func missedCause(team, day string) string { return "standup/missed/" + team + "/" + day }

// settleMissed takes back that the standup of a day did not begin.
func (s *Service) resolveMissed(ctx context.Context, tx *db.Tx, m Standup) error {
	return s.resolve(ctx, tx, missedCause(m.Team, m.Date), "The standup of "+m.Date+" is completed.")
}

// Fallbacks is how the queue begins standups that were missed.
func (s *Service) Fallbacks() job.Kind { return job.Kind{Do: s.runMissed, Attempts: 3} }

// beginMissed opens and runs the standup of its team and day, unless somebody
// has by now, the day is over, or the team is in the archive.
func (s *Service) runMissed(ctx context.Context, h *job.Held) error {
	key, day := readFallbackKey(h.Key)
	t, err := s.findTeam(ctx, s.DB, key)
	if err != nil {
		return fmt.Errorf("begin a missed standup: %w", err)
	}
	if t.ArchivedAt != nil || day != s.Now().In(s.zone(t)).Format(time.DateOnly) {
		return nil
	}
	m, _, err := s.Open(ctx, New{Team: t.Key, Date: day})
	if errors.Is(err, ErrTeamArchived) { // a moment ago
		return nil
	}
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
