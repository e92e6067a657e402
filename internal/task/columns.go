package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// column is a column of the table tasks.
type column struct {
	name  string
	value func(*row) any // the value to store
	scan  func(*row) any // where to read the value to
}

// at returns a column that holds the value to which the function points.
func at[T any](name string, of func(*row) *T) column {
	return column{name, func(r *row) any { return *of(r) }, func(r *row) any { return of(r) }}
}

// A change of a task writes the own and the derived columns that differ. The columns kept by other
// functions are only read, and the derived columns, which are for sorting and searching, are only
// written.
var (
	own = []column{
		at("id", func(r *row) *string { return &r.ID }),
		at("number", func(r *row) *int64 { return &r.number }),
		at("title", func(r *row) *string { return &r.Title }),
		at("description", func(r *row) *string { return &r.Description }),
		at("status", func(r *row) *Status { return &r.Status }),
		at("priority", func(r *row) *Priority { return &r.Priority }),
		at("type", func(r *row) *Type { return &r.Type }),
		at("tags", func(r *row) *string { return &r.tags }),
		at("assignee_id", func(r *row) **string { return &r.AssigneeID }),
		at("reporter_id", func(r *row) **string { return &r.ReporterID }),
		at("project_id", func(r *row) **string { return &r.ProjectID }),
		at("parent_id", func(r *row) **string { return &r.ParentID }),
		at("depends_on", func(r *row) *string { return &r.dependsOn }),
		at("waiting_on", func(r *row) *int64 { return &r.WaitingOn }),
		at("blocked_reason", func(r *row) **string { return &r.blockedReason }),
		at("blocked_since", func(r *row) **clock.Time { return &r.blockedSince }),
		at("blocked_by", func(r *row) **string { return &r.blockedBy }),
		at("claim_by", func(r *row) **string { return &r.claimBy }),
		at("claim_name", func(r *row) **string { return &r.claimName }),
		at("claim_until", func(r *row) **clock.Time { return &r.claimUntil }),
		at("claim_seq", func(r *row) *int64 { return &r.claimSeq }),
		at("claim_lost_by", func(r *row) **string { return &r.lostBy }),
		at("last_report", func(r *row) **string { return &r.lastReport }),
		at("session_key", func(r *row) **string { return &r.SessionKey }),
		at("branch", func(r *row) **string { return &r.Branch }),
		at("pr_url", func(r *row) **string { return &r.PRURL }),
		at("origin", func(r *row) **string { return &r.Origin }),
		at("criteria", func(r *row) *string { return &r.criteria }),
		at("checks", func(r *row) *string { return &r.checks }),
		at("due_at", func(r *row) **clock.Time { return &r.DueAt }),
		at("started_at", func(r *row) **clock.Time { return &r.StartedAt }),
		at("done_at", func(r *row) **clock.Time { return &r.DoneAt }),
		at("archived_at", func(r *row) **clock.Time { return &r.ArchivedAt }),
		at("archive_from", func(r *row) **clock.Time { return &r.archiveFrom }),
		at("moved_at", func(r *row) *clock.Time { return &r.MovedAt }),
		at("created_at", func(r *row) *clock.Time { return &r.CreatedAt }),
		at("updated_at", func(r *row) *clock.Time { return &r.UpdatedAt }),
		at("position", func(r *row) *string { return &r.Position }),
		at("version", func(r *row) *int64 { return &r.Version }),
	}
	kept = []column{
		at("comment_count", func(r *row) *int64 { return &r.Comments }),
		at("dispatch", func(r *row) **string { return &r.dispatch }),
		at("cost_nano", func(r *row) **money.Nano { return &r.CostUSD }),
		at("tokens", func(r *row) **string { return &r.tokens }),
		at("unpriced", func(r *row) *int64 { return &r.unpriced }),
	}
	derived = []column{
		at("search", func(r *row) *string { return &r.search }),
		at("priority_rank", func(r *row) *int64 { return &r.priorityRank }),
		at("due_rank", func(r *row) *int64 { return &r.dueRank }),
		at("urgency", func(r *row) *int64 { return &r.urgency }),
		at("card", func(r *row) *string { return &r.card.board }),
		at("rest", func(r *row) *string { return &r.card.rest }),
	}

	read, written = slices.Concat(own, kept), slices.Concat(own, derived)

	columns = names(read)
)

// names returns the names of the columns for use in a query.
func names(cs []column) string {
	all := make([]string, len(cs))
	for i, c := range cs {
		all[i] = c.name
	}
	return strings.Join(all, `, `)
}

// row is a task in the form in which the database stores it.
type row struct {
	Task
	tags, dependsOn          string
	criteria, checks         string // JSON
	blockedReason, blockedBy *string
	claimBy, claimName       *string
	blockedSince, claimUntil *clock.Time
	dispatch, tokens         *string // JSON
	unpriced                 int64

	search                         string
	priorityRank, dueRank, urgency int64
	card                           Card
}

// row returns the task as a row, without the cards and without the columns that only other
// functions write.
func (t Task) row() *row {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // strings always encode
		}
		return string(b)
	}
	r := row{
		Task: t, tags: text(t.Tags), criteria: text(t.Criteria), checks: text(t.Checks), dependsOn: packKeys(t.DependsOn),
		search: t.searched(), priorityRank: t.Priority.rank(),
	}
	r.dueRank, r.urgency = t.ranks()
	if b := t.Blocked; b != nil {
		r.blockedReason, r.blockedSince, r.blockedBy = &b.Reason, &b.Since, &b.By
	}
	if c := t.Claim; c != nil {
		r.claimBy, r.claimName, r.claimUntil = &c.By, &c.Name, &c.ExpiresAt
	}
	return &r
}

// scan reads a task from a row of a query that selects columns.
func scan(from db.Row) (Task, error) {
	var r row
	to := make([]any, len(read))
	for i, c := range read {
		to[i] = c.scan(&r)
	}
	if err := from.Scan(to...); err != nil {
		return Task{}, err
	}
	t := r.Task
	t.Key, t.DependsOn = keyOf(t.number), unpackKeys(r.dependsOn)
	if r.blockedReason != nil && r.blockedSince != nil && r.blockedBy != nil {
		t.Blocked = &Blocked{Reason: *r.blockedReason, Since: *r.blockedSince, By: *r.blockedBy}
	}
	if r.claimBy != nil && r.claimName != nil && r.claimUntil != nil {
		t.Claim = &Claim{By: *r.claimBy, Name: *r.claimName, ExpiresAt: *r.claimUntil}
	}
	for _, part := range []struct {
		text *string
		to   any
	}{
		{&r.tags, &t.Tags},
		{&r.criteria, &t.Criteria},
		{&r.checks, &t.Checks},
		{r.dispatch, &t.Dispatch},
		{r.tokens, &t.Tokens},
	} {
		if part.text == nil {
			continue
		}
		if err := json.Unmarshal([]byte(*part.text), part.to); err != nil {
			return Task{}, fmt.Errorf("read %s: %w", t.Key, err)
		}
	}
	if t.Tokens != nil {
		t.CostComplete = new(r.unpriced == 0)
	}
	return t, nil
}
