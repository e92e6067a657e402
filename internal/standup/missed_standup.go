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
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/job"
	"wardroom/internal/schedule"
)

// FallbackKind is the kind of job that starts a missed standup. The job's key contains the standup's day and team.
const FallbackKind = "standup fallback"

// missedSlot is a slot of a team's job, whose standup may have failed to start.
type missedSlot struct {
	schedule.Slot
	day string // the day of the standup
}

// CheckMissed raises an inbox item for each standup that did not start on time, whether its job failed, did not run, or
// ran in vain. If Fallback is set, it also starts today's missed standup. It works even if the runtime is unavailable.
//
// If a team's job has several slots on one day, only the first of them is checked. Each slot is checked by only one
// replica. Archived teams are skipped.
func (s *Service) CheckMissed(ctx context.Context) error {
	if s.Runtime.Status().State == link.Connecting { // Wardroom has just started
		soon, cancel := context.WithTimeout(ctx, s.Patience)
		_, _ = s.Runtime.Await(soon)
		cancel()
	}
	s.Schedules.AwaitRead(ctx) // a job that was disabled while Wardroom was down has missed nothing
	var jobs []schedule.Job
	var teams []teamRecord
	err := s.DB.View(ctx, func(q db.Queryer) (err error) {
		if jobs, _, err = s.Schedules.Stored(ctx, q, jobNamePrefix); err != nil {
			return err
		}
		teams, err = s.teamRecords(ctx, q)
		return err
	})
	if err != nil {
		return fmt.Errorf("check missed standups: %w", err)
	}
	var errs []error
	for _, of := range teams {
		j, _ := of.team.pick(jobs, of.JobID)
		if j == nil || !j.Enabled {
			continue
		}
		check := s.checkMissedOf
		if j.ID != of.JobID {
			check = s.adopt
		}
		if err := check(ctx, of, *j); err != nil {
			errs = append(errs, fmt.Errorf("check missed standups of team %s: %w", of.team.Key, err))
		}
	}
	return errors.Join(errs...)
}

// adopt records that a job starts the team's standups. Standups that were due before now are not missed.
func (s *Service) adopt(ctx context.Context, of teamRecord, j schedule.Job) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		r, err := findRecord(ctx, tx, of.team.Key)
		if err != nil || r.JobID != of.JobID {
			return err // another replica or a request did it
		}
		if r.JobID != "" {
			r.ServiceURL = "" // it was in the message of the other job
		}
		r.JobID, r.CheckedTo = j.ID, clock.At(s.Now())
		return putRecord(ctx, tx, of.team.Key, r)
	})
}

// recheck is how far back CheckMissed looks after the clock was set back.
const recheck = time.Hour

