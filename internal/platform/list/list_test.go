package list_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// book is a row with every type that a sort can use.
type book struct {
	ID    string
	Title string
	Pages int64
	Read  time.Time
}

var books = list.List[book]{
	Table: `books`, Columns: `id, title, pages, read_at`, Usual: "title",
	Scan: func(r db.Row) (b book, err error) { return b, r.Scan(&b.ID, &b.Title, &b.Pages, &b.Read) },
	Sorts: map[string]list.Sort[book]{
		"title": {Columns: []string{`title`, `id`}, Position: func(b book) []any { return []any{b.Title, b.ID} }},
		"pages": {Columns: []string{`pages`, `id`}, Position: func(b book) []any { return []any{b.Pages, b.ID} }},
		"read":  {Columns: []string{`read_at`, `id`}, Position: func(b book) []any { return []any{b.Read, b.ID} }},
	},
}

var day = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func put(t testing.TB, d *db.DB, all ...book) {
	t.Helper()
	err := d.Tx(context.Background(), func(tx *db.Tx) error {
		for _, b := range all {
			_, err := tx.Exec(context.Background(), `INSERT INTO books (id, title, pages, read_at) VALUES (?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET title = excluded.title, pages = excluded.pages, read_at = excluded.read_at`, b.ID, b.Title, b.Pages, b.Read)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func exec(t testing.TB, d *db.DB, query string) {
	t.Helper()
	err := d.Tx(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec(context.Background(), query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func shelf(t testing.TB, d *db.DB) {
	t.Helper()
	exec(t, d, `CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT NOT NULL, pages BIGINT NOT NULL, read_at TIMESTAMP NOT NULL)`)
}

// walk reads all pages. It calls between after each page.
func walk(t testing.TB, d *db.DB, w list.Where, sort string, size int, between func()) []book {
	t.Helper()
	var seen []book
	want := page.Want{Query: page.Query{Limit: size}, Sort: sort}
	for range 1000 {
		part, err := books.Read(context.Background(), d, w, want)
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Rows) > size || part.Total != nil {
			t.Fatalf("%d rows and the total %v, want %d at most and none", len(part.Rows), part.Total, size)
		}
		seen = append(seen, part.Rows...)
		if want.Cursor = part.Next; part.Next == "" {
			return seen
		}
		between()
	}
	t.Fatal("there is no last page")
	return nil
}

// For every order, with any number of equal rows, reading page by page must return
// the same rows as one query, while other rows are added and deleted.
func TestWalk(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		rapid.Check(t, func(rt *rapid.T) {
			exec(t, d, `DELETE FROM books`)
			var all []book
			for i := range rapid.IntRange(0, 12).Draw(rt, "books") {
				all = append(all, book{
					fmt.Sprintf("b%02d", i), rapid.SampledFrom([]string{"a", "b", "", "ä%_\\", "日本"}).Draw(rt, "title"),
					rapid.Int64Range(-1, 1).Draw(rt, "pages"), day.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "read")) * time.Millisecond),
				})
			}
			put(t, d, all...)
			name := rapid.SampledFrom([]string{"title", "-title", "pages", "-pages", "read", "-read"}).Draw(rt, "sort")
			var w list.Where
			if rapid.Bool().Draw(rt, "filtered") {
				w.And(`pages >= ?`, 0)
			}
			once := walk(t, d, w, name, 100, func() {})
			n := 0
			paged := walk(t, d, w, name, rapid.IntRange(1, 4).Draw(rt, "size"), func() {
				put(t, d, book{fmt.Sprintf("x%02d", n), "new", 0, day})
				n++
			})
			paged = slices.DeleteFunc(paged, func(b book) bool { return b.ID[0] == 'x' })
			if !slices.EqualFunc(once, paged, func(a, b book) bool { return a.ID == b.ID }) {
				rt.Fatalf("%s: page by page %v, at once %v", name, paged, once)
			}
			if !slices.IsSortedFunc(once, func(a, b book) int { return compare(name, a, b) }) {
				rt.Fatalf("%s: %v is not sorted", name, once)
			}
		})
	})
}

// A list merged from several queries must equal the list from one query.
func TestApart(t *testing.T) {
	apart := books
	apart.Sorts = map[string]list.Sort[book]{"read": books.Sorts["read"]}
	sort := apart.Sorts["read"]
	sort.Apart = map[string]string{`pages`: `books_of_pages`}
	apart.Sorts["read"] = sort
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		exec(t, d, `CREATE INDEX books_of_pages ON books (pages, read_at, id)`)
		var all []book
		for i := range 60 {
			all = append(all, book{fmt.Sprintf("b%02d", i), "t", int64(i % 5), day.Add(time.Duration(i%7) * time.Hour)})
		}
		put(t, d, all...)
		for _, pages := range [][]int64{{3}, {1, 2}, {0, 4, 2, 9}} {
			for _, order := range []string{"read", "-read"} {
				var w list.Where
				w.And(`title = ?`, "t")
				list.In(&w, `pages`, pages)
				w.Hint(`id <> ?`, "x")
				var got, want []string
				for _, b := range all {
					if slices.Contains(pages, b.Pages) {
						want = append(want, b.ID)
					}
				}
				slices.SortFunc(want, func(a, b string) int {
					at := func(id string) book { return all[slices.IndexFunc(all, func(b book) bool { return b.ID == id })] }
					return compare(order, at(a), at(b))
				})
				ask := page.Want{Query: page.Query{Limit: 4}, Sort: order, Total: true}
				for {
					part, err := apart.Read(t.Context(), d, w, ask)
					if err != nil || *part.Total != int64(len(want)) {
						t.Fatal(part.Total, err)
					}
					for _, b := range part.Rows {
						got = append(got, b.ID)
					}
					if ask.Cursor = part.Next; ask.Cursor == "" {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%v by %s: %v, want %v", pages, order, got, want)
				}
			}
		}
	})
}

