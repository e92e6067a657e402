// Package inbox is one ranked list of what needs a human: what the agents could
// not settle, what failed, and what did not happen.
//
// Other features raise a Matter when something needs somebody, and settle it
// when its cause has ended, both in their own transactions. What has one cause
// is one item, which counts how often it was raised.
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

// Matter is something that needs a human. Its texts may come from agents: they
// are cleaned and cut, and never refused.
type Matter struct {
	// Cause names what brought it up, such as standup/<id>/failed. Matters of one
	// cause are one item. At most 200 bytes; people never see it.
	Cause    string
	Kind     string // one of Kinds
	Severity string // low, medium, high or urgent
	Title    string // one line; what is after 200 characters is cut off
	Detail   string // Markdown; what is after 10,000 characters is cut off
	// Subject is what it is about: a task, a standup, an agent. It may be empty.
	Subject event.Subject
	// At is when it happened, where that was not now: what is found after the
	// service was down is as old as it is. The zero time is now, and so is a later one.
	At time.Time
}

// Kind says what sort of thing needs a human.
type Kind string

// The kinds.
const (
	Escalation    Kind = "escalation"     // the facilitator of a standup cannot settle it
	StandupFailed Kind = "standup_failed" // a standup could not be held
	StandupMissed Kind = "standup_missed" // a standup did not begin when it was due
	OldBlocker    Kind = "old_blocker"    // an agent has been held up for days
	JobMissed     Kind = "job_missed"     // a job of the runtime did not run when it was due
	JobFailed     Kind = "job_failed"     // a job of the runtime ran, and its run failed

	DispatchFailed Kind = "dispatch_failed" // an agent could not be given a task, or its run failed
	RunStalled     Kind = "run_stalled"     // a run has stopped telling of itself
	TaskBlocked    Kind = "task_blocked"    // a task has been blocked for days
	GatewayTrouble Kind = "gateway_trouble" // the gateway cannot be used for minutes
	PairingPending Kind = "pairing_pending" // the gateway waits for somebody to approve this service
)

// Kinds lists every kind that a Matter may have. A kind more is a line here, one
// above, and a word in the input of the list.
func Kinds() []Kind {
	return []Kind{Escalation, StandupFailed, StandupMissed, OldBlocker, JobMissed, JobFailed, DispatchFailed, RunStalled, TaskBlocked, GatewayTrouble, PairingPending}
}

// Severity says how much it matters that somebody looks.
type Severity string

// The severities.
const (
	Urgent Severity = "urgent"
	High   Severity = "high"
	Medium Severity = "medium"
	Low    Severity = "low"
)

// Severities lists every severity, the most urgent first: that is its rank.
func Severities() []Severity { return []Severity{Urgent, High, Medium, Low} }

// urgency is the rank of a severity; 0 is the most urgent.
func (s Severity) urgency() int64 { return int64(slices.Index(Severities(), s)) }

// State is what people have done about an item.
type State string

// The states.
const (
	Open     State = "open"     // nobody has said anything
	Acked    State = "acked"    // somebody has seen it
	Snoozed  State = "snoozed"  // out of sight until its time
	Resolved State = "resolved" // done with, or its cause has ended
)

// States lists every state.
func States() []State { return []State{Open, Acked, Snoozed, Resolved} }

// Item is one thing that needs a human.
type Item struct {
	ID           string        `json:"id"`
	Kind         Kind          `json:"kind" enum:"escalation,standup_failed,standup_missed,old_blocker,job_missed,job_failed,dispatch_failed,run_stalled,task_blocked,gateway_trouble,pairing_pending"`
	Severity     Severity      `json:"severity" enum:"urgent,high,medium,low" doc:"The worst since it was last opened."`
	Title        string        `json:"title" doc:"One line. Agents write it too: never trust it."`
	Detail       string        `json:"detail" doc:"Markdown, at most 10,000 characters. Agents write it too: never trust it."`
	Subject      event.Subject `json:"subject" doc:"What it is about; its members are empty when that is nothing in particular."`
	Count        int64         `json:"count" doc:"How often it was raised, also before it was last reopened."`
	FirstAt      clock.Time    `json:"first_at" doc:"When it first happened, also when that was found later."`
	LastAt       clock.Time    `json:"last_at" doc:"When it last happened."`
	State        State         `json:"state" enum:"open,acked,snoozed,resolved" doc:"A snooze that has ended is open."`
	SnoozedUntil *clock.Time   `json:"snoozed_until" doc:"Null unless state is snoozed."`
	Assignee     *Assignee     `json:"assignee" doc:"Who sees to it; null while nobody does."`
	Resolution   *Resolution   `json:"resolution" doc:"How it ended; null unless state is resolved."`
	Version      int64         `json:"version" doc:"Counts the changes, but not mere repeats; part of the ETag."`

	cause string
}

