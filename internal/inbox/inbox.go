// Package inbox keeps the ranked list of issues that need a human: escalations, failures,
// missed standups, and missed scheduled jobs.
//
// Other packages raise an item when something needs attention, and resolve the item when
// its cause has ended. Both happen in the calling package's transaction. Each cause has a
// single item, which counts how often it was raised.
package inbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/plaintext"
)

// NewItem is an item to raise. Its texts may come from agents, so they are sanitized and
// truncated, but never rejected.
type NewItem struct {
	// Cause identifies what the item is about, such as standup/<id>/failed. Raising the
	// same cause again updates its item. Cause is at most 200 bytes long and not shown to
	// users.
	Cause string
	// Once means that an item that was raised before stays as it is, unless it is about another run.
	Once     bool
	Kind     Kind
	Severity Severity
	Title    string // one line; truncated to 200 characters
	Detail   string // Markdown; truncated to 10,000 characters
	// Subject is the task, standup, agent, or other thing that the item is
	// about. It may be empty.
	Subject event.Subject
	Run     *Run // the run that the item is about; nil if none is known
	Effect  Effect
	// At is the time at which the issue occurred. It may be earlier than the time at which
	// the item is raised, for example if Wardroom was down in between. A zero or future
	// time means now. Raising a cause again with the same time means the same occurrence: it
	// is not counted, and if a person has resolved its item, the item stays resolved.
	At time.Time
}

// Kind is the kind of an item.
type Kind string

// The kinds of items.
const (
	Escalation    Kind = "escalation"     // the facilitator of a standup needs a human decision
	StandupFailed Kind = "standup_failed" // a standup could not be held
	StandupMissed Kind = "standup_missed" // a standup did not start on time
	OldBlocker    Kind = "old_blocker"    // an agent has been blocked for days
	JobMissed     Kind = "job_missed"     // a scheduled job of the runtime did not run on time
	JobFailed     Kind = "job_failed"     // a run of a scheduled job failed

	JobUndelivered Kind = "job_undelivered" // a scheduled job ran, but its answer was not delivered
	JobUnlisted    Kind = "job_unlisted"    // a scheduled job runs, but the gateway does not list it

	DispatchFailed Kind = "dispatch_failed" // a dispatch could not start, or its run failed
	RunStalled     Kind = "run_stalled"     // a run shows no activity
	Loop           Kind = "loop"            // a run repeats the same calls
	TaskBlocked    Kind = "task_blocked"    // a task has been blocked for days
	TaskReview     Kind = "task_review"     // a task is in review
	GatewayTrouble Kind = "gateway_trouble" // the gateway has been unusable for minutes
	LoginEnding    Kind = "login_ending"    // a login to a provider of models is about to end, or has failed
	GatewayDisk    Kind = "gateway_disk"    // the disk of the gateway is almost full
	AgentFile      Kind = "agent_file"      // a file of an agent is almost too long for the runtime
	ModelChanged   Kind = "model_changed"   // an agent uses another model than configured
	LimitReached   Kind = "limit_reached"   // usage has almost or fully reached a limit
	SpendUnusual   Kind = "spend_unusual"   // agents have spent much more in an hour than usual
	Approval       Kind = "approval"        // an agent waits until a person allows or denies an action
	Question       Kind = "question"        // an agent waits for a person's answer
	PairingPending Kind = "pairing_pending" // the gateway is waiting for Wardroom's pairing to be approved
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{
		Escalation, StandupFailed, StandupMissed, OldBlocker, JobMissed, JobFailed, JobUndelivered, JobUnlisted,
		DispatchFailed, RunStalled, Loop, TaskBlocked, TaskReview, GatewayTrouble, LoginEnding, GatewayDisk, AgentFile,
		ModelChanged, LimitReached, SpendUnusual, PairingPending, Approval, Question,
	}
}

// Severity is the urgency of an item.
type Severity string

// The severities of items.
const (
	Urgent Severity = "urgent"
	High   Severity = "high"
	Medium Severity = "medium"
	Low    Severity = "low"
)