// Hints depend on the current rows; a cursor from before a hint changed must still
// be valid.
func TestHintsDoNotBind(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		for i := range 6 {
			put(t, d, book{fmt.Sprint("b", i), "t", int64(i), day})
		}
		ask := page.Want{Query: page.Query{Limit: 2}, Sort: "pages"}
		var seen []string
		for i := range 3 {
			var w list.Where
			w.And(`title = ?`, "t")
			list.HintIn(&w, `pages`, []int64{0, 1, 2, 3, 4, 5, int64(10 + i)})
			if i == 1 {
				w.Hint(`pages >= ?`, 0)
			}
			part, err := books.Read(t.Context(), d, w, ask)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range part.Rows {
				seen = append(seen, b.ID)
			}
			ask.Cursor = part.Next
		}
		if !slices.Equal(seen, []string{"b0", "b1", "b2", "b3", "b4", "b5"}) {
			t.Errorf("it shows %v", seen)
		}
	})
}

// compare implements the sort orders in Go, except for texts, which each database
// compares differently.
func compare(sort string, a, b book) int {
	name, down := strings.CutPrefix(sort, "-")
	c := 0
	switch name {
	case "pages":
		c = int(a.Pages - b.Pages)
	case "read":
		c = a.Read.Compare(b.Read)
	default:
		if a.Title != b.Title {
			return 0
		}
	}
	if c == 0 {
		c = strings.Compare(a.ID, b.ID)
	}
	if down {
		return -c
	}
	return c
}

// A row that changes its position may appear twice or be missed; all other rows
// must appear once.
func TestWalkWhileRowsMove(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		for i := range 9 {
			put(t, d, book{fmt.Sprint("b", i), "t", int64(i), day})
		}
		moves := 0
		seen := walk(t, d, list.Where{}, "pages", 2, func() {
			if moves++; moves == 1 {
				put(t, d, book{"b0", "t", 100, day}, book{"b8", "t", -1, day}) // after and before the current position
			}
		})
		var ids []string
		for _, b := range seen {
			ids = append(ids, b.ID)
		}
		if got, want := strings.Join(ids, " "), "b0 b1 b2 b3 b4 b5 b6 b7 b0"; got != want {
			t.Errorf("saw %s, want %s", got, want)
		}
	})
}

