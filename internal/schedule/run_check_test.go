package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/money"
	"wardroom/internal/platform/page"
	"wardroom/internal/usage"
)

// A run that the runtime calls ok must not count as a success if its transcript ends in an error: the slot is failed,
// with the runtime's words, and there is one item.
func TestOKThatFailed(t *testing.T) {
	t.Parallel()
	ok := gateway.Turn{Role: "assistant", At: clock.At(at("09:00:20"))}
	const token, shown = "ghp_a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8", "402: no credits left for [masked:github_token]"
	failed := gateway.Turn{
		Role: "assistant", At: clock.At(at("09:00:30")), Failed: true, Error: "402: no credits left for " + token,
	}
	asked := gateway.Turn{Role: "user", At: clock.At(at("09:00:01"))}
	later := gateway.Turn{Role: "assistant", At: clock.At(at("10:30:00")), Failed: true, Error: "later"}
	earlier := gateway.Turn{Role: "assistant", At: clock.At(at("08:00:00")), Failed: true, Error: "earlier"}
	for name, c := range map[string]struct {
		turns       []gateway.Turn
		undelivered bool
		state       string
		items       string
	}{
		"not delivered, and an error":      {[]gateway.Turn{asked, failed}, true, "failed", raisedFailed},
		"an error after good calls":        {[]gateway.Turn{asked, ok, failed}, false, "failed", raisedFailed},
		"an error that a retry recovered":  {[]gateway.Turn{asked, failed, ok}, false, "on_time", resolvedMissed + "; " + resolvedFailed},
		"errors of other runs around it":   {[]gateway.Turn{earlier, asked, ok, later}, false, "on_time", resolvedMissed + "; " + resolvedFailed},
		"an error of an earlier run alone": {[]gateway.Turn{earlier}, false, "on_time", resolvedMissed + "; " + resolvedFailed},
		"no transcript":                    {nil, false, "on_time", resolvedMissed + "; " + resolvedFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			h := newFixture(t, d, hourly(nil))
			h.at("08:30:00")
			h.r.ended("j", "09:00:01", "09:01:00", "ok", "1")
			h.r.change(func() {
				h.r.jobs["j"] = hourly(func(j *gateway.Job) {
					j.State.LastError = token
					j.State.LastStatus, j.State.LastRunAt = "ok", clock.Ptr(at("09:00:01"))
				})
				h.r.runs[0].SessionKey, h.r.runs[0].Undelivered = "agent:cto:cron:j:run:1", c.undelivered
				h.r.turns = map[string][]gateway.Turn{"agent:cto:cron:j:run:1": c.turns}
			})
			if c.state == "on_time" { // so that a success has something to resolve
				if err := d.Tx(h.ctx(), func(tx *db.Tx) error {
					for _, state := range []State{Missed, Failed} {
						if err := h.Inbox.Raise(h.ctx(), tx, slotChange{slot: Slot{JobID: "j", State: state}}.inboxItem()); err != nil {
							return err
						}
					}
					_, err := tx.Exec(h.ctx(), `UPDATE schedule_jobs SET alarmed = TRUE`)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				h.inbox()
			}
			h.at("09:01:01")
			h.want("09:00 "+c.state, c.items)
			calls := h.r.calls["turns"]
			h.at("09:01:31")
			h.want("09:00 "+c.state, "")
			if h.r.calls["turns"] != calls {
				t.Error("a stored run was checked again")
			}
			last, err := h.Get(h.ctx(), "j")
			if err != nil || (c.state == "failed") != (last.State.LastStatus == "error" && last.State.LastError == shown) || strings.Contains(last.State.LastError, token) {
				t.Errorf("the last run is %+v, %v", last.State, err)
			}
			slots, err := h.Slots(h.ctx(), SlotFilter{JobID: "j", From: at("09:00:00"), To: at("09:00:01")}, nil, 1)
			if err != nil || (c.state == "failed") != (slots[0].Reason == shown) {
				t.Errorf("%+v, %v", slots, err)
			}
		})
	}
}

// A job with six fields is watched like one with five, even if the runtime puts its next run off, and a job whose
// missed runs cannot be detected is not called watched.
func TestSixFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(func(j *gateway.Job) {
		j.Schedule.Expr, j.State.NextRunAt = "30 0 * * * *", clock.Ptr(at("09:00:30"))
	}))
	h.at("08:30:00")
	h.r.change(func() {
		j := h.r.jobs["j"]
		j.State.NextRunAt = clock.Ptr(at("09:00:30").AddDate(0, 0, 8))
		h.r.jobs["j"] = j
	})
	h.at("08:40:00")
	h.at("09:06:00")
	h.want("09:00 missed", raisedMissed)
	j, err := h.Get(h.ctx(), "j")
	if err != nil || !j.Watched || len(j.NextRuns) != maxNextRuns || !j.NextRuns[0].At.Equal(at("10:00:30")) {
		t.Errorf("%+v, %v", j, err)
	}
	for expr, watched := range map[string]bool{
		"0 0 9 * * *": true, "0 0 9 * * 1-5": true, "@hourly": true, "* * * * * *": false, "0,30 * * * * *": false, "0 0 9 L * *": false, "0 9 * * 1#2": false,
	} {
		if why := unwatched(hourly(func(j *gateway.Job) { j.Schedule.Expr = expr })); (why == "") != watched {
			t.Errorf("%s is not watched because %q", expr, why)
		}
	}
	for kind, watched := range map[string]bool{"every": false, "at": false} {
		j := hourly(func(j *gateway.Job) { j.Schedule = gateway.JobSchedule{Kind: kind, EveryMS: 3_600_000} })
		if why := unwatched(j); (why == "") != watched {
			t.Errorf("%s without a next run is not watched because %q", kind, why)
		}
		j.State.NextRunAt = clock.Ptr(at("10:00:00"))
		if why := unwatched(j); why != "" {
			t.Errorf("%s is not watched because %q", kind, why)
		}
	}
}

