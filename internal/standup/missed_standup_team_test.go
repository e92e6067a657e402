package standup_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// schedules creates a team in a time zone with a job due at the times of expr.
func (c *calendar) schedules(t *testing.T, key, zone, expr string) {
	t.Helper()
	c.teamIn(t, key, "coo", zone, "cto", "cpo")
	c.jobs.more = append(c.jobs.more, gateway.Job{
		ID: "job-" + key, Name: "daily-standup-" + key, AgentID: "coo", Enabled: true, Schedule: gateway.JobSchedule{Kind: "cron", Expr: expr, Zone: zone},
	})
}

// holds starts the team's standup of today.
func (c *calendar) holds(t *testing.T, team string) standup.Standup {
	t.Helper()
	m := c.openOf(t, team, "")
	if _, err := c.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	return m
}

// Each team's standups are missed, raised once and resolved independently.
func TestAbsenceOfTeams(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-11-19 12:00", "UTC", "0 9 * * *")
		c.schedules(t, "design", "America/New_York", "0 9 * * *") // 14:00 UTC
		c.until(t, "2026-11-20 08:55")
		c.wantInbox(t, map[string]string{"standup/missed/design/2026-11-19": "raised "})
		if m := item(t, c.Service, "standup/missed/design/2026-11-19"); m.Title != "DESIGN: the standup of 2026-11-19 did not start" || m.Subject.ID != "design" || m.Subject.Name != "daily-standup-design" ||
			!contains(m.Detail, "`daily-standup-design`", "2026-11-19 09:00 America/New_York", "under Standups") {
			t.Errorf("told %+v", m)
		}
		mine := c.open(t)
		if _, err := c.Cancel(signedIn(t), mine.ID); err != nil { // cancel the executive team's standup
			t.Fatal(err)
		}
		c.until(t, "2026-11-20 14:10")
		c.until(t, "2026-11-20 14:20")
		both := map[string]string{"standup/missed/design/2026-11-19": "raised ", "standup/missed/design/2026-11-20": "raised "}
		c.wantInbox(t, both)
		c.until(t, "2026-11-20 20:00")
		c.wantInbox(t, both)
		work(t, c.Service)
		c.hold(t, mine.ID) // resolves only its own item
		c.wantInbox(t, both)
		c.end(t, c.holds(t, "design").ID)
		both["standup/missed/design/2026-11-20"] += "resolved "
		c.wantInbox(t, both)
	})
}

// A team's day follows its own time zone, even when the clocks change.
func TestAbsenceInZonesOfTeams(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	t.Run("it is tomorrow there", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 12:00", "UTC", "0 9 1 1 *")
		c.schedules(t, "tokyo", "Asia/Tokyo", "0 8 * * *") // 23:00 UTC on the previous day
		c.until(t, "2026-11-20 23:30")
		c.wantInbox(t, map[string]string{"standup/missed/tokyo/2026-11-21": "raised "})
		c.until(t, "2026-11-21 22:50")
		c.holds(t, "tokyo")
		c.until(t, "2026-11-22 12:00")
		c.wantInbox(t, map[string]string{"standup/missed/tokyo/2026-11-21": "raised "})
	})
	for _, expr := range []string{"30 2 * * *", "30 19 * * *", "0 0 * * *"} {
		for _, begin := range []string{"2026-03-06 20:00", "2026-10-30 20:00"} { // the clocks of New York change on Sunday night
			t.Run(expr+" "+begin, func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d *db.DB) {
					c := newCalendar(t, d, begin, "Europe/Berlin", "0 9 1 1 *")
					c.schedules(t, "york", "America/New_York", expr)
					york, err := time.LoadLocation("America/New_York")
					if err != nil {
						t.Fatal(err)
					}
					c.at, err = time.ParseInLocation("2006-01-02 15:04", begin, york)
					if err != nil {
						t.Fatal(err)
					}
					first, want := c.at, map[string]string{}
					for day := 1; day <= 3; day++ {
						want["standup/missed/york/"+first.AddDate(0, 0, day).Format(time.DateOnly)] = "raised "
					}
					c.until(t, first.AddDate(0, 0, 3).In(c.Zone).Format("2006-01-02 15:04"))
					c.wantInbox(t, want)
				})
			})
		}
	}
}

