package task

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/web"
)

// Each filter and sort returns the expected tasks.
func TestFiltersOverHTTP(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		s.Now = func() time.Time { return at }
		as := func(role string) context.Context { return actor.With(t.Context(), s.users[role]) }
		for i, n := range []New{
			{Title: "Order paper", Priority: Low},
			{Title: "Fix the login", Priority: Urgent, Type: Bug, Assignee: new("cto")},
			{Title: "ÜBERSICHT 100%", Priority: High, Status: Backlog, Type: Research},
			{Title: "Ship it", Priority: Urgent, Status: Review, Assignee: new("user@example.com")},
			{Title: "Order ink", Status: Done},
		} {
			ctx := as([]string{"user", "agent"}[i%2])
			if i == 4 {
				ctx = actor.With(t.Context(), actor.System)
			}
			if _, err := s.Create(ctx, n); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Hour)
		}
		if _, err := s.Update(as("user"), "TASK-1", Change{Blocked: patch.Set(BlockedReason{Reason: "No money"})}, nil); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
		if _, err := s.Update(as("user"), "TASK-2", Change{Title: new("Mend the login"), Priority: new(High)}, nil); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]string{
			"": "5 4 3 2 1", "sort=key": "1 2 3 4 5", "sort=-key": "5 4 3 2 1",
			"sort=created": "1 2 3 4 5", "sort=-created": "5 4 3 2 1",
			"sort=-updated": "2 1 5 4 3", "sort=updated": "3 4 5 1 2",
			"sort=-priority": "4 3 2 5 1", "sort=priority": "1 5 2 3 4",
			"priority=high": "3 2", "priority=high,urgent&sort=-priority": "4 3 2", "priority=high&priority=low": "3 2 1",
			"type=bug,research": "3 2", "type=epic": "", "status=done&status=review,backlog": "5 4 3",
			"assignee=none": "5 3 1", "assignee=me": "4", "assignee=cto": "2", "assignee=" + s.users["user"].ID: "4",
			"reporter=me": "3 1", "reporter=none": "5", "reporter=cto": "4 2", "reporter=me&status=todo": "1",
			"updated_since=2026-11-20T13:00:00Z": "2 1", "updated_since=2026-11-20T15:00:00%2B01:00": "2",
			"q=login": "2", "q=fix": "", "q=ORDER": "5 1", "q=task-3": "3", "q=%C3%BCber": "3", "q=%25": "3", "q=_": "", "q=TASK-1%20order": "1",
			"q=order&sort=key&status=todo": "1", "blocked=true": "1", "blocked=false&sort=updated": "3 4 5 2",
		} {
			for _, size := range []int{1, 2, 100} {
				got, total := s.turn(t, fmt.Sprintf("/tasks?total=true&limit=%d&%s", size, query))
				if got != want || total != fmt.Sprint(len(strings.Fields(want))) {
					t.Errorf("%s by %d: %q of %s, want %q", query, size, got, total, want)
				}
			}
		}
		if a := s.ask(t, "user", "GET", "/tasks?limit=2", ""); a.header.Get("X-Total-Count") != "" {
			t.Error("it was counted without being asked")
		}
	})
}

// turn reads all pages of a list.
func (s *site) turn(t testing.TB, path string) (keys, total string) {
	t.Helper()
	var pages []string
	for range 20 {
		a := s.ask(t, "user", "GET", path, "")
		a.want(t, path, 200, "")
		if k := a.keysOf(); k != "" {
			pages = append(pages, k)
		}
		total = a.header.Get("X-Total-Count")
		link := a.header.Get("Link")
		if link == "" {
			return strings.Join(pages, " "), total
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"+web.Prefix), ">")
	}
	t.Fatalf("%s has no end", path)
	return "", ""
}

// Any two filters can be combined, in each order, on the board and in the archive: SQLite
// refuses a query if the chosen index cannot answer it.
func TestFilterPairs(t *testing.T) {
	t.Parallel()
	filters := []string{
		"", "status=todo", "status=todo,done", "priority=high", "type=bug,task", "assignee=me", "assignee=none", "reporter=me", "holder=me",
		"holder=any", "holder=none", "blocked=true", "blocked=false", "tag=a", "project=none", "parent=none", "parent=TASK-1",
		"due_after=2026-11-20T08:00:00Z", "due_before=2026-11-20T08:00:00Z", "updated_since=2026-11-20T08:00:00Z", "q=paper",
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		makeTask(t, s.Service, "Order paper")
		for i, one := range filters {
			for _, other := range filters[i+1:] {
				if name, _, _ := strings.Cut(one, "="); strings.HasPrefix(other, name+"=") {
					continue // only some can be given twice
				}
				for _, archived := range []string{"false", "true"} {
					for _, sort := range []string{"key", "-created", "updated", "-due", "position", "-priority"} {
						path := "/tasks?" + strings.Join([]string{one, other, "archived=" + archived, "sort=" + sort}, "&")
						if a := s.ask(t, "user", "GET", path, ""); a.status != http.StatusOK {
							t.Fatalf("GET %s: %d %s", path, a.status, a.body)
						}
					}
				}
			}
		}
	})
}

