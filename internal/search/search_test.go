package search

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/web"
)

var monday = time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)

// add creates a task as the board does, and indexes it.
func add(t testing.TB, d *db.DB, number int, title, body string) string {
	t.Helper()
	id := db.NewID()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, moved_at, created_at, updated_at, version)
			VALUES (?, ?, ?, ?, 'todo', 'low', 'task', '[]', '[]', '[]', '{}', '{}', ?, ?, ?, 1)`, id, number, title, body, monday, monday, monday)
		if err != nil {
			return err
		}
		return Put(t.Context(), tx, Text{TaskID: id, Title: fmt.Sprint("TASK-", number, " ", title), Body: body})
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func found4(t testing.TB, s *Service, text string) string {
	t.Helper()
	list, err := s.Find(t.Context(), text, Filter{}, 20)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var keys []string
	for _, r := range list {
		keys = append(keys, strings.TrimPrefix(*r.TaskKey, "TASK-"))
	}
	return strings.Join(keys, " ")
}

// Both engines find the same texts in the same order.
func TestFind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{DB: d}
		add(t, d, 1, "Invoices of August", "Sum them up. See https://example.com/path/report.txt")
		add(t, d, 2, "Überprüfung", "the INVOICES, state-of-the-art; naïve")
		add(t, d, 3, "ΟΔΟΣ Σίσυφος", "製品の出荷予定")
		add(t, d, 12, "Invoice of October", "हिन्दी पाठ")
		for text, want := range map[string]string{
			"":                        "",
			" \t—–'\"*()":             "",
			"invoices":                "1 2", // titles first
			"INVOICES":                "1 2",
			"invoice":                 "12 1 2", // a prefix; newest first
			"invoice august":          "",       // only the last word is a prefix
			"august invoice":          "1",
			"of invoice":              "12 1 2",
			"report":                  "1",
			"example.com/path":        "1",
			"überp":                   "2",
			"ÜBERPRÜFUNG":             "2",
			"art state":               "2",
			"NAÏVE":                   "2",
			"naive":                   "",
			"οδος":                    "3",
			"οδοσ":                    "3",
			"出荷":                      "3",
			"出荷輸":                     "",
			"हिन्दी":                  "12",
			"TASK-1":                  "12 1",
			"task-12":                 "12",
			"sum NOT invoices":        "",
			"sum OR nothing":          "",
			`"sum" AND* NEAR( title:`: "",
			`{title} : invoices`:      "",
			"':* & | ! <-> sum":       "1",

			"x' OR 1=1 -- " + "\\'\\": "",
		} {
			if got := found4(t, s, text); got != want {
				t.Errorf("%q finds %q, want %q", text, got, want)
			}
		}
		var many strings.Builder
		for r := '一'; r < '一'+200; r++ {
			many.WriteRune(r)
		}
		if got := found4(t, s, many.String()); got != "" {
			t.Errorf("200 words find %q", got)
		}
		if list, err := s.Find(t.Context(), "invoice", Filter{}, 1); err != nil || len(list) != 1 {
			t.Errorf("one of three: %v, %v", list, err)
		}
	})
}

// A changed text is found by its new words only, and a deleted text not at all.
func TestPut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{DB: d}
		id := add(t, d, 1, "Before", "old")
		write := func(fn func(*db.Tx) error) {
			t.Helper()
			if err := d.Tx(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		write(func(tx *db.Tx) error {
			return Put(t.Context(), tx, Text{TaskID: id, Title: "After", Body: "it's \\ 'new'"})
		})
		if got := found4(t, s, "before") + found4(t, s, "old"); got != "" {
			t.Errorf("found %q by what it said", got)
		}
		if got := found4(t, s, "after s new"); got != "1" {
			t.Errorf("found %q by what it says", got)
		}
		write(func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), `DELETE FROM tasks`); return err })
		var texts, words int
		err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM search_texts`).Scan(&texts)
		if d.Engine() == db.SQLite && err == nil {
			err = d.QueryRow(t.Context(), `SELECT COUNT(*) FROM search_index WHERE search_index MATCH 'aafter OR abefore OR bafter OR bbefore'`).Scan(&words)
		}
		if err != nil || texts+words != 0 {
			t.Errorf("%d texts and %d words are left, %v", texts, words, err)
		}
	})
}

