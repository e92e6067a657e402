package standup_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/standup"
)

// planner is an office whose client may change the runtime's jobs.
func newPlanner(t *testing.T, d *db.DB) *office {
	t.Helper()
	o := newOffice(t, d)
	o.client = o.connectAs(t, o.runtime.URL(), "operator.admin")
	o.Service = o.service(d)
	if _, err := o.client.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

func jobsOf(t *testing.T, o *office) []gateway.Job {
	t.Helper()
	jobs, err := o.client.Jobs(t.Context(), gateway.JobsWanted{})
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// The job is created once however often it is requested, and contains no secret.
func TestSetSchedule(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		made, err := o.SetSchedule(signedIn(t), standup.Plan{Timezone: new("Europe/Berlin")})
		if err != nil {
			t.Fatal(err)
		}
		j := made.Job
		if j.Name != "daily-standup" || j.AgentID != "coo" || !j.Enabled || j.SessionTarget != "isolated" || j.Payload.Kind != "agentTurn" || j.Delivery.Mode != "none" ||
			j.Schedule != (gateway.JobSchedule{Kind: "cron", Expr: "0 9 * * 1-5", Zone: "Europe/Berlin"}) {
			t.Errorf("made %+v", j)
		}
		for _, part := range []string{"POST /api/v1/standups", "POST /api/v1/standups/:id/run", "http://127.0.0.1:3000", "WARDROOM_API_KEY", "your own agent credentials"} {
			if !strings.Contains(j.Payload.Message, part) {
				t.Errorf("the message does not say %q:\n%s", part, j.Payload.Message)
			}
		}
		if strings.Contains(j.Payload.Message, "wrk_") || !made.Watched || len(made.NextRuns) != 5 || made.ServiceURL != "http://127.0.0.1:3000" || made.Variable != "WARDROOM_API_KEY" {
			t.Errorf("answered %+v", made)
		}
		zone, _ := time.LoadLocation("Europe/Berlin")
		for _, next := range made.NextRuns {
			if at := next.In(zone); at.Hour() != 9 || at.Minute() != 0 || at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
				t.Errorf("it is due %s", at)
			}
		}
		if next := made.Job.State.NextRunAt; next == nil || !next.Equal(made.NextRuns[0].Time) {
			t.Errorf("the runtime runs it next %v, we say %v", next, made.NextRuns[0])
		}

		calls := o.runtime.Calls("cron.update")
		again, err := o.SetSchedule(signedIn(t), standup.Plan{})
		if err != nil || again.Job.Revision != j.Revision || o.runtime.Calls("cron.update") != calls || o.runtime.Calls("cron.add") != 1 {
			t.Errorf("once more: %+v, %v", again.Job, err)
		}
		changed, err := o.SetSchedule(signedIn(t), standup.Plan{Expr: new("30 8 * * *"), Enabled: new(false), Revision: &j.Revision})
		if err != nil || changed.Job.ID != j.ID || changed.Job.Schedule.Expr != "30 8 * * *" || changed.Job.Schedule.Zone != "Europe/Berlin" || changed.Job.Enabled {
			t.Errorf("changed to %+v, %v", changed.Job, err)
		}
		if changed.Watched || len(changed.NextRuns) > 0 {
			t.Errorf("it is disabled, and due %v", changed.NextRuns)
		}
		_, err = o.SetSchedule(signedIn(t), standup.Plan{Enabled: new(true), Revision: &j.Revision})
		if !errors.Is(err, gateway.ErrJobChanged) {
			t.Errorf("a change of an old revision: %v", err)
		}
		if jobs := jobsOf(t, o); len(jobs) != 1 || jobs[0].Enabled {
			t.Errorf("the runtime has %+v", jobs)
		}
		wantEvents(t, d, "activity schedule.made", "audit schedule.made", "activity schedule.changed", "audit schedule.changed")
	})
}

