package task

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
)

// Filter selects the tasks to list. The zero Filter selects all tasks that are
// not archived.
type Filter struct {
	Statuses     []Status
	Priorities   []Priority
	Types        []Type
	Assignee     Person
	Reporter     Person
	Holder       Person // holder of the claim; Anybody selects all claimed tasks
	Blocked      *bool
	Tags         []Tag     // tasks with any of these
	Project      string    // ID or key, or "none"
	Parent       string    // ID or key, or "none"
	DependsOn    string    // ID or key; tasks that depend on it
	Archived     bool      // archived tasks instead of the others
	DueAfter     time.Time // inclusive; zero means no bound. A bound excludes tasks without a due time
	DueBefore    time.Time // exclusive; zero means no bound
	UpdatedSince time.Time // inclusive; zero means no bound
	Text         string    // part of the key or title, ignoring case
}

// Person selects a user in a filter, by ID, email, or agent_id. It can also be one of the
// constants below. An empty Person does not restrict the filter.
type Person string

// Special values of Person. They cannot be mistaken for the name of an account.
const (
	Me      Person = "me"   // the caller
	Nobody  Person = "none" // tasks without such a person
	Anybody Person = "any"  // tasks with any such person; only for the holder
)

// where returns the SQL condition for the filter. It also returns those parts of the condition that
// have an index; the parts that probably match the fewest tasks come first. Names in the filter
// must already be resolved to IDs.
func (f Filter) where(now time.Time, zone *time.Location) (list.Where, []narrow) {
	var w list.Where
	var narrows []narrow
	by := func(index, condition string, args ...any) {
		w.And(condition, args...)
		narrows = append(narrows, answeredBy(index, condition, args))
	}
	w.And(map[bool]string{true: `archived_at IS NOT NULL`, false: `archived_at IS NULL`}[f.Archived])
	if f.Blocked != nil {
		w.And(map[bool]string{true: `blocked_reason IS NOT NULL`, false: `blocked_reason IS NULL`}[*f.Blocked])
	}
	f.Holder.holds(&w, now)
	list.Has(&w, `search`, f.Text)
	Person(f.Parent).in(by, `parent_id`,
		map[bool]string{true: `tasks_without_parent`, false: `tasks_of_parent`}[f.Parent == string(Nobody)])
	statuses := anys(f.Statuses, func(s Status) any { return s })
	f.Assignee.in(func(index, condition string, args ...any) {
		w.And(condition, args...)
		if len(statuses) > 0 { // most tasks of an assignee are done
			index, condition, args = `tasks_of_assignee_by_status`, condition+` AND status `+in(statuses),
				append(args, statuses...)
		}
		narrows = append(narrows, answeredBy(index, condition, args))
	}, `assignee_id`, `tasks_of_assignee`)
	Person(f.Project).in(by, `project_id`, `tasks_of_project`)
	if tags := anys(f.Tags, func(t Tag) any { return plaintext.Fold(string(t)) }); len(tags) > 0 {
		w.And(`EXISTS (SELECT 1 FROM task_tags g WHERE g.number = tasks.number AND g.tag `+in(tags)+`)`, tags...)
		narrows = append(narrows, numbered(`SELECT number FROM task_tags WHERE tag `+in(tags), tags...))
	}
	if f.DependsOn != "" {
		w.And(`EXISTS (SELECT 1 FROM task_dependencies d WHERE d.depends_on_id = ? AND d.task_id = tasks.id)`, f.DependsOn)
		narrows = append(narrows,
			numbered(`SELECT t.number FROM task_dependencies d JOIN tasks t ON t.id = d.task_id WHERE d.depends_on_id = ?`,
				f.DependsOn))
	}
	if !f.DueAfter.IsZero() || !f.DueBefore.IsZero() {
		from, fromDay := dueBounds(f.DueAfter, -noDue, zone)
		to, toDay := dueBounds(f.DueBefore, noDue, zone)
		by(`tasks_by_due`, `due_rank >= ? AND due_rank < ? AND CASE WHEN due_rank % 86400000000 = 86399999000
			THEN due_rank >= ? AND due_rank < ? ELSE due_rank >= ? AND due_rank < ? END`,
			min(from, fromDay), max(to, toDay), fromDay, toDay, from, to)
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
	if len(statuses) > 0 && f.Archived {
		w.And(`status `+in(statuses), statuses...) // the indexes by status do not cover archived tasks
	} else {
		list.In(&w, `status`, f.Statuses)
	}
	return w, narrows
}

// dueBounds returns the due_rank that separates the tasks due before the time t from the others: for tasks with a due
// time, and for those that are due on a whole day, which is over when it has passed in the zone. Both are unbounded
// if t is zero.
func dueBounds(t time.Time, unbounded int64, zone *time.Location) (atTime, onDay int64) {
	if t.IsZero() {
		return unbounded, unbounded
	}
	if zone != nil {
		t = t.In(zone)
	}
	y, m, d := t.Date()
	return t.UnixMicro(), time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixMicro()
}

// in returns the SQL operator IN with a list of placeholders, one for each
// value.
func in(values []any) string { return `IN (?` + strings.Repeat(`, ?`, len(values)-1) + `)` }

// anys converts each value with the given function and omits duplicates.
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

// holds restricts w to tasks on which p has an unexpired claim.
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

// narrow is a condition of a filter that the database can look up in an index.
type narrow struct {
	index string
	rows  string // query that returns a row for each matching task
	args  []any
	hint  string // condition that makes the database use the index, if the filter's own condition does not
}

// answeredBy returns a condition that an index on the board's tasks answers.
func answeredBy(index, condition string, args []any) narrow {
	rows := `SELECT 1 FROM tasks INDEXED BY ` + index + ` WHERE archived_at IS NULL AND ` + condition
	return narrow{index: index, rows: rows, args: args}
}

// numbered returns a condition that selects the tasks whose numbers the given query returns.
func numbered(query string, args ...any) narrow {
	return narrow{`tasks_by_number`, query, args, `number IN (` + query + `)`}
}

// few is the maximum number of matches that a query reads and sorts. For more
// matches, it is faster to scan the list in its order. The databases cannot
// choose correctly: SQLite has no statistics, and PostgreSQL has none for n-grams.
const few = 2000

// where returns the SQL condition for the filter, after resolving names to IDs.
// The condition includes hints that make the database use the most selective
// index.
func (s *Service) where(ctx context.Context, q db.Queryer, f Filter, want page.Want) (list.Where, error) {
	f, err := f.lookUp(ctx, q)
	if err != nil {
		return list.Where{}, err
	}
	w, narrows := f.where(s.Now(), s.Zone)
	if q.Engine() == db.Postgres {
		narrows = nil // it has statistics of all columns, but none of n-grams
	}
	if plaintext.Fold(f.Text) != "" {
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
		if n.hint == "" && f.Archived {
			continue // few indexes cover archived tasks
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
		w.Use(orders[orderOf(want)].index) // does not contain archived tasks
	}
	return w, nil
}

// leads makes the query use the index of a condition that always matches few tasks, such as
// being blocked. It returns false if the filter has no such condition.
func (f Filter) leads(w *list.Where) bool {
	switch {
	case f.Holder != "" && f.Holder != Nobody:
		w.Use(`tasks_claimed`)
	case f.Archived:
		return false
	case f.Blocked != nil && *f.Blocked:
		w.Use(`tasks_blocked`)
	case f.Assignee != "" && f.Assignee != Nobody && slices.Equal(f.Statuses, []Status{InProgress}):
		w.Hint(`status <> 'done'`) // as in the definition of the index
		w.Use(`tasks_open_of_assignee`)
	default:
		return false
	}
	return true
}

// apply makes the query use n's index. A query for archived tasks uses tasks_archived_by_number
// instead.
func (n narrow) apply(w *list.Where, archived bool) {
	if n.hint != "" {
		w.Hint(n.hint, n.args...)
	}
	if archived {
		n.index = `tasks_archived_by_number`
	}
	w.Use(n.index)
}

// matchesFew reports whether the number of matching tasks is small: at most the constant few. It
// counts no further than needed.
func (n narrow) matchesFew(ctx context.Context, q db.Queryer) (bool, error) {
	var count int
	err := q.QueryRow(ctx, `SELECT COUNT(*) FROM (`+n.rows+` LIMIT `+strconv.Itoa(few+1)+`) AS matches`,
		n.args...).Scan(&count)
	if err != nil {
		return false, fmt.Errorf("count the tasks that match a filter: %w", err)
	}
	return count <= few, nil
}
