package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Filter says which tasks to list. The zero Filter lists all that are not in the
// archive.
type Filter struct {
	Statuses     []Status
	Priorities   []Priority
	Types        []Type
	Assignee     Person
	Reporter     Person
	Holder       Person // who has a claim; Anybody is whoever has one
	Blocked      *bool
	Tags         []Tag     // any of these
	Project      string    // a project's id or key, or none
	Parent       string    // a task's id or key, or none
	Archived     bool      // only what is in the archive, instead of what is not
	DueAfter     time.Time // not before; zero is no bound. With a bound, only what is due at some time
	DueBefore    time.Time // before it; zero is no bound
	UpdatedSince time.Time // not before; zero is no bound
	Text         string    // in the key or the title, in whatever case
}

// Person names an account in a filter: by its id, email or agent_id, or as one
// of the constants. Empty is anyone.
type Person string

// The names of people that are not looked up. No account can be named by them.
const (
	Me      Person = "me"   // the caller
	Nobody  Person = "none" // tasks that have no such person
	Anybody Person = "any"  // tasks that have one; only of the holder
)

// where is the filter in SQL, and those of its parts that an index can answer:
// first the ones that as a rule match the fewest tasks. The people in it were
// looked up.
func (f Filter) where(now time.Time) (list.Where, []narrow) {
	var w list.Where
	var narrows []narrow
	by := func(index, condition string, args ...any) {
		w.And(condition, args...)
		narrows = append(narrows, narrow{index: index, rows: `SELECT 1 FROM tasks INDEXED BY ` + index + ` WHERE archived_at IS NULL AND ` + condition, args: args})
	}
	w.And(map[bool]string{true: `archived_at IS NOT NULL`, false: `archived_at IS NULL`}[f.Archived])
	if f.Blocked != nil {
		w.And(map[bool]string{true: `blocked_reason IS NOT NULL`, false: `blocked_reason IS NULL`}[*f.Blocked])
	}
	f.Holder.holds(&w, now)
	list.Has(&w, `search`, f.Text)
	Person(f.Parent).in(by, `parent_id`, map[bool]string{true: `tasks_without_parent`, false: `tasks_of_parent`}[f.Parent == string(Nobody)])
	f.Assignee.in(by, `assignee_id`, `tasks_of_assignee`)
	Person(f.Project).in(by, `project_id`, `tasks_of_project`)
	if tags := anys(f.Tags, func(t Tag) any { return strings.ToLower(string(t)) }); len(tags) > 0 {
		w.And(`EXISTS (SELECT 1 FROM task_tags g WHERE g.number = tasks.number AND g.tag `+in(tags)+`)`, tags...)
		narrows = append(narrows, numbered(`SELECT number FROM task_tags WHERE tag `+in(tags), tags...))
	}
	if !f.DueAfter.IsZero() || !f.DueBefore.IsZero() {
		from, to := int64(-noDue), int64(noDue)
		if !f.DueAfter.IsZero() {
			from = f.DueAfter.UnixMicro()
		}
		if !f.DueBefore.IsZero() {
			to = f.DueBefore.UnixMicro()
		}
		by(`tasks_by_due`, `due_rank >= ? AND due_rank < ?`, from, to)
	}
	if !f.UpdatedSince.IsZero() {
		by(`tasks_by_update`, `updated_at >= ?`, f.UpdatedSince)
	}
	f.Reporter.in(by, `reporter_id`, `tasks_of_reporter`)
	if ps := anys(f.Priorities, func(p Priority) any { return p.rank() }); len(ps) > 0 {
		by(`tasks_by_rank`, `priority_rank `+in(ps), ps...)
	}
	if ts := anys(f.Types, func(t Type) any { return t }); len(ts) > 0 {
		by(`tasks_of_type`, `type `+in(ts), ts...)
	}
	if statuses := anys(f.Statuses, func(s Status) any { return s }); len(statuses) > 0 && f.Archived {
		w.And(`status `+in(statuses), statuses...) // the indexes by status leave the archive out
	} else {
		list.In(&w, `status`, f.Statuses)
	}
	return w, narrows
}

// in is IN with a mark for each of the values.
func in(values []any) string { return `IN (?` + strings.Repeat(`, ?`, len(values)-1) + `)` }

