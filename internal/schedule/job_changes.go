package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Draft is the input for a new job, with the runtime's field names.
type Draft struct {
	Name          string               `json:"name" minLength:"1" maxLength:"200"`
	Description   string               `json:"description,omitempty" maxLength:"2000"`
	AgentID       string               `json:"agentId" minLength:"1" maxLength:"64" doc:"The ID of the agent that runs the job." example:"cto"`
	Enabled       *bool                `json:"enabled,omitempty" doc:"Disabled jobs do not run on schedule. Defaults to true."`
	Schedule      Times                `json:"schedule"`
	SessionTarget string               `json:"sessionTarget,omitempty" enum:"isolated" doc:"Each run has its own session."`
	Payload       Payload              `json:"payload"`
	Delivery      *Delivered           `json:"delivery,omitempty" doc:"Where to send the answer. Defaults to none."`
	Task          patch.Field[RunTask] `json:"task,omitzero" doc:"The task that each run makes, assigned to the agent; null or omitted for none."`
	Revision      string               `json:"configRevision,omitempty" maxLength:"128" doc:"Ignored."`
	AsRead
}

// Times defines when a job runs.
type Times struct {
	Kind string `json:"kind,omitempty" enum:"cron,at" doc:"cron (default) or, for a job that runs once, at. Other kinds are listed and watched."`
	Expr string `json:"expr,omitempty" maxLength:"500" doc:"For cron: an expression with five fields: minute, hour, day of the month, month, weekday." example:"30 9 * * 1-5"`
	Zone string `json:"tz,omitempty" maxLength:"64" doc:"The IANA time zone of expr. Defaults to the setting TIMEZONE." example:"Europe/Berlin"`
	At   string `json:"at,omitempty" maxLength:"40" doc:"For kind at: when the job runs, a future time in RFC 3339 format." example:"2026-12-01T08:00:00Z"`

	StaggerMS int64 `json:"staggerMs,omitempty" doc:"Must be 0 or omitted: new jobs have no random delay."`
}

// Payload is the message that a job sends to its agent.
type Payload struct {
	Kind    string `json:"kind,omitempty" enum:"agentTurn"`
	Message string `json:"message" minLength:"1" maxLength:"20000" doc:"The message to the agent. All users with read access can see it, so do not include credentials."`
}

// Delivered defines where the agent's answer is sent.
type Delivered struct {
	Mode string `json:"mode" enum:"none,announce," doc:"none (default), or announce to send the answer to the agent's last chat channel."`
}

// check converts t to the gateway's form of a job schedule, and adds validation errors to bad. If
// t has no time zone, it uses zone.
func (t Times) check(bad *fault.Fields, zone string, now time.Time) gateway.JobSchedule {
	if t.Kind == "at" {
		at, err := time.Parse(time.RFC3339, t.At)
		if err != nil || !at.After(now) || at.UTC().Year() > lastYear {
			bad.Add("/schedule/at", "Must be a future time before the year 2100, such as 2026-12-01T08:00:00Z.")
		}
		if t.Expr != "" || t.Zone != "" {
			bad.Add("/schedule/expr", "Jobs that run once have no expression and no time zone. Omit both.")
		}
		return gateway.JobSchedule{Kind: "at", At: at.UTC().Format(time.RFC3339)}
	}
	if t.At != "" {
		bad.Add("/schedule/at", "Only jobs of the kind at have a time. Omit this field.")
	}
	out := gateway.JobSchedule{Kind: "cron", Expr: strings.Join(strings.Fields(t.Expr), " "), Zone: cmp.Or(t.Zone, zone)}
	if _, err := clock.Zone(out.Zone); err != nil {
		bad.Add("/schedule/tz", "Must be an IANA time zone, such as Europe/Berlin.")
	} else if _, err := cron.Parse(out.Expr, out.Zone); err != nil {
		bad.Add("/schedule/expr", "%s.", plaintext.Capital(err.Error()))
	}
	return out
}

// lastYear is the last year in which a job can run once. Later times from the gateway are not plausible.
const lastYear = 2099

// Limits on the length of a job's name, description and message, in characters.
const (
	maxName        = 200
	maxDescription = 2000
	maxMessage     = 20_000
)

// checkLength adds a validation error if a text exceeds the maximum length, in characters.
func checkLength(bad *fault.Fields, pointer, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		bad.Add(pointer, "Must be at most %[2]d characters, but has %[1]d.", n, most)
	}
}

