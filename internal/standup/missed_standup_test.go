package standup_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/patch"
	"wardroom/internal/standup"
)

// calendar is an office with its own clock and a configurable schedule.
type calendar struct {
	*office
	jobs *timetable
	at   time.Time
}

// timetable is a runtime with the given jobs, which do not run by themselves.
type timetable struct {
	*gateway.Client
	job  *gateway.Job // of the executive team
	more []gateway.Job
	runs []gateway.JobRun
	away bool
}

func (tt *timetable) Connection() (any, error) {
	if tt.away {
		return nil, link.ErrUnreachable
	}
	return tt, nil
}

func (tt *timetable) Jobs(context.Context, gateway.JobsWanted) ([]gateway.Job, error) {
	if tt.job == nil {
		return tt.more, nil
	}
	return append([]gateway.Job{*tt.job}, tt.more...), nil
}

func (tt *timetable) Job(context.Context, string) (gateway.Job, error) {
	return gateway.Job{}, gateway.ErrNoJob
}

func (tt *timetable) JobRuns(context.Context, gateway.JobRunsWanted) ([]gateway.JobRun, bool, error) {
	return tt.runs, false, nil
}

// newCalendar starts at a time, with a job due at the times of expr.
func newCalendar(t *testing.T, d *db.DB, begin, zone, expr string) *calendar {
	t.Helper()
	o := newOffice(t, d)
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", begin, loc)
	if err != nil {
		t.Fatal(err)
	}
	c := &calendar{office: o, at: at, jobs: &timetable{Client: o.client, job: &gateway.Job{
		ID: "job-1", Name: "daily-standup", AgentID: "coo", Enabled: true, Schedule: gateway.JobSchedule{Kind: "cron", Expr: expr, Zone: zone},
	}}}
	c.settings(o.Service, loc)
	return c
}

func (c *calendar) settings(s *standup.Service, zone *time.Location) {
	s.Timetable, s.Zone, s.Now = c.jobs, zone, func() time.Time { return c.at }
	s.Schedules, c.Schedules.Now, c.Schedules.Runtime = c.Schedules, s.Now, c.jobs // replicas share the mirror
}

// check does what the timers do.
func (c *calendar) check(t *testing.T) {
	t.Helper()
	read := c.Schedules.ReadOnce
	if c.jobs.away {
		read = c.Schedules.Judge
	}
	if err := errors.Join(read(system(t)), c.CheckMissed(system(t))); err != nil {
		t.Fatal(err)
	}
}

func system(t *testing.T) context.Context { return actor.With(t.Context(), actor.System) }

// until advances the clock and checks every 15 minutes.
func (c *calendar) until(t *testing.T, clock string) {
	t.Helper()
	end, err := time.ParseInLocation("2006-01-02 15:04", clock, c.Zone)
	if err != nil {
		t.Fatal(err)
	}
	for ; !c.at.After(end); c.at = c.at.Add(15 * time.Minute) {
		c.check(t)
	}
	c.at = end
	c.check(t)
}

// began marks today's standup as started.
func (c *calendar) began(t *testing.T) standup.Standup {
	t.Helper()
	m := c.open(t)
	if _, err := c.Run(signedIn(t), m.ID, false); err != nil {
		t.Fatal(err)
	}
	return m
}

// missedOn returns the inbox after missed standups on the given days.
func missedOn(days ...string) map[string]string {
	var all map[string]string
	for _, day := range days {
		if all == nil {
			all = map[string]string{}
		}
		all["standup/missed/executive/"+day] = "raised "
	}
	return all
}