// Assignee is the person who sees to an item.
type Assignee struct {
	ID   string `json:"id"`
	Name string `json:"name" doc:"What they are called now."`
}

// Resolution is how an item ended.
type Resolution struct {
	At   clock.Time   `json:"at"`
	By   event.Author `json:"by" doc:"system when its cause ended by itself."`
	Note string       `json:"note" doc:"May be empty."`
}

// Limits of an item's texts, in characters, and of a snooze.
const (
	maxCause   = 200 // bytes
	maxTitle   = 200
	maxDetail  = 10_000
	maxSubject = 200
	maxNote    = 1000
	maxSnooze  = 90 * 24 * time.Hour
)

// The failures that a caller may see.
var (
	ErrNotFound = fault.New(fault.NotFound, "inbox_item_not_found", "There is no such item in the inbox.")
	ErrStale    = fault.New(fault.Stale, "inbox_item_changed", "The item was changed meanwhile.")
	ErrResolved = fault.New(fault.Conflict, "inbox_item_resolved", "The item is resolved.")
	ErrAssignee = fault.New(fault.Invalid, "inbox_assignee_unknown", "There is nobody like that who could see to it.")
)

// check refuses what can only be a mistake of the feature that raises m.
func (m Matter) check() error {
	switch {
	case m.Cause == "" || len(m.Cause) > maxCause || plaintext.Lines(m.Cause) != m.Cause:
		return fmt.Errorf("the cause %.300q is no text of 1 to %d bytes", m.Cause, maxCause)
	case !slices.Contains(Kinds(), Kind(m.Kind)):
		return fmt.Errorf("there is no kind %q", m.Kind)
	case !slices.Contains(Severities(), Severity(m.Severity)):
		return fmt.Errorf("there is no severity %q", m.Severity)
	}
	return nil
}

// happened is when it happened, as far as that can be.
func (m Matter) happened(now time.Time) clock.Time {
	if m.At.IsZero() || m.At.After(now) {
		return clock.At(now)
	}
	return clock.At(m.At)
}

// open is the item that m becomes when there is none of its cause.
func (m Matter) open(id string, now time.Time) Item {
	at := m.happened(now)
	i := Item{
		ID: id, Severity: Severity(m.Severity), Count: 1, FirstAt: at, LastAt: at, State: Open, Version: 1, cause: m.Cause,
	}
	return i.tell(m)
}

// tell takes over what m says; the newest words count.
func (i Item) tell(m Matter) Item {
	i.Kind, i.Detail = Kind(m.Kind), markdown(m.Detail, maxDetail)
	i.Title = cmp.Or(line(m.Title, maxTitle), "Something needs you")
	i.Subject = event.Subject{
		Kind: line(m.Subject.Kind, maxSubject), ID: line(m.Subject.ID, maxSubject), Name: line(m.Subject.Name, maxSubject),
	}
	return i
}

// repeat is the item after m was raised once more. One that is resolved opens
// again, with the severity that it has now. One that somebody has acknowledged
// or put off stays quiet, unless it has become worse than it ever was since it
// was opened: people have judged what they saw, and this they have not seen.
func (i Item) repeat(m Matter, now time.Time) Item {
	i = i.at(now).tell(m)
	i.Count++
	if at := m.happened(now); at.After(i.LastAt.Time) { // the clocks of replicas differ
		i.LastAt = at
	}
	severity := Severity(m.Severity)
	if i.State == Resolved || severity.urgency() < i.Severity.urgency() {
		i.Severity = severity
		i = i.to(Open)
	}
	return i
}

// at is the item as it is at a time: a snooze ends by itself.
func (i Item) at(now time.Time) Item {
	if i.State == Snoozed && !i.SnoozedUntil.After(now) {
		return i.to(Open)
	}
	return i
}