// checkName returns a job's name without surrounding spaces. If the name is invalid, it adds a
// validation error to bad.
func checkName(bad *fault.Fields, name string) string {
	name, wrong := label.Clean(name, maxName)
	if wrong != "" {
		bad.Add("/name", "%s", wrong)
	}
	return name
}

// checkMessage returns the text without hidden characters or surrounding spaces. If the text is
// blank, it adds a validation error to bad.
func checkMessage(bad *fault.Fields, pointer, text string) string {
	text = strings.TrimSpace(plaintext.Lines(text))
	if text == "" {
		bad.Add(pointer, "Must not be blank.")
	}
	return text
}

// checkAgent adds a validation error if the runtime has no agent with the given ID. If bad already
// has errors, it does nothing, to save a request to the runtime.
func (s *Service) checkAgent(ctx context.Context, bad *fault.Fields, id *string) error {
	if id == nil || len(*bad) > 0 {
		return nil
	}
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return fmt.Errorf("look up the agent of a job: %w", err)
	}
	if !slices.ContainsFunc(agents, func(a gateway.Agent) bool { return a.ID == *id }) {
		bad.Add("/agentId", "The runtime has no such agent. GET /agents lists the available agents.")
	}
	return nil
}

// Make creates a job in the runtime. It validates the input before it sends anything.
// Requests with the same Idempotency-Key create the job only once.
func (s *Service) Make(ctx context.Context, d Draft) (Job, error) {
	var bad fault.Fields
	d.checkCopied(&bad)
	n := gateway.NewJob{
		Name: checkName(&bad, d.Name), Description: strings.TrimSpace(plaintext.Lines(d.Description)), AgentID: d.AgentID,
		Enabled: d.Enabled == nil || *d.Enabled, Schedule: d.Schedule.check(&bad, s.Zone.String(), s.Now()),
		SessionTarget: "isolated", Message: checkMessage(&bad, "/payload/message", d.Payload.Message),
	}
	if d.Delivery != nil {
		n.Delivery = d.Delivery.Mode
	}
	if t := d.Task.Value; t != nil {
		d.Task = patch.Set(t.checked(&bad))
	}
	if err := s.checkAgent(ctx, &bad, &d.AgentID); err != nil {
		return Job{}, err
	}
	if err := bad.Err(); err != nil {
		return Job{}, err
	}
	w, err := s.make(ctx, n, d.Task.Value)
	if err != nil {
		return Job{}, fmt.Errorf("create job: %w", err)
	}
	return s.api(w, Known{AsOf: w.changedAt}), nil
}

// errNotYet means that no earlier request with the same Idempotency-Key has created the job.
var errNotYet = errors.New("the job was not created")

// make creates the job in the runtime and stores it. It calls the runtime between two transactions,
// so that no transaction stays open during the call. If the process ends before the second
// transaction, a retry finds the job in the runtime by its key.
func (s *Service) make(ctx context.Context, n gateway.NewJob, task *RunTask) (mirroredJob, error) {
	find := func(ctx context.Context, q db.Queryer, id string) (mirroredJob, error) {
		w, err := findJob(ctx, q, id)
		if err == nil && (w == nil || !w.present) {
			return mirroredJob{}, gateway.ErrNoJob
		}
		if err != nil {
			return mirroredJob{}, err
		}
		return *w, nil
	}
	var w mirroredJob
	ask := func(makeIt func(*db.Tx) (mirroredJob, error)) error {
		return s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
			w, err = once.Do(ctx, tx, s.Now(), find, func(w mirroredJob) string { return w.job.ID },
				func() (mirroredJob, error) { return makeIt(tx) })
			return err
		})
	}
	err := ask(func(*db.Tx) (mirroredJob, error) { return mirroredJob{}, errNotYet })
	if !errors.Is(err, errNotYet) {
		return w, err
	}
	n.Key = "wardroom/job/" + once.Name(ctx, db.NewID())
	j, err := s.Runtime.AddJob(ctx, n)
	ctx = context.WithoutCancel(ctx) // the client may have disconnected
	if err != nil {
		return w, s.unconfirmedError(ctx, err,
			jobAction{
				"job.made", "", n.Name, map[string]any{"agent_id": n.AgentID, "schedule": n.Schedule, "enabled": n.Enabled},
			},
			"Retry with the same Idempotency-Key, or check GET /agentrt/jobs first.")
	}
	err = ask(func(tx *db.Tx) (mirroredJob, error) {
		w, err := s.wrote(ctx, tx, j, "job.made", map[string]any{
			"agent_id": j.AgentID, "schedule": j.Schedule, "enabled": j.Enabled, "task": task,
		})
		if w.task = task; err == nil && task != nil {
			err = putTask(ctx, tx, j.ID, task, s.Now())
		}
		return w, err
	})
	if errors.Is(err, once.ErrConflict) { // the key was used for another request
		err = errors.Join(err, s.Runtime.RemoveJob(ctx, j.ID))
	}
	return w, err
}

