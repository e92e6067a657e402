package standup_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
	"wardroom/internal/platform/web"
	"wardroom/internal/standup"
)

// Each team has its own standup per day.
func TestStandupsOfTeams(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		design := o.team(t, "design", "cpo", "cmo")
		const day, next = "2026-11-20", "2026-11-21"
		mine, theirs := o.openOf(t, "", day), o.openOf(t, "Design", day)
		if mine.ID == theirs.ID || theirs.Team != "design" || asked(theirs) != "cpo cmo" || theirs.Title != "DESIGN: standup of 2026-11-20" || mine.Title != "Standup of 2026-11-20" {
			t.Errorf("opened %s %q and %s %q with %s", mine.Team, mine.Title, theirs.Team, theirs.Title, asked(theirs))
		}
		for ref, want := range map[string]string{"": mine.ID, "executive": mine.ID, "design": theirs.ID, design.ID: theirs.ID} {
			if m := o.openOf(t, ref, day); m.ID != want {
				t.Errorf("%q opened anew", ref)
			}
		}
		later := o.openOf(t, "design", next)
		for ref, want := range map[string]string{"": mine.ID, "design": later.ID} {
			if m, err := o.Latest(t.Context(), ref); err != nil || m.ID != want {
				t.Errorf("the latest of %q is of %s %s, %v", ref, m.Team, m.Date, err)
			}
		}
		if _, _, err := o.Open(signedIn(t), standup.New{Team: "none"}); !errors.Is(err, standup.ErrTeam) {
			t.Errorf("opened for nobody: %v", err)
		}
		if _, err := o.UpdateTeam(signedIn(t), "design", standup.TeamChange{Archived: new(true)}, nil); err != nil {
			t.Fatal(err)
		}
		if m := o.openOf(t, "design", next); m.ID != later.ID {
			t.Error("the archive has taken its standup away")
		}
		if _, _, err := o.Open(signedIn(t), standup.New{Team: "design", Date: "2026-11-22"}); !errors.Is(err, standup.ErrTeamArchived) {
			t.Errorf("opened from the archive: %v", err)
		}
		for archived, want := range map[bool]string{false: "executive", true: "design"} {
			if part, err := o.Teams(t.Context(), archived, page.Want{}); err != nil || len(part.Rows) != 1 || part.Rows[0].Key != want || len(part.Rows[0].Participants) == 0 {
				t.Errorf("archived %v: %+v, %v", archived, part.Rows, err)
			}
		}
	})
}

// Lists show the executive team by default, and pages neither lose nor repeat standups.
func TestListOfTeams(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.team(t, "design", "cpo")
		o.team(t, "web", "cto")
		for _, open := range []string{"executive 18", "executive 19", "design 18", "design 20", "web 18"} {
			team, day, _ := strings.Cut(open, " ")
			o.openOf(t, team, "2026-11-"+day)
		}
		ask := o.desk(t, actor.User)
		for query, want := range map[string]string{
			"":                       "executive 19, executive 18",
			"team=executive":         "executive 19, executive 18",
			"team=DESIGN":            "design 20, design 18",
			"team=all":               "design 20, executive 19, web 18, executive 18, design 18",
			"team=all&sort=date":     "design 18, executive 18, web 18, executive 19, design 20",
			"team=all&to=2026-11-18": "web 18, executive 18, design 18",
			"team=all&status=error":  "",
			"team=web&status=running&from=2026-11-18": "web 18",
		} {
			var seen []string
			for path := web.Prefix + "/standups?limit=1&" + query; path != ""; {
				w := ask("GET", strings.TrimPrefix(path, web.Prefix), "")
				var rows []standup.Brief
				if err := json.Unmarshal(w.Body.Bytes(), &rows); err != nil || w.Code != 200 {
					t.Fatal(query, w.Code, w.Body)
				}
				for _, r := range rows {
					seen = append(seen, r.Team+" "+r.Date[8:])
				}
				path, _, _ = strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
			}
			if got := strings.Join(seen, ", "); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
	})
}

