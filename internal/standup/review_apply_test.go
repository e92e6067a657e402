package standup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// Running a standup again, or repeating an item the next day, creates no duplicate items,
// tasks or comments.
func TestEffectsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, inbox := quiet(t, d)
		o.task(t, 3, "in_progress", "")
		o.task(t, 7, "in_progress", "")
		work(t, o.Service)
		o.on(t, "2027-03-01", 9)
		o.says("cto", "- TASK-3 waits for figures\n- no access to the staging database")
		o.reviews(`{"summary":"Fine.","resolutions":[{"task":"TASK-3","resolution":"cto sends the figures today"},{"blocker":1,"resolution":"cpo estimates them"},
			{"blocker":"2. cto, for 0 days: no access","resolution":"ops grants it"},{"task":"TASK-404","resolution":"lost"},{"task":"TASK-3","resolution":"cto sends the figures today"}],
			"escalations":[{"title":"Decide on the budget for ads","detail":"100 or 200?","task":"TASK-7"},{"title":"And on its owner","detail":"who?","task":"TASK-7"},{"title":"Sign the contract with Acme","detail":"it ends"}],
			"action_items":[{"title":"Write the report on figures"},{"title":"Ask Anna for the logo","assignee":"cmo"},{"title":"ask anna for the logo"},{"title":"Ask Boris for the logo"}]}`)
		m := o.meet(t)
		comments := []string{
			"coo on TASK-3: Decided in the standup of 1 Mar:\n\ncto sends the figures today",
			"coo on TASK-3: Decided in the standup of 1 Mar:\n\ncpo estimates them",
		}
		want := []string{"escalation x1 open Decide on the budget for ads", "escalation x1 open Sign the contract with Acme"}
		made := []string{"Write the report on figures", "Ask Anna for the logo", "Ask Boris for the logo"}
		check := func() {
			t.Helper()
			inbox.want(t, want...)
			if got, tasks := o.comments(t), o.made(t); !slices.Equal(got, comments) || !slices.Equal(tasks, made) {
				t.Errorf("comments %q, tasks %q", got, tasks)
			}
		}
		check()
		if matter := item(t, o.Service, "escalation/TASK-7"); matter.Subject.ID != "task-7" || matter.Detail != "100 or 200?\n\nAnd on its owner\n\nwho?" || matter.Severity != "high" {
			t.Errorf("%+v", matter)
		}
		if b := m.Blockers; len(b) != 3 || *b[0].Resolution != "cto sends the figures today\n\ncpo estimates them" || *b[1].Resolution != "ops grants it" || b[2].ID != nil {
			t.Errorf("%+v", b)
		}
		// Again in another order, with one new decision.
		o.reviews(`{"summary":"Fine.","resolutions":[{"task":"TASK-3","resolution":"CTO sends the figures today."},{"task":"TASK-3","resolution":"We drop the chart."}],
			"escalations":[{"title":"Budget for the ads must be decided","detail":"now","task":"TASK-7"},{"title":"Sign the contract with ACME!","detail":"it ends"}],
			"action_items":[{"title":"Ask Boris for the logo"},{"title":"Write the report on figures."},{"title":"Ask Anna for the logo"}]}`)
		again := func() {
			t.Helper()
			if _, err := o.Run(signedIn(t), m.ID, true); err != nil {
				t.Fatal(err)
			}
			m = o.end(t, m.ID)
			wantEnd(t, m, standup.Completed, "")
		}
		again()
		comments = append(comments, "coo on TASK-3: Decided in the standup of 1 Mar:\n\nWe drop the chart.")
		check()
		if got := *m.ActionItems[0].Task + " " + *m.ActionItems[1].Task + " " + *m.ActionItems[2].Task; got != "TASK-103 TASK-101 TASK-102" {
			t.Errorf("the tasks of the items are %s", got)
		}
		again()
		check()
		// The next day repeats them: the same items with a higher count.
		o.on(t, "2027-03-02", 9)
		o.reviews(`{"summary":"Fine.","escalations":[{"title":"TASK-7 needs its budget","detail":"now"},{"title":"sign the contract with Acme","detail":"it ends"}]}`)
		o.meet(t)
		want = []string{"escalation x2 open TASK-7 needs its budget", "escalation x2 open sign the contract with Acme"}
		check()
	})
}

