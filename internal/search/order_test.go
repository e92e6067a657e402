package search

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// written is a text with what the test expects of it, in order of writing.
type written struct {
	id          string // of the task, comment, report, or session
	kind        Kind
	archived    bool
	title, body []string
}

// has reports whether words are among in, the last one as a prefix.
func has(in, words []string) bool {
	for i, w := range words {
		if !slices.ContainsFunc(in, func(v string) bool { return v == w || i == len(words)-1 && strings.HasPrefix(v, w) }) {
			return false
		}
	}
	return true
}

// expected returns the IDs that Find must return, by scanning every text.
func expected(all []written, words []string, filter Filter, limit int) (ids []string) {
	type hit struct {
		written
		titled bool
		place  int
	}
	var sides [][]hit
	for _, kinds := range filter.sides() {
		var side []hit
		for i, t := range all {
			if !slices.Contains(kinds, t.kind) || filter.Archived != nil && *filter.Archived != t.archived {
				continue
			}
			if titled := has(t.title, words); titled || has(slices.Concat(t.title, t.body), words) {
				side = append(side, hit{t, titled, i})
			}
		}
		slices.SortFunc(side, func(a, b hit) int {
			return cmp.Or(strings.Compare(fmt.Sprint(b.titled), fmt.Sprint(a.titled)), cmp.Compare(b.place, a.place))
		})
		sides = append(sides, side[:min(len(side), limit)])
	}
	parts := make([]int, len(sides))
	for i := range sides {
		others := 0
		for j := range sides {
			if j != i {
				others += len(sides[j])
			}
		}
		half := limit / len(sides)
		if i == 0 {
			half = limit - half*(len(sides)-1)
		}
		parts[i] = min(len(sides[i]), max(half, limit-others))
	}
	var hits []hit
	for i := range sides {
		hits = append(hits, sides[i][:parts[i]]...)
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(strings.Compare(fmt.Sprint(b.titled), fmt.Sprint(a.titled)), cmp.Compare(b.place, a.place))
	})
	for _, h := range hits {
		ids = append(ids, h.id)
	}
	return ids
}

// Find returns the same texts in the same order as a scan of all texts,
// whichever query it chooses.
func TestFindEqualsReadingAll(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, all := &Service{DB: d}, corpus(t, d)
		texts := []string{
			"often", "ofte", "o", "of", "some", "somet", "rare", "rarely", "old", "new", "often some", "rare often", "old new",
			"many", "many1", "many12", "many123", "manyy", "item1", "item", "tit", "title", "title often", "nowhere",
		}
		yes, no := true, false
		var filters []Filter
		for _, archived := range []*bool{nil, &yes, &no} {
			for _, kinds := range [][]Kind{nil, {OfTask}, {OfComment}, {OfReport}, {OfSession}, {OfTask, OfSession}, {OfComment, OfReport, OfSession}} {
				filters = append(filters, Filter{archived, kinds})
			}
		}
		for _, text := range texts {
			for i, filter := range filters {
				limit := []int{1, 7, 20, 100}[(i+len(text))%4]
				found, err := s.Find(t.Context(), text, filter, limit)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range found {
					switch r.Kind {
					case OfTask:
						got = append(got, *r.TaskID)
					case OfComment:
						got = append(got, *r.CommentID)
					case OfReport:
						got = append(got, *r.StandupID+*r.AgentID)
					default:
						got = append(got, *r.SessionID)
					}
				}
				if want := expected(all, wordsOf(text), filter, limit); !slices.Equal(got, want) {
					t.Errorf("%d of %q among %v, archived %v:\n got %v\nwant %v", limit, text, filter.Kinds, filter.Archived, got, want)
				}
			}
			wantSessions(t, d, all, text)
		}
	})
}

