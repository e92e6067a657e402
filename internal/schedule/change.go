package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/cron"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/plaintext"
)

// Draft is a job to be made, in the runtime's own words.
type Draft struct {
	Name          string     `json:"name" minLength:"1" maxLength:"200"`
	Description   string     `json:"description,omitempty" maxLength:"2000"`
	AgentID       string     `json:"agentId" minLength:"1" maxLength:"64" doc:"The agent that runs it, as the runtime knows it." example:"cto"`
	Enabled       *bool      `json:"enabled,omitempty" doc:"A disabled job does not trigger. Default: true."`
	Schedule      Times      `json:"schedule"`
	SessionTarget string     `json:"sessionTarget,omitempty" enum:"isolated" doc:"Each run has a session of its own."`
	Payload       Payload    `json:"payload"`
	Delivery      *Delivered `json:"delivery,omitempty" doc:"Default: none, nothing is sent to anybody."`
	Revision      string     `json:"configRevision,omitempty" maxLength:"128" doc:"Ignored."`
	AsRead
}

// Times say when a job runs.
type Times struct {
	Kind string `json:"kind,omitempty" enum:"cron" doc:"Jobs of other kinds are listed and watched, and not made here."`
	Expr string `json:"expr" minLength:"1" maxLength:"500" doc:"Five fields: minute, hour, day of the month, month, weekday." example:"30 9 * * 1-5"`
	Zone string `json:"tz,omitempty" maxLength:"64" doc:"The IANA time zone of expr. Default: the service's TIMEZONE." example:"Europe/Berlin"`

	StaggerMS int64 `json:"staggerMs,omitempty" doc:"0, or left out: jobs that are made here are not spread."`
}

// Payload is what a job tells its agent.
type Payload struct {
	Kind    string `json:"kind,omitempty" enum:"agentTurn"`
	Message string `json:"message" minLength:"1" maxLength:"20000" doc:"What the agent is told. Everybody who may read sees it: no credentials."`
}

// Delivered says where an answer goes.
type Delivered struct {
	Mode string `json:"mode" enum:"none,announce," doc:"none, or announce to say it in the agent's last chat channel; empty is none."`
}

// times are the times of a definition, checked.
func (t Times) check(bad *fault.Fields, zone string) gateway.JobSchedule {
	out := gateway.JobSchedule{Kind: "cron", Expr: strings.Join(strings.Fields(t.Expr), " "), Zone: or(t.Zone, zone)}
	if _, err := clock.Zone(out.Zone); err != nil {
		bad.Add("/schedule/tz", "Give an IANA name, such as Europe/Berlin.")
	} else if _, err := cron.Parse(out.Expr, out.Zone); err != nil {
		bad.Add("/schedule/expr", "%s.", capital(err.Error()))
	}
	return out
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// What the API says of the texts of a job, in characters.
const (
	longestName        = 200
	longestDescription = 2000
	longestMessage     = 20_000
)

// atMost refuses a text that is too long.
func atMost(bad *fault.Fields, pointer, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		bad.Add(pointer, "It has %d characters; at most %d are allowed.", n, most)
	}
}

// named is what a job may be called.
func named(bad *fault.Fields, name string) string {
	name = strings.TrimSpace(name)
	if wrong := label.Wrong(name, longestName); wrong != "" {
		bad.Add("/name", "%s", wrong)
	}
	return name
}

// words checks a text that must say something.
func words(bad *fault.Fields, pointer, text string) string {
	text = strings.TrimSpace(plaintext.Lines(text))
	if text == "" {
		bad.Add(pointer, "It must not be blank.")
	}
	return text
}

// agent checks that the runtime knows an agent, after everything else: it is the
// one check that asks it.
func (s *Service) agent(ctx context.Context, bad *fault.Fields, id *string) error {
	if id == nil || len(*bad) > 0 {
		return nil
	}
	agents, err := s.Runtime.Agents(ctx)
	if err != nil {
		return fmt.Errorf("look for the agent of a job: %w", err)
	}
	if !slices.ContainsFunc(agents, func(a gateway.Agent) bool { return a.ID == *id }) {
		bad.Add("/agentId", "The runtime knows no such agent. GET /agents lists those it knows.")
	}
	return nil
}

