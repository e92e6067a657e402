package search

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/schema"
)

// What could be found before the words had classes is found afterwards, by the same
// words, and where it belongs.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			d, err := db.Own(t.Context(), dbtest.Untouched(t, engine))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.Migrate(t.Context(), db.Schema{Files: before(t, "0042")}); err != nil {
				t.Fatal(err)
			}
			writeOld(t, d)
			if _, err := d.Migrate(t.Context(), db.Schema{Files: schema.FS()}); err != nil {
				t.Fatal(err)
			}
			s := &Service{DB: d}
			for _, c := range []struct {
				text     string
				archived *bool
				want     []Kind
			}{
				{"über", nil, []Kind{OfSession, OfTask, OfTask, OfReport, OfComment}}, // titles first
				{"bot", nil, []Kind{OfSession, OfTask, OfTask, OfReport, OfComment}},
				{"both über", nil, []Kind{OfSession, OfTask, OfTask, OfReport, OfComment}},
				{"unde", nil, []Kind{OfSession, OfReport, OfComment, OfTask, OfTask}},
				{"under", new(true), []Kind{OfSession, OfComment, OfTask}},
				{"both", new(false), []Kind{OfTask, OfReport}},
			} {
				list, err := s.Find(t.Context(), c.text, Only{Archived: c.archived}, 10)
				var got []Kind
				for _, r := range list {
					got = append(got, r.Kind)
				}
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%q finds %v, %v; want %v", c.text, got, err, c.want)
				}
			}
		})
	}
}

// before are the migrations with a smaller number.
func before(t *testing.T, number string) fs.FS {
	t.Helper()
	names, err := fs.Glob(schema.FS(), "*.sql")
	old := fstest.MapFS{}
	for _, name := range names {
		if name < number && err == nil {
			old[name] = &fstest.MapFile{}
			old[name].Data, err = fs.ReadFile(schema.FS(), name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// writeOld writes one text of each class as it was written before there were classes.
func writeOld(t *testing.T, d *db.DB) {
	t.Helper()
	exec := func(query string, args ...any) {
		t.Helper()
		err := d.Tx(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"live", "kept"} {
		exec(`INSERT INTO tasks (id, number, title, description, status, priority, type, tags, moved_at, created_at, updated_at, version)
			VALUES (?, ?, 'T', '', 'todo', 'low', 'task', '[]', ?, ?, ?, 1)`, id, i+1, monday, monday, monday)
	}
	exec(`UPDATE tasks SET archived_at = ? WHERE id = 'kept'`, monday)
	exec(`INSERT INTO comments (id, task_id, author_name, body, mentions, created_at, version) VALUES ('c', 'kept', 'U', '', '[]', ?, 1)`, monday)
	exec(`INSERT INTO standups (id, team, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, action_items, escalations, created_at, updated_at, version)
		VALUES ('s', 'executive', '2026-11-20', 'UTC', 'S', 'completed', 'closed', 'coo', 1, 'agent', '[]', '[]', '[]', ?, ?, 1)`, monday, monday)
	exec(`INSERT INTO standup_reports (standup_id, agent_id, place, name, status, text, answered_at, evidence, claims)
		VALUES ('s', 'cto', 0, 'A', 'answered', '', ?, '{}', '[]')`, monday)
	exec(`INSERT INTO archive_sessions (id, session_key, transcript_id, agent_id, kind, label, status, model, parent_key, last_message, active, last_at, version, as_of,
		present, ended, coverage, read_version, last_seq, messages, purged)
		VALUES ('a', 'k', '', 'cto', 'main', '', 'done', '', '', '', FALSE, ?, 1, ?, FALSE, 'rests', 'whole', 1, 1, 1, FALSE)`, monday, monday)
	for i, text := range []struct{ columns, values string }{
		{"task_id", "'live'"},
		{"task_id", "'kept'"},
		{"task_id, comment_id", "'kept', 'c'"},
		{"standup_id, agent_id", "'s', 'cto'"},
		{"session_id, agent_id", "'a', 'cto'"},
	} {
		titled := !strings.Contains(text.columns, ", ") || strings.HasPrefix(text.columns, "session")
		if d.Engine() == db.Postgres {
			words := `'über':2 'both':2 'under':2`
			if titled {
				words = `'über':1A 'both':1A,2 'under':2`
			}
			exec(`INSERT INTO search_texts (`+text.columns+`, words) VALUES (`+text.values+`, CAST(CAST(? AS TEXT) AS TSVECTOR))`, words)
			continue
		}
		title := ""
		if titled {
			title = "über both"
		}
		exec(`INSERT INTO search_texts (`+text.columns+`, id) VALUES (`+text.values+`, ?)`, i+1)
		exec(`INSERT INTO search_words (rowid, title, body) VALUES (?, ?, 'über both under')`, i+1, title)
	}
}
