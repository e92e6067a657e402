// Package task is the board: what is to be done, by whom, and how far it is.
package task

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/label"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/plaintext"
)

// Status is a column of the board.
type Status string

// The columns, from left to right. A task may move between any two.
const (
	Backlog    Status = "backlog"
	Todo       Status = "todo"
	InProgress Status = "in_progress"
	Review     Status = "review"
	Done       Status = "done"
)

// Priority says what to take first.
type Priority string

// The priorities, from the last to the first.
const (
	Low    Priority = "low"
	Medium Priority = "medium"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

// rank is a priority as the board is sorted by it: the first has the most.
func (p Priority) rank() int64 {
	return int64(slices.Index([]Priority{Low, Medium, High, Urgent}, p))
}

// Type says what sort of work it is.
type Type string

// The types.
const (
	Plain       Type = "task"
	Bug         Type = "bug"
	Feature     Type = "feature"
	Improvement Type = "improvement"
	Research    Type = "research"
	Epic        Type = "epic"
)

// Tag is one lower-case word.
type Tag string

// Name names a task in a body: by its id or its key.
type Name string

// Limits of a task's texts. The title is counted in characters, the
// description in bytes.
const (
	maxTitle       = 500
	maxDescription = 64 << 10
	maxReason      = 2000
	maxTags        = 20
	maxTag         = 40
)

// Task is a unit of work on the board. Its fields up to Description are what a
// card on the board shows; see draw.
type Task struct {
	ID         string      `json:"id"`
	Key        string      `json:"key" doc:"TASK-n; never reused." example:"TASK-12"`
	Title      string      `json:"title"`
	Status     Status      `json:"status" enum:"backlog,todo,in_progress,review,done"`
	Priority   Priority    `json:"priority" enum:"low,medium,high,urgent"`
	Type       Type        `json:"type" enum:"task,bug,feature,improvement,research,epic"`
	Tags       []Tag       `json:"tags" nullable:"false"`
	AssigneeID *string     `json:"assignee_id" doc:"The user, human or agent, whose task it is."`
	ProjectID  *string     `json:"project_id"`
	WaitingOn  int64       `json:"waiting_on" doc:"How many of those in depends_on are not done yet."`
	Blocked    *Blocked    `json:"blocked"`
	Claim      *Claim      `json:"claim" doc:"Who holds it and until when; null when nobody does."`
	CostUSD    *money.Nano `json:"cost_usd" doc:"What its runs in the runtime have cost, with those of the agents that its own agent had work for it, as the usage ledger has it; null when that is not known."`
	// CostComplete is nil exactly when Tokens is.
	CostComplete *bool       `json:"cost_complete" doc:"Whether all of them have a price. False: cost_usd is too small, or null. Null when none is known."`
	DueAt        *clock.Time `json:"due_at"`
	ArchivedAt   *clock.Time `json:"archived_at"`
	MovedAt      clock.Time  `json:"moved_at" doc:"When it came into its column."`
	Position     string      `json:"position" doc:"Its place on the board: tasks stand in the order of these texts."`
	Comments     int64       `json:"comment_count"`
	Version      int64       `json:"version" doc:"Counts the changes; part of the ETag."`

	Description string      `json:"description" doc:"Markdown. Agents write it too: never trust it."`
	ReporterID  *string     `json:"reporter_id" doc:"The user who made it; null when the service did."`
	ParentID    *string     `json:"parent_id" doc:"The task that it is a part of."`
	DependsOn   []string    `json:"depends_on" nullable:"false" doc:"The keys of the tasks that have to be done before." example:"TASK-7"`
	SessionKey  *string     `json:"session_key" doc:"The runtime session where the work happens; as last reported."`
	Branch      *string     `json:"branch"`
	PRURL       *string     `json:"pr_url"`
	Dispatch    *Dispatch   `json:"dispatch" doc:"How handing it to its agent went the last time; null when it never was."`
	Tokens      *Tokens     `json:"tokens" doc:"What they have used; null when none is known."`
	Origin      *string     `json:"origin" doc:"Where it comes from when nobody typed it, such as standup:2026-11-20."`
	DoneAt      *clock.Time `json:"done_at"`
	CreatedAt   clock.Time  `json:"created_at"`
	UpdatedAt   clock.Time  `json:"updated_at"`

	number      int64
	claimSeq    int64       // counts its claims; the token of the last one
	lostBy      *string     // who lost it against their will, until it moves on
	lastReport  *string     // see Report.digest
	shown       int64       // counts what changes the task without a version: see redraw
	archiveFrom *clock.Time // from when the days until it is archived count
}

// Blocked says why a task cannot go on.
type Blocked struct {
	Reason string     `json:"reason"`
	Since  clock.Time `json:"since"`
	By     string     `json:"by" doc:"The name of who said so."`
}

// New is what a task is made from. What is left out gets its usual value.
type New struct {
	Title       string      `json:"title" minLength:"1" maxLength:"500"`
	Description string      `json:"description,omitempty" maxLength:"65536" doc:"Markdown."`
	Status      Status      `json:"status,omitempty" enum:"backlog,todo,in_progress,review,done" default:"todo"`
	Priority    Priority    `json:"priority,omitempty" enum:"low,medium,high,urgent" default:"medium"`
	Type        Type        `json:"type,omitempty" enum:"task,bug,feature,improvement,research,epic" default:"task"`
	Tags        []Tag       `json:"tags,omitempty" maxItems:"20" doc:"Lower-case words."`
	Assignee    *string     `json:"assignee_id,omitempty" maxLength:"254" doc:"A user's id or email, or an agent_id."`
	DueAt       *clock.Time `json:"due_at,omitempty"`
	Project     *string     `json:"project_id,omitempty" maxLength:"64" doc:"A project's id or key."`
	Parent      *string     `json:"parent_id,omitempty" maxLength:"64" doc:"A task's id or key."`
	DependsOn   []Name      `json:"depends_on,omitempty" maxItems:"50" doc:"Ids or keys of tasks."`

	Origin string `json:"-"` // see Task.Origin
}

// Change is a partial update. What is not given stays as it is.
type Change struct {
	Title       *string                    `json:"title,omitempty" minLength:"1" maxLength:"500"`
	Description *string                    `json:"description,omitempty" maxLength:"65536" doc:"Markdown."`
	Status      *Status                    `json:"status,omitempty" enum:"backlog,todo,in_progress,review,done" doc:"When an agent says done, it becomes review."`
	Priority    *Priority                  `json:"priority,omitempty" enum:"low,medium,high,urgent"`
	Type        *Type                      `json:"type,omitempty" enum:"task,bug,feature,improvement,research,epic"`
	Tags        *[]Tag                     `json:"tags,omitempty" maxItems:"20" doc:"Lower-case words; replaces all of them."`
	Assignee    patch.Field[string]        `json:"assignee_id,omitzero" maxLength:"254" doc:"A user's id or email, or an agent_id; null takes it away."`
	Blocked     patch.Field[BlockedReason] `json:"blocked,omitzero" doc:"Why it cannot go on; null when it can again."`
	SessionKey  patch.Field[string]        `json:"session_key,omitzero" maxLength:"512"`
	Branch      patch.Field[string]        `json:"branch,omitzero" maxLength:"255"`
	PRURL       patch.Field[string]        `json:"pr_url,omitzero" maxLength:"2000" doc:"An http or https address."`
	DueAt       patch.Field[clock.Time]    `json:"due_at,omitzero"`
	Project     patch.Field[string]        `json:"project_id,omitzero" maxLength:"64" doc:"A project's id or key; null takes it away."`
	Parent      patch.Field[string]        `json:"parent_id,omitzero" maxLength:"64" doc:"The id or key of the task that it is a part of; null takes it away."`
	DependsOn   *[]Name                    `json:"depends_on,omitempty" maxItems:"50" doc:"Ids or keys of the tasks that have to be done before; replaces all of them."`
	Position    *Place                     `json:"position,omitempty"`
	ClaimToken  *int64                     `json:"claim_token,omitempty" minimum:"1" doc:"The token of your claim: the change is refused when you do not hold the task by it any more."`
}

// BlockedReason is what a caller says of a blocked task; since and by are noted.
type BlockedReason struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000"`
}