// inbox returns what happened to each item of the inbox, by cause, such as "raised resolved ".
func (c *calendar) inbox(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	rows, err := c.DB.Query(t.Context(), `
		SELECT i.cause, SUBSTR(e.kind, 7) FROM events e JOIN inbox_items i ON i.id = e.subject_id ORDER BY e.id`)
	if _, err := db.All(rows, err, func(r db.Row) (_ struct{}, err error) {
		var cause, what string
		err = r.Scan(&cause, &what)
		all[cause] += what + " "
		return struct{}{}, err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func (c *calendar) wantInbox(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, c.inbox(t), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the inbox (-want +got):\n%s", diff)
	}
}

// A standup that did not start is raised once, after StartGrace; one that started is not.
func TestAbsence(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-11-19 12:00", "Europe/Berlin", "0 9 * * 1-5")
		c.until(t, "2026-11-20 09:14") // a Friday
		c.wantInbox(t, nil)
		c.until(t, "2026-11-20 09:15")
		c.wantInbox(t, missedOn("2026-11-20"))
		if m := item(t, c.Service, "standup/missed/executive/2026-11-20"); m.Kind != "standup_missed" || m.Severity != "high" || m.Title != "The standup of 2026-11-20 did not start" ||
			!strings.Contains(m.Detail, "2026-11-20 09:00 Europe/Berlin") || !strings.Contains(m.Detail, "15m0s") || m.LastAt.UTC().Format("15:04") != "08:00" || m.Subject.Kind != "schedule" {
			t.Errorf("told %+v", m)
		}
		c.until(t, "2026-11-23 08:50")
		c.wantInbox(t, missedOn("2026-11-20"))
		c.began(t) // started early on Monday
		c.until(t, "2026-11-24 08:00")
		c.wantInbox(t, missedOn("2026-11-20"))
		wantEvents(t, d, "activity slot.missed", "activity standup.missed", "activity slot.missed")
	})
}

// One outage raises one item, and so does one failure: that of the standup, which tells the reason.
func TestAbsenceToldOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*calendar)
		says    string
	}{
		"the job did not run": {func(*calendar) {}, "The runtime did not start it by 09:05 UTC."},
		"the job failed": {func(c *calendar) {
			due := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
			c.jobs.runs = []gateway.JobRun{{
				JobID: "job-1", RunID: "run", Status: "error", Error: "Out of tokens.", RanAt: clock.At(due), EndedAt: clock.At(due.Add(time.Minute)),
			}}
		}, "The run of the job failed: Out of tokens."},
		"the runtime is away": {func(c *calendar) { c.jobs.away = true }, "The runtime has been unreachable since then."},
		"the agent did not open it": {func(c *calendar) {
			due := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
			c.jobs.runs = []gateway.JobRun{{JobID: "job-1", RunID: "run", Status: "ok", RanAt: clock.At(due), EndedAt: clock.At(due.Add(time.Minute))}}
		}, "coo has its API key in the variable WARDROOM_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
			c.until(t, "2026-11-20 08:45")
			test.happens(c)
			c.until(t, "2026-11-20 09:45")
			c.jobs.away = false
			c.until(t, "2026-11-20 10:00")
			c.wantInbox(t, missedOn("2026-11-20"))
			if m := item(t, c.Service, "standup/missed/executive/2026-11-20"); !strings.Contains(m.Detail, test.says) {
				t.Errorf("it does not say %q:\n%s", test.says, m.Detail)
			}
		})
	}
}

// The item is resolved when the standup completes, even if late.
func TestAbsenceSettled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-11-20 08:00", "UTC", "0 9 * * *")
		c.until(t, "2026-11-20 09:20")
		c.wantInbox(t, missedOn("2026-11-20"))
		work(t, c.Service)
		c.end(t, c.began(t).ID)
		c.wantInbox(t, map[string]string{"standup/missed/executive/2026-11-20": "raised resolved "})
	})
}