// wrote stores a job that the runtime returned after a user's action, and records the action.
func (s *Service) wrote(
	ctx context.Context, tx *db.Tx, j gateway.Job, kind string, data map[string]any,
) (mirroredJob, error) {
	if err := s.StoreJob(ctx, tx, j); err != nil {
		return mirroredJob{}, err
	}
	is, err := findJob(ctx, tx, j.ID)
	if err != nil {
		return mirroredJob{}, err
	}
	return *is, s.recordAction(ctx, tx, jobAction{kind, j.ID, j.Name, data})
}

// StoreJob stores a job that the runtime has just created or changed, so that requests find it
// before the mirror reads the jobs again.
func (s *Service) StoreJob(ctx context.Context, tx *db.Tx, j gateway.Job) error {
	j.State.LastError = s.Redact.Text(j.State.LastError)
	was, err := findJob(ctx, tx, j.ID)
	if err != nil {
		return err
	}
	known, err := s.reading(ctx, tx)
	if err != nil {
		return err
	}
	text, err := textOf(j)
	if err != nil {
		return err
	}
	return s.storeJob(ctx, tx, observation{job: j, text: text, present: true, at: s.Now(), knownTo: known.to}, was)
}

// conflictError returns the error for a request that expects a revision other than the job's
// current one.
func conflictError(expected string, is gateway.Job) error {
	return gateway.ErrJobChanged.With("Read the job again and retry the change.").
		Fact("expected_revision", plaintext.Line(expected)).Fact("current_revision", is.Revision).Fact("current", is)
}

// Change updates a job in the runtime. It returns gateway.ErrJobChanged with both revisions if the
// job has changed since the caller read it, or if another change is made at the same time. If c
// matches the current job, nothing is sent to the runtime.
func (s *Service) Change(ctx context.Context, id string, c Change) (Job, error) {
	now, err := s.Runtime.Job(ctx, id)
	if err != nil {
		return Job{}, fmt.Errorf("change job: %w", err)
	}
	if c.Revision != "" && c.Revision != now.Revision {
		return Job{}, conflictError(c.Revision, now)
	}
	if t := c.Task.Value; t != nil {
		var bad fault.Fields
		if c.Task = patch.Set(t.checked(&bad)); len(bad) > 0 {
			return Job{}, bad.Err()
		}
	}
	ask, names, err := s.diff(ctx, c, now)
	if err != nil {
		return Job{}, err
	}
	j := now
	if len(names) > 0 {
		j, err = s.Runtime.ChangeJob(ctx, id, ask, now.Revision)
		if errors.Is(err, gateway.ErrJobChanged) {
			if is, again := s.Runtime.Job(ctx, id); again == nil {
				err = conflictError(now.Revision, is)
			}
		}
		if err = s.unconfirmedError(
			ctx, err, jobAction{"job.changed", id, now.Name, map[string]any{"changes": names}}, readFirst,
		); err != nil {
			return Job{}, fmt.Errorf("change job: %w", err)
		}
		ctx = context.WithoutCancel(ctx) // the client may have disconnected
	}
	var w mirroredJob
	err = s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		w, err = s.changed(ctx, tx, j, c, names)
		return err
	})
	if err != nil {
		return Job{}, fmt.Errorf("change job: %w", err)
	}
	return s.api(w, Known{AsOf: clock.At(s.Now())}), nil
}

