package task

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/schema"
)

// A board that is older than places, ranks and the archive must be listed and
// pulled from like one that was made today.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			d, err := db.Own(t.Context(), dbtest.Untouched(t, engine))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			old := fstest.MapFS{}
			names, err := fs.Glob(schema.FS(), "000*.sql")
			for _, name := range names {
				text, err := fs.ReadFile(schema.FS(), name)
				if err != nil {
					t.Fatal(err)
				}
				old[name] = &fstest.MapFile{Data: text}
			}
			if err != nil || len(old) != 9 {
				t.Fatal(len(old), err)
			}
			if _, err := d.Migrate(t.Context(), db.Schema{Files: old}); err != nil {
				t.Fatal(err)
			}
			due := time.Date(2026, 12, 24, 17, 30, 0, 123e6, time.FixedZone("", 8*3600))
			err = d.Tx(t.Context(), func(tx *db.Tx) error {
				for i, priority := range []Priority{Low, Urgent, High, Medium} {
					var at, done *time.Time
					status := Todo
					if i%2 == 0 {
						at = &due
					}
					if i == 3 {
						status, done = Done, &monday
					}
					_, err := tx.Exec(t.Context(), `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, due_at, done_at,
						moved_at, created_at, updated_at, version, search, priority_rank) VALUES (?, ?, 'A task', '', ?, ?, 'task', '["web","ärger"]', ?, ?, ?, ?, ?, 1, '', ?)`,
						fmt.Sprint("t", i), i+1, status, priority, at, done, monday, monday, monday, priority.rank())
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Migrate(t.Context(), db.Schema{Files: schema.FS()}); err != nil {
				t.Fatal(err)
			}
			s := newService(d)
			if got := searched(t, d, "task-3", nil); got != "task TASK-3 false " {
				t.Errorf("an old task is found as %q", got)
			}
			for sort, want4 := range map[string]string{"position": "1 2 3 4", "due": "1 3 2 4", "-priority": "2 3 4 1"} {
				part, err := s.List(asService(t), Filter{Tags: []Tag{"ärger"}}, want(100, sort, ""))
				if err != nil || keys(part.Rows) != want4 {
					t.Errorf("by %s: %s, %v; want %s", sort, keys(part.Rows), err, want4)
				}
				for _, row := range part.Rows {
					var rank, urgency int64
					err := d.QueryRow(t.Context(), `SELECT due_rank, urgency FROM tasks WHERE id = ?`, row.ID).Scan(&rank, &urgency)
					if due, first := row.ranks(); err != nil || rank != due || urgency != first || row.Position != firstPosition(row.number) || !same(row.archiveFrom, row.DoneAt) {
						t.Errorf("%s: ranks %d and %d, want %d and %d; at %s; %v", row.Key, rank, urgency, due, first, row.Position, err)
					}
				}
			}
		})
	}
}

// Tags are read in a way of their own, which must be JSON's.
func TestReadTags(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `["web"]`, `["web","ärger","v1.2_rc-3"]`, `["\u0061b","c"]`, ` [ "a" , "b" ] `, `["a", "b"]`} {
		var plain []Tag
		if err := json.Unmarshal([]byte(text), &plain); err != nil {
			t.Fatal(err)
		}
		if got, err := readTags(text); err != nil || got == nil || !slices.Equal(got, plain) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, plain)
		}
	}
	if _, err := readTags(`["a"`); err == nil {
		t.Error("half of a list is read")
	}
}
