package schedule

import (
	"cmp"
	"context"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// A client can send a job back as it was read. Unchanged fields are accepted even if
// Wardroom could not set them.

// Change is a partial update of a job. Omitted and unchanged fields keep their values.
type Change struct {
	Name          *string              `json:"name,omitempty" maxLength:"400" doc:"At most 200 characters."`
	Description   *string              `json:"description,omitempty" maxLength:"4000" doc:"At most 2000 characters."`
	AgentID       *string              `json:"agentId,omitempty" maxLength:"400"`
	Enabled       *bool                `json:"enabled,omitempty" doc:"Can be changed for jobs of all kinds."`
	Schedule      *TimesChange         `json:"schedule,omitempty"`
	SessionTarget *string              `json:"sessionTarget,omitempty" maxLength:"400" doc:"Read-only."`
	Payload       *PayloadChange       `json:"payload,omitempty"`
	Delivery      *Delivery            `json:"delivery,omitempty"`
	Task          patch.Field[RunTask] `json:"task,omitzero" doc:"The task that each run makes, assigned to the agent; null for none. Can be changed for jobs of all kinds."`
	Revision      string               `json:"configRevision,omitempty" maxLength:"128" doc:"The configRevision that you have read. The change fails if the job has another one."`
	AsRead
}

// TimesChange is a partial update of a job's schedule.
type TimesChange struct {
	Kind      *string `json:"kind,omitempty" maxLength:"400" doc:"Read-only, like everyMs, at and staggerMs."`
	Expr      *string `json:"expr,omitempty" maxLength:"500" doc:"A cron expression with five fields: minute, hour, day of the month, month, weekday." example:"30 9 * * 1-5"`
	Zone      *string `json:"tz,omitempty" maxLength:"400" doc:"The IANA time zone of expr. Defaults to the job's current time zone or, if it has none, to the setting TIMEZONE." example:"Europe/Berlin"`
	EveryMS   *int64  `json:"everyMs,omitempty"`
	At        *string `json:"at,omitempty" maxLength:"400"`
	StaggerMS *int64  `json:"staggerMs,omitempty"`
}

// PayloadChange is a partial update of a job's message to its agent.
type PayloadChange struct {
	Kind    *string `json:"kind,omitempty" maxLength:"400" doc:"The current kind, or agentTurn. Changing the message sets the kind to agentTurn."`
	Message *string `json:"message,omitempty" maxLength:"65536" doc:"The message to the agent, at most 20000 characters. All users with read access can see it, so do not include credentials."`
}

// Delivery defines where the agent's answer is sent.
type Delivery struct {
	Mode string `json:"mode" maxLength:"400" doc:"none, announce to send the answer to the agent's last chat channel, or the current value."`
}

// AsRead holds the read-only fields of a job. A change to a job may include them. The fields id,
// wakeMode and conditional must then have their current values, and all others are ignored.
type AsRead struct {
	ID          *string           `json:"id,omitempty" maxLength:"512" doc:"Read-only. Ignored for a new job."`
	WakeMode    *string           `json:"wakeMode,omitempty" maxLength:"400" doc:"Read-only. New jobs have the value \"now\"."`
	Conditional *bool             `json:"conditional,omitempty" doc:"Read-only. New jobs have no condition."`
	State       *gateway.JobState `json:"state,omitempty" doc:"Ignored, like the following fields."`
	CreatedAt   *clock.Time       `json:"createdAt,omitempty"`
	NextRuns    []Time            `json:"next_runs,omitempty" nullable:"false"`
	Watched     *bool             `json:"watched,omitempty"`
	Unwatched   *string           `json:"unwatched_because,omitempty" maxLength:"1000"`
	Since       *clock.Time       `json:"watched_from,omitempty"`
	Grace       *int64            `json:"grace_seconds,omitempty"`
	AsOf        *clock.Time       `json:"as_of,omitempty"`
	Live        *bool             `json:"live,omitempty"`
}

// unchangeableText is the validation error for a changed read-only field.
const unchangeableText = "Read-only. Send the current value or omit it."

// checkUnchanged adds a validation error if the request changes a read-only field.
func checkUnchanged[T comparable](bad *fault.Fields, pointer string, given *T, is T) {
	if given != nil && *given != is {
		bad.Add(pointer, unchangeableText)
	}
}

// checkCopied adds validation errors for fields that were copied from another job but
// cannot be set for a new one.
func (d Draft) checkCopied(bad *fault.Fields) {
	if d.WakeMode != nil && *d.WakeMode != "" && *d.WakeMode != "now" {
		bad.Add("/wakeMode", "New jobs can only have the value \"now\". Omit this field.")
	}
	if d.Conditional != nil && *d.Conditional {
		bad.Add("/conditional", "New jobs cannot have a condition. Omit this field.")
	}
	if d.Schedule.StaggerMS != 0 {
		bad.Add("/schedule/staggerMs", "New jobs cannot have a random delay. Omit this field.")
	}
}

// edit compares a requested change with the current job and collects the fields that differ.
type edit struct {
	now     gateway.Job
	ask     gateway.JobChange
	changes map[string][2]any // field → [before, after]
	bad     fault.Fields
}

// diff compares c with the current job. It returns the change to request from the gateway, and the
// old and new value of each changed field. For the message, it returns the lengths instead of the
// texts.
func (s *Service) diff(ctx context.Context, c Change, now gateway.Job) (gateway.JobChange, map[string][2]any, error) {
	e := edit{now: now, changes: map[string][2]any{}}
	e.texts(c)
	e.payload(c.Payload)
	e.delivery(c.Delivery)
	e.times(c.Schedule, s.Zone.String())
	if len(e.changes) > 0 && now.Schedule.Kind != "cron" {
		return e.ask, nil, ErrKind.With(
			"This job's kind is %s, not cron. You can only enable, disable, run, or delete this job.", now.Schedule.Kind,
		)
	}
	checkUnchanged(&e.bad, "/id", c.ID, now.ID)
	checkUnchanged(&e.bad, "/sessionTarget", c.SessionTarget, now.SessionTarget)
	checkUnchanged(&e.bad, "/wakeMode", c.WakeMode, now.WakeMode)
	checkUnchanged(&e.bad, "/conditional", c.Conditional, now.Conditional)
	if c.Enabled != nil && *c.Enabled != now.Enabled {
		e.ask.Enabled, e.changes["enabled"] = c.Enabled, [2]any{now.Enabled, *c.Enabled}
	}
	if err := s.checkAgent(ctx, &e.bad, e.ask.AgentID); err != nil {
		return e.ask, nil, err
	}
	return e.ask, e.changes, e.bad.Err()
}

// put adds a text field to the request if the given value differs from the current one.
func (e *edit) put(name string, to **string, is, given string) {
	if given != is {
		*to, e.changes[name] = &given, [2]any{is, given}
	}
}

func (e *edit) texts(c Change) {
	if c.Name != nil && *c.Name != e.now.Name {
		e.put("name", &e.ask.Name, e.now.Name, checkName(&e.bad, *c.Name))
	}
	if c.Description != nil && *c.Description != e.now.Description {
		text := strings.TrimSpace(plaintext.Lines(*c.Description))
		checkLength(&e.bad, "/description", text, maxDescription)
		e.put("description", &e.ask.Description, e.now.Description, text)
	}
	if c.AgentID != nil {
		e.put("agentId", &e.ask.AgentID, e.now.AgentID, *c.AgentID)
	}
}

func (e *edit) payload(p *PayloadChange) {
	if p == nil || p.Message == nil {
		if p != nil {
			checkUnchanged(&e.bad, "/payload/kind", p.Kind, e.now.Payload.Kind)
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
		e.bad.Add("/payload/kind", "If you change the message, the kind must be agentTurn or omitted.")
	}
	text := checkMessage(&e.bad, "/payload/message", *p.Message)
	checkLength(&e.bad, "/payload/message", text, maxMessage)
	if text == e.now.Payload.Message && e.now.Payload.Kind == turn {
		return
	}
	e.ask.Message = &text
	e.changes["payload"] = [2]any{len(e.now.Payload.Message), len(text)} // sizes only; the job has the text
}

func (e *edit) delivery(d *Delivery) {
	if d == nil || d.Mode == e.now.Delivery.Mode {
		return
	}
	if d.Mode != "none" && d.Mode != "announce" {
		e.bad.Add("/delivery/mode", "The delivery mode must be none or announce.")
	}
	e.put("delivery", &e.ask.Delivery, e.now.Delivery.Mode, d.Mode)
}

func (e *edit) times(t *TimesChange, zone string) {
	if t == nil {
		return
	}
	is := e.now.Schedule
	checkUnchanged(&e.bad, "/schedule/kind", t.Kind, is.Kind)
	checkUnchanged(&e.bad, "/schedule/everyMs", t.EveryMS, is.EveryMS)
	checkUnchanged(&e.bad, "/schedule/at", t.At, is.At)
	checkUnchanged(&e.bad, "/schedule/staggerMs", t.StaggerMS, is.StaggerMS)
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
	to := Times{Expr: expr, Zone: in}.check(&e.bad, cmp.Or(is.Zone, zone), time.Time{})
	if to.Expr != is.Expr || to.Zone != is.Zone {
		e.ask.Schedule, e.changes["schedule"] = &to, [2]any{is, to}
	}
}
