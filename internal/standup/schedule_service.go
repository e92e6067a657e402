package standup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/schedule"
)

// scheduleReadTimeout is how long a request waits for the runtime before it returns the job as last seen.
const scheduleReadTimeout = 5 * time.Second

// SetSchedule creates or changes the runtime's job that starts a team's standups, according to the
// plan p. If the job already matches the plan, SetSchedule sends nothing to the runtime. It fails
// with ErrTeam if the team is unknown. An archived team's job can only be disabled; any other plan
// fails with ErrTeamArchived. If the job was changed concurrently, SetSchedule fails with
// gateway.ErrJobChanged. Without the scope operator.admin, it fails with gateway.ErrMissingScope.
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
	found, others := t.pick(s.described(jobs), was.JobID)
	var now *gateway.Job
	if found != nil {
		now = &found.Job
	}
	a, err := s.desiredJob(t, p, was, now)
	if err != nil {
		return Schedule{}, err
	}
	if t.ArchivedAt != nil && (a.enabled || now == nil) {
		return Schedule{}, ErrTeamArchived.With(
			`Restore the team first, or disable its job with {"team": %q, "enabled": false}.`, t.Key,
		)
	}
	j, changed, err := s.send(ctx, t, p, a, now)
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", s.unconfirmed(ctx, err, setting{t, a, now, changed}))
	}
	later := context.WithoutCancel(ctx) // store the result even if the client has disconnected
	err = s.DB.Tx(later, func(tx *db.Tx) error {
		is, err := findRecord(later, tx, t.Key)
		if err != nil {
			return err
		}
		if is.JobID != j.ID {
			is.CheckedTo = clock.At(s.Now())
		}
		is.JobID, is.ServiceURL = j.ID, a.url
		if err := putRecord(later, tx, t.Key, is); err != nil || len(changed) == 0 {
			return err
		}
		if err := s.Schedules.StoreJob(later, tx, j); err != nil {
			return err
		}
		return s.recordSetting(later, tx, setting{t, a, now, changed}, map[string]any{"job_id": j.ID})
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("set schedule: %w", err)
	}
	out := s.view(t, s.Schedules.Describe(j), true, a.url)
	out.Others = others
	return s.withWarnings(ctx, t, out)
}

// described returns jobs that were just read from the runtime.
func (s *Service) described(jobs []gateway.Job) []schedule.Job {
	all := make([]schedule.Job, len(jobs))
	for i, j := range jobs {
		all[i] = s.Schedules.Describe(j)
	}
	return all
}

// setting is a requested change to a team's job in the runtime.
type setting struct {
	team       Team
	desiredJob desiredJob
	found      *gateway.Job // nil if there is no job yet
	changed    []string
}

// recordSetting records a setting in the activity feed and the audit log. It adds the given facts
// to both events. The audit event is needed because a schedule makes an agent work, and thus costs
// money, without any further request.
func (s *Service) recordSetting(ctx context.Context, tx *db.Tx, is setting, facts map[string]any) error {
	kind := "schedule.changed"
	if is.found == nil {
		kind = "schedule.made"
	}
	a := is.desiredJob
	maps.Copy(facts, map[string]any{
		"expr": a.expr, "timezone": a.zone, "enabled": a.enabled, "service_url": a.url, "changed": is.changed,
	})
	now := s.Now()
	if err := event.Record(ctx, tx, now, event.Activity, kind, is.team.scheduleSubject(), facts); err != nil {
		return err
	}
	return event.Record(ctx, tx, now, event.Audit, kind, is.team.scheduleSubject(), facts)
}

// unconfirmed handles an error that occurred when a setting was sent to the runtime. If
// the runtime may have applied the setting anyway, unconfirmed records it as unconfirmed
// and explains this in the returned error.
func (s *Service) unconfirmed(ctx context.Context, err error, is setting) error {
	if !errors.Is(err, link.ErrUnsure) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	noted := s.DB.Tx(ctx, func(tx *db.Tx) error {
		return s.recordSetting(ctx, tx, is, map[string]any{"confirmed": false})
	})
	if f := fault.Of(err); f != nil {
		err = f.With("%s",
			strings.TrimSpace(f.Detail+" The change may have been applied anyway; it is safe to repeat the request."))
	}
	return errors.Join(err, noted)
}

// loadSchedule returns a team and the record of the team's job.
func (s *Service) loadSchedule(ctx context.Context, ref string) (t Team, was jobRecord, err error) {
	err = s.DB.View(ctx, func(q db.Queryer) error {
		if t, err = s.namedTeam(ctx, q, ref); err != nil {
			return err
		}
		was, err = findRecord(ctx, q, t.Key)
		return err
	})
	return t, was, err
}

