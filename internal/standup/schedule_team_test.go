package standup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/patch"
	"wardroom/internal/standup"
)

// teamIn creates a team with its own facilitator and time zone.
func (o *office) teamIn(t *testing.T, key, facilitator, zone string, participants ...standup.AgentID) standup.Team {
	t.Helper()
	made, err := o.CreateTeam(signedIn(t), standup.NewTeam{Key: key, Name: strings.ToUpper(key), Facilitator: facilitator, Timezone: zone, Participants: participants})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Each team has its own job.
func TestSetScheduleOfTeams(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		design := o.teamIn(t, "design", "cpo", "Asia/Tokyo", "cto", "cmo")
		first, err := o.SetSchedule(signedIn(t), standup.Plan{})
		if err != nil {
			t.Fatal(err)
		}
		made, err := o.SetSchedule(signedIn(t), standup.Plan{Team: new("Design"), Expr: new("30 8 * * *")})
		if err != nil {
			t.Fatal(err)
		}
		j := made.Job
		if made.Team != "design" || j.Name != "daily-standup-design" || j.AgentID != "cpo" || len(made.Others) > 0 || len(made.Warnings) > 0 || !made.Watched ||
			j.Schedule != (gateway.JobSchedule{Kind: "cron", Expr: "30 8 * * *", Zone: "Asia/Tokyo"}) {
			t.Errorf("made %+v", made)
		}
		for _, part := range []string{"of the team design", `/api/v1/standups -H "Authorization: Bearer $WARDROOM_API_KEY" -H 'Content-Type: application/json' -d '{"team":"design"}' |`} {
			if !strings.Contains(j.Payload.Message, part) {
				t.Errorf("the message does not say %q:\n%s", part, j.Payload.Message)
			}
		}
		if first.Team != "executive" || first.Job.Name != "daily-standup" || first.Job.Schedule.Zone != "UTC" || strings.Contains(first.Job.Payload.Message, "team") {
			t.Errorf("the executive one is %+v", first)
		}
		again, err := o.SetSchedule(signedIn(t), standup.Plan{Team: &design.ID})
		if err != nil || again.Job.ID != j.ID || again.Job.Revision != j.Revision || o.runtime.Calls("cron.update") != 0 || o.runtime.Calls("cron.add") != 2 {
			t.Errorf("once more: %+v, %v", again.Job, err)
		}
		if _, err := o.SetSchedule(signedIn(t), standup.Plan{Team: new("design"), Expr: new("0 7 * * *")}); err != nil {
			t.Error(err)
		}
		for ref, want := range map[string]string{"": "0 9 * * 1-5", "executive": "0 9 * * 1-5", "DESIGN": "0 7 * * *", design.ID: "0 7 * * *"} {
			got, err := o.Schedule(signedIn(t), ref)
			if err != nil || got.Job.Schedule.Expr != want || len(got.Others) > 0 || got.ServiceURL == "" {
				t.Errorf("%q: %+v, %v", ref, got, err)
			}
		}
		if jobs := jobsOf(t, o); len(jobs) != 2 {
			t.Errorf("the runtime has %+v", jobs)
		}
		wantScheduleEvents(t, d, "schedule.made executive daily-standup", "schedule.made design daily-standup-design", "schedule.changed design daily-standup-design")
	})
}