// An action item repeated daily is one task until that task is done.
func TestActionItemsOfDays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, _ := quiet(t, d)
		work(t, o.Service)
		item := func(date, title string) string {
			t.Helper()
			o.on(t, date, 9)
			o.reviews(`{"summary":"Fine.","action_items":[{"title":"` + title + `"}]}`)
			m := o.meet(t)
			return *m.ActionItems[0].Task
		}
		if got := item("2027-03-01", "Ask Anna for the logo"); got != "TASK-101" {
			t.Errorf("the first is %s", got)
		}
		o.task(t, 101, "todo", "")
		if got := item("2027-03-02", "ask Anna for the logo."); got != "TASK-101" {
			t.Errorf("named anew it is %s", got)
		}
		if got := item("2027-03-03", "Ask Boris for the logo"); got != "TASK-102" {
			t.Errorf("something else is %s", got)
		}
		o.task(t, 101, "done", "")
		if got := item("2027-03-04", "Ask Anna for the logo"); got != "TASK-103" {
			t.Errorf("after it was done it is %s", got)
		}
		o.task(t, 103, "in_progress", "")
		if got := item("2027-03-25", "Ask Anna for the logo"); got != "TASK-104" {
			t.Errorf("weeks later it is %s", got)
		}
		asked := make(chan string, 1)
		o.runtime.Answer("coo", func(q demo.Question) string { asked <- q.Message; return nothing })
		o.task(t, 104, "todo", "")
		o.on(t, "2027-03-26", 9)
		o.meet(t)
		if q := <-asked; !strings.Contains(q, "\n## open action items\n2027-03-25: TASK-104 Ask Anna for the logo\n--- end") {
			t.Errorf("coo was asked\n%s", q)
		}
	})
}

// An escalated blocker is not raised again because of its age, and its item is not
// resolved when the blocker is no longer mentioned.
func TestEscalatedBlocker(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, inbox := quiet(t, d)
		work(t, o.Service)
		o.says("cto", "Need budget approval for the ad campaign")
		meet := func(day int, review string) standup.Standup {
			o.on(t, fmt.Sprintf("2027-03-%02d", day), 9)
			o.reviews(review)
			return o.meet(t)
		}
		meet(1, nothing)
		m := meet(2, `{"summary":"Fine.","escalations":[{"title":"Budget for the ad campaign is not approved","detail":"500 a month","blocker":1}]}`)
		if on := m.Blockers[0].EscalatedOn; on == nil || *on != "2027-03-02" {
			t.Errorf("escalated on %v", on)
		}
		inbox.want(t, "escalation x1 open Budget for the ad campaign is not approved")
		meet(3, nothing)
		meet(4, `{"summary":"Fine.","escalations":[{"title":"Approve the ad campaign's budget","detail":"500 a month","blocker":1}]}`)
		inbox.want(t, "escalation x3 open Approve the ad campaign's budget")
		o.says("cto", "None")
		if m = meet(5, nothing); len(m.Blockers) != 0 {
			t.Errorf("%+v", m.Blockers)
		}
		inbox.want(t, "escalation x3 open Approve the ad campaign's budget")

		// An old blocker that is escalated later has one open item.
		o.says("cpo", "- the printer is broken")
		for day := 6; day <= 8; day++ {
			meet(day, nothing)
		}
		m = meet(9, `{"summary":"Fine.","escalations":[{"title":"The printer is broken","detail":"buy one"}]}`)
		if on := m.Blockers[0].EscalatedOn; on == nil || *on != "2027-03-09" {
			t.Errorf("escalated on %v, not on the day of its item", on)
		}
		inbox.want(t, "escalation x3 open Approve the ad campaign's budget", "old_blocker x1 resolved cpo is blocked: the printer is broken", "escalation x1 open The printer is broken")

		// A blocker that shares the item of an earlier escalation has its day.
		o.says("cpo", "None")
		meet(10, `{"summary":"Fine.","escalations":[{"title":"Choose a supplier","detail":"Acme?"}]}`)
		o.says("cpo", "- no supplier for paper yet")
		m = meet(12, `{"summary":"Fine.","escalations":[{"title":"Choose a supplier","detail":"Acme?","blocker":1}]}`)
		if on := m.Blockers[0].EscalatedOn; on == nil || *on != "2027-03-10" {
			t.Errorf("escalated on %v, not on the day of its item", on)
		}
	})
}

