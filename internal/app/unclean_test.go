package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"wardroom/internal/archive"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/schedule"
	"wardroom/internal/session"
	"wardroom/internal/usage"
	"wardroom/test/faults"
)

// A runtime whose numbers and answers are not clean must cost nobody a message, a cost, or the news that a job failed.
func TestUncleanRuntime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayScopes = "operator.admin" })
	s := h.start().connected()
	owner := s.login(ownerEmail)
	for _, stuck := range []faults.Unclean{faults.StuckInFuture, faults.StuckInPast} {
		h.runtime.Taint(faults.FractionalTimes, stuck, faults.DisagreeingParts)
		key := "agent:cto:" + string(stuck)
		s.ask(string(stuck)+"-1", key, "How is it going?")
		s.answered(string(stuck) + "-1")
		owner.archived(key, func(a archive.Archived) bool { return isWhole(a) && a.Messages == 2 })
		s.ask(string(stuck)+"-2", key, "And now?")
		s.answered(string(stuck) + "-2")
		owner.archived(key, func(a archive.Archived) bool { return isWhole(a) && a.Messages == 4 })
		var spent usage.Share
		waitFor(t, "the cost of both runs", func() bool {
			for _, g := range owner.usage("group=session").Groups {
				if g.Key != nil && *g.Key == key {
					spent = g
				}
			}
			return spent.Runs == 2
		})
		if spent.CostUSD == nil || spent.Estimated <= 0 || spent.Unpriced != 0 {
			t.Errorf("%s: %+v", stuck, spent)
		}
		is := decode[session.Session](owner.get("/api/v1/agentrt/sessions/" + key).want(http.StatusOK))
		if is.StartedAt == nil || is.UpdatedAt == nil || time.Since(is.UpdatedAt.Time).Abs() > time.Hour {
			t.Errorf("%s: started at %v, updated at %v", stuck, is.StartedAt, is.UpdatedAt)
		}
	}

	made := decode[schedule.Job](owner.post("/api/v1/agentrt/jobs", jobBody("Nightly", "cto")).want(http.StatusCreated))
	path := "/api/v1/agentrt/jobs/" + made.ID
	h.runtime.Taint(faults.FalseOK)
	h.runtime.Fail("cto", "402: no credits left")
	h.runtime.HideJob(made.ID, true)
	owner.post(path+"/run", nil).want(http.StatusAccepted)
	waitFor(t, "the run", func() bool { return len(decode[[]schedule.Run](owner.get(path+"/runs").want(http.StatusOK))) == 1 })
	if run := decode[[]schedule.Run](owner.get(path + "/runs"))[0]; run.Status != "error" || !strings.Contains(run.Error, "no credits left") {
		t.Errorf("the run is %+v", run)
	}
	items := func() int {
		return len(decode[[]inbox.Item](owner.get("/api/v1/inbox?kind=job_unlisted&state=open").want(http.StatusOK)))
	}
	waitFor(t, "the item of the unlisted job", func() bool { return items() == 1 })
	h.runtime.HideJob(made.ID, false)
	owner.post(path+"/run", nil).want(http.StatusAccepted)
	waitFor(t, "the end of that item", func() bool { return items() == 0 })
}