// wantScheduleEvents compares the schedule events.
func wantScheduleEvents(t *testing.T, d *db.DB, want ...string) {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT kind, subject_id, subject_name FROM events WHERE subject_kind = 'schedule' AND class = 'activity' ORDER BY id`)
	got, err := db.All(rows, err, func(row db.Row) (string, error) {
		var kind, id, name string
		err := row.Scan(&kind, &id, &name)
		return kind + " " + id + " " + name, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the activity (-want +got):\n%s", diff)
	}
}

// An unknown team is an error and never means executive.
func TestScheduleOfNoTeam(t *testing.T) {
	t.Parallel()
	o := newPlanner(t, dbtest.New(t))
	if _, err := o.SetSchedule(signedIn(t), standup.Plan{Team: new("night shift")}); !errors.Is(err, standup.ErrTeam) {
		t.Errorf("made: %v", err)
	}
	if _, err := o.Schedule(signedIn(t), "night shift"); !errors.Is(err, standup.ErrTeam) {
		t.Errorf("read: %v", err)
	}
	o.team(t, "design", "cto")
	_, err := o.Schedule(signedIn(t), "design")
	if f := fault.Of(err); !errors.Is(err, standup.ErrNoSchedule) || !strings.Contains(f.Detail, `{"team": "design"}`) {
		t.Errorf("of a team without one: %v", err)
	}
	if n := o.runtime.Calls("cron.add"); n > 0 {
		t.Errorf("%d were made", n)
	}
}

// After a change of the facilitator, the schedule warns about the job of the previous one.
// The team counts, not the settings, also for executive.
func TestScheduleOfAnotherFacilitator(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		o.team(t, "design", "cto")
		for _, key := range []string{"executive", "design"} {
			made, err := o.SetSchedule(signedIn(t), standup.Plan{Team: &key})
			if err != nil || made.Job.AgentID != "coo" || len(made.Warnings) > 0 {
				t.Fatalf("%s: %+v, %v", key, made, err)
			}
			_, err = o.UpdateTeam(signedIn(t), key, standup.TeamChange{Facilitator: patch.Set("cpo"), Participants: patch.Set([]standup.AgentID{"cto"})}, nil)
			if err != nil {
				t.Fatal(err)
			}
			old, err := o.Schedule(signedIn(t), key)
			if err != nil || old.Job.ID != made.Job.ID || !old.Watched || !strings.Contains(strings.Join(old.Warnings, " "), "runs as coo, but cpo is now the facilitator") {
				t.Errorf("%s is led by another: %+v, %v", key, old, err)
			}
			handed, err := o.SetSchedule(signedIn(t), standup.Plan{Team: &key})
			if err != nil || handed.Job.ID != made.Job.ID || handed.Job.AgentID != "cpo" || len(handed.Warnings) > 0 {
				t.Errorf("%s was handed over: %+v, %v", key, handed, err)
			}
		}
		if jobs := jobsOf(t, o); len(jobs) != 2 {
			t.Errorf("the runtime has %+v", jobs)
		}
	})
}

// The job of an archived team has a warning and can be disabled.
func TestScheduleOfArchivedTeam(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		for _, key := range []string{"design", "never"} {
			o.team(t, key, "cto")
		}
		if _, err := o.SetSchedule(signedIn(t), standup.Plan{Team: new("design")}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"design", "never"} {
			if _, err := o.UpdateTeam(signedIn(t), key, standup.TeamChange{Archived: new(true)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		got, err := o.Schedule(signedIn(t), "design")
		if err != nil || got.Watched || !strings.Contains(got.Unwatched, "archive") || len(got.NextRuns) != 5 || !strings.Contains(strings.Join(got.Warnings, " "), "Disable the job") {
			t.Errorf("in the archive: %+v, %v", got, err)
		}
		for _, p := range []standup.Plan{
			{Team: new("design")}, {Team: new("design"), Expr: new("0 8 * * *")}, {Team: new("never")}, {Team: new("never"), Enabled: new(false)},
		} {
			if _, err := o.SetSchedule(signedIn(t), p); !errors.Is(err, standup.ErrTeamArchived) {
				t.Errorf("%s: %v", *p.Team, err)
			}
		}
		off, err := o.SetSchedule(signedIn(t), standup.Plan{Team: new("design"), Enabled: new(false)})
		if err != nil || off.Job.Enabled || len(off.Warnings) > 0 {
			t.Errorf("disabled: %+v, %v", off, err)
		}
		if jobs := jobsOf(t, o); len(jobs) != 1 || jobs[0].Enabled {
			t.Errorf("the runtime has %+v", jobs)
		}
	})
}

// The schedules of all teams are available while the gateway is not.
func TestSchedulesWhileAway(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		keys := []string{"executive", "design", "sales", "night-shift"}
		for _, key := range keys[1:] {
			o.team(t, key, "cto")
		}
		ids := map[string]string{}
		for _, name := range []string{"daily-standup", "daily-standup-design", "daily-standup-sales", "daily-standup-night-shift", "daily-standup-of-nobody"} {
			j, err := o.client.AddJob(t.Context(), gateway.NewJob{
				Name: name, AgentID: "coo", Enabled: true, Message: "Hold the standup.", SessionTarget: "isolated",
				Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 7 * * *", Zone: "UTC"},
			})
			if err != nil {
				t.Fatal(err)
			}
			ids[name] = j.ID
		}
		if err := o.Schedules.ReadOnce(system(t)); err != nil {
			t.Fatal(err)
		}
		o.Timetable = away{}
		var got []string
		for _, key := range keys {
			s, err := o.Schedule(signedIn(t), key)
			if err != nil || s.Live {
				t.Fatalf("%s: %+v, %v", key, s, err)
			}
			got = append(got, s.Job.ID)
		}
		want := []string{ids["daily-standup"], ids["daily-standup-design"], ids["daily-standup-sales"], ids["daily-standup-night-shift"]}
		if !slices.Equal(got, want) {
			t.Errorf("remembered %v, want %v", got, want)
		}
	})
}