// to moves the item; what belonged to the state before is gone.
func (i Item) to(s State) Item {
	i.State, i.SnoozedUntil, i.Resolution = s, nil, nil
	return i
}

// deed is what somebody does to an item. It says what becomes of it; a deed that
// leaves it as it is leaves no trace either.
type deed func(i Item, by actor.Actor, now time.Time) (Item, error)

// ack says that somebody has seen it.
func ack(i Item, _ actor.Actor, _ time.Time) (Item, error) {
	if err := i.live("acknowledge"); err != nil {
		return i, err
	}
	return i.to(Acked), nil
}

// snooze puts it out of sight until then.
func snooze(until time.Time) deed {
	return func(i Item, _ actor.Actor, now time.Time) (Item, error) {
		if err := i.live("put off"); err != nil {
			return i, err
		}
		var bad fault.Fields
		at := clock.At(until)
		if !at.After(now) || at.After(now.Add(maxSnooze)) {
			bad.Add("/until", "Give a time after now (%s) and within %d days.", now.UTC().Format(clock.Layout), maxSnooze/(24*time.Hour))
		}
		if err := bad.Err(); err != nil {
			return i, err
		}
		i = i.to(Snoozed)
		i.SnoozedUntil = &at
		return i, nil
	}
}

// assign makes it somebody's, or nobody's.
func assign(to *Assignee) deed {
	return func(i Item, _ actor.Actor, _ time.Time) (Item, error) {
		if err := i.live("assign"); err != nil {
			return i, err
		}
		i.Assignee = to
		return i, nil
	}
}

// resolve ends it. Who resolves what is resolved changes nothing.
func resolve(note string) deed {
	return func(i Item, by actor.Actor, now time.Time) (Item, error) {
		var bad fault.Fields
		if utf8.RuneCountInString(note) > maxNote {
			bad.Add("/note", "It may have %d characters at most.", maxNote)
		}
		if err := bad.Err(); err != nil || i.State == Resolved {
			return i, err
		}
		i = i.to(Resolved)
		i.Resolution = &Resolution{At: clock.At(now), By: event.Author{ID: by.ID, Name: by.Name}, Note: markdown(note, maxNote)}
		return i, nil
	}
}

// reopen is the way back from every state.
func reopen(i Item, _ actor.Actor, _ time.Time) (Item, error) { return i.to(Open), nil }

// live refuses to change what is resolved, except to reopen it.
func (i Item) live(verb string) error {
	if i.State != Resolved {
		return nil
	}
	return ErrResolved.With("It was resolved by %s. Reopen it first, if you mean to %s it.", i.Resolution.By.Name, verb).Fact("resolution", i.Resolution)
}

// seen refuses an item that is not at the version that the caller has seen.
func (i Item) seen(version *int64) error {
	if version == nil || *version == i.Version {
		return nil
	}
	return ErrStale.With("It is at version %d now. Read it again and repeat the change.", i.Version).Fact("current_version", i.Version)
}

// changes tells what became other than it was: field → [before, after].
func (i Item) changes(was Item) map[string][2]any {
	changes := map[string][2]any{}
	note := func(field string, differs bool, before, after any) {
		if differs {
			changes[field] = [2]any{before, after}
		}
	}
	note("state", was.State != i.State, was.State, i.State)
	note("severity", was.Severity != i.Severity, was.Severity, i.Severity)
	note("kind", was.Kind != i.Kind, was.Kind, i.Kind)
	note("title", was.Title != i.Title, was.Title, i.Title)
	note("detail", was.Detail != i.Detail, len(was.Detail), len(i.Detail)) // its text is in the item
	note("subject", was.Subject != i.Subject, was.Subject, i.Subject)
	note("snoozed_until", !same(was.SnoozedUntil, i.SnoozedUntil), was.SnoozedUntil, i.SnoozedUntil)
	note("assignee", !sameBy(was.Assignee, i.Assignee, func(a Assignee) string { return a.ID }), was.Assignee, i.Assignee)
	return changes
}

// same reports whether two values that may be absent are the same.
func same[T comparable](a, b *T) bool { return sameBy(a, b, func(v T) T { return v }) }

func sameBy[T any, K comparable](a, b *T, key func(T) K) bool {
	if a == nil || b == nil {
		return a == b
	}
	return key(*a) == key(*b)
}