// Invalid filters are refused rather than ignored.
func TestListRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	makeTask(t, s.Service, "One")
	makeTask(t, s.Service, "Two")
	first := s.ask(t, "user", "GET", "/tasks?limit=1&sort=-updated&status=todo", "")
	u, err := url.Parse(strings.Trim(strings.Split(first.header.Get("Link"), ";")[0], "<>"))
	if err != nil {
		t.Fatal(err)
	}
	cursor := u.Query().Get("cursor")
	s.ask(t, "user", "GET", "/tasks?limit=7&total=true&sort=-updated&status=todo&cursor="+cursor, "").want(t, "the same list", 200, "")
	for query, want := range map[string][2]string{
		"cursor=" + cursor:                               {"invalid_cursor", "query.cursor"},
		"sort=updated&status=todo&cursor=" + cursor:      {"invalid_cursor", "query.cursor"},
		"sort=-created&status=todo&cursor=" + cursor:     {"invalid_cursor", "query.cursor"},
		"sort=-updated&status=backlog&cursor=" + cursor:  {"invalid_cursor", "query.cursor"},
		"sort=-updated&status=todo&q=o&cursor=" + cursor: {"invalid_cursor", "query.cursor"},
		"sort=title":                    {"invalid_input", "query.sort"},
		"sort=-":                        {"invalid_input", "query.sort"},
		"sort=key&sort=-key":            {"invalid_input", "query.sort"},
		"priority=highest":              {"invalid_input", "query.priority[0]"},
		"assigne=cto":                   {"invalid_input", "query.assigne"},
		"updated_since=yesterday":       {"invalid_input", "query.updated_since"},
		"q=" + strings.Repeat("x", 201): {"invalid_input", "query.q"},
	} {
		s.ask(t, "user", "GET", "/tasks?"+query, "").want(t, query, 422, want[0], want[1])
	}
	s.ask(t, "user", "GET", "/tasks?assignee=nobody", "").want(t, "assignee", 422, "assignee_unknown")
	s.ask(t, "user", "GET", "/tasks?reporter=nobody", "").want(t, "reporter", 422, "reporter_unknown")
}

// With 10,000 tasks, every filter and sort uses an index on both engines and
// does not scan or sort the whole table.
func TestPlans(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fill(t, d, 10_000)
		t.Run("others", func(t *testing.T) { otherPlans(t, d) })
		if d.Engine() == db.SQLite {
			t.Run("narrow", func(t *testing.T) { narrowPlans(t, d) })
		}
		s := newService(d)
		since := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		tests := map[string]struct {
			f     Filter
			sorts []string
		}{
			"everything":    {Filter{}, []string{"", "key", "-updated", "updated", "-created", "created", "-priority", "priority", "due", "-due", "position", "-position"}},
			"the archive":   {Filter{Archived: true}, []string{"", "-updated", "-created", "position"}},
			"a column":      {Filter{Statuses: []Status{Review}}, []string{"", "-updated", "position"}},
			"a project":     {Filter{Project: "p1"}, []string{""}},
			"parts":         {Filter{Parent: "t0"}, []string{""}},
			"no parts":      {Filter{Parent: string(Nobody)}, []string{""}},
			"due then":      {Filter{DueAfter: since, DueBefore: since.AddDate(0, 0, 30)}, []string{"due", "-due"}},
			"due some time": {Filter{DueAfter: since.AddDate(-1, 0, 0)}, []string{"due"}},
			"an assignee":   {Filter{Assignee: "u3"}, []string{""}},
			"a reporter":    {Filter{Reporter: "u3"}, []string{""}},
			"nobody's":      {Filter{Assignee: Nobody}, []string{""}},
			"a priority":    {Filter{Priorities: []Priority{Urgent}}, []string{""}},
			"a type":        {Filter{Types: []Type{Bug}}, []string{""}},
			"blocked":       {Filter{Blocked: new(true)}, []string{""}},
			"since a while": {Filter{UpdatedSince: since}, []string{"-updated", "updated"}},
			"columns":       {Filter{Statuses: []Status{Review, Todo, Done}}, []string{"", "-updated", "position"}},
			"a text":        {Filter{Text: "ber"}, []string{"", "-updated"}},
			"a tag":         {Filter{Tags: []Tag{"often"}}, []string{"", "position"}},
			"much":          {Filter{Types: []Type{Bug}, Priorities: []Priority{Low, Urgent}}, []string{"", "position"}},
		}
		for name, tt := range tests {
			for _, sort := range tt.sorts {
				for _, cursor := range []bool{false, true} {
					w := want(100, sort, "")
					if cursor {
						part, err := s.Cards(t.Context(), tt.f, w, false)
						if err != nil || len(part.Rows) != 100 || part.Next == "" {
							t.Fatalf("%s by %q: %d rows, %v", name, sort, len(part.Rows), err)
						}
						w.Cursor = part.Next
					}
					if bad := explained(t, d, pageQuery(t, s, tt.f, w), pageArgs(t, s, tt.f, w)...); bad != "" {
						t.Errorf("%s by %q, from a cursor: %t:\n%s", name, sort, cursor, bad)
					}
				}
			}
		}
	})
}