// A blocker ended by the first run of a day and mentioned in the second is the same
// blocker, with one escalation.
func TestBlockersHeldAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, inbox := quiet(t, d)
		work(t, o.Service)
		var m standup.Standup
		say := func(day int, words string) {
			t.Helper()
			o.says("cmo", words)
			if day > 0 {
				o.on(t, fmt.Sprintf("2027-03-%02d", day), 9)
				m = o.meet(t)
				return
			}
			if _, err := o.Run(signedIn(t), m.ID, true); err != nil {
				t.Fatal(err)
			}
			m = o.end(t, m.ID)
			wantEnd(t, m, standup.Completed, "")
		}
		say(1, "no access to the mail account")
		id := *m.Blockers[0].ID
		say(3, "No access to the mail account!")
		inbox.want(t, "old_blocker x1 open cmo is blocked: No access to the mail account!")
		say(0, "- No access to the mail account")
		inbox.want(t, "old_blocker x1 open cmo is blocked: No access to the mail account!")
		say(0, "None")
		inbox.want(t, "old_blocker x1 resolved cmo is blocked: No access to the mail account!")
		say(0, "no access to the mail account")
		if len(m.Blockers) != 1 || *m.Blockers[0].ID != id || m.Blockers[0].FirstSeen != "2027-03-01" || m.Blockers[0].Status != standup.BlockerOpen {
			t.Errorf("%+v", m.Blockers)
		}
		inbox.want(t, "old_blocker x2 open cmo is blocked: no access to the mail account")
	})
}

// A failed standup is in the inbox until it completes.
func TestFailedReachesInbox(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, inbox := quiet(t, d)
		o.runtime.Silence("coo", true)
		o.AgentTimeout = shortTime
		stop := work(t, o.Service)
		m := o.hold(t, o.open(t).ID)
		wantEnd(t, m, standup.Error, standup.FacilitatorTimedOut)
		title := "Standup of " + m.Date + " failed"
		inbox.want(t, "standup_failed x1 open "+title)
		if got := item(t, o.Service, "standup/"+m.ID+"/failed"); got.Subject.ID != m.ID || !strings.HasSuffix(got.Detail, "a retry asks only for the review. (`facilitator_timed_out`)\n\nTo retry, run it again.") {
			t.Errorf("%+v", got)
		}
		m = o.hold(t, m.ID)
		inbox.want(t, "standup_failed x2 open "+title)
		stop()
		o.runtime.Silence("coo", false)
		o.AgentTimeout = 10 * time.Second
		o.again()
		work(t, o.Service)
		wantEnd(t, o.hold(t, m.ID), standup.Completed, "")
		inbox.want(t, "standup_failed x2 resolved "+title)
	})
	t.Run("one that was cancelled needs nobody, and one that nobody ran does", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			o, inbox := quiet(t, d)
			if _, err := o.Cancel(signedIn(t), o.open(t).ID); err != nil {
				t.Fatal(err)
			}
			inbox.want(t)
			o.sleep(24 * time.Hour)
			m := o.open(t)
			o.sleep(24 * time.Hour)
			if err := o.CloseUnrun(signedIn(t)); err != nil {
				t.Fatal(err)
			}
			title := "standup_failed x1 %s Standup of " + m.Date + " was not run"
			inbox.want(t, fmt.Sprintf(title, "open"))
			if err := o.Delete(signedIn(t), m.ID, nil); err != nil {
				t.Fatal(err)
			}
			inbox.want(t, fmt.Sprintf(title, "resolved"))
		})
	})
}

// Agents' texts reach the inbox and the tasks as plain text of limited length.
func TestHostileReview(t *testing.T) {
	t.Parallel()
	o, inbox := quiet(t, dbtest.New(t))
	o.task(t, 3, "in_progress", "")
	work(t, o.Service)
	long := strings.Repeat("ä", 12_000)
	o.runtime.Answer("coo", func(demo.Question) string {
		return `{"summary":"Fine.","resolutions":[{"task":"TASK-3","resolution":"` + long + `"}],
			"escalations":[{"title":"# <img src=x onerror=alert(1)>\u001b[2J\u202e` + long + `","detail":"\u0000\u0007` + long + `"}]}`
	})
	m := o.meet(t)
	if got := o.comments(t); len(got) != 1 || len([]rune(got[0])) > 10_000+len("coo on TASK-3: ") {
		t.Errorf("%d comments of together %d bytes", len(got), len(strings.Join(got, "")))
	}
	for _, matter := range inbox.items(t) {
		if n := len([]rune(matter.Title)); n > 200 || len([]rune(matter.Detail)) > 4000 || strings.ContainsAny(matter.Title, "\x1b\u202e\n") || strings.ContainsAny(matter.Detail, "\x00\x07") {
			t.Errorf("%+v", matter)
		}
	}
	if len(inbox.items(t)) != 1 || len(m.Escalations) != 1 {
		t.Errorf("%+v", m.Escalations)
	}
}
