// Package task implements the board: tasks, their projects, comments, claims,
// and reports.
package task

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/enum"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Status is a column of the board.
type Status string

// The board's columns, from left to right. A task may move between any two columns.
const (
	Backlog    Status = "backlog"
	Todo       Status = "todo"
	InProgress Status = "in_progress"
	Review     Status = "review"
	Done       Status = "done"
)

// Statuses returns the board's columns, from left to right.
func Statuses() []Status { return []Status{Backlog, Todo, InProgress, Review, Done} }

// Priority is the urgency of a task.
type Priority string

// The priorities, lowest first.
const (
	Low    Priority = "low"
	Medium Priority = "medium"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

// Priorities returns the priorities, lowest first.
func Priorities() []Priority { return []Priority{Low, Medium, High, Urgent} }

// rank returns the sort value of a priority. More urgent priorities have higher
// values.
func (p Priority) rank() int64 { return int64(slices.Index(Priorities(), p)) }

// Type is the kind of work that a task represents.
type Type string

// The task types.
const (
	Plain       Type = "task"
	Bug         Type = "bug"
	Feature     Type = "feature"
	Improvement Type = "improvement"
	Research    Type = "research"
	Epic        Type = "epic"
)

// Types returns the task types.
func Types() []Type { return []Type{Plain, Bug, Feature, Improvement, Research, Epic} }

// Tag is a lower-case word that labels a task.
type Tag string

// Name is the ID or key of a task in a request body.
type Name string

// Limits on a task's texts and tags. maxDescription is in bytes and maxTags is
// a number of tags; the other limits are in characters.
const (
	maxTitle       = 500
	maxDescription = 64 << 10
	maxReason      = 2000
	maxTags        = 20
	maxTag         = 40
)

// Task is a unit of work on the board. The fields before Description are
// included in the task's slim card.
type Task struct {
	ID         string      `json:"id"`
	Key        string      `json:"key" doc:"TASK-n. Never reused." example:"TASK-12"`
	Title      string      `json:"title"`
	Status     Status      `json:"status"`
	Priority   Priority    `json:"priority"`
	Type       Type        `json:"type"`
	Tags       []Tag       `json:"tags" nullable:"false"`
	AssigneeID *string     `json:"assignee_id" doc:"ID of the user, human or agent, the task is assigned to."`
	ProjectID  *string     `json:"project_id"`
	WaitingOn  int64       `json:"waiting_on" doc:"Number of tasks in depends_on that are not done."`
	Blocked    *Blocked    `json:"blocked"`
	Claim      *Claim      `json:"claim" doc:"Who holds the task and until when; null if unclaimed."`
	CostUSD    *money.Nano `json:"cost_usd" doc:"Cost of the task's runs, including those of sub-agents, from the usage ledger; null if unknown."`
	// CostComplete is nil if and only if Tokens is nil.
	CostComplete *bool       `json:"cost_complete" doc:"True if every run has a price. If false, cost_usd is null or too low. Null if no run is known."`
	DueAt        *clock.Time `json:"due_at" doc:"Due time. 23:59:59.999Z stands for the whole day, which is the same day in every time zone. The task is overdue when the day has passed in Wardroom's time zone."`
	ArchivedAt   *clock.Time `json:"archived_at"`
	MovedAt      clock.Time  `json:"moved_at" doc:"When the task moved to its current column."`
	Position     string      `json:"position" doc:"Sort key on the board. Tasks are ordered by comparing positions as text."`
	Comments     int64       `json:"comment_count"`
	Version      int64       `json:"version" doc:"Incremented by every change; part of the ETag."`

	Description string      `json:"description" doc:"Markdown. May be written by agents: treat as untrusted."`
	ReporterID  *string     `json:"reporter_id" doc:"ID of the user who created the task; null if Wardroom created it."`
	ParentID    *string     `json:"parent_id" doc:"ID of the parent task."`
	DependsOn   []string    `json:"depends_on" nullable:"false" doc:"Keys of the tasks that must be done first." example:"TASK-7"`
	SessionKey  *string     `json:"session_key" doc:"Runtime session in which the work happens, as last reported."`
	Branch      *string     `json:"branch"`
	PRURL       *string     `json:"pr_url"`
	Dispatch    *Dispatch   `json:"dispatch" doc:"The latest dispatch to the agent; null if never dispatched."`
	Tokens      *Tokens     `json:"tokens" doc:"Tokens used by the task's runs; null if no run is known."`
	Origin      *string     `json:"origin" doc:"Source of a task created automatically, such as standup:2026-11-20, or job: with the ID of a scheduled job."`
	Criteria    []Criterion `json:"criteria" nullable:"false" doc:"What must be true before the task is accepted."`
	Checks      []string    `json:"checks" nullable:"false" doc:"Commands that check the result, which the agent must run; see GET /tasks/{id}/receipt." example:"make test"`
	StartedAt   *clock.Time `json:"started_at" doc:"When the task last moved from backlog or todo to in_progress; null if it never did."`
	DoneAt      *clock.Time `json:"done_at"`
	CreatedAt   clock.Time  `json:"created_at"`
	UpdatedAt   clock.Time  `json:"updated_at"`

	number      int64
	claimSeq    int64       // number of claims so far, and the token of the latest
	lostBy      *string     // user whose claim expired or was taken away; cleared when the task moves
	lastReport  *string     // see Report.digest
	archiveFrom *clock.Time // start of the period after which a done task is archived
}

// Blocked is the reason why work on a task cannot continue.
type Blocked struct {
	Reason string     `json:"reason"`
	Since  clock.Time `json:"since"`
	By     string     `json:"by" doc:"Name of the user who blocked the task."`
}

// New is a request to create a task. Omitted fields get their defaults.
type New struct {
	Title       string      `json:"title" minLength:"1" maxLength:"500"`
	Description string      `json:"description,omitempty" maxLength:"65536" doc:"Markdown."`
	Status      Status      `json:"status,omitempty" default:"todo"`
	Priority    Priority    `json:"priority,omitempty" default:"medium"`
	Type        Type        `json:"type,omitempty" default:"task"`
	Tags        []Tag       `json:"tags,omitempty" maxItems:"20" doc:"Lower-case words."`
	Assignee    *string     `json:"assignee_id,omitempty" maxLength:"254" doc:"A user's ID or email, or an agent_id."`
	DueAt       *clock.Time `json:"due_at,omitempty" doc:"A time, or 23:59:59.999Z of a day for the whole day."`
	Project     *string     `json:"project_id,omitempty" maxLength:"64" doc:"A project's ID or key."`
	Parent      *string     `json:"parent_id,omitempty" maxLength:"64" doc:"ID or key of the parent task."`
	DependsOn   []Name      `json:"depends_on,omitempty" maxItems:"50" doc:"IDs or keys of the tasks that must be done first."`

	Criteria []NewCriterion `json:"criteria,omitempty" maxItems:"20" doc:"What must be true before the task is accepted. Not for agents."`
	Checks   []Command      `json:"checks,omitempty" maxItems:"10" doc:"Commands that check the result. Not for agents."`

	Origin string `json:"-"` // see Task.Origin
}

// Change is a partial update of a task. Omitted fields stay unchanged.
type Change struct {
	Title       *string                    `json:"title,omitempty" minLength:"1" maxLength:"500"`
	Description *string                    `json:"description,omitempty" maxLength:"65536" doc:"Markdown."`
	Status      *Status                    `json:"status,omitempty" doc:"If an agent sets done, the task moves to review."`
	Priority    *Priority                  `json:"priority,omitempty"`
	Type        *Type                      `json:"type,omitempty"`
	Tags        *[]Tag                     `json:"tags,omitempty" maxItems:"20" doc:"Lower-case words. Replaces all tags."`
	Assignee    patch.Field[string]        `json:"assignee_id,omitzero" maxLength:"254" doc:"A user's ID or email, or an agent_id; null unassigns the task."`
	Blocked     patch.Field[BlockedReason] `json:"blocked,omitzero" doc:"Why the task is blocked; null unblocks it."`
	SessionKey  patch.Field[string]        `json:"session_key,omitzero" maxLength:"512"`
	Branch      patch.Field[string]        `json:"branch,omitzero" maxLength:"255"`
	PRURL       patch.Field[string]        `json:"pr_url,omitzero" maxLength:"2000" doc:"An http or https URL."`
	DueAt       patch.Field[clock.Time]    `json:"due_at,omitzero" doc:"A time, or 23:59:59.999Z of a day for the whole day; null for none."`
	Project     patch.Field[string]        `json:"project_id,omitzero" maxLength:"64" doc:"A project's ID or key; null removes the task from its project."`
	Parent      patch.Field[string]        `json:"parent_id,omitzero" maxLength:"64" doc:"ID or key of the parent task; null for no parent."`
	DependsOn   *[]Name                    `json:"depends_on,omitempty" maxItems:"50" doc:"IDs or keys of the tasks that must be done first. Replaces all dependencies."`
	Criteria    *[]NewCriterion            `json:"criteria,omitempty" maxItems:"20" doc:"What must be true before the task is accepted. Replaces all criteria. Not for agents."`
	Checks      *[]Command                 `json:"checks,omitempty" maxItems:"10" doc:"Commands that check the result. Replaces all checks. Not for agents."`
	Position    *Place                     `json:"position,omitempty"`
	MovedAt     *clock.Time                `json:"moved_at,omitempty" doc:"When the task moved to the column in status. Send it to undo a move, so that the task keeps its age. Not for agents."`
	ClaimToken  *int64                     `json:"claim_token,omitempty" minimum:"1" doc:"Token of your claim. The change is refused if the token is no longer current."`
}

// BlockedReason is the part of Blocked that clients can set.
type BlockedReason struct {
	Reason string      `json:"reason" minLength:"1" maxLength:"2000"`
	Since  *clock.Time `json:"since,omitempty" doc:"When the task was blocked. Send it and by to undo an unblocking. Not for agents."`
	By     string      `json:"by,omitempty" maxLength:"200" doc:"Name of the user who had blocked the task. Not for agents."`
}

// Errors returned by the board's operations.
var (
	ErrNotFound = fault.New(fault.NotFound, "task_not_found", "Task not found.")
	ErrStale    = fault.New(fault.Stale, "task_changed", "The task has changed since you read it.")
	ErrAssignee = fault.New(fault.Invalid, "assignee_unknown", "No active account matches the assignee.")
	ErrReporter = fault.New(fault.Invalid, "reporter_unknown", "No account matches the reporter.")
	ErrHolder   = fault.New(fault.Invalid, "holder_unknown", "No account matches the holder.")
	ErrArchived = fault.New(fault.Conflict, "task_archived", "The task is archived.")
)

// make builds a task from a request. If fields are invalid, it returns an error
// that lists them.
func (n New) make(id string, now time.Time, by actor.Actor) (Task, error) {
	t := Task{
		ID: id, Status: Todo, Priority: Medium, Type: Plain, Tags: []Tag{}, DependsOn: []string{}, Criteria: []Criterion{},
		Checks: []string{}, MovedAt: clock.At(now), CreatedAt: clock.At(now), UpdatedAt: clock.At(now),
		Version: 1, DueAt: n.DueAt,
	}
	if n.Origin != "" {
		t.Origin = &n.Origin
	}
	return t, t.apply(n.change(), now, by)
}

// change returns the request as a change of a task with the default values.
func (n New) change() Change {
	c := Change{
		Title: &n.Title, Description: &n.Description, Tags: &n.Tags, Project: patch.Given(n.Project),
		Parent: patch.Given(n.Parent),
	}
	if n.Status != "" {
		c.Status = &n.Status
	}
	if n.Priority != "" {
		c.Priority = &n.Priority
	}
	if n.Type != "" {
		c.Type = &n.Type
	}
	if len(n.DependsOn) > 0 {
		c.DependsOn = &n.DependsOn
	}
	if len(n.Criteria) > 0 {
		c.Criteria = &n.Criteria
	}
	if len(n.Checks) > 0 {
		c.Checks = &n.Checks
	}
	return c
}

// apply applies a change to the task. If fields are invalid, it returns an
// error that lists them. It does not apply the assignee, the relations, or the
// position, because they depend on other rows.
func (t *Task) apply(c Change, now time.Time, by actor.Actor) error {
	var bad fault.Fields
	t.applyTexts(c, &bad)
	t.applyChoices(c, now, by, &bad)
	t.applyCriteria(c, now, by, &bad)
	if c.Blocked.Given {
		t.block(c.Blocked.Value, now, by, &bad)
	}
	t.DueAt = c.DueAt.Apply(t.DueAt)
	if c.Position != nil {
		c.Position.check(&bad)
	}
	if t.DueAt != nil && (t.DueAt.UTC().Year() < 1 || t.DueAt.UTC().Year() > 9999) {
		bad.Add("/due_at", "The year must be between 1 and 9999 (UTC).") // the range of RFC 3339
	}
	return bad.Err()
}

func (t *Task) applyTexts(c Change, bad *fault.Fields) {
	if c.Title != nil {
		var wrong string
		if t.Title, wrong = label.Clean(*c.Title, maxTitle); wrong != "" {
			bad.Add("/title", "%s", wrong)
		}
	}
	if c.Description != nil {
		t.Description = plaintext.Lines(*c.Description)
		if len(t.Description) > maxDescription {
			bad.Add("/description", "Must be at most %d bytes.", maxDescription)
		}
	}
	for _, f := range []struct {
		name  string
		given patch.Field[string]
		to    **string
		max   int
	}{
		{"/session_key", c.SessionKey, &t.SessionKey, 512},
		{"/branch", c.Branch, &t.Branch, 255},
		{"/pr_url", c.PRURL, &t.PRURL, 2000},
	} {
		if !f.given.Given {
			continue
		}
		*f.to = nil
		if f.given.Value != nil {
			*f.to = new(plaintext.Line(*f.given.Value))
		}
		if *f.to != nil && utf8.RuneCountInString(**f.to) > f.max {
			bad.Add(f.name, "Must be at most %d characters.", f.max)
		}
	}
	if c.PRURL.Given && t.PRURL != nil && !isWebAddress(*t.PRURL) {
		bad.Add("/pr_url", "Must be an http or https URL.")
	}
	if c.Tags != nil {
		t.Tags = applyTags(*c.Tags, bad)
	}
}

func (t *Task) applyChoices(c Change, now time.Time, by actor.Actor, bad *fault.Fields) {
	if c.Priority != nil {
		t.Priority = *c.Priority
		enum.Check(bad, "priority", t.Priority, Priorities())
	}
	if c.Type != nil {
		t.Type = *c.Type
		enum.Check(bad, "type", t.Type, Types())
	}
	if c.Status != nil {
		enum.Check(bad, "status", *c.Status, Statuses())
		at := now
		if c.MovedAt != nil {
			at = c.MovedAt.Time
			if by.Role == actor.Agent || at.After(now) || at.Before(t.CreatedAt.Time) {
				bad.Add("/moved_at", "Must be between the creation of the task and now, and not sent by an agent.")
			}
		}
		t.move(*c.Status, at, by)
	}
}

// move moves the task to another column. If an agent marks a task as done, the
// task moves to review, unless it is already done.
func (t *Task) move(to Status, at time.Time, by actor.Actor) {
	if to == Done && by.Role == actor.Agent && t.Status != Done {
		to = Review
	}
	if to == t.Status {
		return
	}
	t.endClaim(to, by)
	t.enter(to, at)
	t.DoneAt, t.archiveFrom = nil, nil
	if to == Done {
		t.DoneAt, t.archiveFrom = clock.Ptr(at), clock.Ptr(at)
		t.Blocked = nil
	}
}

// enter puts the task into another column.
func (t *Task) enter(to Status, at time.Time) {
	if to == InProgress && (t.Status == Backlog || t.Status == Todo) {
		t.StartedAt = clock.Ptr(at)
	}
	t.Status, t.MovedAt = to, clock.At(at)
}

// block blocks or unblocks the task. If the task is already blocked, a new
// reason does not change the time when it was blocked. A person can restore who
// blocked the task and when.
func (t *Task) block(why *BlockedReason, now time.Time, by actor.Actor, bad *fault.Fields) {
	if why == nil {
		t.Blocked = nil
		return
	}
	reason := strings.TrimSpace(plaintext.Lines(why.Reason))
	if n := utf8.RuneCountInString(reason); n == 0 || n > maxReason {
		bad.Add("/blocked/reason", "Must be 1 to %d characters.", maxReason)
	}
	if t.Status == Done {
		bad.Add("/blocked", "A task that is done cannot be blocked. Move it to another column first.")
	}
	is := Blocked{Reason: reason, Since: clock.At(now), By: by.Name}
	if was := t.Blocked; was != nil {
		is.Since = was.Since
		if was.Reason == reason {
			is.By = was.By
		}
	}
	if why.Since != nil || why.By != "" {
		if by.Role == actor.Agent {
			bad.Add("/blocked", "Agents can only send a reason.")
		}
		is.By = cmp.Or(plaintext.Line(why.By), is.By)
	}
	if why.Since != nil {
		is.Since = *why.Since
		if is.Since.After(now) || is.Since.Before(t.CreatedAt.Time) {
			bad.Add("/blocked/since", "Must be between the creation of the task and now.")
		}
	}
	t.Blocked = &is
}

// wellFormed reports whether the tag is a single word that consists of
// lower-case letters, digits, "_", "." and "-" and begins with a letter or
// digit. Combining marks and modifier letters are treated as letters, because
// some scripts write vowels with them.
func (t Tag) wellFormed() bool {
	n := 0
	for _, r := range string(t) {
		first := unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.N)
		if !first && (n == 0 || !unicode.Is(unicode.M, r) && !strings.ContainsRune("_.-", r)) {
			return false
		}
		n++
	}
	return 0 < n && n <= maxTag
}

