package standup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// quickLook is how long a schedule is read for an answer, before what was last
// seen has to do.
const quickLook = 5 * time.Second

// scheduleLock is held by whoever changes what is remembered of the schedule.
const scheduleLock = "schedule/" + defaultTeam

// SetSchedule makes the runtime's job that starts the standups, or changes it
// to what p says. It may be repeated: the job is found again, and nothing is
// sent when nothing differs. What cannot be is refused before anything is sent.
// When the job is changed by others meanwhile it fails with
// gateway.ErrJobChanged, and without operator.admin with gateway.ErrMissingScope.
func (s *Service) SetSchedule(ctx context.Context, p Plan) (Schedule, error) {
	was, err := findSchedule(ctx, s.DB, defaultTeam)
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	if _, err := s.aim(p, was, nil); err != nil {
		return Schedule{}, err
	}
	jobs, err := s.Timetable.Jobs(ctx, gateway.JobsWanted{Query: jobName})
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	found, others := pick(jobs, s.Facilitator, was.Job.ID)
	a, err := s.aim(p, was, found)
	if err != nil {
		return Schedule{}, err
	}
	j, changed, err := s.send(ctx, p, a, found)
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	now := s.Now()
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := s.remember(ctx, tx, &j, a.url, now); err != nil || len(changed) == 0 {
			return err
		}
		kind := "schedule.changed"
		if found == nil {
			kind = "schedule.made"
		}
		data := map[string]any{"job_id": j.ID, "expr": j.Schedule.Expr, "timezone": j.Schedule.Zone, "enabled": j.Enabled, "service_url": a.url, "changed": changed}
		if err := event.Record(ctx, tx, now, event.Activity, kind, scheduleSubject(), data); err != nil {
			return err
		}
		// Once more for the audit: it makes an agent work, and spend, by itself.
		return event.Record(ctx, tx, now, event.Audit, kind, scheduleSubject(), data)
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	out := s.shown(j, true, clock.At(now), a.url)
	out.Others = others
	return s.warned(ctx, out)
}

// send has the runtime make or change the job, and says what was changed.
func (s *Service) send(ctx context.Context, p Plan, a aim, found *gateway.Job) (gateway.Job, []string, error) {
	if found == nil {
		if or(p.Revision, "") != "" {
			return gateway.Job{}, nil, gateway.ErrJobChanged.With("It has been removed. Leave revision out to make it anew.")
		}
		j, err := s.Timetable.AddJob(ctx, gateway.NewJob{
			Key: jobDeclaration, Name: jobName, Description: "Starts the daily standup of the team " + defaultTeam + ".",
			AgentID: s.Facilitator, Enabled: a.enabled, SessionTarget: "isolated", Message: jobMessage(a.url),
			Schedule: gateway.JobSchedule{Kind: "cron", Expr: a.expr, Zone: a.zone},
		})
		return j, []string{"job"}, err
	}
	if r := or(p.Revision, found.Revision); r != found.Revision {
		return gateway.Job{}, nil, gateway.ErrJobChanged.With("Read it again and repeat the change.").Fact("current_revision", found.Revision)
	}
	change, names := a.change(*found, s.Facilitator)
	if len(names) == 0 {
		return *found, nil, nil
	}
	j, err := s.Timetable.ChangeJob(ctx, found.ID, change, found.Revision)
	return j, names, err
}

// Schedule answers the job that starts the standups, from the runtime, or as it
// was last seen while the runtime is away.
func (s *Service) Schedule(ctx context.Context) (Schedule, error) {
	was, err := findSchedule(ctx, s.DB, defaultTeam)
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	}
	quick, cancel := context.WithTimeout(ctx, quickLook)
	defer cancel()
	jobs, err := s.Timetable.Jobs(quick, gateway.JobsWanted{Query: jobName})
	switch {
	case err == nil:
		found, others := pick(jobs, s.Facilitator, was.Job.ID)
		if found == nil {
			return Schedule{}, ErrNoSchedule.With("Make it with POST /standups/schedule.")
		}
		address := ""
		if was.Job.ID == found.ID {
			address = was.ServiceURL
		}
		out := s.shown(*found, true, clock.At(s.Now()), address)
		out.Others = others
		return s.warned(ctx, out)
	case fault.Of(err) == nil && ctx.Err() != nil:
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	case was.Version == 0:
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	case !was.Present:
		return Schedule{}, ErrNoSchedule.With("The runtime is away, and had none at %s.", was.SeenAt.Format(time.RFC3339))
	}
	return s.warned(ctx, s.shown(was.Job, false, was.SeenAt, was.ServiceURL))
}

