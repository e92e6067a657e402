package schedule

import (
	"context"
	"strings"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// A job may be sent in the shape in which it is read: what is as it was changes
// nothing, and is accepted also where this service would not make it so.

// Change is what is to be changed of a job; what is left out, or sent as it was
// read, stays as it is.
type Change struct {
	Name          *string        `json:"name,omitempty" maxLength:"400" doc:"200 characters at most."`
	Description   *string        `json:"description,omitempty" maxLength:"4000" doc:"2000 characters at most."`
	AgentID       *string        `json:"agentId,omitempty" maxLength:"400"`
	Enabled       *bool          `json:"enabled,omitempty" doc:"Also of jobs that are not of the kind cron."`
	Schedule      *TimesChange   `json:"schedule,omitempty"`
	SessionTarget *string        `json:"sessionTarget,omitempty" maxLength:"400" doc:"As read: it is not changed here."`
	Payload       *PayloadChange `json:"payload,omitempty"`
	Delivery      *Delivery      `json:"delivery,omitempty"`
	Revision      string         `json:"configRevision,omitempty" maxLength:"128" doc:"The job's configRevision as you read it: then nothing is changed when the job is another one by now."`
	AsRead
}

// TimesChange is what is to be changed of the times of a job.
type TimesChange struct {
	Kind      *string `json:"kind,omitempty" maxLength:"400" doc:"As read, like the last three: no job becomes one of another kind here."`
	Expr      *string `json:"expr,omitempty" maxLength:"500" doc:"Five fields: minute, hour, day of the month, month, weekday." example:"30 9 * * 1-5"`
	Zone      *string `json:"tz,omitempty" maxLength:"400" doc:"The IANA time zone of expr. Default: the one that it has, else the service's TIMEZONE." example:"Europe/Berlin"`
	EveryMS   *int64  `json:"everyMs,omitempty"`
	At        *string `json:"at,omitempty" maxLength:"400"`
	StaggerMS *int64  `json:"staggerMs,omitempty"`
}

// PayloadChange is what a job tells its agent from now on.
type PayloadChange struct {
	Kind    *string `json:"kind,omitempty" maxLength:"400" doc:"As read, or agentTurn, which a job becomes when its message is changed."`
	Message *string `json:"message,omitempty" maxLength:"65536" doc:"What the agent is told, in 20000 characters at most. Everybody who may read sees it: no credentials."`
}

// Delivery says where an answer goes from now on.
type Delivery struct {
	Mode string `json:"mode" maxLength:"400" doc:"As read, or none, or announce to say it in the agent's last chat channel."`
}

// AsRead are those parts of a job that nobody changes by sending them. The first
// three must be as they are; the others, which change by themselves, are ignored.
type AsRead struct {
	ID          *string           `json:"id,omitempty" maxLength:"512" doc:"As read; ignored for a job that is to be made."`
	WakeMode    *string           `json:"wakeMode,omitempty" maxLength:"400" doc:"As read; jobs that are made here have now."`
	Conditional *bool             `json:"conditional,omitempty" doc:"As read; jobs that are made here have no condition."`
	State       *gateway.JobState `json:"state,omitempty" doc:"Ignored, like all that follows."`
	CreatedAt   *clock.Time       `json:"createdAt,omitempty"`
	NextRuns    []Time            `json:"next_runs,omitempty" nullable:"false"`
	Watched     *bool             `json:"watched,omitempty"`
	Unwatched   *string           `json:"unwatched_because,omitempty" maxLength:"1000"`
	Since       *clock.Time       `json:"watched_from,omitempty"`
	Grace       *int64            `json:"grace_seconds,omitempty"`
	AsOf        *clock.Time       `json:"as_of,omitempty"`
	Live        *bool             `json:"live,omitempty"`
}

// unchangeable is what is said of a part that is sent otherwise than it was read.
const unchangeable = "It is not changed here. Send it as you read it, or leave it out."

// fixed refuses a part that differs and that nobody can change.
func fixed[T comparable](bad *fault.Fields, pointer string, given *T, is T) {
	if given != nil && *given != is {
		bad.Add(pointer, unchangeable)
	}
}

// copied refuses what a job that is made after another one would lose.
func (d Draft) copied(bad *fault.Fields) {
	if d.WakeMode != nil && *d.WakeMode != "" && *d.WakeMode != "now" {
		bad.Add("/wakeMode", "Jobs that are made here wake their agent now. Leave it out.")
	}
	if d.Conditional != nil && *d.Conditional {
		bad.Add("/conditional", "Jobs that are made here have no condition. Leave it out.")
	}
	if d.Schedule.StaggerMS != 0 {
		bad.Add("/schedule/staggerMs", "Jobs that are made here are not spread. Leave it out.")
	}
}

// edit is a change on its way to the runtime.
type edit struct {
	now     gateway.Job
	ask     gateway.JobChange
	changes map[string][2]any // field → [before, after]
	bad     fault.Fields
}

// ask is what has to be sent for a job to become what c says, and what of it
// changes: field → [before, after].
func (s *Service) ask(ctx context.Context, c Change, now gateway.Job) (gateway.JobChange, map[string][2]any, error) {
	e := edit{now: now, changes: map[string][2]any{}}
	e.texts(c)
	e.payload(c.Payload)
	e.delivery(c.Delivery)
	e.times(c.Schedule, s.Zone.String())
	if len(e.changes) > 0 && now.Schedule.Kind != "cron" {
		return e.ask, nil, ErrKind.With("This one is of the kind %s. It can be enabled, disabled, run and removed here.", now.Schedule.Kind)
	}
	fixed(&e.bad, "/id", c.ID, now.ID)
	fixed(&e.bad, "/sessionTarget", c.SessionTarget, now.SessionTarget)
	fixed(&e.bad, "/wakeMode", c.WakeMode, now.WakeMode)
	fixed(&e.bad, "/conditional", c.Conditional, now.Conditional)
	if c.Enabled != nil && *c.Enabled != now.Enabled {
		e.ask.Enabled, e.changes["enabled"] = c.Enabled, [2]any{now.Enabled, *c.Enabled}
	}
	if err := s.agent(ctx, &e.bad, e.ask.AgentID); err != nil {
		return e.ask, nil, err
	}
	return e.ask, e.changes, e.bad.Err()
}

// put notes a text that differs.
func (e *edit) put(name string, to **string, is, given string) {
	if given != is {
		*to, e.changes[name] = &given, [2]any{is, given}
	}
}

func (e *edit) texts(c Change) {
	if c.Name != nil && *c.Name != e.now.Name {
		e.put("name", &e.ask.Name, e.now.Name, named(&e.bad, *c.Name))
	}
	if c.Description != nil && *c.Description != e.now.Description {
		text := strings.TrimSpace(plaintext.Lines(*c.Description))
		atMost(&e.bad, "/description", text, longestDescription)
		e.put("description", &e.ask.Description, e.now.Description, text)
	}
	if c.AgentID != nil {
		e.put("agentId", &e.ask.AgentID, e.now.AgentID, *c.AgentID)
	}
}

func (e *edit) payload(p *PayloadChange) {
	if p == nil || p.Message == nil {
		if p != nil {
			fixed(&e.bad, "/payload/kind", p.Kind, e.now.Payload.Kind)
		}
		return
	}
	const turn = "agentTurn"
	kind := turn
	if p.Kind != nil {
		kind = *p.Kind
	}
	if *p.Message == e.now.Payload.Message && kind == e.now.Payload.Kind {
		return
	}
	if kind != turn {
		e.bad.Add("/payload/kind", "A job whose message is changed becomes agentTurn. Send that, or leave it out.")
	}
	text := words(&e.bad, "/payload/message", *p.Message)
	atMost(&e.bad, "/payload/message", text, longestMessage)
	if text == e.now.Payload.Message && e.now.Payload.Kind == turn {
		return
	}
	e.ask.Message = &text
	e.changes["payload"] = [2]any{len(e.now.Payload.Message), len(text)} // the text is in the job
}

func (e *edit) delivery(d *Delivery) {
	if d == nil || d.Mode == e.now.Delivery.Mode {
		return
	}
	if d.Mode != "none" && d.Mode != "announce" {
		e.bad.Add("/delivery/mode", "It is none or announce.")
	}
	e.put("delivery", &e.ask.Delivery, e.now.Delivery.Mode, d.Mode)
}

func (e *edit) times(t *TimesChange, zone string) {
	if t == nil {
		return
	}
	is := e.now.Schedule
	fixed(&e.bad, "/schedule/kind", t.Kind, is.Kind)
	fixed(&e.bad, "/schedule/everyMs", t.EveryMS, is.EveryMS)
	fixed(&e.bad, "/schedule/at", t.At, is.At)
	fixed(&e.bad, "/schedule/staggerMs", t.StaggerMS, is.StaggerMS)
	expr, in := is.Expr, is.Zone
	if t.Expr != nil {
		expr = *t.Expr
	}
	if t.Zone != nil {
		in = *t.Zone
	}
	if expr == is.Expr && in == is.Zone {
		return
	}
	to := Times{Expr: expr, Zone: in}.check(&e.bad, or(is.Zone, zone))
	if to.Expr != is.Expr || to.Zone != is.Zone {
		e.ask.Schedule, e.changes["schedule"] = &to, [2]any{is, to}
	}
}