// otherPlans checks that the board's other frequent queries do not scan the whole table either.
func otherPlans(t *testing.T, d *db.DB) {
	for name, q := range map[string]struct {
		query string
		args  []any
	}{
		"the next to claim":  {nextQuery, []any{"u3"}},
		"claims":             {`SELECT id FROM tasks WHERE claim_until IS NOT NULL AND claim_until <= ? ORDER BY claim_until LIMIT ?`, []any{monday, 50}},
		"a rare tag":         {`SELECT id FROM tasks WHERE archived_at IS NULL AND number IN (SELECT number FROM task_tags WHERE tag IN (?))`, []any{"rare7"}},
		"the card before":    {`SELECT position FROM tasks WHERE archived_at IS NULL AND position < ? ORDER BY position DESC, number DESC LIMIT 1`, []any{firstPosition(5000)}},
		"who depends on one": {`SELECT id FROM tasks WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on_id = ?)`, []any{"t0"}},
		"a deleted task":     {`SELECT subject_id FROM events WHERE kind = 'task.deleted' AND subject_name = ? ORDER BY id DESC LIMIT 1`, []any{"TASK-1"}},
		"what to archive":    {`SELECT id FROM tasks WHERE archive_from IS NOT NULL AND archived_at IS NULL AND archive_from < ? ORDER BY archive_from LIMIT ?`, []any{monday, 50}},
	} {
		if bad := explained(t, d, q.query, q.args...); bad != "" {
			t.Errorf("%s:\n%s", name, bad)
		}
	}
}