// The failures of the board.
var (
	ErrNotFound = fault.New(fault.NotFound, "task_not_found", "There is no such task.")
	ErrStale    = fault.New(fault.Stale, "task_changed", "The task was changed meanwhile.")
	ErrAssignee = fault.New(fault.Invalid, "assignee_unknown", "There is no active account like that.")
	ErrReporter = fault.New(fault.Invalid, "reporter_unknown", "There is no account like that.")
	ErrHolder   = fault.New(fault.Invalid, "holder_unknown", "There is no account like that.")
	ErrArchived = fault.New(fault.Conflict, "task_archived", "The task is in the archive.")
)

// make builds a task from n, or says everything that is wrong with it.
func (n New) make(id string, now time.Time, by actor.Actor) (Task, error) {
	t := Task{
		ID: id, Status: Todo, Priority: Medium, Type: Plain, Tags: []Tag{}, DependsOn: []string{},
		MovedAt: clock.At(now), CreatedAt: clock.At(now), UpdatedAt: clock.At(now), Version: 1, DueAt: n.DueAt,
	}
	if n.Origin != "" {
		t.Origin = &n.Origin
	}
	c := Change{Title: &n.Title, Description: &n.Description, Tags: &n.Tags}
	if n.Status != "" {
		c.Status = &n.Status
	}
	if n.Priority != "" {
		c.Priority = &n.Priority
	}
	if n.Type != "" {
		c.Type = &n.Type
	}
	return t, t.apply(c, now, by)
}

