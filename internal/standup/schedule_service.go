package standup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// quickLook is how long a schedule is read for an answer, before what was last
// seen has to do.
const scheduleReadTimeout = 5 * time.Second

// scheduleLock is held by whoever changes what is remembered of a team's schedule.
func scheduleLock(team string) string { return "schedule/" + team }

// SetSchedule makes the runtime's job that starts a team's standups, or changes
// it to what p says. It may be repeated: the job is found again, and nothing is
// sent when nothing differs. What cannot be is refused before anything is sent:
// ErrTeam for a team that there is not, ErrTeamArchived for one in the archive,
// whose job can only be disabled. When the job is changed by others meanwhile it
// fails with gateway.ErrJobChanged, and without operator.admin with
// gateway.ErrMissingScope.
func (s *Service) SetSchedule(ctx context.Context, p Plan) (Schedule, error) {
	t, was, err := s.loadSchedule(ctx, or(p.Team, ""))
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	if _, err := s.desiredJob(t, p, was, nil); err != nil {
		return Schedule{}, err
	}
	jobs, err := s.Timetable.Jobs(ctx, gateway.JobsWanted{Query: t.jobName()})
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	found, others := t.pick(jobs, was.Job.ID)
	a, err := s.desiredJob(t, p, was, found)
	if err != nil {
		return Schedule{}, err
	}
	if t.ArchivedAt != nil && (a.enabled || found == nil) {
		return Schedule{}, ErrTeamArchived.With(`It has no new standups. Take it out of the archive first, or disable its job with {"team": %q, "enabled": false}.`, t.Key)
	}
	j, changed, err := s.send(ctx, t, p, a, found)
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", s.unconfirmed(ctx, err, setting{t, a, found, changed}))
	}
	now, later := s.Now(), context.WithoutCancel(ctx) // whoever asked may have left
	err = s.DB.Tx(later, func(tx *db.Tx) error {
		if err := s.saveSeen(later, tx, t.Key, &j, a.url, now); err != nil || len(changed) == 0 {
			return err
		}
		return s.recordSetting(later, tx, setting{t, a, found, changed}, map[string]any{"job_id": j.ID})
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	out := s.view(t, j, true, clock.At(now), a.url)
	out.Others = others
	return s.withWarnings(ctx, t, out)
}

// setting is what somebody asks the runtime to make of a schedule.
type setting struct {
	team       Team
	desiredJob desiredJob
	found      *gateway.Job // nil: it has none yet
	changed    []string
}

// tellSetting tells of a setting, with further facts: in the activity, and in the
// audit, because it makes an agent work, and spend, by itself.
func (s *Service) recordSetting(ctx context.Context, tx *db.Tx, is setting, facts map[string]any) error {
	kind := "schedule.changed"
	if is.found == nil {
		kind = "schedule.made"
	}
	a := is.desiredJob
	maps.Copy(facts, map[string]any{"expr": a.expr, "timezone": a.zone, "enabled": a.enabled, "service_url": a.url, "changed": is.changed})
	now := s.Now()
	if err := event.Record(ctx, tx, now, event.Activity, kind, is.team.scheduleSubject(), facts); err != nil {
		return err
	}
	return event.Record(ctx, tx, now, event.Audit, kind, is.team.scheduleSubject(), facts)
}

// unsure is the failure of a setting. Where nobody knows whether the runtime has
// it, that is said; and it is told as one that is not confirmed, also when whoever
// asked has left.
func (s *Service) unconfirmed(ctx context.Context, err error, is setting) error {
	if !errors.Is(err, gateway.ErrUnsure) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	noted := s.DB.Tx(ctx, func(tx *db.Tx) error {
		return s.recordSetting(ctx, tx, is, map[string]any{"confirmed": false})
	})
	if f := fault.Of(err); f != nil {
		err = f.With("%s", strings.TrimSpace(f.Detail+" It may have been done all the same; to repeat it does no harm."))
	}
	return errors.Join(err, noted)
}

// remembered is a team as it is now, and its schedule as it was last seen.
func (s *Service) loadSchedule(ctx context.Context, ref string) (t Team, was seenJob, err error) {
	err = s.DB.View(ctx, func(q db.Queryer) error {
		if t, err = s.namedTeam(ctx, q, ref); err != nil {
			return err
		}
		was, err = findSchedule(ctx, q, t.Key)
		return err
	})
	return t, was, err
}

// send has the runtime make or change the job, and says what was changed.
func (s *Service) send(ctx context.Context, t Team, p Plan, a desiredJob, found *gateway.Job) (gateway.Job, []string, error) {
	if found == nil {
		if or(p.Revision, "") != "" {
			return gateway.Job{}, nil, gateway.ErrJobChanged.With("It has been removed. Leave revision out to make it anew.")
		}
		j, err := s.Timetable.AddJob(ctx, gateway.NewJob{
			Key: t.jobDeclaration(), Name: t.jobName(), Description: "Starts the daily standup of the team " + t.Key + ".",
			AgentID: a.facilitator, Enabled: a.enabled, SessionTarget: "isolated", Message: a.message,
			Schedule: gateway.JobSchedule{Kind: "cron", Expr: a.expr, Zone: a.zone},
		})
		return j, []string{"job"}, err
	}
	if r := or(p.Revision, found.Revision); r != found.Revision {
		return gateway.Job{}, nil, gateway.ErrJobChanged.With("Read it again and repeat the change.").Fact("current_revision", found.Revision)
	}
	change, names := a.change(*found)
	if len(names) == 0 {
		return *found, nil, nil
	}
	j, err := s.Timetable.ChangeJob(ctx, found.ID, change, found.Revision)
	return j, names, err
}

// Schedule answers the job that starts a team's standups, from the runtime, or
// as it was last seen while the runtime is away. An empty team is the executive
// one, and one that there is not is ErrTeam.
func (s *Service) Schedule(ctx context.Context, team string) (Schedule, error) {
	t, was, err := s.loadSchedule(ctx, team)
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	}
	quick, cancel := context.WithTimeout(ctx, scheduleReadTimeout)
	defer cancel()
	jobs, err := s.Timetable.Jobs(quick, gateway.JobsWanted{Query: t.jobName()})
	switch {
	case err == nil:
		found, others := t.pick(jobs, was.Job.ID)
		if found == nil {
			return Schedule{}, ErrNoSchedule.With(`Make it with POST /standups/schedule and {"team": %q}.`, t.Key)
		}
		address := ""
		if was.Job.ID == found.ID {
			address = was.ServiceURL
		}
		out := s.view(t, *found, true, clock.At(s.Now()), address)
		out.Others = others
		return s.withWarnings(ctx, t, out)
	case fault.Of(err) == nil && ctx.Err() != nil:
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	case was.Version == 0:
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	case !was.Present:
		return Schedule{}, ErrNoSchedule.With("The runtime is away, and had none at %s.", was.SeenAt.Format(time.RFC3339))
	}
	return s.withWarnings(ctx, t, s.view(t, was.Job, false, was.SeenAt, was.ServiceURL))
}