// Severities lists all severities, most urgent first.
func Severities() []Severity { return []Severity{Urgent, High, Medium, Low} }

// urgency returns the rank of a severity; 0 is the most urgent.
func (s Severity) urgency() int64 { return int64(slices.Index(Severities(), s)) }

// rank returns the place of the item's kind and severity in the list; the lowest comes first. A run that repeats
// itself comes before everything else, because it costs money until someone stops it.
func (i Item) rank() int64 {
	if i.Kind == Loop {
		return loopRank
	}
	return i.Severity.urgency()
}

const loopRank = -1

// Effect is what Wardroom did about the cause of an item. It is empty if Wardroom did nothing.
type Effect string

// The effects.
const (
	Stopped Effect = "stopped" // stopped runs, and stops those that start later
	Held    Effect = "held"    // held an agent
)

// State is the state of an item.
type State string

// The states of items.
const (
	Open     State = "open"     // not acknowledged yet
	Acked    State = "acked"    // acknowledged by a user
	Snoozed  State = "snoozed"  // hidden until a time
	Resolved State = "resolved" // resolved by a user, or its cause has ended
)

// States lists all states.
func States() []State { return []State{Open, Acked, Snoozed, Resolved} }

// Item is an issue that needs a human.
type Item struct {
	ID           string        `json:"id"`
	Kind         Kind          `json:"kind"`
	Severity     Severity      `json:"severity" doc:"Highest severity since the item was last opened."`
	Title        string        `json:"title" doc:"One line. May be written by agents: treat as untrusted."`
	Detail       string        `json:"detail" doc:"Markdown, at most 10,000 characters. May be written by agents: treat as untrusted."`
	Subject      event.Subject `json:"subject" doc:"What the item is about; its members are empty if there is no subject."`
	Run          *Run          `json:"run" doc:"The run that the item is about; null if none is known."`
	Effect       *Effect       `json:"effect" enum:"stopped,held" doc:"What Wardroom did about the cause: stopped runs, or held an agent; null if nothing."`
	Count        int64         `json:"count" doc:"How often the item was raised, including before it was last reopened."`
	FirstAt      clock.Time    `json:"first_at" doc:"When the cause first occurred."`
	LastAt       clock.Time    `json:"last_at" doc:"When the cause last occurred."`
	State        State         `json:"state" doc:"An item whose snooze has ended is open."`
	SnoozedUntil *clock.Time   `json:"snoozed_until" doc:"When the snooze ends; null unless state is snoozed."`
	Assignee     *Assignee     `json:"assignee" doc:"The assigned user; null if unassigned."`
	Resolution   *Resolution   `json:"resolution" doc:"How the item was resolved; null unless state is resolved."`
	Version      int64         `json:"version" doc:"Incremented by every change except mere repeats; part of the ETag."`

	cause string
}

// Run is a run in the runtime.
type Run struct {
	SessionKey string `json:"session_key" example:"agent:cto:cron:3f0c"`
	RunID      string `json:"run_id" doc:"Empty if unknown."`
}

// Assignee is the user assigned to an item.
type Assignee struct {
	ID   string `json:"id"`
	Name string `json:"name" doc:"The user's current name."`
}

// Resolution describes how an item was resolved.
type Resolution struct {
	At   clock.Time   `json:"at"`
	By   event.Author `json:"by" doc:"system if Wardroom resolved the item because its cause ended."`
	Note string       `json:"note" doc:"May be empty."`
}

// Limits on the length of an item's texts, in characters, and on the length of a snooze.
const (
	maxCause   = 200 // bytes
	maxTitle   = 200
	maxDetail  = 10_000
	maxSubject = 200
	maxSession = 512
	maxNote    = 1000
	maxSnooze  = 90 * 24 * time.Hour
)