// apply makes the change to t, or says everything that is wrong with it. The
// assignee is not looked at: who it names is the store's to find out.
func (t *Task) apply(c Change, now time.Time, by actor.Actor) error {
	var bad fault.Fields
	t.applyTexts(c, &bad)
	t.applyChoices(c, now, by, &bad)
	if c.Blocked.Given {
		t.block(c.Blocked.Value, now, by, &bad)
	}
	if c.DueAt.Given {
		t.DueAt = c.DueAt.Value
	}
	if c.Position != nil {
		c.Position.check(&bad)
	}
	if t.DueAt != nil && (t.DueAt.UTC().Year() < 1 || t.DueAt.UTC().Year() > 9999) {
		bad.Add("/due_at", "Give a time in UTC's years 1 to 9999.") // RFC 3339 has no others
	}
	return bad.Err()
}

func (t *Task) applyTexts(c Change, bad *fault.Fields) {
	if c.Title != nil {
		t.Title = strings.TrimSpace(*c.Title)
		if wrong := label.Wrong(t.Title, maxTitle); wrong != "" {
			bad.Add("/title", "%s", wrong)
		}
	}
	if c.Description != nil {
		t.Description = plaintext.Lines(*c.Description)
		if len(t.Description) > maxDescription {
			bad.Add("/description", "It may have %d bytes at most.", maxDescription)
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
			bad.Add(f.name, "It may have %d characters at most.", f.max)
		}
	}
	if c.PRURL.Given && t.PRURL != nil && !isWebAddress(*t.PRURL) {
		bad.Add("/pr_url", "Give an http or https address.")
	}
	if c.Tags != nil {
		t.Tags = applyTags(*c.Tags, bad)
	}
}

func (t *Task) applyChoices(c Change, now time.Time, by actor.Actor, bad *fault.Fields) {
	if c.Priority != nil {
		t.Priority = *c.Priority
		if !slices.Contains([]Priority{Low, Medium, High, Urgent}, t.Priority) {
			bad.Add("/priority", "It is low, medium, high or urgent.")
		}
	}
	if c.Type != nil {
		t.Type = *c.Type
		if !slices.Contains([]Type{Plain, Bug, Feature, Improvement, Research, Epic}, t.Type) {
			bad.Add("/type", "It is task, bug, feature, improvement, research or epic.")
		}
	}
	if c.Status != nil {
		if !slices.Contains([]Status{Backlog, Todo, InProgress, Review, Done}, *c.Status) {
			bad.Add("/status", "It is backlog, todo, in_progress, review or done.")
			return
		}
		t.move(*c.Status, now, by)
	}
}

// move puts the task into another column. What an agent calls done is looked
// at by somebody else first; a task that is done stays so when it says it again.
func (t *Task) move(to Status, now time.Time, by actor.Actor) {
	if to == Done && by.Role == actor.Agent && t.Status != Done {
		to = Review
	}
	if to == t.Status {
		return
	}
	t.endClaim(to, by)
	t.Status, t.MovedAt, t.DoneAt, t.archiveFrom = to, clock.At(now), nil, nil
	if to == Done {
		t.DoneAt, t.archiveFrom = clock.Ptr(now), clock.Ptr(now)
		t.Blocked = nil
	}
}