// changed stores a job after a change, of which the runtime has made the part that names lists.
func (s *Service) changed(
	ctx context.Context, tx *db.Tx, j gateway.Job, c Change, names map[string][2]any,
) (mirroredJob, error) {
	w, err := s.unchangedJob(ctx, tx, j)
	if err != nil {
		return w, err
	}
	if is := c.Task.Apply(w.task); !sameTask(is, w.task) {
		names["task"] = [2]any{w.task, is}
	}
	if len(names) == 0 {
		return w, nil
	}
	if w, err = s.wrote(ctx, tx, j, "job.changed", map[string]any{"changes": names}); err != nil || !c.Task.Given {
		return w, err
	}
	w.task = c.Task.Value
	return w, putTask(ctx, tx, j.ID, w.task, s.Now())
}

func sameTask(a, b *RunTask) bool { return a == b || a != nil && b != nil && *a == *b }

// unchangedJob returns the stored copy of a job that already has the requested values. If
// there is no current copy, it makes one from j.
func (s *Service) unchangedJob(ctx context.Context, tx *db.Tx, j gateway.Job) (mirroredJob, error) {
	w, err := findJob(ctx, tx, j.ID)
	if err != nil || w != nil && w.present {
		return valueOrZero(w), err
	}
	return mirroredJob{job: j, present: true, since: clock.At(s.Now())}, nil
}

func valueOrZero(w *mirroredJob) mirroredJob {
	if w == nil {
		return mirroredJob{}
	}
	return *w
}

// Remove deletes a job in the runtime. It returns gateway.ErrJobChanged if revision is
// given and is not the current one. A run in progress continues.
func (s *Service) Remove(ctx context.Context, id, revision string) error {
	j, err := s.Runtime.Job(ctx, id)
	if err != nil {
		return fmt.Errorf("remove job: %w", err)
	}
	if revision != "" && revision != j.Revision {
		return conflictError(revision, j)
	}
	removed := jobAction{"job.removed", id, j.Name, map[string]any{"agent_id": j.AgentID, "schedule": j.Schedule}}
	if err := s.Runtime.RemoveJob(ctx, id); err != nil {
		return fmt.Errorf("remove job: %w", s.unconfirmedError(ctx, err, removed, readFirst))
	}
	ctx = context.WithoutCancel(ctx) // the client may have disconnected
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		was, err := findJob(ctx, tx, id)
		if err != nil {
			return err
		}
		if was != nil && was.present {
			known, err := s.reading(ctx, tx)
			if err != nil {
				return err
			}
			if err := s.storeJob(ctx, tx, observation{at: s.Now(), knownTo: known.to}, was); err != nil {
				return err
			}
		}
		if err := s.resolveItems(ctx, tx, id, "The job was deleted by "+actor.From(ctx).Name+"."); err != nil {
			return err
		}
		return s.recordAction(ctx, tx, removed)
	})
	if err != nil {
		return fmt.Errorf("remove job: %w", err)
	}
	return nil
}

// Started is a manually started run.
type Started struct {
	JobID string     `json:"job_id"`
	RunID string     `json:"run_id" doc:"The ID of the run. The job's runs list it when it has ended."`
	At    clock.Time `json:"at"`
}

// Start runs a job now, even if it is disabled, and does not wait for the run to end.
// Each call starts a new run.
func (s *Service) Start(ctx context.Context, id string) (Started, error) {
	if _, err := s.Runtime.Connection(); err != nil {
		return Started{}, fmt.Errorf("run job: %w", err)
	}
	w, err := findJob(ctx, s.DB, id)
	if err != nil {
		return Started{}, fmt.Errorf("run job: %w", err)
	}
	if w != nil {
		if err := s.Holds.Check(ctx, s.DB, w.job.AgentID); err != nil {
			return Started{}, fmt.Errorf("run job: %w", err)
		}
	}
	started := jobAction{"job.started", id, valueOrZero(w).job.Name, map[string]any{}}
	run, why, err := s.Runtime.RunJob(ctx, id)
	if err != nil {
		return Started{}, fmt.Errorf("run job: %w",
			s.unconfirmedError(ctx, err, started, "Check the agent's sessions or the job's runs before you retry."))
	}
	if run == "" {
		return Started{}, ErrGoing.With("Reason: %s. Check the job's runs and try again when the current run has ended.",
			cmp.Or(why, "none given"))
	}
	ctx = context.WithoutCancel(ctx) // the client may have disconnected
	started.data["run_id"] = run
	if err := s.DB.Tx(ctx, func(tx *db.Tx) error { return s.recordAction(ctx, tx, started) }); err != nil {
		return Started{}, fmt.Errorf("run job: %w", err)
	}
	return Started{JobID: id, RunID: run, At: clock.At(s.Now())}, nil
}