// Days before the schedule existed, disabled or removed jobs, and rescheduled times are
// not missed.
func TestNoAbsence(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	for name, test := range map[string]struct {
		begin  string
		change func(*calendar)
		until  string
		want   []string
	}{
		"first seen after the time":      {"2026-11-20 09:05", nil, "2026-11-20 23:00", nil},
		"first seen in its grace":        {"2026-11-20 09:00", nil, "2026-11-20 09:30", nil},
		"disabled":                       {"2026-11-20 08:00", func(c *calendar) { c.jobs.job.Enabled = false }, "2026-11-23 12:00", nil},
		"removed":                        {"2026-11-20 08:00", func(c *calendar) { c.jobs.job = nil }, "2026-11-23 12:00", nil},
		"moved to later, and missed":     {"2026-11-20 08:00", func(c *calendar) { c.jobs.job.Schedule.Expr = "0 15 * * *" }, "2026-11-20 16:00", []string{"2026-11-20"}},
		"the runtime is away":            {"2026-11-20 08:00", func(c *calendar) { c.jobs.away = true }, "2026-11-20 10:00", []string{"2026-11-20"}},
		"several times a day, told once": {"2026-11-20 08:00", func(c *calendar) { c.jobs.job.Schedule.Expr = "0 9-17 * * *" }, "2026-11-20 20:00", []string{"2026-11-20"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCalendar(t, dbtest.New(t), test.begin, "UTC", "0 9 * * *")
			c.until(t, test.begin)
			if test.change != nil {
				test.change(c)
			}
			c.until(t, test.until)
			c.wantInbox(t, missedOn(test.want...))
		})
	}
	t.Run("moved to a time of the day that has passed", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 15 * * *")
		c.until(t, "2026-11-20 12:00")
		c.jobs.job.Schedule.Expr = "0 9 * * *"
		c.until(t, "2026-11-20 23:00")
		c.wantInbox(t, nil)
	})
	t.Run("enabled again after its time", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
		c.jobs.job.Enabled = false
		c.until(t, "2026-11-20 12:00")
		c.jobs.job.Enabled = true
		c.until(t, "2026-11-20 23:00")
		c.wantInbox(t, nil)
	})
	t.Run("of a job that has been in the runtime for long, but not for this team", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-16 08:00", "UTC", "0 9 * * *")
		c.jobs.job.AgentID = "cpo"
		c.until(t, "2026-11-20 08:00")
		facilitator := standup.TeamChange{Facilitator: patch.Set("cpo"), Participants: patch.Set([]standup.AgentID{"cto"})}
		if _, err := c.UpdateTeam(signedIn(t), standup.Executive, facilitator, nil); err != nil {
			t.Fatal(err)
		}
		c.until(t, "2026-11-20 09:20")
		want := missedOn("2026-11-20")
		want["schedule/missed/job-1"] = "raised repeated repeated repeated " // while it was anybody's job
		c.wantInbox(t, want)
	})
	t.Run("without a time zone", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
		next := clock.At(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)) // only the runtime knows
		c.jobs.job.Schedule.Zone, c.jobs.job.State.NextRunAt = "", &next
		c.until(t, "2026-11-20 09:20")
		c.wantInbox(t, missedOn("2026-11-20"))
		if m := item(t, c.Service, "standup/missed/executive/2026-11-20"); !strings.Contains(m.Detail, "2026-11-20 09:00 UTC") {
			t.Errorf("told %+v", m)
		}
	})
	t.Run("called off", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
		c.until(t, "2026-11-20 08:30")
		if _, err := c.Cancel(signedIn(t), c.open(t).ID); err != nil {
			t.Fatal(err)
		}
		c.until(t, "2026-11-20 12:00")
		c.wantInbox(t, nil)
	})
	t.Run("opened shortly after midnight for a time shortly before it", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "58 23 * * *")
		c.until(t, "2026-11-21 00:01")
		c.began(t)
		c.until(t, "2026-11-21 12:00")
		c.wantInbox(t, nil)
	})
}

// After a long downtime each missed day is raised once, up to a week back. After a
// short downtime, nothing is raised twice.
func TestAbsenceAfterDowntime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-09-01 12:00", "UTC", "0 9 * * *")
		c.until(t, "2026-09-01 12:00")
		c.at = time.Date(2026, 11, 20, 9, 5, 0, 0, time.UTC)
		c.until(t, "2026-11-20 09:10")
		c.until(t, "2026-11-20 09:10") // a restart
		got := slices.Sorted(maps.Keys(c.inbox(t)))
		if len(got) != 6 || got[0] != "standup/missed/executive/2026-11-14" || got[5] != "standup/missed/executive/2026-11-19" {
			t.Errorf("%d days, %v", len(got), got)
		}
		for cause, times := range c.inbox(t) {
			if times != "raised " {
				t.Errorf("%s: %s", cause, times)
			}
		}
	})
}