// Make has the runtime make a job. What cannot be is refused before anything is
// sent. A request that is repeated with its Idempotency-Key makes it once.
func (s *Service) Make(ctx context.Context, d Draft) (Job, error) {
	var bad fault.Fields
	d.copied(&bad)
	n := gateway.NewJob{
		Name: named(&bad, d.Name), Description: strings.TrimSpace(plaintext.Lines(d.Description)), AgentID: d.AgentID, Enabled: d.Enabled == nil || *d.Enabled,
		Schedule: d.Schedule.check(&bad, s.Zone.String()), SessionTarget: "isolated", Message: words(&bad, "/payload/message", d.Payload.Message),
	}
	if d.Delivery != nil {
		n.Delivery = d.Delivery.Mode
	}
	if err := s.agent(ctx, &bad, &d.AgentID); err != nil {
		return Job{}, err
	}
	if err := bad.Err(); err != nil {
		return Job{}, err
	}
	w, err := s.make(ctx, n)
	if err != nil {
		return Job{}, fmt.Errorf("make job: %w", err)
	}
	return s.show(w, Known{AsOf: w.changedAt}), nil
}

// errNotYet says that no earlier request has made it.
var errNotYet = errors.New("nobody has made it")

// make asks the runtime between two transactions, because none may be open while
// we wait for it. Should we end in between, the same request finds the job by
// its key in the runtime.
func (s *Service) make(ctx context.Context, n gateway.NewJob) (watched, error) {
	find := func(ctx context.Context, q db.Queryer, id string) (watched, error) {
		w, err := findJob(ctx, q, id)
		if err == nil && (w == nil || !w.present) {
			return watched{}, gateway.ErrNoJob
		}
		if err != nil {
			return watched{}, err
		}
		return *w, nil
	}
	var w watched
	ask := func(makeIt func(*db.Tx) (watched, error)) error {
		return s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
			w, err = once.Do(ctx, tx, s.Now(), find, func(w watched) string { return w.job.ID }, func() (watched, error) { return makeIt(tx) })
			return err
		})
	}
	err := ask(func(*db.Tx) (watched, error) { return watched{}, errNotYet })
	if !errors.Is(err, errNotYet) {
		return w, err
	}
	n.Key = "wardroom/job/" + once.Name(ctx, db.NewID())
	j, err := s.Runtime.AddJob(ctx, n)
	ctx = context.WithoutCancel(ctx) // whoever asked may have left
	if err != nil {
		return w, s.unsure(ctx, err, deed{"job.made", "", n.Name, map[string]any{"agent_id": n.AgentID, "schedule": n.Schedule, "enabled": n.Enabled}},
			"Repeated with the same Idempotency-Key it makes the job once; without one, look at GET /agentrt/jobs first.")
	}
	err = ask(func(tx *db.Tx) (watched, error) {
		return s.wrote(ctx, tx, j, "job.made", map[string]any{"agent_id": j.AgentID, "schedule": j.Schedule, "enabled": j.Enabled})
	})
	if errors.Is(err, once.ErrConflict) { // the key was used for another request meanwhile
		err = errors.Join(err, s.Runtime.RemoveJob(ctx, j.ID))
	}
	return w, err
}

// wrote keeps a job as the runtime answered it after we had changed it, and tells
// of that.
func (s *Service) wrote(ctx context.Context, tx *db.Tx, j gateway.Job, kind string, data map[string]any) (watched, error) {
	if err := tx.Lock(ctx, lock); err != nil {
		return watched{}, err
	}
	was, err := findJob(ctx, tx, j.ID)
	if err != nil {
		return watched{}, err
	}
	known, err := findReading(ctx, tx)
	if err != nil {
		return watched{}, err
	}
	text, err := textOf(j)
	if err != nil {
		return watched{}, err
	}
	v := sighting{job: j, text: text, present: true, at: s.Now(), knownTo: known.to}
	if err := s.note(ctx, tx, v, was); err != nil {
		return watched{}, err
	}
	is, err := findJob(ctx, tx, j.ID)
	if err != nil {
		return watched{}, err
	}
	return *is, s.tell(ctx, tx, deed{kind, j.ID, j.Name, data})
}

// changed is the failure of a change to a job that is not what its caller saw.
func changed(expected string, is gateway.Job) error {
	return gateway.ErrJobChanged.With("Read it again and repeat the change.").
		Fact("expected_revision", plaintext.Line(expected)).Fact("current_revision", is.Revision).Fact("current", is)
}