// wantEvents compares the schedule events.
func wantEvents(t *testing.T, d *db.DB, want ...string) {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT class, kind FROM events WHERE subject_kind = 'schedule' ORDER BY id`)
	got, err := db.All(rows, err, func(row db.Row) (string, error) {
		var class, kind string
		err := row.Scan(&class, &kind)
		return class + " " + kind, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// Invalid plans are rejected before anything is sent: expressions that Wardroom cannot
// watch, and URLs with shell syntax.
func TestSetScheduleRefused(t *testing.T) {
	t.Parallel()
	o := newPlanner(t, dbtest.New(t))
	for name, test := range map[string]struct {
		plan    standup.Plan
		pointer string
	}{
		"no cron":             {standup.Plan{Expr: new("every day")}, "/expr"},
		"seconds":             {standup.Plan{Expr: new("0 0 9 * * *")}, "/expr"},
		"never":               {standup.Plan{Expr: new("0 9 30 2 *")}, "/expr"},
		"no zone":             {standup.Plan{Timezone: new("Mars/Olympus")}, "/timezone"},
		"a user in it":        {standup.Plan{ServiceURL: new("https://me:secret@ops.example.com")}, "/service_url"},
		"a command in it":     {standup.Plan{ServiceURL: new("https://ops.example.com/$(reboot)")}, "/service_url"},
		"a quote in it":       {standup.Plan{ServiceURL: new(`https://ops.example.com/"`)}, "/service_url"},
		"a query":             {standup.Plan{ServiceURL: new("https://ops.example.com/?a=b")}, "/service_url"},
		"another protocol":    {standup.Plan{ServiceURL: new("file:///etc/passwd")}, "/service_url"},
		"a line break":        {standup.Plan{ServiceURL: new("https://ops.example.com/\nrm")}, "/service_url"},
		"no port that exists": {standup.Plan{ServiceURL: new("http://127.0.0.1:99999")}, "/service_url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.SetSchedule(signedIn(t), test.plan)
			f := fault.Of(err)
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Pointer != test.pointer {
				t.Errorf("%v, want %s refused", err, test.pointer)
			}
		})
	}
	t.Run("nobody knows where we are", func(t *testing.T) {
		o.URL = &gateway.AgentURL{Client: o.client}
		_, err := o.SetSchedule(signedIn(t), standup.Plan{})
		if f := fault.Of(err); f == nil || len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, "PUBLIC_URL") {
			t.Errorf("%v", err)
		}
	})
	if n := o.runtime.Calls("cron.add") + o.runtime.Calls("cron.update"); n > 0 {
		t.Errorf("%d were sent", n)
	}
}

// Without the scope, the error names it and the setting.
func TestSetScheduleWithoutScope(t *testing.T) {
	t.Parallel()
	o := newOffice(t, dbtest.New(t))
	if _, err := o.client.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := o.SetSchedule(signedIn(t), standup.Plan{})
	f := fault.Of(err)
	if !errors.Is(err, link.ErrMissingScope) || f.Facts["missing_scope"] != "operator.admin" || !strings.Contains(f.Detail, "AGENTRT_GATEWAY_SCOPES") {
		t.Errorf("%v", err)
	}
}

// The service URL comes from the request, else PUBLIC_URL, else the previous URL, else
// Wardroom's own.
func TestScheduleAddress(t *testing.T) {
	t.Parallel()
	o := newPlanner(t, dbtest.New(t))
	for _, step := range []struct {
		public, said, want, warns string
	}{
		{"", "", "http://127.0.0.1:3000", ""},
		{"", "https://a.example.com/ops/api/v1/", "https://a.example.com/ops", ""},
		{"", "", "https://a.example.com/ops", ""},
		{"https://b.example.com", "", "https://b.example.com", ""},
		{"https://b.example.com", "http://c.example.com:3000", "http://c.example.com:3000", "plain http"},
	} {
		o.URL.Public = step.public
		p := standup.Plan{}
		if step.said != "" {
			p.ServiceURL = &step.said
		}
		got, err := o.SetSchedule(signedIn(t), p)
		if err != nil || got.ServiceURL != step.want || !strings.Contains(got.Job.Payload.Message, " "+step.want+"/api/v1/standups ") {
			t.Fatalf("%+v: %s, %v\n%s", step, got.ServiceURL, err, got.Job.Payload.Message)
		}
		if strings.Contains(strings.Join(got.Warnings, " "), "plain http") != (step.warns != "") {
			t.Errorf("%+v warns %q", step, got.Warnings)
		}
	}
	o.deactivate(t, "coo")
	if got, err := o.Schedule(signedIn(t), ""); err != nil || !strings.Contains(strings.Join(got.Warnings, " "), "coo has no active account") {
		t.Errorf("without an account: %q, %v", got.Warnings, err)
	}
}

// Eight concurrent requests create one job.
func TestSetScheduleRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range 8 {
			wg.Go(func() {
				if _, err := o.SetSchedule(signedIn(t), standup.Plan{}); err != nil && !errors.Is(err, gateway.ErrJobChanged) {
					failed.Add(1)
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if jobs := jobsOf(t, o); len(jobs) != 1 {
			t.Errorf("there are %d jobs", len(jobs))
		}
	})
}

// meddled is a timetable in which the job changes right after it was read.
type meddled struct {
	standup.Timetable
	meddle func()
}

func (m meddled) Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error) {
	jobs, err := m.Timetable.Jobs(ctx, want)
	m.meddle()
	return jobs, err
}

