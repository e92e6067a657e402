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
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
)

// maxMissedAge is the maximum age at which a missed standup is still reported. It matters,
// for example, after Wardroom has been down for a long time.
const maxMissedAge = 31 * 24 * time.Hour

// FallbackKind is the kind of job that starts a missed standup. The job's key contains the standup's day and team.
const FallbackKind = "standup fallback"

// missedSlot is a scheduled time at which a standup may have failed to start.
type missedSlot struct {
	day string // the day of the standup
	due time.Time
}

// WatchSchedule refreshes the schedules from the runtime and then checks for missed
// standups. The schedules must be refreshed first, because a job that was disabled while
// Wardroom was down has missed nothing.
func (s *Service) WatchSchedule(ctx context.Context) error {
	return errors.Join(s.RefreshSchedules(ctx), s.CheckMissed(ctx))
}

// CheckMissed raises an inbox item for each standup that did not start on time. If Fallback is set,
// it also starts today's missed standup. It uses the schedules as last seen in the runtime, so it
// works even if the runtime is unavailable.
//
// If a team has several scheduled times on one day, only the first of them is checked.
// Each time is checked by only one replica. Archived teams are skipped.
func (s *Service) CheckMissed(ctx context.Context) error {
	all, err := s.teamSchedules(ctx)
	if err != nil {
		return fmt.Errorf("check missed standups: %w", err)
	}
	until := s.Now().Add(-s.StartGrace)
	var errs []error
	for _, of := range all {
		if of.CheckedTo.After(s.Now().Add(clock.Skew)) { // by a clock that was wrong
			of.CheckedTo, of.CheckedDay = clock.At(until.Add(-recheck)), ""
		}
		if of.team.ArchivedAt != nil || !of.Present || !of.Job.Enabled || !until.After(of.CheckedTo.Time) {
			continue
		}
		due := s.due(of, until)
		if len(due) == 0 {
			continue
		}
		if err := s.checkMissedOf(ctx, of, due, until); err != nil {
			errs = append(errs, fmt.Errorf("check missed standups of team %s: %w", of.team.Key, err))
		}
	}
	return errors.Join(errs...)
}

// recheck is how far back CheckMissed looks after the clock was set back.
const recheck = time.Hour

// checkMissedOf reports a team's missed standups and marks the team's schedule as checked up to the
// given time.
func (s *Service) checkMissedOf(ctx context.Context, of teamSchedule, due []missedSlot, until time.Time) error {
	var told []missedSlot
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		told = nil
		is, err := findSchedule(ctx, tx, of.team.Key)
		if err != nil || is.Version != of.Version {
			return err // another replica checked it, or the schedule changed: check next time
		}
		t, err := s.findTeam(ctx, tx, of.team.ID)
		if err != nil || t.Version != of.team.Version {
			return err // the team changed: check next time
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
		s.Log.WarnContext(ctx, "standup did not start", "team", of.team.Key, "day", d.day, "due", d.due)
	}
	return nil
}

// due returns the team's scheduled times up to the given time, except those already
// checked. It returns only the first time on each day.
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

// began reports whether the team's standup for a scheduled time was started or canceled. If the
// grace period extends past midnight, it also accepts a standup of the next day that was created
// within the grace period.
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

// begun reports whether the standup was started or canceled.
func (s Standup) begun() bool {
	return s.Attempt > 0 || s.Failure != nil && s.Failure.Code == Cancelled
}

// raiseMissed adds a missed standup to the inbox. If fallbacks are enabled, it also
// enqueues the job that starts the standup.
func (s *Service) raiseMissed(ctx context.Context, tx *db.Tx, t Team, j gateway.Job, d missedSlot) error {
	now := s.Now()
	again := s.Fallback && d.day == now.In(s.zone(t)).Format(time.DateOnly)
	title := fmt.Sprintf("The standup of %s did not start", d.day)
	if t.Key != Executive {
		title = fmt.Sprintf("%s: the standup of %s did not start", t.Name, d.day)
	}
	text := fmt.Sprintf("The runtime's job `%s` was due at %s, but the standup had not started %s later. Check that the gateway is running, that the job's last run there succeeded, "+
		"and that %s has its API key in the variable %s of the gateway's environment.",
		j.Name, wallClock(d.due, j.Schedule.Zone), s.StartGrace, j.AgentID, KeyVariable)
	if again {
		text += " Wardroom is starting it now."
	} else {
		text += " You can run today's standup here or under Standups."
	}
	err := s.raise(ctx, tx, inbox.NewItem{
		Cause: missedCause(t.Key, d.day), Kind: inbox.StandupMissed, Severity: inbox.High,
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

// fallbackKey returns the key of a fallback job. For the executive team, the key consists
// of the day only, as in versions of Wardroom that had no teams.
func fallbackKey(team, day string) string {
	if team == Executive {
		return day
	}
	return day + "/" + team
}

// readFallbackKey parses a key made by fallbackKey.
func readFallbackKey(key string) (team, day string) {
	day, team, _ = strings.Cut(key, "/")
	return cmp.Or(team, Executive), day
}

// wallClock formats a time in the given time zone and appends the name of the zone.
func wallClock(at time.Time, zone string) string {
	if loc, err := time.LoadLocation(zone); err == nil {
		at = at.In(loc)
	}
	return at.Format("2006-01-02 15:04 ") + zone
}

// missedCause returns the cause of the inbox item for a missed standup.
func missedCause(team, day string) string { return "standup/missed/" + team + "/" + day }

// resolveMissed resolves the inbox item that was raised if the standup did not start on
// time. It is called when the standup completes.
func (s *Service) resolveMissed(ctx context.Context, tx *db.Tx, m Standup) error {
	return s.Inbox.ResolveCause(ctx, tx, missedCause(m.Team, m.Date), "The standup of "+m.Date+" is completed.")
}

// Fallbacks returns the job kind that starts missed standups.
func (s *Service) Fallbacks() job.Kind { return job.Kind{Do: s.runMissed, Attempts: 3} }

// runMissed opens and runs a missed standup. It does nothing if the standup has already
// been started, its day is over or its team is archived.
func (s *Service) runMissed(ctx context.Context, h *job.Held) error {
	key, day := readFallbackKey(h.Key)
	t, err := s.findTeam(ctx, s.DB, key)
	if err != nil {
		return fmt.Errorf("start missed standup: %w", err)
	}
	if t.ArchivedAt != nil || day != s.Now().In(s.zone(t)).Format(time.DateOnly) {
		return nil
	}
	m, _, err := s.Open(ctx, New{Team: t.Key, Date: day})
	if errors.Is(err, ErrTeamArchived) { // archived just now
		return nil
	}
	if err != nil {
		return fmt.Errorf("start missed standup: %w", err)
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