// Errors returned by the inbox.
var (
	ErrNotFound = fault.New(fault.NotFound, "inbox_item_not_found", "Inbox item not found.")
	ErrStale    = fault.New(fault.Stale, "inbox_item_changed", "The item has changed since you read it.")
	ErrResolved = fault.New(fault.Conflict, "inbox_item_resolved", "The item is already resolved.")
	ErrAssignee = fault.New(fault.Invalid, "inbox_assignee_unknown", "The assignee is unknown or cannot be assigned.")
)

// check returns an error if m's cause, kind, or severity is invalid. Only a programming error can cause this.
func (m NewItem) check() error {
	switch {
	case m.Cause == "" || len(m.Cause) > maxCause || plaintext.Lines(m.Cause) != m.Cause:
		return fmt.Errorf("the cause %.300q is invalid: it must be plain text of 1 to %d bytes", m.Cause, maxCause)
	case !slices.Contains(Kinds(), m.Kind):
		return fmt.Errorf("unknown kind %q", m.Kind)
	case !slices.Contains(Severities(), m.Severity):
		return fmt.Errorf("unknown severity %q", m.Severity)
	}
	return nil
}

// happened returns m.At, or the current time if m.At is zero or in the future.
func (m NewItem) happened(now time.Time) clock.Time {
	if m.At.IsZero() || m.At.After(now) {
		return clock.At(now)
	}
	return clock.At(m.At)
}

// open returns a new item for m. There must be no item with the same cause yet.
func (m NewItem) open(id string, now time.Time) Item {
	at := m.happened(now)
	i := Item{
		ID: id, Severity: m.Severity, Count: 1, FirstAt: at, LastAt: at, State: Open, Version: 1, cause: m.Cause,
	}
	return i.withTexts(m)
}

// withTexts returns a copy of the item with the kind, texts, subject, and run from m.
func (i Item) withTexts(m NewItem) Item {
	i.Kind, i.Detail = m.Kind, markdown(m.Detail, maxDetail)
	i.Title = cmp.Or(line(m.Title, maxTitle), "Something needs your attention")
	i.Subject = event.Subject{
		Kind: line(m.Subject.Kind, maxSubject), ID: line(m.Subject.ID, maxSubject), Name: line(m.Subject.Name, maxSubject),
	}
	if i.Run = nil; m.Run != nil {
		i.Run = &Run{SessionKey: line(m.Run.SessionKey, maxSession), RunID: line(m.Run.RunID, maxSubject)}
	}
	if i.Effect = nil; m.Effect != "" {
		i.Effect = &m.Effect
	}
	return i
}

// isLast reports whether m is about the occurrence that the item was last raised for, and not about
// a new one. An occurrence is raised again when its severity has risen, or when what had ended it was
// undone.
func (m NewItem) isLast(i Item) bool { return !m.At.IsZero() && clock.At(m.At).Equal(i.LastAt.Time) }

// repeat returns the item updated with m, which reports the item's cause again. A resolved item
// reopens with m's severity. An acknowledged or snoozed item keeps its state unless the severity
// rises. If it rises, the item reopens, because users have seen it only at the lower severity. Only a
// new occurrence is counted.
func (i Item) repeat(m NewItem, now time.Time) Item {
	again := !m.isLast(i)
	i = i.at(now).withTexts(m)
	if again {
		i.Count++
		if at := m.happened(now); at.After(i.LastAt.Time) { // replicas' clocks differ
			i.LastAt = at
		}
	}
	if i.State == Resolved || m.Severity.urgency() < i.Severity.urgency() {
		i.Severity = m.Severity
		i = i.to(Open)
	}
	return i
}

// at returns the item as it is at the given time. The state can depend on the time, because a snooze ends by itself.
func (i Item) at(now time.Time) Item {
	if i.State == Snoozed && !clock.Holds(i.SnoozedUntil.Time, now, maxSnooze) {
		return i.to(Open)
	}
	return i
}

// to returns the item in state s, without a snooze or a resolution.
func (i Item) to(s State) Item {
	i.State, i.SnoozedUntil, i.Resolution = s, nil, nil
	return i
}