// Any query is accepted, and any text is found by each of its words.
func TestAnyText(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{DB: d}
		api := web.New(web.Options{Authenticate: func(context.Context, string) (actor.Actor, error) {
			return actor.Actor{ID: "u", Name: "U", Role: actor.Agent}, nil
		}})
		s.Mount(api)
		h := api.Handler()
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune(`ab"'*:&|!()<>-\{}^+ äΣ出ि`)))).Draw(rt, "text")
			q := "/api/v1/search?q=" + url.QueryEscape(text)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, q, nil)
			r.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var list []Result
			if w.Code >= 500 || w.Code == 200 && (json.Unmarshal(w.Body.Bytes(), &list) != nil || list == nil) {
				rt.Fatalf("%q: %d %s", text, w.Code, w.Body)
			}
			if strings.ContainsRune(text, 0) {
				return
			}
			n++
			add(t, d, n, "x", text)
			for _, word := range wordsOf(text) {
				if first, _ := utf8.DecodeRuneInString(word); unicode.IsMark(first) {
					continue // part of a character
				}
				hits, err := s.Find(t.Context(), word, Filter{}, 100)
				if err != nil || !slices.ContainsFunc(hits, func(r Result) bool { return *r.TaskKey == fmt.Sprint("TASK-", n) }) && len(hits) < 100 {
					rt.Fatalf("%q is not found by %q: %v", text, word, err)
				}
			}
		})
	})
}

// marked reports whether q matches all of a text.
func marked(q query, text string) (all bool) {
	each(text, func(g *group) bool {
		places := q.matches(g)
		all = len(places) == 1 && places[0].start == 0 && places[0].end == len(text)
		return false
	})
	return all
}

// Snippets contain whole characters and exact positions of the matches.
func TestSnippet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.String().Draw(rt, "text") + rapid.SampledFrom([]string{" Ärger\n", "出荷", "\u202e ärgern"}).Draw(rt, "word") + rapid.String().Draw(rt, "more")
		q := parse(rapid.SampledFrom([]string{"ärger", "a\u0308rger", "出", "出荷", "x"}).Draw(rt, "q"))
		piece, marks := q.snippet(text)
		runes := []rune(piece)
		if !utf8.ValidString(piece) || strings.ContainsAny(piece, "\n\u202e") {
			rt.Fatalf("%q", piece)
		}
		last := 0
		for _, m := range marks {
			if m.Start < last || m.End <= m.Start || m.End > len(runes) || !marked(q, string(runes[m.Start:m.End])) {
				rt.Fatalf("%v of %q", m, piece)
			}
			last = m.End
		}
	})
	long := strings.Repeat("words and ", 100)
	piece, marks := parse("needle").snippet(long + "a Needle, " + long)
	if len(marks) != 1 || string([]rune(piece)[marks[0].Start:marks[0].End]) != "Needle" || len(piece) > snippetBefore+snippetAfter {
		t.Errorf("%q %v", piece, marks)
	}
	if piece, marks := parse("x").snippet(""); piece != "" || marks == nil {
		t.Errorf("%q %v", piece, marks)
	}
}