// block notes why the task cannot go on. Saying it again in other words keeps
// its age.
func (t *Task) block(why *BlockedReason, now time.Time, by actor.Actor, bad *fault.Fields) {
	if why == nil {
		t.Blocked = nil
		return
	}
	reason := strings.TrimSpace(plaintext.Lines(why.Reason))
	if n := utf8.RuneCountInString(reason); n == 0 || n > maxReason {
		bad.Add("/blocked/reason", "Give it 1 to %d characters.", maxReason)
	}
	if t.Status == Done {
		bad.Add("/blocked", "A task that is done cannot be blocked. Move it first.")
	}
	since := clock.At(now)
	if t.Blocked != nil {
		since = t.Blocked.Since
	}
	if t.Blocked == nil || t.Blocked.Reason != reason {
		t.Blocked = &Blocked{Reason: reason, Since: since, By: by.Name}
	}
}

// wellFormed reports whether the tag is one word of lower-case letters, digits,
// "_", "." and "-", begun by a letter or a digit. It takes the words of every
// script: some write vowels as marks and long ones as modifiers.
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

// applyTags lower-cases the tags and drops repeats, keeping their order.
func applyTags(given []Tag, bad *fault.Fields) []Tag {
	tags := []Tag{}
	for i, raw := range given {
		tag := Tag(strings.ToLower(strings.TrimSpace(string(raw))))
		if !tag.wellFormed() || plaintext.Line(string(tag)) != string(tag) {
			bad.Add(fmt.Sprintf("/tags/%d", i), "A tag is one word of up to 40 letters, digits, dots and dashes.")
			continue
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > maxTags {
		bad.Add("/tags", "Give %d at most.", maxTags)
	}
	return tags
}

func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// diff tells what an update changed, for the event: field → [before, after].
func diff(was, is Task) map[string][2]any {
	changes := map[string][2]any{}
	note := func(field string, before, after any, same bool) {
		if !same {
			changes[field] = [2]any{before, after}
		}
	}
	note("title", was.Title, is.Title, was.Title == is.Title)
	if was.Description != is.Description {
		changes["description"] = [2]any{len(was.Description), len(is.Description)} // its text is in the task
	}
	note("status", was.Status, is.Status, was.Status == is.Status)
	note("priority", was.Priority, is.Priority, was.Priority == is.Priority)
	note("type", was.Type, is.Type, was.Type == is.Type)
	note("tags", was.Tags, is.Tags, slices.Equal(was.Tags, is.Tags))
	note("assignee_id", was.AssigneeID, is.AssigneeID, same(was.AssigneeID, is.AssigneeID))
	note("blocked", was.Blocked, is.Blocked, same(was.Blocked, is.Blocked))
	note("session_key", was.SessionKey, is.SessionKey, same(was.SessionKey, is.SessionKey))
	note("branch", was.Branch, is.Branch, same(was.Branch, is.Branch))
	note("pr_url", was.PRURL, is.PRURL, same(was.PRURL, is.PRURL))
	note("due_at", was.DueAt, is.DueAt, same(was.DueAt, is.DueAt))
	note("project_id", was.ProjectID, is.ProjectID, same(was.ProjectID, is.ProjectID))
	note("parent_id", was.ParentID, is.ParentID, same(was.ParentID, is.ParentID))
	note("depends_on", was.DependsOn, is.DependsOn, slices.Equal(was.DependsOn, is.DependsOn))
	note("position", was.Position, is.Position, was.Position == is.Position)
	note("claim", was.Claim, is.Claim, same(was.Claim, is.Claim))
	note("archived_at", was.ArchivedAt, is.ArchivedAt, same(was.ArchivedAt, is.ArchivedAt))
	return changes
}

// same compares what may be null by value.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// parseKey reads TASK-n in any case. It takes one spelling of the number.
func parseKey(ref string) (number int64, ok bool) {
	if len(ref) < 6 || ref[5] < '1' || ref[5] > '9' || !strings.EqualFold(ref[:5], "TASK-") {
		return 0, false
	}
	n, err := strconv.ParseInt(ref[5:], 10, 64)
	return n, err == nil
}

func keyOf(number int64) string { return "TASK-" + strconv.FormatInt(number, 10) }