// Two teams with a common agent run at the same time: each gets its own answers, keeps its
// participants and has its own evidence period.
func TestTwoTeamsMeet(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		work(t, o.Service)
		o.runtime.Answer("cto", func(q demo.Question) string {
			return "Yesterday: x\nToday: for " + q.SessionKey + "\nBlockers: the printer"
		})
		o.team(t, "design", "cto", "cmo")
		day := o.now().UTC()
		var first [2]standup.Standup
		for i, team := range []string{"executive", "design"} {
			first[i] = o.hold(t, o.openOf(t, team, day.AddDate(0, 0, -1-i).Format(time.DateOnly)).ID)
		}
		today := day.Format(time.DateOnly)
		mine, theirs := o.openOf(t, "", today), o.openOf(t, "design", today)
		o.runtime.Delay("cto", 300*time.Millisecond)
		for _, id := range []string{mine.ID, theirs.ID} {
			if _, err := o.Run(signedIn(t), id, false); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, "both to ask the CTO", func() bool { return o.runtime.Asked("cto") == 4 })
		_, err := o.UpdateTeam(signedIn(t), "design", standup.TeamChange{Facilitator: patch.Set("cfo"), Participants: patch.Set([]standup.AgentID{"cpo"})}, nil)
		if err != nil {
			t.Fatal(err)
		}
		mine, theirs = o.end(t, mine.ID), o.end(t, theirs.ID)
		wantEnd(t, mine, standup.Completed, "")
		wantEnd(t, theirs, standup.Completed, "")
		if asked(theirs) != "cto cmo" || theirs.Facilitator != "coo" {
			t.Errorf("the meeting went on with %s, led by %s", asked(theirs), theirs.Facilitator)
		}
		for i, c := range []struct {
			m   standup.Standup
			key string
		}{{mine, "agent:cto:standup:" + today}, {theirs, "agent:cto:standup:" + today + ":team-design"}} {
			r := c.m.Reports[0]
			if r.Today == nil || *r.Today != "for "+c.key {
				t.Errorf("%s: the CTO said %q, want it in %s", c.m.Team, *r.Text, c.key)
			}
			if e := r.Evidence; e == nil || e.LastRun == nil || !e.LastRun.Equal(first[i].Reports[0].AnsweredAt.Time) || e.Promised == nil || !strings.Contains(*e.Promised, first[i].Date) {
				t.Errorf("%s: the evidence is not since the last report to this team: %+v", c.m.Team, e)
			}
			if len(c.m.Blockers) == 0 || c.m.Blockers[0].FirstSeen != first[i].Date || c.m.Blockers[0].AgeDays != 1+i {
				t.Errorf("%s: blockers %+v, want the first since %s", c.m.Team, c.m.Blockers, first[i].Date)
			}
		}
		next := o.openOf(t, "design", day.AddDate(0, 0, 1).Format(time.DateOnly))
		if asked(next) != "cpo" || next.Facilitator != "cfo" {
			t.Errorf("the next standup asks %s, led by %s", asked(next), next.Facilitator)
		}
		wantRoll(t, o)
	})
}

// wantRoll compares the brief reports in lists with the reports.
func wantRoll(t *testing.T, o *office) {
	t.Helper()
	part, err := o.List(t.Context(), standup.Filter{}, page.Want{})
	if err != nil || len(part.Rows) < 3 {
		t.Fatal(len(part.Rows), err)
	}
	for _, b := range part.Rows {
		m, err := o.Get(t.Context(), b.ID)
		if err != nil {
			t.Fatal(err)
		}
		var want []standup.BriefReport
		for _, r := range m.Reports {
			want = append(want, standup.BriefReport{AgentID: r.AgentID, Name: r.Name, Status: r.Status})
		}
		if !slices.Equal(b.Reports, want) {
			t.Errorf("%s %s is listed with %v, and has %v", b.Team, b.Date, b.Reports, want)
		}
	}
}

// A standup keeps the limits from its start when the settings change.
func TestLimitsOfAttempt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.team(t, "design", "cto", "cpo")
		limit := func(agent, all string) {
			t.Helper()
			c := standup.TeamChange{AgentTimeout: patch.Set(agent), Deadline: patch.Set(all)}
			if _, err := o.UpdateTeam(signedIn(t), "design", c, nil); err != nil {
				t.Fatal(err)
			}
		}
		limit("1500ms", "30s")
		o.runtime.Silence("cto", true)
		o.runtime.Silence("cpo", true)
		m := o.openOf(t, "design", "")
		stop := work(t, o.Service)
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		wait(t, "the CTO to be asked", func() bool { return o.runtime.Asked("cto") > 0 })
		limit("1h", "2h")
		stop() // another process with other settings continues
		next := o.service(d)
		next.AgentTimeout, next.Deadline = time.Hour, 2*time.Hour
		work(t, next)
		wantEnd(t, o.end(t, m.ID), standup.Error, standup.AgentsTimedOut)

		limit("1s", "1s")
		m = o.openOf(t, "design", "2026-01-01")
		if _, err := o.Run(signedIn(t), m.ID, false); err != nil {
			t.Fatal(err)
		}
		m = o.end(t, m.ID)
		wantEnd(t, m, standup.Error, standup.DeadlinePassed)
		if !strings.HasPrefix(m.Failure.Detail, "It did not finish within its deadline of 1s.") {
			t.Errorf("it says %q", m.Failure.Detail)
		}
	})
}

// The date of a standup is that of the team's time zone.
func TestCloseUnrunOfTeams(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newOffice(t, d)
		o.team(t, "east", "cto")
		o.team(t, "west", "cto")
		for key, zone := range map[string]string{"east": "Pacific/Kiritimati", "west": "Etc/GMT+12"} {
			if _, err := o.UpdateTeam(signedIn(t), key, standup.TeamChange{Timezone: patch.Set(zone)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		east, west := o.openOf(t, "east", ""), o.openOf(t, "west", "")
		if east.Date <= west.Date {
			t.Errorf("it is %s in the east and %s in the west", east.Date, west.Date)
		}
		status := func(id string) standup.Status {
			if err := o.CloseUnrun(actor.With(t.Context(), actor.System)); err != nil {
				t.Fatal(err)
			}
			m, err := o.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return m.Status
		}
		zone, err := clock.Zone("Pacific/Kiritimati")
		if err != nil {
			t.Fatal(err)
		}
		here := o.now().In(zone)
		o.mu.Lock()
		o.ahead = time.Date(here.Year(), here.Month(), here.Day()+1, 0, 30, 0, 0, zone).Sub(here)
		o.mu.Unlock()
		midnight := o.now().In(time.FixedZone("", -12*3600)).Format(time.DateOnly) > west.Date
		if status(east.ID) != standup.Error || (status(west.ID) == standup.Error) != midnight {
			t.Errorf("after midnight in the east: %s and %s", status(east.ID), status(west.ID))
		}
	})
}