// checkMissedOf reports a team's missed standups and marks their slots as checked.
func (s *Service) checkMissedOf(ctx context.Context, of teamRecord, j schedule.Job) error {
	if due, err := s.unchecked(ctx, s.DB, of, j); err != nil || len(due) == 0 {
		return err
	}
	var told []missedSlot
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		told = nil
		now := of
		if now.jobRecord, err = findRecord(ctx, tx, of.team.Key); err != nil {
			return err
		}
		if now.team, err = s.findTeam(ctx, tx, of.team.ID); err != nil || now.team.Version != of.team.Version {
			return err // the team changed: check next time
		}
		due, err := s.unchecked(ctx, tx, now, j) // another replica may have checked them
		if err != nil || len(due) == 0 {
			return err
		}
		last := due[len(due)-1]
		now.CheckedTo, now.CheckedDay = last.DueAt, last.day
		if err := putRecord(ctx, tx, now.team.Key, now.jobRecord); err != nil {
			return err
		}
		for _, d := range due {
			began, err := s.began(ctx, tx, now.team, d)
			if err == nil && !began {
				told = append(told, d)
				err = s.raiseMissed(ctx, tx, now.team, j, d)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range told {
		s.Log.WarnContext(ctx, "standup did not start", "team", of.team.Key, "day", d.day, "due", d.DueAt)
	}
	return nil
}

// unchecked returns the slots of the team's job whose standups should have started by now and that have not been
// checked yet, but only the first slot of each day. Slots before the job got its present schedule do not count.
func (s *Service) unchecked(ctx context.Context, q db.Queryer, of teamRecord, j schedule.Job) ([]missedSlot, error) {
	until, from, last := s.Now().Add(-s.StartGrace), of.CheckedTo.Time, of.CheckedDay
	if from.After(s.Now().Add(clock.Skew)) { // by a clock that was wrong
		from, last = until.Add(-recheck), ""
	}
	if from.Before(j.Since.Time) {
		from = j.Since.Add(-time.Millisecond)
	}
	slots, err := s.Schedules.Due(ctx, q, j.ID, from.Add(time.Millisecond), until.Add(time.Millisecond))
	var due []missedSlot
	for _, slot := range slots {
		if day := slot.DueAt.In(s.zone(of.team)).Format(time.DateOnly); day > last {
			due = append(due, missedSlot{slot, day})
			last = day
		}
	}
	return due, err
}

// StartsStandup reports whether a job starts the standups of a team. The team may be archived.
func (s *Service) StartsStandup(ctx context.Context, q db.Queryer, j gateway.Job) (bool, error) {
	key, ok := strings.CutPrefix(j.Name, jobNamePrefix)
	if !ok {
		return false, nil
	}
	t, err := s.namedTeam(ctx, q, strings.TrimPrefix(key, "-"))
	if errors.Is(err, ErrTeam) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	of, err := findRecord(ctx, q, t.Key)
	return t.started(j, of.JobID), err
}

// began reports whether the team's standup for a slot was started or canceled. If the grace period extends past
// midnight, it also accepts a standup of the next day that was created within the grace period.
func (s *Service) began(ctx context.Context, tx *db.Tx, t Team, d missedSlot) (bool, error) {
	m, err := findByDay(ctx, tx, t.Key, d.day)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if err == nil && m.begun() {
		return true, nil
	}
	next := d.DueAt.Add(s.StartGrace).In(s.zone(t)).Format(time.DateOnly)
	if next == d.day {
		return false, nil
	}
	m, err = findByDay(ctx, tx, t.Key, next)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && m.begun() && m.CreatedAt.Before(d.DueAt.Add(s.StartGrace)), err
}

// begun reports whether the standup was started or canceled.
func (s Standup) begun() bool {
	return s.Attempt > 0 || s.Failure != nil && s.Failure.Code == Cancelled
}

// raiseMissed adds a missed standup to the inbox. If fallbacks are enabled, it also
// enqueues the job that starts the standup.
func (s *Service) raiseMissed(ctx context.Context, tx *db.Tx, t Team, j schedule.Job, d missedSlot) error {
	now := s.Now()
	again := s.Fallback && d.day == now.In(s.zone(t)).Format(time.DateOnly)
	title := fmt.Sprintf("The standup of %s did not start", d.day)
	if t.Key != Executive {
		title = fmt.Sprintf("%s: the standup of %s did not start", t.Name, d.day)
	}
	text := fmt.Sprintf("%s\n\nThe runtime's job `%s` was due at %s, but the standup had not started %s later.",
		d.why(), j.Name, wallClock(d.DueAt.Time, cmp.Or(j.Schedule.Zone, "UTC")), s.StartGrace)
	if again {
		text += " Wardroom is starting it now."
	} else {
		text += " You can run today's standup here or under Standups."
	}
	err := s.raise(ctx, tx, inbox.NewItem{
		Cause: missedCause(t.Key, d.day), Kind: inbox.StandupMissed, Severity: inbox.High,
		Title: title, Detail: text, Subject: t.scheduleSubject(), At: d.DueAt.Time,
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
		map[string]any{"date": d.day, "due_at": d.DueAt, "job_id": j.ID, "fallback": again})
}

// why explains why the standup did not start. The reason of a failed run is text from the runtime.
func (d missedSlot) why() string {
	switch d.State {
	case schedule.Missed, schedule.Unknown:
		return d.Reason + " Check that the gateway is running, and that its automations are on."
	case schedule.Skipped:
		return d.Reason
	case schedule.Failed:
		return "The run of the job failed: " + d.Reason
	case schedule.Pending, schedule.Running, schedule.OnTime, schedule.Late:
	}
	return fmt.Sprintf("Check that %s has its API key in the variable %s of the gateway's environment, and see what it answered in the run of the job.",
		d.AgentID, KeyVariable)
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