// narrowPlans checks that a selective filter leads the query, whatever other filters are set. SQLite
// has no statistics and would otherwise scan a column or the whole board.
func narrowPlans(t *testing.T, d *db.DB) {
	s := newService(d)
	open := []Status{Backlog, Todo, InProgress, Review}
	long := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		f     Filter
		index string
	}{
		"blocked":           {Filter{Blocked: new(true), Statuses: open}, "tasks_blocked"},
		"due before":        {Filter{DueBefore: long, Statuses: open}, "tasks_by_due"},
		"changed since":     {Filter{UpdatedSince: long.AddDate(99, 0, 0), Types: []Type{Bug}}, "tasks_by_update"},
		"a text":            {Filter{Text: "nowhere"}, "task_grams"},
		"two characters":    {Filter{Text: "zq", Statuses: open}, "task_grams"},
		"one character":     {Filter{Text: "%"}, "task_grams"},
		"a tag":             {Filter{Tags: []Tag{"rare7"}, Statuses: open}, "task_tags"},
		"a person's":        {Filter{Assignee: "u3", Statuses: open}, "tasks_of_assignee_by_status"},
		"what one works on": {Filter{Assignee: "u3", Statuses: []Status{InProgress}}, "tasks_open_of_assignee"},
		"what one holds":    {Filter{Holder: "u3"}, "tasks_claimed"},
		"what is held":      {Filter{Holder: Anybody}, "tasks_claimed"},
	} {
		w := want(100, "position", "")
		w.Total = true
		plan := planOf(t, d, pageQuery(t, s, tt.f, w), pageArgs(t, s, tt.f, w)...)
		for _, other := range []string{"tasks_of_status", "tasks_by_position"} {
			if !strings.Contains(plan, tt.index) || strings.Contains(plan, other) {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
	}
}

func pageQuery(t testing.TB, s *Service, f Filter, w page.Want) string {
	t.Helper()
	query, _ := pageOf(t, s, f, w)
	return query
}

func pageArgs(t testing.TB, s *Service, f Filter, w page.Want) []any {
	t.Helper()
	_, args := pageOf(t, s, f, w)
	return args
}

// pageOf returns the statement for one page of cards.
func pageOf(t testing.TB, s *Service, f Filter, w page.Want) (query string, args []any) {
	t.Helper()
	where, err := s.where(t.Context(), s.DB, f, w)
	if err != nil {
		t.Fatal(err)
	}
	if query, args, err = cardList(orderOf(w), false).Query(s.DB.Engine(), where, w); err != nil {
		t.Fatal(err)
	}
	return query, args
}

// explained returns the query plan if it scans or sorts the whole table, and ""
// otherwise.
func explained(t testing.TB, d *db.DB, query string, args ...any) string {
	t.Helper()
	bad := []string{"TEMP B-TREE", "SCAN tasks\n"}
	if d.Engine() == db.Postgres {
		bad = []string{"Seq Scan", "Sort  "}
	}
	text := planOf(t, d, query, args...)
	for _, b := range bad {
		if strings.Contains(text, b) {
			return query + "\n" + text
		}
	}
	return ""
}

// planOf returns the query plan.
func planOf(t testing.TB, d *db.DB, query string, args ...any) string {
	t.Helper()
	explain := map[db.Engine]string{db.SQLite: `EXPLAIN QUERY PLAN `, db.Postgres: `EXPLAIN `}[d.Engine()]
	rows, err := d.Query(t.Context(), explain+query, args...)
	lines, err := db.All(rows, err, func(r db.Row) (line string, err error) {
		if d.Engine() == db.Postgres {
			return line, r.Scan(&line)
		}
		var id, parent, unused int
		return line, r.Scan(&id, &parent, &unused, &line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}

// fill creates n tasks of twenty users, distributed as on a board in use.
func fill(t testing.TB, d *db.DB, n int) {
	t.Helper()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for i := range 20 {
			_, err := tx.Exec(t.Context(), `INSERT INTO users (id, email, email_key, name, role, active, password_hash, created_at, updated_at, version)
				VALUES (?, ?, ?, ?, 'user', TRUE, '', ?, ?, 1)`, fmt.Sprint("u", i), fmt.Sprint("u", i), fmt.Sprint("u", i), "U", at, at)
			if err != nil {
				return err
			}
		}
		for i := range 2 {
			_, err := tx.Exec(t.Context(), `INSERT INTO projects (id, key, name, description, created_at, updated_at, version)
				VALUES (?, ?, '', '', ?, ?, 1)`, fmt.Sprint("p", i), fmt.Sprint("P", i), at, at)
			if err != nil {
				return err
			}
		}
		for i := range n {
			who := fmt.Sprint("u", i%20)
			task, err := New{
				Title: fmt.Sprint("Number ", i), Status: []Status{Done, Todo, Done, Review, Backlog, Done}[i%6],
				Priority: []Priority{Low, Medium, High, Urgent}[i%4], Type: []Type{Plain, Bug, Feature}[i%3],
			}.make(db.NewID(), at.Add(time.Duration(i)*3*time.Minute), actor.System)
			if err != nil {
				return err
			}
			if task.ReporterID = &who; i%7 > 0 {
				task.AssigneeID = &who
			}
			if i%25 == 0 {
				task.Blocked = &Blocked{Reason: "x", Since: task.CreatedAt, By: "x"}
			}
			if i == 0 {
				task.ID = "t0"
			}
			if i%5 == 0 {
				task.ProjectID = new(fmt.Sprint("p", i%2))
			}
			if i%10 == 3 {
				task.ParentID = new("t0")
			}
			if i%3 == 0 {
				task.DueAt = clock.Ptr(task.CreatedAt.AddDate(0, 0, i%40))
			}
			if i%9 == 0 {
				task.ArchivedAt = clock.Ptr(at)
			}
			if task.Tags = []Tag{Tag(fmt.Sprint("rare", i%1000))}; i%4 == 0 {
				task.Tags = append(task.Tags, "often")
			}
			if err := insert(t.Context(), tx, &task); err != nil {
				return err
			}
		}
		if err := indexTexts(t.Context(), tx, int64(n)); err != nil {
			return err
		}
		if d.Engine() == db.SQLite {
			return nil // SQLite has no statistics in production either
		}
		for _, table := range []string{"tasks", "task_tags", "task_grams"} {
			if _, err := tx.Exec(t.Context(), `ANALYZE `+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkList measures one page of 10,000 tasks, including filters without a
// matching index.
func BenchmarkList(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		d := dbtest.Open(b, dbtest.URL(b, engine))
		fill(b, d, 10_000)
		s := newService(d)
		for name, c := range map[string]struct {
			f Filter
			w page.Want
		}{
			"all":                 {Filter{}, want(100, "", "")},
			"all with total":      {Filter{}, page.Want{Total: true}},
			"open by priority":    {Filter{Statuses: []Status{Backlog, Todo, InProgress, Review}}, want(100, "-priority", "")},
			"one's open":          {Filter{Statuses: []Status{Backlog, Todo, InProgress, Review}, Assignee: "u3"}, want(100, "-updated", "")},
			"text that is rare":   {Filter{Text: "number 77"}, want(100, "", "")},
			"text that is absent": {Filter{Text: "nowhere"}, want(100, "-updated", "")},
		} {
			b.Run(engine.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Cards(b.Context(), c.f, c.w, false); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