// A cursor of another list would start somewhere in the middle, and the missing
// rows would go unnoticed.
func TestCursorsBelongToTheirList(t *testing.T) {
	d := dbtest.New(t)
	shelf(t, d)
	put(t, d, book{"a", "a", 1, day}, book{"b", "b", 1, day})
	var some, others list.Where
	some.And(`pages = ?`, 1)
	others.And(`pages = ?`, 2)
	read := func(w list.Where, sort, cursor string, limit int) (page.Part[book], error) {
		return books.Read(t.Context(), d, w, page.Want{Query: page.Query{Limit: limit, Cursor: cursor}, Sort: sort})
	}
	first, err := read(some, "-title", "", 1)
	if err != nil || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := read(some, "-title", first.Next, 50); err != nil {
		t.Errorf("another length of the page: %v", err)
	}
	for name, err := range map[string]error{
		"another sort":      second(read(some, "pages", first.Next, 1)),
		"another direction": second(read(some, "title", first.Next, 1)),
		"another filter":    second(read(others, "-title", first.Next, 1)),
		"no filter":         second(read(list.Where{}, "-title", first.Next, 1)),
		"nobody's":          second(read(some, "-title", page.Encode("x", "b", "b"), 1)),
	} {
		if !errors.Is(err, page.ErrCursor) {
			t.Errorf("%s: %v, want ErrCursor", name, err)
		}
	}
	if _, err := read(some, "author", "", 1); err == nil {
		t.Error("a sort that there is not was taken")
	}
}

func second(_ page.Part[book], err error) error { return err }

// A forged cursor must be rejected or reach the database only as an argument.
func TestCursorsAreNotBelieved(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		put(t, d, book{"a", "a", 1, day}, book{"b", "b", 2, day})
		for _, sort := range []string{"title", "pages", "read"} {
			first, err := books.Read(t.Context(), d, list.Where{}, page.Want{Query: page.Query{Limit: 1}, Sort: sort})
			if err != nil {
				t.Fatal(err)
			}
			parts, err := page.Decode(first.Next, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, forged := range []string{"", "x", "1e3", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "' OR 1=1 --"} {
				want := page.Want{Query: page.Query{Cursor: page.Encode(parts[0], forged, "a")}, Sort: sort}
				_, err := books.Read(t.Context(), d, list.Where{}, want)
				if err != nil && !errors.Is(err, page.ErrCursor) || err == nil && sort == "read" {
					t.Errorf("%s after %q: %v", sort, forged, err)
				}
			}
		}
	})
}

// A total counts all matching rows, not the page, and is only computed on request.
func TestTotal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		for i := range 5 {
			put(t, d, book{fmt.Sprint(i), "t", int64(i), day})
		}
		var w list.Where
		w.And(`pages > ?`, 0)
		want := page.Want{Query: page.Query{Limit: 1}, Total: true}
		for range 3 { // on later pages too
			err := list.View(t.Context(), d, want, func(q db.Queryer) error {
				part, err := books.Read(t.Context(), q, w, want)
				if err != nil {
					return err
				}
				put(t, d, book{"late", "t", 9, day}) // not visible in the snapshot
				again, err := books.Read(t.Context(), q, w, want)
				if err == nil && (*part.Total != 4 || *again.Total != 4) {
					t.Errorf("the total is %d, then %d, want 4", *part.Total, *again.Total)
				}
				want.Cursor = part.Next
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			exec(t, d, `DELETE FROM books WHERE id = 'late'`)
		}
	})
}