// wantSessions checks the condition for the list of sessions.
func wantSessions(t *testing.T, d *db.DB, all []written, text string) {
	t.Helper()
	condition, match, ok, err := Sessions(t.Context(), d, d.Engine(), `archive_sessions.id`, text)
	var got []string
	if err == nil && ok {
		rows, err2 := d.Query(t.Context(), `SELECT id FROM archive_sessions WHERE `+condition, match)
		got, err = db.All(rows, err2, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, w := range all {
		if w.kind == OfSession && has(slices.Concat(w.title, w.body), wordsOf(text)) {
			want = append(want, w.id)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d sessions have %q, want %d, by %s", len(got), text, len(want), condition)
	}
}

// corpus writes texts of all kinds, with common and rare words, words only in
// old or new texts, and many words with the same prefix.
func corpus(t *testing.T, d *db.DB) (all []written) {
	t.Helper()
	const tasks, comments, reports, sessions = 300, 250, 60, fewSessions + 300
	rnd := rand.New(rand.NewPCG(1, 1))
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for i := range tasks + comments + reports + sessions {
			w := written{kind: OfSession, archived: true}
			switch {
			case i < tasks:
				w.kind, w.archived = OfTask, i%3 == 0
			case i%9 == 0 && i/9 < comments:
				w.kind, w.archived = OfComment, i%tasks%3 == 0
			case i%23 == 0 && i/23 < reports:
				w.kind, w.archived = OfReport, false
			}
			for word, share := range map[string]int{"often": 95, "some": 20, "something": 4, "rare": 1, fmt.Sprint("many", i): 40, "item1": 3} {
				if rnd.IntN(100) < share {
					w.body = append(w.body, word)
				}
			}
			if i < 700 {
				w.body = append(w.body, "old")
			} else if i > 2000 {
				w.body = append(w.body, "new")
			}
			if w.kind == OfTask || w.kind == OfSession {
				w.title = []string{"title"}
				if rnd.IntN(60) == 0 {
					w.title = append(w.title, "often", "rarely")
				}
			}
			if err := w.write(t.Context(), tx, i, tasks); err != nil {
				return err
			}
			all = append(all, w)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (w *written) write(ctx context.Context, tx *db.Tx, i, tasks int) (err error) {
	title, body := strings.Join(w.title, " "), strings.Join(w.body, " ")
	switch w.kind {
	case OfTask:
		w.id = fmt.Sprint("task-", i)
		_, err = tx.Exec(ctx, `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, moved_at, created_at, updated_at, version)
			VALUES (?, ?, ?, ?, 'todo', 'low', 'task', '[]', '[]', '[]', '{}', '{}', ?, ?, ?, 1)`, w.id, i+1, title, body, monday, monday, monday)
		if err == nil {
			err = Add(ctx, tx, Text{TaskID: w.id, Archived: w.archived, Title: title, Body: body})
		}
	case OfComment:
		w.id = fmt.Sprint("comment-", i)
		task := fmt.Sprint("task-", i%tasks)
		_, err = tx.Exec(ctx, `INSERT INTO comments (id, task_id, author_name, body, mentions, created_at, version) VALUES (?, ?, 'U', ?, '[]', ?, 1)`, w.id, task, body, monday)
		if err == nil {
			err = Add(ctx, tx, Text{TaskID: task, CommentID: w.id, Archived: w.archived, Body: body})
		}
	case OfReport:
		standup := fmt.Sprint("standup-", i)
		w.id = standup + "cto"
		_, err = tx.Exec(ctx, `INSERT INTO standups (id, team, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, action_items, escalations, created_at, updated_at, version)
			VALUES (?, 'executive', ?, 'UTC', 'S', 'completed', 'closed', 'coo', 1, 'agent', '[]', '[]', '[]', ?, ?, 1)`, standup, monday.AddDate(0, 0, i).Format("2006-01-02"), monday, monday)
		if err == nil {
			_, err = tx.Exec(ctx, `INSERT INTO standup_reports (standup_id, agent_id, place, name, status, text, answered_at, evidence, claims) VALUES (?, 'cto', 0, 'A', 'answered', ?, ?, '{}', '[]')`, standup, body, monday)
		}
		if err == nil {
			err = PutReport(ctx, tx, ReportText{StandupID: standup, AgentID: "cto", Body: body})
		}
	default:
		w.id = fmt.Sprint("session-", i)
		_, err = tx.Exec(ctx, `INSERT INTO archive_sessions (id, session_key, transcript_id, agent_id, kind, label, status, model, parent_key, last_message,
			active, last_at, version, as_of, present, ended, coverage, read_version, last_seq, messages, purged)
			VALUES (?, ?, '', 'cto', 'main', '', 'done', '', '', '', FALSE, ?, 1, ?, FALSE, 'rests', 'whole', 1, 1, 1, FALSE)`, w.id, w.id, monday, monday)
		if err == nil {
			err = PutSession(ctx, tx, SessionText{ID: w.id, Title: title, Body: body})
		}
	}
	return err
}