// Change has the runtime change a job. It is refused with gateway.ErrJobChanged,
// and both versions, when the job is not the one that the caller has read, or
// somebody else changes it meanwhile; what changes nothing is not sent.
func (s *Service) Change(ctx context.Context, id string, c Change) (Job, error) {
	now, err := s.Runtime.Job(ctx, id)
	if err != nil {
		return Job{}, fmt.Errorf("change job: %w", err)
	}
	if c.Revision != "" && c.Revision != now.Revision {
		return Job{}, changed(c.Revision, now)
	}
	ask, names, err := s.ask(ctx, c, now)
	if err != nil {
		return Job{}, err
	}
	j := now
	if len(names) > 0 {
		j, err = s.Runtime.ChangeJob(ctx, id, ask, now.Revision)
		if errors.Is(err, gateway.ErrJobChanged) {
			if is, again := s.Runtime.Job(ctx, id); again == nil {
				err = changed(now.Revision, is)
			}
		}
		if err = s.unsure(ctx, err, deed{"job.changed", id, now.Name, map[string]any{"changes": names}}, lookFirst); err != nil {
			return Job{}, fmt.Errorf("change job: %w", err)
		}
		ctx = context.WithoutCancel(ctx) // whoever asked may have left
	}
	var w watched
	err = s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		if len(names) == 0 {
			w, err = s.quietly(ctx, tx, j)
			return err
		}
		w, err = s.wrote(ctx, tx, j, "job.changed", map[string]any{"changes": names})
		return err
	})
	if err != nil {
		return Job{}, fmt.Errorf("change job: %w", err)
	}
	return s.show(w, Known{AsOf: clock.At(s.Now())}), nil
}

// quietly finds a job that was not changed.
func (s *Service) quietly(ctx context.Context, tx *db.Tx, j gateway.Job) (watched, error) {
	w, err := findJob(ctx, tx, j.ID)
	if err != nil || w != nil && w.present {
		return orNone(w), err
	}
	return watched{job: j, present: true, since: clock.At(s.Now())}, nil
}

func orNone(w *watched) watched {
	if w == nil {
		return watched{}
	}
	return *w
}

// Remove has the runtime remove a job. With a revision it is refused when the
// job is another one by now. A run that is going goes on.
func (s *Service) Remove(ctx context.Context, id, revision string) error {
	j, err := s.Runtime.Job(ctx, id)
	if err != nil {
		return fmt.Errorf("remove job: %w", err)
	}
	if revision != "" && revision != j.Revision {
		return changed(revision, j)
	}
	removed := deed{"job.removed", id, j.Name, map[string]any{"agent_id": j.AgentID, "schedule": j.Schedule}}
	if err := s.Runtime.RemoveJob(ctx, id); err != nil {
		return fmt.Errorf("remove job: %w", s.unsure(ctx, err, removed, lookFirst))
	}
	ctx = context.WithoutCancel(ctx) // whoever asked may have left
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lock); err != nil {
			return err
		}
		was, err := findJob(ctx, tx, id)
		if err != nil {
			return err
		}
		if was != nil && was.present {
			known, err := findReading(ctx, tx)
			if err != nil {
				return err
			}
			if err := s.note(ctx, tx, sighting{at: s.Now(), knownTo: known.to}, was); err != nil {
				return err
			}
		}
		if err := s.settle(ctx, tx, id, "The job was removed by "+actor.From(ctx).Name+"."); err != nil {
			return err
		}
		return s.tell(ctx, tx, removed)
	})
	if err != nil {
		return fmt.Errorf("remove job: %w", err)
	}
	return nil
}

// Started is a run that somebody had begun.
type Started struct {
	JobID string     `json:"job_id"`
	RunID string     `json:"run_id" doc:"By it the run is found in the job's runs, once it has ended."`
	At    clock.Time `json:"at"`
}

// Start has the runtime run a job now, also a disabled one, and does not wait
// for its end. Each time is another run.
func (s *Service) Start(ctx context.Context, id string) (Started, error) {
	if _, err := s.Runtime.Connection(); err != nil {
		return Started{}, fmt.Errorf("run job: %w", err)
	}
	w, err := findJob(ctx, s.DB, id)
	if err != nil {
		return Started{}, fmt.Errorf("run job: %w", err)
	}
	started := deed{"job.started", id, orNone(w).job.Name, map[string]any{}}
	run, why, err := s.Runtime.RunJob(ctx, id)
	if err != nil {
		return Started{}, fmt.Errorf("run job: %w", s.unsure(ctx, err, started, "The agent may be at work: look at its sessions, or at the job's runs, before you repeat it."))
	}
	if run == "" {
		return Started{}, ErrGoing.With("It says: %s. Look at the job's runs, and try again when it has ended.", or(why, "nothing"))
	}
	ctx = context.WithoutCancel(ctx) // whoever asked may have left
	started.data["run_id"] = run
	if err := s.DB.Tx(ctx, func(tx *db.Tx) error { return s.tell(ctx, tx, started) }); err != nil {
		return Started{}, fmt.Errorf("run job: %w", err)
	}
	return Started{JobID: id, RunID: run, At: clock.At(s.Now())}, nil
}