// warned adds what would keep the job from working.
func (s *Service) warned(ctx context.Context, out Schedule) (Schedule, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return out, fmt.Errorf("warn of the schedule: %w", err)
	}
	if !slices.ContainsFunc(members, func(m Member) bool { return m.AgentID == out.Job.AgentID }) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s has no active account here, so that its calls are refused. Make one, and a key for it.", out.Job.AgentID))
	}
	if overheard(out.ServiceURL) {
		out.Warnings = append(out.Warnings, "The address is plain http and on another machine: whoever is between can read the key. Use https.")
	}
	return out, nil
}

// LookAtSchedule remembers the job as the runtime has it now, also when others
// have made or changed it there. While the runtime is away nothing is learned.
func (s *Service) LookAtSchedule(ctx context.Context) error {
	was, err := findSchedule(ctx, s.DB, defaultTeam)
	if err != nil {
		return fmt.Errorf("look at the schedule: %w", err)
	}
	if s.Runtime.Status().State == gateway.Connecting { // we have just started
		soon, cancel := context.WithTimeout(ctx, s.Patience)
		_, _ = s.Runtime.Await(soon) // the next call says the same
		cancel()
	}
	jobs, err := s.Timetable.Jobs(ctx, gateway.JobsWanted{Query: jobName})
	if ctx.Err() == nil && (fault.Of(err) != nil || errors.Is(err, context.DeadlineExceeded)) {
		s.Log.DebugContext(ctx, "the standup's job cannot be seen", "err", err)
		return nil //nolint:nilerr // the runtime may be away: what was last seen holds
	}
	if err != nil {
		return fmt.Errorf("look at the schedule: %w", err)
	}
	found, _ := pick(jobs, s.Facilitator, was.Job.ID)
	if found == nil && (was.Version == 0 || !was.Present) {
		return nil
	}
	if found != nil && was.Present && sameJob(*found, was.Job) && s.Now().Sub(was.SeenAt.Time) < seenFresh {
		return nil // nothing to write every minute
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, scheduleLock); err != nil {
			return err
		}
		is, err := findSchedule(ctx, tx, defaultTeam)
		if err != nil || is.Version != was.Version {
			return err // somebody has looked, or changed it, since we asked
		}
		return s.remember(ctx, tx, found, was.ServiceURL, s.Now())
	})
}

// seenFresh is how exact seen_at is of a job that nothing happens to.
const seenFresh = 10 * time.Minute

// sameJob compares two jobs, with the ends of their runs.
func sameJob(a, b gateway.Job) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// remember keeps how the job was seen; nil is that there is none. What is due
// counts from when the job was first seen to be so.
func (s *Service) remember(ctx context.Context, tx *db.Tx, j *gateway.Job, address string, now time.Time) error {
	if err := tx.Lock(ctx, scheduleLock); err != nil {
		return err
	}
	was, err := findSchedule(ctx, tx, defaultTeam)
	if err != nil {
		return err
	}
	is := was
	is.SeenAt, is.Present, is.ServiceURL = clock.At(now), j != nil, address
	if j != nil {
		is.Job = *j
	}
	if was.Version == 0 || is.Present != was.Present || is.Job.Enabled != was.Job.Enabled || is.Job.Schedule != was.Job.Schedule {
		is.CheckedTo = clock.At(now)
	}
	is.Version++
	return putSchedule(ctx, tx, defaultTeam, is)
}

func scheduleSubject() event.Subject {
	return event.Subject{Kind: event.TopicSchedule, ID: defaultTeam, Name: jobName}
}

// findSchedule reads what is remembered of a team's schedule; its Version is 0
// when nothing is.
func findSchedule(ctx context.Context, q db.Queryer, team string) (seenJob, error) {
	var r seenJob
	var definition string
	err := q.QueryRow(ctx, `SELECT job, present, service_url, checked_to, checked_day, seen_at, version FROM standup_schedules WHERE team = ?`, team).
		Scan(&definition, &r.Present, &r.ServiceURL, &r.CheckedTo, &r.CheckedDay, &r.SeenAt, &r.Version)
	if db.IsNotFound(err) {
		return seenJob{}, nil
	}
	if err != nil {
		return seenJob{}, err
	}
	return r, json.Unmarshal([]byte(definition), &r.Job)
}

func putSchedule(ctx context.Context, tx *db.Tx, team string, r seenJob) error {
	definition, err := json.Marshal(r.Job)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO standup_schedules (team, job, present, service_url, checked_to, checked_day, seen_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team) DO UPDATE SET job = excluded.job, present = excluded.present, service_url = excluded.service_url,
			checked_to = excluded.checked_to, checked_day = excluded.checked_day, seen_at = excluded.seen_at, version = excluded.version`,
		team, string(definition), r.Present, r.ServiceURL, r.CheckedTo, r.CheckedDay, r.SeenAt, r.Version)
	return err
}