// A concurrent change of the job in the runtime is not overwritten.
func TestSetScheduleMeddled(t *testing.T) {
	t.Parallel()
	o := newPlanner(t, dbtest.New(t))
	made, err := o.SetSchedule(signedIn(t), standup.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	o.Timetable = meddled{o.client, func() {
		if _, err := o.client.ChangeJob(t.Context(), made.Job.ID, gateway.JobChange{Enabled: new(false)}, ""); err != nil {
			t.Error(err)
		}
	}}
	if _, err := o.SetSchedule(signedIn(t), standup.Plan{Expr: new("0 8 * * *")}); !errors.Is(err, gateway.ErrJobChanged) {
		t.Errorf("changed beside somebody else: %v", err)
	}
	if jobs := jobsOf(t, o); len(jobs) != 1 || jobs[0].Enabled || jobs[0].Schedule.Expr != "0 9 * * 1-5" {
		t.Errorf("the runtime has %+v", jobs)
	}
}

// interrupted is a timetable that applies changes and then calls a hook.
type interrupted struct {
	standup.Timetable
	then func() error
}

func (i interrupted) AddJob(ctx context.Context, n gateway.NewJob) (gateway.Job, error) {
	j, err := i.Timetable.AddJob(ctx, n)
	return j, errors.Join(err, i.then())
}

func (i interrupted) ChangeJob(ctx context.Context, id string, c gateway.JobChange, revision string) (gateway.Job, error) {
	j, err := i.Timetable.ChangeJob(ctx, id, c, revision)
	return j, errors.Join(err, i.then())
}

// A change is recorded even if the client has disconnected, with whether it is confirmed.
func TestSetScheduleOfWhoLeft(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		jobs := o.Timetable
		set := func(expr string, answer error) {
			t.Helper()
			ctx, leave := context.WithCancel(signedIn(t))
			defer leave()
			o.Timetable = interrupted{jobs, func() error { leave(); return answer }}
			if _, err := o.SetSchedule(ctx, standup.Plan{Expr: &expr}); answer != nil && !errors.Is(err, link.ErrTimeout) {
				t.Errorf("%s: %v", expr, err)
			}
		}
		set("0 8 * * *", nil)
		set("0 7 * * *", errors.Join(link.ErrTimeout, link.ErrUnsure))
		set("0 6 * * *", link.ErrTimeout) // not sent
		wantEvents(t, d, "activity schedule.made", "audit schedule.made", "activity schedule.changed", "audit schedule.changed")
		var doubts int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM events WHERE kind = 'schedule.changed' AND data LIKE '%"confirmed":false%'`).Scan(&doubts); err != nil || doubts != 2 {
			t.Errorf("%d of them are not certain, %v", doubts, err)
		}
	})
}

// Jobs created or changed in the runtime are used too, and shown as last seen while the
// runtime is unavailable.
func TestScheduleOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := newPlanner(t, d)
		if _, err := o.Schedule(signedIn(t), ""); !errors.Is(err, standup.ErrNoSchedule) {
			t.Errorf("before there is one: %v", err)
		}
		n := gateway.NewJob{
			Name: "daily-standup", AgentID: "coo", Enabled: true, Message: "Hold the standup.", SessionTarget: "isolated",
			Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 7 * * *", Zone: "UTC"},
		}
		made, err := o.client.AddJob(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Schedules.ReadOnce(signedIn(t)); err != nil {
			t.Fatal(err)
		}
		second, err := o.client.AddJob(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.Schedule(signedIn(t), "")
		if err != nil || !got.Live || got.Job.ID != made.ID || !slices.Equal(got.Others, []string{second.ID}) || got.ServiceURL != "" {
			t.Errorf("live: %+v, %v", got, err)
		}
		o.Timetable = away{}
		got, err = o.Schedule(signedIn(t), "")
		if err != nil || got.Live || got.Job.ID != made.ID || len(got.NextRuns) != 5 {
			t.Errorf("while the runtime is away: %+v, %v", got, err)
		}
		if _, err := o.SetSchedule(signedIn(t), standup.Plan{}); !errors.Is(err, link.ErrUnreachable) {
			t.Errorf("a change while the runtime is away: %v", err)
		}
	})
}

// away is an unavailable runtime.
type away struct{}

func (away) Jobs(context.Context, gateway.JobsWanted) ([]gateway.Job, error) {
	return nil, link.ErrUnreachable
}

func (away) AddJob(context.Context, gateway.NewJob) (gateway.Job, error) {
	return gateway.Job{}, link.ErrUnreachable
}

func (away) ChangeJob(context.Context, string, gateway.JobChange, string) (gateway.Job, error) {
	return gateway.Job{}, link.ErrUnreachable
}
