package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/retention"
)

// bygone adds n events from a month ago about standups.
func bygone(t *testing.T, d *db.DB, n int) {
	t.Helper()
	const portion = 100
	at := time.Now().AddDate(0, -1, 0)
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		for done := 0; done < n; done += portion {
			var last int
			if err := tx.QueryRow(t.Context(), `UPDATE event_counter SET last = last + ? RETURNING last`, portion).Scan(&last); err != nil {
				return err
			}
			var rows []string
			var args []any
			for i := range portion {
				rows = append(rows, `(?, ?, 'activity', 'standup.opened', 'ada', 'Ada', 'standup', ?, 'x', '{}')`)
				args = append(args, last-i, at, fmt.Sprint(last))
			}
			_, err := tx.Exec(t.Context(), `
				INSERT INTO events (id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data) VALUES `+strings.Join(rows, ", "), args...)
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

func (c caller) retention() retention.Overview {
	return decode[retention.Overview](c.get("/api/v1/retention").want(http.StatusOK))
}

// A process that crashes during a purge must not leave old rows forever, delete other
// rows or leave gaps in the audit log.
func TestRetentionSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	both(t, func(t *testing.T, engine db.Engine) {
		const many = 15_000
		h := newHouse(t, engine, func(r *config.Raw) { r.Timezone = "Europe/Berlin" })
		h.lease = 3 * time.Second
		s := h.start()
		owner := s.login(ownerEmail)
		task := decode[struct{ ID string }](owner.post("/api/v1/tasks", map[string]any{"title": "Stays"}).want(http.StatusCreated))
		bygone(t, s.DB, many)
		o := owner.retention()
		if p := o.Policies[1]; o.Timezone != "Europe/Berlin" || p.Name != "activity" || p.Days != 7 || p.State != retention.On || p.Preview.Count != many || p.NextRunAt == nil {
			t.Fatalf("before: %+v", o)
		}
		run := decode[retention.Run](owner.post("/api/v1/retention/run", nil).want(http.StatusAccepted))
		waitFor(t, "the first batches", func() bool {
			var gone int64
			err := s.DB.QueryRow(t.Context(), `SELECT COALESCE(MAX(gone), 0) FROM retention_runs`).Scan(&gone)
			return err == nil && gone > 0
		})
		s.crash()

		s = h.start()
		owner = owner.at(s)
		if left := owner.retention().Policies[1].Preview.Count; left == 0 || left == many {
			t.Errorf("the process died with %d of %d events left, so it was not interrupted", left, many)
		}
		for left, over := int64(many), false; !over; { // on a busy machine, the batches are small and may take minutes
			waitFor(t, "the next batches", func() bool {
				p := owner.retention().Policies[1]
				over = p.LastRun != nil && p.LastRun.FinishedAt != nil
				before := left
				left = min(left, p.Preview.Count)
				return over || left < before
			})
		}
		after := owner.retention().Policies[1]
		if last := after.LastRun; last.RunID != run.ID || last.Count != many || last.Error != nil || after.Preview.Count != 0 {
			t.Errorf("after: %+v, %+v", last, after.Preview)
		}
		var ran, left, history int64
		err := s.DB.QueryRow(t.Context(), `
			SELECT COUNT(*) FILTER (WHERE kind = 'retention.ran'), COUNT(*) FILTER (WHERE kind = 'standup.opened'), COUNT(*) FILTER (WHERE subject_id = ?) FROM events`,
			task.ID).Scan(&ran, &left, &history)
		if err != nil || ran != 1 || left != 0 || history == 0 {
			t.Errorf("recorded %d times, %d old events left, %d of the task, %v", ran, left, history, err)
		}
	})
}