// The parameters and the response of the route.
func TestRoute(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	add(t, d, 1, "Ship <b>it</b>", "all\nof it")
	s := &Service{DB: d}
	api := web.New(web.Options{Authenticate: func(context.Context, string) (actor.Actor, error) {
		return actor.Actor{ID: "u", Name: "U", Role: actor.Agent}, nil
	}})
	s.Mount(api)
	for query, want := range map[string]int{
		"?q=it": 200, "?q=-": 200, "?q=": 422, "": 422, "?q=it&limit=101": 422, "?q=it&limit=0": 422, "?q=it&archived=true": 200, "?q=it&archived=x": 422,
		"?q=" + strings.Repeat("a", 201): 422, "?q=%00": 400,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/search"+query, nil)
		r.Header.Set("Authorization", "Bearer x")
		w := httptest.NewRecorder()
		api.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%.30s: %d, want %d: %s", query, w.Code, want, w.Body)
		}
		if query == "?q=it" {
			var list []map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) != 1 {
				t.Fatal(w.Body)
			}
			delete(list[0], "task_id")
			text, _ := json.Marshal(list[0])
			const says = `{"agent_id":null,"archived":false,"at":"2026-11-16T08:00:00.000Z","comment_id":null,"edited_at":null,"kind":"task","marks":[{"end":9,"start":7}],"session_id":null,"snippet":"all of it","standup_id":null,"task_key":"TASK-1","title":"Ship \u003cb\u003eit\u003c/b\u003e"}`
			if string(text) != says {
				t.Errorf("answer %s, want %s", text, says)
				t.Errorf("answer %s, want %s", text, says)
			}
		}
	}
}

// addSession archives a session as the archive does, and indexes it.
func addSession(t testing.TB, d *db.DB, number int, title, body string) {
	t.Helper()
	id := db.NewID()
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO archive_sessions (id, session_key, transcript_id, agent_id, kind, label, status, model, parent_key, last_message,
			active, last_at, version, as_of, present, ended, coverage, read_version, last_seq, messages, purged)
			VALUES (?, ?, '', 'cto', 'main', ?, 'done', '', '', '', FALSE, ?, 1, ?, FALSE, 'rests', 'whole', 1, 1, 1, FALSE)`, id, fmt.Sprint("agent:cto:", number), title, monday, monday)
		if err != nil {
			return err
		}
		return PutSession(t.Context(), tx, SessionText{ID: id, Title: title, Body: body})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Neither sessions and reports nor tasks and comments crowd out the other side.
func TestShares(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{DB: d}
		add(t, d, 1, "Renew the signing certificate", "")
		add(t, d, 2, "Rotate keys", "the certificate too")
		for i := range 12 {
			addSession(t, d, i, "Read the certificate terms", "")
		}
		for i := range 12 {
			add(t, d, 10+i, "Board", "board")
		}
		addSession(t, d, 20, "Board", "")
		find := func(text string, filter Filter, limit int) string {
			t.Helper()
			list, err := s.Find(t.Context(), text, filter, limit)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, r := range list {
				if r.TaskKey != nil {
					all = append(all, strings.TrimPrefix(*r.TaskKey, "TASK-"))
				} else {
					all = append(all, "s")
				}
			}
			return strings.Join(all, " ")
		}
		for _, c := range []struct {
			text   string
			filter Filter
			limit  int
			want   string
		}{
			{"certificate", Filter{}, 8, "s s s s s s 1 2"}, // sessions use what tasks leave
			{"certificate", Filter{}, 2, "s 1"},
			{"certificate", Filter{}, 1, "1"},
			{"certificate", Filter{Kinds: []Kind{OfSession}}, 3, "s s s"},
			{"certificate", Filter{Kinds: []Kind{OfTask}}, 3, "1 2"},
			{"certificate", Filter{Kinds: []Kind{OfTask, OfSession}}, 4, "s s 1 2"},
			{"certificate", Filter{Archived: new(false)}, 4, "1 2"},
			{"board", Filter{}, 4, "s 21 20 19"},
			{"board", Filter{}, 100, "s 21 20 19 18 17 16 15 14 13 12 11 10"},
		} {
			if got := find(c.text, c.filter, c.limit); got != c.want {
				t.Errorf("%d of %q with %v are %q, want %q", c.limit, c.text, c.filter.Kinds, got, c.want)
			}
		}
	})
}