// anys are the values as they are in the database, each once.
func anys[T any](values []T, stored func(T) any) (all []any) {
	for _, v := range values {
		if s := stored(v); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func (p Person) in(by func(index, condition string, args ...any), column, index string) {
	switch p {
	case "":
	case Nobody:
		by(index, column+` IS NULL`)
	default:
		by(index, column+` = ?`, p)
	}
}

// holds adds that the person has a claim that has not ended.
func (p Person) holds(w *list.Where, now time.Time) {
	switch p {
	case "":
		return
	case Nobody:
		w.Now(`(claim_until IS NULL OR claim_until <= ?)`, now)
		return
	case Anybody:
	default:
		w.And(`claim_by = ?`, p)
	}
	w.And(`claim_until IS NOT NULL`)
	w.Now(`claim_until > ?`, now)
}

// narrow is a part of a filter that an index can answer.
type narrow struct {
	index string
	rows  string // a query with a row for each task that matches
	args  []any
	hint  string // the condition to read by, where that is not in the filter
}

// numbered is a part of a filter that matches the tasks whose numbers a query has.
func numbered(query string, args ...any) narrow {
	return narrow{`tasks_by_number`, query, args, `number IN (` + query + `)`}
}

// few is up to how many tasks a part of a filter may match for the list to be made
// by reading and sorting them. What matches more is soon found in the order of the
// list. SQLite has no statistics by which it could tell, and PostgreSQL none of
// how many texts have some grams.
const few = 2000

// where looks up the people in the filter and returns it in SQL, with what helps
// the database to find the rows where they are few.
func (s *Service) where(ctx context.Context, q db.Queryer, f Filter, want page.Want) (list.Where, error) {
	f, err := f.lookUp(ctx, q)
	if err != nil {
		return list.Where{}, err
	}
	w, narrows := f.where(s.Now())
	if f.Text != "" {
		text, err := withGrams(ctx, q, f.Text)
		if err != nil {
			return w, err
		}
		narrows = slices.Insert(narrows, 0, text)
	}
	if f.leads(&w) {
		return w, nil
	}
	for _, n := range narrows {
		// PostgreSQL has statistics of each column, and the archive few indexes.
		if n.hint == "" && (q.Engine() == db.Postgres || f.Archived) {
			continue
		}
		found, err := n.matchesFew(ctx, q)
		if err != nil {
			return w, err
		}
		if found {
			n.apply(&w, f.Archived)
			return w, nil
		}
	}
	if len(f.Statuses) == 0 && !f.Archived {
		w.Use(inOrder[strings.TrimPrefix(cmp.Or(want.Sort, tasks.Usual), "-")])
	}
	return w, nil
}

// leads has a part of the filter that always matches few tasks lead to the others,
// if there is one.
func (f Filter) leads(w *list.Where) bool {
	switch {
	case f.Holder != "" && f.Holder != Nobody:
		w.Use(`tasks_claimed`)
	case f.Archived:
		return false
	case f.Blocked != nil && *f.Blocked:
		w.Use(`tasks_blocked`)
	case f.Assignee != "" && f.Assignee != Nobody && slices.Equal(f.Statuses, []Status{InProgress}):
		w.Hint(`status = 'in_progress'`) // in the words of the index
		w.Use(`tasks_in_progress_of`)
	default:
		return false
	}
	return true
}

// apply has the part lead to the others.
func (n narrow) apply(w *list.Where, archived bool) {
	if n.hint != "" {
		w.Hint(n.hint, n.args...)
	}
	if archived {
		n.index = `tasks_archived_by_number`
	}
	w.Use(n.index)
}

// matchesFew counts no further than it must.
func (n narrow) matchesFew(ctx context.Context, q db.Queryer) (bool, error) {
	var count int
	err := q.QueryRow(ctx, `SELECT COUNT(*) FROM (`+n.rows+` LIMIT `+strconv.Itoa(few+1)+`) AS matches`, n.args...).Scan(&count)
	if err != nil {
		return false, fmt.Errorf("count the tasks that match a filter: %w", err)
	}
	return count <= few, nil
}

// tasks is how the board is listed. A row's number tells it apart.
var tasks = list.List[Task]{
	Table: `tasks`, Columns: columns, Scan: scan, Usual: "-key",
	Sorts: map[string]list.Sort[Task]{
		"key": {
			Columns: []string{`number`}, Position: func(t Task) []any { return []any{t.number} },
			Apart: map[string]string{`status`: `tasks_of_status`},
		},
		"created": {Columns: []string{`created_at`, `number`}, Position: func(t Task) []any { return []any{t.CreatedAt.Time, t.number} }},
		"updated": {
			Columns: []string{`updated_at`, `number`}, Position: func(t Task) []any { return []any{t.UpdatedAt.Time, t.number} },
			Apart: map[string]string{`status`: `tasks_of_status_by_update`},
		},
		"due": {Columns: []string{`due_rank`, `number`}, Position: func(t Task) []any { due, _ := t.ranks(); return []any{due, t.number} }},
		"position": {
			Columns: []string{`position`, `number`}, Position: func(t Task) []any { return []any{t.Position, t.number} },
			Apart: map[string]string{`status`: `tasks_of_status_by_position`},
		},
		"priority": {Columns: []string{`priority_rank`, `number`}, Position: func(t Task) []any { return []any{t.Priority.rank(), t.number} }},
	},
}

// inOrder are the indexes of what is not in the archive by the sorts of tasks.
var inOrder = map[string]string{
	"key": `tasks_by_number`, "created": `tasks_by_creation`, "updated": `tasks_by_update`,
	"due": `tasks_by_due`, "position": `tasks_by_position`, "priority": `tasks_by_rank`,
}
