package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/db"
)

// During a rolling upgrade, replicas of the older version must stop writing and must
// report that they are not ready.
func TestReplicaOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.Postgres, nil)
	s := h.start()
	owner := s.login(ownerEmail)
	create := func() answer { return owner.post("/api/v1/tasks", map[string]string{"title": "Ship it"}) }
	create().want(http.StatusCreated)
	waitFor(t, "the background work", func() bool {
		var n int
		return s.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM job_timers`).Scan(&n) == nil && n > 0
	})
	err := s.DB.Tx(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.Exec(t.Context(), `UPDATE job_timers SET next_at = ?`, time.Now().Add(-time.Minute)); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO migrations (version_id, is_applied) VALUES (9999, TRUE)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	jobs := func() (text string) {
		err := s.DB.QueryRow(t.Context(), `SELECT STRING_AGG(name || next_at, ' ' ORDER BY name) || (SELECT COUNT(*) FROM jobs) FROM job_timers`).Scan(&text)
		if err != nil {
			t.Error(err)
		}
		return text
	}
	before := jobs()
	if a := create().wantProblem(http.StatusServiceUnavailable, "database_unavailable"); a.header.Get("Retry-After") == "" {
		t.Errorf("Retry-After is missing: %s", a.body)
	}
	waitFor(t, "the replica to be not ready", func() bool { return s.anonymous().get("/readyz").status == http.StatusServiceUnavailable })
	if why := decode[struct {
		Why []string `json:"not_ready"`
	}](s.anonymous().get("/readyz")).Why; !slices.Equal(why, []string{"schema"}) {
		t.Errorf("the reasons are %v", why)
	}
	if list := string(owner.get("/api/v1/tasks").want(http.StatusOK).body); strings.Count(list, "Ship it") != 1 {
		t.Errorf("the board is %s", list)
	}
	time.Sleep(10 * s.Queue.Poll) // there is no event to wait for
	if after := jobs(); after != before {
		t.Errorf("background work went on: %s, and then %s", before, after)
	}
	waitFor(t, "a line in the log", func() bool { return strings.Contains(h.seen.String(), "a newer version of Wardroom has migrated it") })
	if n := strings.Count(h.seen.String(), `msg="database unavailable"`); n != 1 {
		t.Errorf("the log has it %d times", n)
	}
}