// send creates the team's job in the runtime, or changes it if found is not nil. It returns the job
// and the names of the changed fields.
func (s *Service) send(
	ctx context.Context, t Team, p Plan, a desiredJob, found *gateway.Job,
) (gateway.Job, []string, error) {
	if found == nil {
		if or(p.Revision, "") != "" {
			return gateway.Job{}, nil, gateway.ErrJobChanged.With(
				"The job was removed. Omit the revision to create the job again.",
			)
		}
		j, err := s.Timetable.AddJob(ctx, gateway.NewJob{
			Key: t.jobDeclaration(), Name: t.jobName(), Description: "Starts the daily standup of the team " + t.Key + ".",
			AgentID: a.facilitator, Enabled: a.enabled, SessionTarget: "isolated", Message: a.message,
			Schedule: gateway.JobSchedule{Kind: "cron", Expr: a.expr, Zone: a.zone},
		})
		return j, []string{"job"}, err
	}
	if r := or(p.Revision, found.Revision); r != found.Revision {
		return gateway.Job{}, nil, gateway.ErrJobChanged.With("Read the schedule again and retry the change.").Fact(
			"current_revision", found.Revision,
		)
	}
	change, names := a.change(*found)
	if len(names) == 0 {
		return *found, nil, nil
	}
	j, err := s.Timetable.ChangeJob(ctx, found.ID, change, found.Revision)
	return j, names, err
}

// Schedule returns the job that starts a team's standups. It reads the job from the
// runtime. If the runtime is unavailable, it returns the job as last seen. An empty team
// selects the executive team. For an unknown team, Schedule fails with ErrTeam.
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
		found, others := t.pick(s.described(jobs), was.JobID)
		if found == nil {
			return Schedule{}, ErrNoSchedule.With(`Create it with POST /standups/schedule and {"team": %q}.`, t.Key)
		}
		out := s.view(t, *found, true, was.urlOf(found.ID))
		out.Others = others
		return s.withWarnings(ctx, t, out)
	case fault.Of(err) == nil && ctx.Err() != nil:
		return Schedule{}, fmt.Errorf("read schedule: %w", err)
	}
	stored, seen, failed := s.Schedules.Stored(ctx, s.DB, t.jobName())
	if failed != nil || seen.IsZero() {
		return Schedule{}, fmt.Errorf("read schedule: %w", cmp.Or(failed, err))
	}
	found, _ := t.pick(stored, was.JobID)
	if found == nil {
		return Schedule{}, ErrNoSchedule.With(
			"The runtime is unavailable. When Wardroom last read the runtime's jobs, at %s, there was no such job.",
			seen.Format(time.RFC3339),
		)
	}
	return s.withWarnings(ctx, t, s.view(t, *found, false, was.urlOf(found.ID)))
}

// urlOf returns the URL of Wardroom that SetSchedule has put into a job's message, or "" for another job.
func (r jobRecord) urlOf(jobID string) string {
	if r.JobID != jobID {
		return ""
	}
	return r.ServiceURL
}

// withWarnings adds warnings to out if the team's job has problems, such as an agent without an
// active account or an unencrypted URL.
func (s *Service) withWarnings(ctx context.Context, t Team, out Schedule) (Schedule, error) {
	members, err := s.Accounts.AgentUsers(ctx, s.DB)
	if err != nil {
		return out, fmt.Errorf("check schedule: %w", err)
	}
	agent := out.Job.AgentID
	if !slices.ContainsFunc(members, func(m account.AgentUser) bool { return m.AgentID == agent }) {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("%s has no active account, so its requests are refused. Create an account and an API key for it.",
				agent))
	}
	if agent != t.Facilitator {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("The job runs as %s, but %s is now the facilitator. Call POST /standups/schedule again to reassign it.",
				agent, t.Facilitator))
	}
	if t.ArchivedAt != nil && out.Job.Enabled {
		out.Warnings = append(out.Warnings, "The team is archived, but its job still starts standups. Disable the job.")
	}
	if exposesKey(out.ServiceURL) {
		out.Warnings = append(out.Warnings,
			"The URL uses plain http to another machine, which exposes the API key on the network. Use https.")
	}
	return out, nil
}

func (t Team) scheduleSubject() event.Subject {
	return event.Subject{Kind: event.TopicSchedule, ID: t.Key, Name: t.jobName()}
}