// applyTags converts the tags to lower case and removes those that look the same, keeping the order. For each
// invalid tag, it adds an error to bad.
func applyTags(given []Tag, bad *fault.Fields) []Tag {
	tags := []Tag{}
	for i, raw := range given {
		tag := Tag(strings.ToLower(plaintext.NFC(strings.TrimSpace(string(raw)))))
		if odd := plaintext.Odd(string(tag)); odd != "" {
			bad.Add(fmt.Sprintf("/tags/%d", i), "Contains %s.", odd)
			continue
		}
		if !tag.wellFormed() || plaintext.Line(string(tag)) != string(tag) {
			bad.Add(fmt.Sprintf("/tags/%d", i), "Must be one word of at most 40 letters, digits, dots, dashes, and underscores.")
			continue
		}
		if !slices.ContainsFunc(tags, func(t Tag) bool { return plaintext.Fold(string(t)) == plaintext.Fold(string(tag)) }) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > maxTags {
		bad.Add("/tags", "Specify at most %d tags.", maxTags)
	}
	return tags
}

func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// consequences are the fields that change only because others do. Events do not list them.
var consequences = []string{"waiting_on", "moved_at", "started_at", "done_at", "updated_at", "version"}

// diff returns the fields that an update changed, each with its values before
// and after, for use in an event. Of the description, it returns the lengths.
func diff[T Task | Project](old, updated T) map[string][2]any {
	changes := map[string][2]any{}
	before, after := reflect.ValueOf(old), reflect.ValueOf(updated)
	for _, f := range reflect.VisibleFields(before.Type()) {
		name := f.Tag.Get("json")
		if !f.IsExported() || slices.Contains(consequences, name) {
			continue
		}
		b, a := before.FieldByIndex(f.Index), after.FieldByIndex(f.Index)
		switch {
		case reflect.DeepEqual(b.Interface(), a.Interface()):
		case name == "description":
			changes[name] = [2]any{b.Len(), a.Len()}
		default:
			changes[name] = [2]any{b.Interface(), a.Interface()}
		}
	}
	return changes
}

// same reports whether a and b are both nil or point to equal values.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// parseKey parses a task key such as TASK-12, ignoring case. It rejects numbers
// with leading zeros.
func parseKey(ref string) (number int64, ok bool) {
	if len(ref) < 6 || ref[5] < '1' || ref[5] > '9' || !strings.EqualFold(ref[:5], "TASK-") {
		return 0, false
	}
	n, err := strconv.ParseInt(ref[5:], 10, 64)
	return n, err == nil
}

func keyOf(number int64) string { return "TASK-" + strconv.FormatInt(number, 10) }
