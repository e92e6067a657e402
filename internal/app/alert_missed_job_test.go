package app_test

import (
	"net/http"
	"testing"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/schedule"
)

// A job that the runtime does not run is in the inbox within the grace period plus 30 s.
// The test waits for up to two full minutes. Its file sorts early, so that it starts among
// the first.
func TestMissedJobReachesTheInbox(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for two minutes")
	}
	both(t, func(t *testing.T, engine db.Engine) {
		const grace = 2 * time.Second
		h := newHouse(t, engine, func(r *config.Raw) { r.GatewayScopes = "operator.admin" })
		build := func() *app.App {
			a := h.build()
			a.Schedules.Grace = grace
			return a
		}
		replicas := []*service{h.run(build()).connected()}
		if engine == db.Postgres {
			replicas = append(replicas, h.run(build()).connected())
		}
		s := replicas[0]
		owner := s.login(ownerEmail)
		h.runtime.StopJobs(true) // the runtime's scheduler is stopped
		body := jobBody("Each minute", "cto")
		body["schedule"] = map[string]any{"expr": "* * * * *", "tz": "UTC"}
		made := decode[schedule.Job](owner.post("/api/v1/agentrt/jobs", body).want(http.StatusCreated))
		due := made.NextRuns[0].At
		var items []inbox.Item
		for end := due.Add(grace + 30*time.Second); len(items) == 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no inbox item within the grace period plus 30 s")
			}
			items = decode[[]inbox.Item](owner.get("/api/v1/inbox?kind=job_missed").want(http.StatusOK))
		}
		t.Logf("raised %s after the grace period", time.Since(due.Add(grace)).Round(10*time.Millisecond))
		if len(items) != 1 || items[0].Count != 1 || items[0].Subject.ID != made.ID || items[0].Severity != inbox.High {
			t.Errorf("the items are %+v", items)
		}
		slots := decode[[]schedule.Slot](owner.get("/api/v1/agentrt/jobs/" + made.ID + "/slots").want(http.StatusOK))
		if slots[0].State != schedule.Missed || !slots[0].DueAt.Equal(due.Time) || slots[1].State != schedule.Pending {
			t.Errorf("the ledger has %+v", slots[:2])
		}
		h.runtime.StopJobs(false)
		for end := due.Add(2 * time.Minute); len(items) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the next run does not resolve the item")
			}
			items = decode[[]inbox.Item](owner.get("/api/v1/inbox?kind=job_missed").want(http.StatusOK))
		}
	})
}
