package standup

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/schema"
	"wardroom/internal/search"
)

// before is a database as it was before there were teams, with a standup that
// is going on and one that is over.
func before(t *testing.T, engine db.Engine) *db.DB {
	t.Helper()
	d, err := db.Own(t.Context(), dbtest.Untouched(t, engine))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	old := fstest.MapFS{}
	names, err := fs.Glob(schema.FS(), "00*.sql")
	for _, name := range names {
		if name >= "0020" {
			continue
		}
		text, err := fs.ReadFile(schema.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		old[name] = &fstest.MapFile{Data: text}
	}
	if err != nil || len(old) < 20 {
		t.Fatal(len(old), err)
	}
	if _, err := d.Migrate(t.Context(), db.Schema{Files: old}); err != nil {
		t.Fatal(err)
	}
	err = d.Tx(t.Context(), func(tx *db.Tx) error {
		for i, status := range []string{"completed", "running"} {
			id, at := fmt.Sprint("s", i), time.Date(2026, 11, 19+i, 8, 0, 0, 0, time.UTC)
			for _, c := range []struct {
				text string
				args []any
			}{
				{
					`INSERT INTO standups (id, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, action_items, escalations, summary,
					digest, error_code, error_detail, deadline_at, created_at, started_at, completed_at, updated_at, version)
					VALUES (?, ?, 'UTC', 'T', ?, 'collecting', 'coo', 3, 'agent', '[{"text":"b"}]', '[{"title":"i"}]', '[]', 'S', 'D', 'c', 'd', ?, ?, ?, ?, ?, 7)`,
					[]any{id, at.Format(time.DateOnly), status, at.Add(time.Hour), at, at, at, at},
				},
				{`INSERT INTO standup_reports (standup_id, place, agent_id, name, status, yesterday, today, blockers, text, other, evidence, claims, asked_at, answered_at, cost_nano)
					VALUES (?, 1, 'aaa', 'The last', 'asked', NULL, NULL, NULL, NULL, NULL, 'null', '[]', ?, NULL, NULL),
						(?, 0, 'cto', 'C T O', 'answered', 'y', 't', 'b', 'x', 'o', '{"open":4}', '[{"task":"TASK-1"}]', ?, ?, 5)`, []any{id, at, id, at, at}},
				{`INSERT INTO standup_questions (run_id, standup_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, text, cost_nano, deadline_at, asked_at, ended_at)
					VALUES (?, ?, 'cto', 1, 'report', 'k', 'b', 'm', 'open', TRUE, 'x', 5, ?, ?, ?)`, []any{"run-" + id, id, at, at, at}},
				{`INSERT INTO standup_transcript (standup_id, seq, at, kind, from_id, to_id, text) VALUES (?, 1, ?, 'note', 'wardroom', 'team', 'x')`, []any{id, at}},
			} {
				if _, err := tx.Exec(t.Context(), c.text, c.args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// rowsOf are all rows of the tables of standups, in words.
func rowsOf(t *testing.T, d *db.DB) string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT id || date || timezone || title || status || phase || facilitator || attempt || trigger_kind || blockers || action_items || escalations || summary || digest ||
			error_code || error_detail || CAST(deadline_at AS TEXT) || CAST(created_at AS TEXT) || CAST(started_at AS TEXT) || CAST(completed_at AS TEXT) || CAST(updated_at AS TEXT) || version FROM standups ORDER BY id`,
		`SELECT standup_id || agent_id || place || name || status || COALESCE(yesterday || today || blockers || text || other, '-') || evidence || claims ||
			CAST(asked_at AS TEXT) || COALESCE(CAST(answered_at AS TEXT) || cost_nano, '-') FROM standup_reports ORDER BY standup_id, agent_id`,
		`SELECT run_id || standup_id || agent_id || number || purpose || session_key || boot_id || message || state || CAST(accepted AS TEXT) || text || cost_nano ||
			CAST(deadline_at AS TEXT) || CAST(asked_at AS TEXT) || CAST(ended_at AS TEXT) FROM standup_questions ORDER BY run_id`,
		`SELECT standup_id || seq || CAST(at AS TEXT) || kind || from_id || to_id || text FROM standup_transcript ORDER BY standup_id, seq`,
	} {
		rows, err := d.Query(t.Context(), query)
		texts, err := db.All(rows, err, func(r db.Row) (text string, err error) { return text, r.Scan(&text) })
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, texts...)
	}
	return strings.Join(all, "\n")
}

// Years of meetings must be there after the upgrade as they were before, and be
// the executive team's; one that is going on must go on.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			d := before(t, engine)
			had := rowsOf(t, d)
			if len(strings.Split(had, "\n")) != 10 {
				t.Fatal(had)
			}
			if _, err := d.Migrate(t.Context(), db.Schema{Files: schema.FS()}); err != nil {
				t.Fatal(err)
			}
			if has := rowsOf(t, d); has != had {
				t.Errorf("there is\n%s\nand there was\n%s", has, had)
			}
			s := &Service{DB: d, Facilitator: "coo", Participants: []string{"cto"}, Zone: time.UTC}
			part, err := s.List(t.Context(), Filter{Team: Executive}, page.Want{})
			if err != nil || len(part.Rows) != 2 || part.Rows[0].ID != "s1" || fmt.Sprint(part.Rows[0].Reports) != "[{cto C T O answered} {aaa The last asked}]" {
				t.Errorf("listed: %+v, %v", part.Rows, err)
			}
			found, err := (&search.Service{DB: d}).Find(t.Context(), "x", search.Only{Kinds: []search.Kind{search.OfReport}}, 10)
			if err != nil || len(found) != 2 || *found[0].StandupID != "s1" || *found[1].StandupID != "s0" || *found[0].AgentID != "cto" || found[0].Snippet != "x" {
				t.Errorf("of its reports is found %+v, %v", found, err)
			}
			m, err := s.Get(t.Context(), "s1")
			if err != nil || m.Team != Executive || m.agentTimeout != 0 || len(m.Reports) != 2 || len(m.Transcript) != 1 {
				t.Errorf("read: %+v, %v", m, err)
			}
			exec := func(query string) error {
				return d.Tx(t.Context(), func(tx *db.Tx) error {
					_, err := tx.Exec(t.Context(), query)
					return err
				})
			}
			const again = `INSERT INTO standup_questions (run_id, standup_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, text, cost_nano,
				deadline_at, asked_at, ended_at) SELECT 'again', standup_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, text, cost_nano,
				deadline_at, asked_at, ended_at FROM standup_questions WHERE standup_id = 's1'`
			if err := exec(again); !db.IsDuplicate(err) {
				t.Errorf("a number was given twice: %v", err)
			}
			if err := exec(`UPDATE standups SET date = '2026-11-19' WHERE id = 's1'`); !db.IsDuplicate(err) {
				t.Errorf("a team got two standups of a day: %v", err)
			}
			if err := exec(`UPDATE standups SET date = '2026-11-19', team = 'design' WHERE id = 's1'`); err != nil {
				t.Errorf("another team got no standup of that day: %v", err)
			}
			if err := exec(`INSERT INTO standup_transcript (standup_id, seq, at, kind, from_id, to_id, text) SELECT 'none', 1, at, kind, from_id, to_id, text FROM standup_transcript`); err == nil {
				t.Error("something was said in no standup")
			}
			// What belongs to a standup goes with it, and nothing else does.
			if err := exec(`DELETE FROM standups WHERE id = 's1'`); err != nil {
				t.Error(err)
			}
			if has := rowsOf(t, d); len(strings.Split(has, "\n")) != 5 || strings.Contains(has, "s1") {
				t.Errorf("one was deleted, and there is\n%s", has)
			}
		})
	}
}