// A job that runs once is missed if its time passes, whatever the runtime announces.
func TestOncePutOff(t *testing.T) {
	t.Parallel()
	h := newFixture(t, dbtest.New(t), hourly(func(j *gateway.Job) {
		j.Schedule = gateway.JobSchedule{Kind: "at", At: at("09:00:00").Format("2006-01-02T15:04:05.000Z")}
		j.State.NextRunAt = clock.Ptr(at("09:00:00").AddDate(0, 0, 8))
	}))
	h.at("08:30:00")
	h.at("09:05:01")
	h.want("09:00 missed", raisedMissed)
}

// A job that runs and is not in the runtime's list must have a page and an item, whether or not the runtime still has
// it. A job that was deleted has neither.
func TestUnlistedJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newFixture(t, d, hourly(nil))
		h.at("08:30:00")
		h.inbox()
		h.r.ended("ghost", "08:31:00", "08:31:30", "ok", "1")
		h.r.change(func() { h.r.runs[0].JobName, h.r.runs[0].SessionKey = "Night watch", "agent:cpo:cron:ghost:run:1" })
		h.at("08:32:00")
		if got := h.inbox(); got != "raised job_unlisted of ghost" {
			t.Errorf("of a job that the runtime does not have, the inbox was told %q", got)
		}
		j, err := h.Get(h.ctx(), "ghost")
		if err != nil || j.Name != "Night watch" || j.AgentID != "cpo" || j.Watched || !strings.Contains(j.Unwatched, "does not list") {
			t.Errorf("%+v, %v", j, err)
		}
		runs := func() (costs []string) {
			part, err := h.Runs(h.ctx(), "ghost", page.Want{Query: page.Query{Limit: 5}})
			for _, r := range part.Rows {
				costs = append(costs, fmt.Sprint(r.CostUSD))
			}
			if err != nil || len(part.Rows) != 1 {
				t.Errorf("its runs are %+v, %v", part.Rows, err)
			}
			return costs
		}
		if got := runs(); !slices.Equal(got, []string{"<nil>"}) {
			t.Errorf("before it is counted, a run costs %v", got)
		}
		if err := d.Tx(h.ctx(), func(tx *db.Tx) error {
			_, err := h.Usage.Note(h.ctx(), tx, usage.Run{
				RunID: "1", AgentID: "cpo", SessionKey: "agent:cpo:cron:ghost", SessionID: "1", EndedAt: h.r.clock(),
				Parts: []usage.Part{{Provider: "p", Model: "m", Tokens: usage.Tokens{Input: 1}, Cost: new(money.Nano(70_000_000))}},
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := runs(); !slices.Equal(got, []string{"0.07"}) {
			t.Errorf("a run of $0.07 costs %v", got)
		}
		h.at("08:33:00")
		h.r.ended("ghost", "08:34:00", "08:34:30", "ok", "2")
		h.at("08:35:00")
		if got := h.inbox(); got != "repeated job_unlisted of ghost" {
			t.Errorf("after another run the inbox was told %q", got)
		}

		h.r.change(func() { h.r.unlisted = map[string]bool{"j": true} })
		h.at("08:36:00")
		h.r.ended("j", "09:00:00", "09:00:30", "ok", "3")
		h.at("09:01:00")
		h.want("09:00 on_time", "raised job_unlisted of j")
		if j, err := h.Get(h.ctx(), "j"); err != nil || !j.Watched || j.Schedule.Expr != "0 * * * *" {
			t.Errorf("of a job that the runtime has: %+v, %v", j, err)
		}

		h.r.ended("j", "09:10:00", "09:10:30", "ok", "manual:4")
		h.r.change(func() { delete(h.r.jobs, "j") })
		h.at("09:11:00")
		if got := h.inbox(); got != "" {
			t.Errorf("of a deleted job the inbox was told %q", got)
		}
		if _, err := h.Get(h.ctx(), "j"); !errors.Is(err, gateway.ErrNoJob) {
			t.Errorf("a deleted job is found: %v", err)
		}
	})
}