// A job that was disabled while Wardroom was down has missed nothing.
func TestAbsenceLooksFirst(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
	c.until(t, "2026-11-20 08:00")
	c.jobs.job.Enabled = false
	c.at = c.at.AddDate(0, 0, 7)
	c.check(t)
	c.wantInbox(t, nil)
}

// With several replicas, a missed standup is raised once and started once.
func TestAbsenceReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCalendar(t, d, "2026-11-20 08:00", "UTC", "0 9 * * *")
		replicas := []*standup.Service{c.Service, c.service(d), c.service(d), c.service(d)}
		for _, s := range replicas {
			c.settings(s, time.UTC)
			s.Fallback = true
		}
		c.until(t, "2026-11-20 09:10")
		c.at = c.at.Add(10 * time.Minute)
		work(t, c.Service)
		for range 3 {
			var wg sync.WaitGroup
			for _, s := range replicas {
				wg.Go(func() {
					if err := s.CheckMissed(system(t)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		var m standup.Standup
		wait(t, "the standup to be held", func() bool {
			var err error
			m, err = c.Latest(t.Context(), "")
			return err == nil && m.Status == standup.Completed
		})
		if m.Date != "2026-11-20" || m.Trigger != "system" || m.Attempt != 1 {
			t.Errorf("held %s by %s, attempt %d", m.Date, m.Trigger, m.Attempt)
		}
		c.wantInbox(t, map[string]string{"standup/missed/executive/2026-11-20": "raised resolved "})
		c.wantAsked(t, map[string]int{"coo": 1, "cto": 1, "cpo": 1, "cmo": 1})
	})
}

// The fallback starts only today's standup, and only if nothing else has started it.
func TestFallback(t *testing.T) {
	t.Parallel()
	t.Run("of a day that is over", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-18 08:00", "UTC", "0 9 * * *")
		c.Fallback = true
		c.until(t, "2026-11-18 08:00")
		c.at = c.at.AddDate(0, 0, 2)
		c.until(t, "2026-11-20 08:30")
		var n int
		if err := c.DB.QueryRow(t.Context(), `SELECT COUNT(*) FROM jobs`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d jobs, %v", n, err)
		}
		c.wantInbox(t, missedOn("2026-11-18", "2026-11-19"))
	})
	t.Run("when somebody was faster", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
		c.Fallback = true
		c.until(t, "2026-11-20 09:20")
		m := c.began(t)
		work(t, c.Service)
		if m = c.end(t, m.ID); m.Trigger != "user" {
			t.Errorf("begun by %s", m.Trigger)
		}
		wait(t, "the fallback", func() bool {
			var state string
			err := c.DB.QueryRow(t.Context(), `SELECT state FROM jobs WHERE kind = ?`, standup.FallbackKind).Scan(&state)
			return err == nil && state == "done"
		})
		if m, err := c.Get(t.Context(), m.ID); err != nil || m.Attempt != 1 {
			t.Errorf("attempt %d, %v", m.Attempt, err)
		}
	})
	t.Run("a standup that was opened and not run is run", func(t *testing.T) {
		c := newCalendar(t, dbtest.New(t), "2026-11-20 08:00", "UTC", "0 9 * * *")
		c.Fallback = true
		c.until(t, "2026-11-20 08:55")
		m := c.open(t)
		c.until(t, "2026-11-20 09:20")
		work(t, c.Service)
		wait(t, "its end", func() bool {
			got, err := c.Get(t.Context(), m.ID)
			return err == nil && got.Status == standup.Completed && got.Trigger == "system"
		})
	})
}