// action changes an item on behalf of a user. If the action changes nothing, no event is recorded.
type action func(i Item, by actor.Actor, now time.Time) (Item, error)

// ack acknowledges the item.
func ack(i Item, _ actor.Actor, _ time.Time) (Item, error) {
	if err := i.checkUnresolved("acknowledge"); err != nil {
		return i, err
	}
	return i.to(Acked), nil
}

// snooze returns an action that hides an item until the given time.
func snooze(until time.Time) action {
	return func(i Item, _ actor.Actor, now time.Time) (Item, error) {
		if err := i.checkUnresolved("snooze"); err != nil {
			return i, err
		}
		var bad fault.Fields
		at := clock.At(until)
		if !at.After(now) || at.After(now.Add(maxSnooze)) {
			bad.Add("/until", "Must be in the future (it is now %s) and at most %d days away.",
				now.UTC().Format(clock.Layout), maxSnooze/(24*time.Hour))
		}
		if err := bad.Err(); err != nil {
			return i, err
		}
		i = i.to(Snoozed)
		i.SnoozedUntil = &at
		return i, nil
	}
}

// assign returns an action that sets or clears an item's assignee.
func assign(to *Assignee) action {
	return func(i Item, _ actor.Actor, _ time.Time) (Item, error) {
		if err := i.checkUnresolved("assign"); err != nil {
			return i, err
		}
		i.Assignee = to
		return i, nil
	}
}

// resolve returns an action that marks an item as resolved. The action has no effect if the item is
// already resolved.
func resolve(note string) action {
	return func(i Item, by actor.Actor, now time.Time) (Item, error) {
		var bad fault.Fields
		if utf8.RuneCountInString(note) > maxNote {
			bad.Add("/note", "Must be at most %d characters.", maxNote)
		}
		if err := bad.Err(); err != nil || i.State == Resolved {
			return i, err
		}
		i = i.to(Resolved)
		i.Resolution = &Resolution{
			At: clock.At(now), By: event.Author{ID: by.ID, Name: by.Name}, Note: markdown(note, maxNote),
		}
		return i, nil
	}
}

// reopen sets the item's state to open, whatever it was before.
func reopen(i Item, _ actor.Actor, _ time.Time) (Item, error) { return i.to(Open), nil }

// checkUnresolved fails with ErrResolved if the item is resolved.
func (i Item) checkUnresolved(verb string) error {
	if i.State != Resolved {
		return nil
	}
	return ErrResolved.With("The item was resolved by %s. Reopen it before you %s it.", i.Resolution.By.Name,
		verb).Fact("resolution", i.Resolution)
}

// changes returns the fields that differ between old and i, each with its old and new value.
func (i Item) changes(old Item) map[string][2]any {
	changes := map[string][2]any{}
	note := func(field string, differs bool, before, after any) {
		if differs {
			changes[field] = [2]any{before, after}
		}
	}
	note("state", old.State != i.State, old.State, i.State)
	note("severity", old.Severity != i.Severity, old.Severity, i.Severity)
	note("kind", old.Kind != i.Kind, old.Kind, i.Kind)
	note("title", old.Title != i.Title, old.Title, i.Title)
	note("detail", old.Detail != i.Detail, len(old.Detail), len(i.Detail)) // lengths only; the item has the text
	note("subject", old.Subject != i.Subject, old.Subject, i.Subject)
	note("run", !same(old.Run, i.Run), old.Run, i.Run)
	note("snoozed_until", !same(old.SnoozedUntil, i.SnoozedUntil), old.SnoozedUntil, i.SnoozedUntil)
	note("assignee", !sameBy(old.Assignee, i.Assignee, func(a Assignee) string { return a.ID }), old.Assignee, i.Assignee)
	return changes
}

// same reports whether a and b are both nil or point to equal values.
func same[T comparable](a, b *T) bool { return sameBy(a, b, func(v T) T { return v }) }

func sameBy[T any, K comparable](a, b *T, key func(T) K) bool {
	if a == nil || b == nil {
		return a == b
	}
	return key(*a) == key(*b)
}