// warned adds what would keep the job from working.
func (s *Service) withWarnings(ctx context.Context, t Team, out Schedule) (Schedule, error) {
	members, err := s.Members(ctx)
	if err != nil {
		return out, fmt.Errorf("warn of the schedule: %w", err)
	}
	agent := out.Job.AgentID
	if !slices.ContainsFunc(members, func(m Member) bool { return m.AgentID == agent }) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s has no active account here, so that its calls are refused. Make one, and a key for it.", agent))
	}
	if agent != t.Facilitator {
		out.Warnings = append(out.Warnings, fmt.Sprintf("The job has %s start the standups, and %s leads them by now. Repeat POST /standups/schedule to hand it over.", agent, t.Facilitator))
	}
	if t.ArchivedAt != nil && out.Job.Enabled {
		out.Warnings = append(out.Warnings, "The team is in the archive, and its agent is told to start a standup all the same. Disable the job.")
	}
	if exposesKey(out.ServiceURL) {
		out.Warnings = append(out.Warnings, "The address is plain http and on another machine: whoever is between can read the key. Use https.")
	}
	return out, nil
}

// LookAtSchedule remembers the job of each team as the runtime has it now, also
// when others have made or changed it there. The runtime is asked once for all
// of them; while it is away nothing is learned.
func (s *Service) RefreshSchedules(ctx context.Context) error {
	before, err := s.teamSchedules(ctx)
	if err != nil {
		return fmt.Errorf("look at the schedules: %w", err)
	}
	if s.Runtime.Status().State == gateway.Connecting { // we have just started
		soon, cancel := context.WithTimeout(ctx, s.Patience)
		_, _ = s.Runtime.Await(soon) // the next call says the same
		cancel()
	}
	jobs, err := s.Timetable.Jobs(ctx, gateway.JobsWanted{Query: jobNamePrefix})
	if ctx.Err() == nil && (fault.Of(err) != nil || errors.Is(err, context.DeadlineExceeded)) {
		s.Log.DebugContext(ctx, "the standups' jobs cannot be seen", "err", err)
		return nil //nolint:nilerr // the runtime may be away: what was last seen holds
	}
	if err != nil {
		return fmt.Errorf("look at the schedules: %w", err)
	}
	var errs []error
	for _, b := range before {
		if err := s.refreshSchedule(ctx, b, jobs); err != nil {
			errs = append(errs, fmt.Errorf("look at the schedule of %s: %w", b.team.Key, err))
		}
	}
	return errors.Join(errs...)
}

// look remembers the job of one team as it is among jobs.
func (s *Service) refreshSchedule(ctx context.Context, before teamSchedule, jobs []gateway.Job) error {
	team, was := before.team.Key, before.seenJob
	found, _ := before.team.pick(jobs, was.Job.ID)
	if found == nil && (was.Version == 0 || !was.Present) {
		return nil
	}
	if found != nil && was.Present && sameJob(*found, was.Job) && s.Now().Sub(was.SeenAt.Time) < seenFresh {
		return nil // nothing to write every minute
	}
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, scheduleLock(team)); err != nil {
			return err
		}
		is, err := findSchedule(ctx, tx, team)
		if err != nil || is.Version != was.Version {
			return err // somebody has looked, or changed it, since we asked
		}
		return s.saveSeen(ctx, tx, team, found, was.ServiceURL, s.Now())
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
func (s *Service) saveSeen(ctx context.Context, tx *db.Tx, team string, j *gateway.Job, address string, now time.Time) error {
	if err := tx.Lock(ctx, scheduleLock(team)); err != nil {
		return err
	}
	was, err := findSchedule(ctx, tx, team)
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
	return putSchedule(ctx, tx, team, is)
}

func (t Team) scheduleSubject() event.Subject {
	return event.Subject{Kind: event.TopicSchedule, ID: t.Key, Name: t.jobName()}
}