// An archived team misses no standups, not even after it is restored, and none of its
// standups is started.
func TestAbsenceOfArchivedTeam(t *testing.T) {
	t.Parallel()
	archive := func(t *testing.T, c *calendar, archived bool) {
		t.Helper()
		if _, err := c.UpdateTeam(signedIn(t), "design", standup.TeamChange{Archived: &archived}, nil); err != nil {
			t.Fatal(err)
		}
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-11-16 08:00", "UTC", "0 9 1 1 *")
		c.schedules(t, "design", "UTC", "0 9 * * *")
		c.until(t, "2026-11-16 09:05")
		archive(t, c, true) // within StartGrace
		c.until(t, "2026-11-18 09:05")
		archive(t, c, false)
		c.until(t, "2026-11-19 09:10")
		c.wantInbox(t, nil)
		c.until(t, "2026-11-19 09:20")
		c.wantInbox(t, map[string]string{"standup/missed/design/2026-11-19": "raised "})
	})
	t.Run("after its fallback was wished for", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 1 1 *")
		c.schedules(t, "design", "UTC", "0 9 * * *")
		c.Fallback = true
		c.until(t, "2026-11-20 08:55")
		m := c.openOf(t, "design", "")
		c.until(t, "2026-11-20 09:20")
		archive(t, c, true)
		work(t, c.Service)
		c.wantFallback(t, "2026-11-20/design")
		if m, err := c.Get(t.Context(), m.ID); err != nil || m.Attempt != 0 {
			t.Errorf("attempt %d, %v", m.Attempt, err)
		}
	})
}

// wantFallback waits until the fallback job is done.
func (c *calendar) wantFallback(t *testing.T, key string) {
	t.Helper()
	wait(t, "the fallback "+key, func() bool {
		var state string
		err := c.DB.QueryRow(t.Context(), `SELECT state FROM jobs WHERE kind = ? AND key = ?`, standup.FallbackKind, key).Scan(&state)
		return err == nil && state == "done"
	})
}

// If two teams miss their standups at the same time, each is started once across replicas.
func TestFallbackOfTeams(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-11-20 12:00", "UTC", "0 23 * * *")
		c.schedules(t, "tokyo", "Asia/Tokyo", "0 8 * * *") // 23:00 UTC, the next day in Tokyo
		replicas := []*standup.Service{c.Service, c.service(d), c.service(d)}
		for _, s := range replicas {
			c.settings(s, time.UTC)
			s.Fallback = true
		}
		c.until(t, "2026-11-20 23:10")
		c.at = c.at.Add(10 * time.Minute)
		var all sync.WaitGroup
		for _, s := range replicas {
			all.Go(func() {
				if err := s.CheckMissed(system(t)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		work(t, c.Service)
		for team, day := range map[string]string{"executive": "2026-11-20", "tokyo": "2026-11-21"} {
			wait(t, "the standup of "+team, func() bool {
				m, err := c.Latest(t.Context(), team)
				return err == nil && m.Status == standup.Completed && m.Date == day && m.Trigger == "system" && m.Attempt == 1
			})
		}
		c.wantFallback(t, "2026-11-20") // the key format without a team
		c.wantFallback(t, "2026-11-21/tokyo")
		c.wantInbox(t, map[string]string{"standup/missed/executive/2026-11-20": "raised resolved ", "standup/missed/tokyo/2026-11-21": "raised resolved "})
		c.wantAsked(t, map[string]int{"coo": 2, "cto": 2, "cpo": 2, "cmo": 1})
	})
}

func contains(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