// Text is matched literally: % is a percent sign, and \ is a backslash.
func TestHas(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		for i, title := range []string{"100% done", "100 done", `a\b`, "a_b", "axb", "straße", "ärger"} {
			put(t, d, book{fmt.Sprint(i), title, 1, day})
		}
		for text, want := range map[string]string{"": "0123456", "100%": "0", "%": "0", "_": "3", `\`: "2", "DONE": "01", "ÄR": "6", "''": ""} {
			var w list.Where
			list.Has(&w, `title`, text)
			got := ""
			rows := walk(t, d, w, "title", 100, func() {})
			slices.SortFunc(rows, func(a, b book) int { return strings.Compare(a.ID, b.ID) })
			for _, b := range rows {
				got += b.ID
			}
			if got != want {
				t.Errorf("%q finds %s, want %s", text, got, want)
			}
		}
	})
}

// Repeated values must not change the query: ten thousand different queries would
// cost the database its memory.
func TestInCountsOnce(t *testing.T) {
	query := func(values ...string) string {
		var w list.Where
		list.In(&w, `title`, values)
		text, args, err := books.Query(db.SQLite, w, page.Want{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(text, args)
	}
	for _, tt := range [][2][]string{
		{{"a", "b", "a", "b", "b"}, {"a", "b"}}, {{"a", "a"}, {"a"}}, {{}, nil},
	} {
		if got, want := query(tt[0]...), query(tt[1]...); got != want {
			t.Errorf("%v is %s, want %s", tt[0], got, want)
		}
	}
}

// A caller with a hundred concurrent searches must not take every connection, or
// the others would wait or see the database as unavailable.
func TestViewIsFair(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		as := func(id string) context.Context {
			return actor.With(t.Context(), actor.Actor{ID: id, Role: actor.Agent})
		}
		const many = 40
		var running, most atomic.Int64
		began, release := make(chan struct{}, many), make(chan struct{})
		look := func(ctx context.Context, total bool, wait <-chan struct{}) error {
			return list.View(ctx, d, page.Want{Total: total}, func(q db.Queryer) error {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				rows, err := q.Query(ctx, `SELECT id FROM books`) // keeps its connection
				if err != nil {
					return err
				}
				defer rows.Close()
				began <- struct{}{}
				<-wait
				return rows.Err()
			})
		}
		var hog sync.WaitGroup
		for i := range many {
			hog.Go(func() {
				if err := look(as("hog"), i%2 == 0, release); err != nil {
					t.Error(err)
				}
			})
		}
		<-began
		late, cancel := context.WithTimeout(as("other"), 10*time.Second)
		defer cancel()
		at := closed()
		if err := look(late, true, at); err != nil {
			t.Errorf("another caller: %v", err)
		}
		gone, leave := context.WithCancel(as("hog"))
		leave()
		if err := look(gone, false, at); !errors.Is(err, context.Canceled) {
			t.Errorf("who has left waits, or gets %v", err)
		}
		close(release)
		hog.Wait()
		if n := most.Load(); n > 3 {
			t.Errorf("%d ran at once", n)
		}
	})
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// A filter on the current time has a different argument on each page, and the
// cursor must stay valid; with another filter it must not.
func TestCursorsOutliveTheMoment(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shelf(t, d)
		for i := range 5 {
			put(t, d, book{fmt.Sprint(i), "t", int64(i), day})
		}
		at := func(now time.Time, pages int) (w list.Where) {
			w.Now(`(read_at <= ? OR pages < 0)`, now)
			w.And(`pages >= ?`, pages)
			return w
		}
		want := page.Want{Query: page.Query{Limit: 2}, Sort: "pages"}
		seen := 0
		for n := 0; n == 0 || want.Cursor != ""; n++ {
			part, err := books.Read(t.Context(), d, at(day.Add(time.Duration(n)*time.Second), 0), want)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				if _, err := books.Read(t.Context(), d, at(day, 1), page.Want{Query: page.Query{Cursor: part.Next}, Sort: "pages"}); !errors.Is(err, page.ErrCursor) {
					t.Errorf("another filter: %v, want ErrCursor", err)
				}
			}
			seen, want.Cursor = seen+len(part.Rows), part.Next
		}
		if none, err := books.Read(t.Context(), d, at(day.Add(-time.Second), 0), page.Want{}); seen != 5 || err != nil || len(none.Rows) != 0 {
			t.Errorf("saw %d of 5, and %d before, %v", seen, len(none.Rows), err)
		}
	})
}
