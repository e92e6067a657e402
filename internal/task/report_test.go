package task

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// The change that each kind of report makes.
func TestReportChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		report Report
		at     Status
		want   string // the column it moves to; "" means none
		bad    []string
	}{
		{"begun", Report{Kind: Ack}, Todo, "in_progress", nil},
		{"begun from the backlog", Report{Kind: Ack}, Backlog, "in_progress", nil},
		{"begun late", Report{Kind: Ack}, Review, "", nil},
		{"a note", Report{Kind: Progress, Text: "half"}, InProgress, "", nil},
		{"no note", Report{Kind: Progress, Text: " \n"}, InProgress, "", []string{"/text"}},
		{"no reason", Report{Kind: Blocker}, InProgress, "", []string{"/text"}},
		{"a long reason", Report{Kind: Blocker, Text: strings.Repeat("ж", 2001)}, InProgress, "", []string{"/text"}},
		{"a long note", Report{Kind: Progress, Text: strings.Repeat("ж", 10_001)}, InProgress, "", []string{"/text"}},
		{"done", Report{Kind: Finished}, InProgress, "done", nil},
		{"another kind", Report{Kind: "nap"}, InProgress, "", []string{"/kind"}},
	} {
		c, err := tt.report.change(tt.at)
		if got := refused(t, err); !slices.Equal(got, tt.bad) {
			t.Errorf("%s: refused %v, want %v", tt.name, got, tt.bad)
			continue
		}
		got := ""
		if c.Status != nil {
			got = string(*c.Status)
		}
		if len(tt.bad) == 0 && got != tt.want {
			t.Errorf("%s: goes to %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A report makes one change and one event, and repeating it changes nothing.
func TestReport(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		agent, human := makeUser(t, d, "cto", actor.Agent, true), makeUser(t, d, "ada", actor.User, true)
		cto, ada := actor.With(t.Context(), agent), actor.With(t.Context(), human)
		makeTask(t, s, "Ship it")
		claimed, err := s.Claim(cto, "TASK-1", ClaimOptions{})
		if err != nil {
			t.Fatal(err)
		}
		token := &claimed.Claim.Token
		n := len(events(t, d))
		for _, tt := range []struct {
			name   string
			report Report
			status Status
			check  func(Task) bool
		}{
			{
				"ack",
				Report{Kind: Ack, SessionKey: new("agent:cto:main"), Branch: new("ship"), PRURL: new("https://x.example/1")},
				InProgress,
				func(t Task) bool {
					return *t.SessionKey == "agent:cto:main" && *t.Branch == "ship" && *t.PRURL == "https://x.example/1"
				},
			},
			{"progress", Report{Kind: Progress, Text: "Half of it"}, InProgress, func(t Task) bool { return *t.Branch == "ship" && t.Claim != nil }},
			{"blocker", Report{Kind: Blocker, Text: " No key "}, InProgress, func(t Task) bool { return t.Blocked.Reason == "No key" && t.Blocked.By == "CTO" }},
			{"progress again", Report{Kind: Progress, Text: "Half of it"}, InProgress, func(t Task) bool { return t.Blocked != nil }},
			{"done", Report{Kind: Finished, Text: "All of it", ClaimToken: token}, Review, func(t Task) bool { return t.Blocked == nil && t.Claim == nil && *t.AssigneeID == agent.ID }},
		} {
			first, err := s.Report(cto, "TASK-1", tt.report)
			if err != nil || first.Status != tt.status || !tt.check(first) {
				t.Fatalf("%s: %+v, %v", tt.name, first, err)
			}
			again, err := s.Report(cto, "TASK-1", tt.report)
			if err != nil || again.Version != first.Version {
				t.Errorf("%s again: version %d after %d, %v", tt.name, again.Version, first.Version, err)
			}
			if n++; len(events(t, d)) != n {
				t.Errorf("%s made %d events", tt.name, len(events(t, d))-n+1)
			}
		}
		wantData(t, events(t, d)[1], `{"report":"progress","text":"Half of it","changes":{}}`)
		got, err := s.Report(ada, "TASK-1", Report{Kind: Finished})
		if err != nil || got.Status != Done {
			t.Errorf("a human says done: %s, %v", got.Status, err)
		}
		if _, err := s.Archive(ada, "TASK-1", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Report(cto, "TASK-1", Report{Kind: Progress, Text: "more"}); !errors.Is(err, ErrArchived) {
			t.Errorf("in the archive: %v", err)
		}
		if _, err := s.Report(cto, "TASK-9", Report{Kind: Ack}); !errors.Is(err, ErrNotFound) {
			t.Errorf("of no task: %v", err)
		}
	})
}

// An agent cannot report on a task that another agent has claimed.
func TestReportOfAnother(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		cto, cmo := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, true)), actor.With(t.Context(), makeUser(t, d, "cmo", actor.Agent, true))
		makeTask(t, s, "Ship it")
		if _, err := s.Claim(cto, "TASK-1", ClaimOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{Ack, Progress, Blocker, Finished} {
			if _, err := s.Report(cmo, "TASK-1", Report{Kind: kind, Text: "x"}); !errors.Is(err, ErrClaimed) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if n := len(events(t, d)); n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

// ReportsBy returns only the agent's own reports since the given time.
func TestReportsBy(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := live(d)
		former := actor.With(t.Context(), makeUser(t, d, "cto", actor.Agent, false))
		agent, human := makeUser(t, d, "cto", actor.Agent, true), makeUser(t, d, "ada", actor.User, true)
		cto, ada := actor.With(t.Context(), agent), actor.With(t.Context(), human)
		makeTask(t, s, "Ship it")
		report := func(ctx context.Context, r Report) {
			t.Helper()
			if _, err := s.Report(ctx, "TASK-1", r); err != nil {
				t.Fatal(err)
			}
		}
		report(cto, Report{Kind: Progress, Text: "Before"})
		since := s.Now()
		s.Now = func() time.Time { return since.Add(30 * time.Second) }
		report(former, Report{Kind: Progress, Text: "From its earlier account"})
		s.Now = func() time.Time { return since.Add(time.Minute) }
		report(cto, Report{Kind: Blocker, Text: "No \"access\""})
		report(ada, Report{Kind: Progress, Text: "Another's"})
		report(cto, Report{Kind: Ack})
		for title, assignee := range map[string]*string{"For Ada": &human.ID, "For nobody": nil, "For itself": &agent.ID} {
			if _, err := s.Create(cto, New{Title: title, Assignee: assignee}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.ReportsBy(t.Context(), agent.AgentID, since.Add(time.Second))
		if err != nil || len(got) != 3 || got[0].Kind != Ack || got[0].Text != "" || got[1].Kind != Blocker || got[1].Text != `No "access"` || got[1].Key != "TASK-1" ||
			got[2].Text != "From its earlier account" {
			t.Errorf("reports %+v, %v; want the three since then of both accounts, the newest first", got, err)
		}
		made, err := s.CreatedBy(t.Context(), agent.AgentID, since.Add(time.Second))
		var titles []string
		for _, m := range made {
			titles = append(titles, m.Title)
		}
		slices.Sort(titles)
		if err != nil || !slices.Equal(titles, []string{"For Ada", "For nobody"}) {
			t.Errorf("made %v, %v; want those for others", titles, err)
		}
		if made, err := s.CreatedBy(t.Context(), agent.AgentID, since.Add(time.Hour)); err != nil || len(made) != 0 {
			t.Errorf("made later %v, %v", made, err)
		}
	})
}

// The inbox item of a reported task quotes the agent, whatever its words contain.
func TestReportInReviewItem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newDesk(t, d)
		made, err := s.Create(s.as(s.boss, ""), New{Title: "Reported", Assignee: new("cto")})
		if err == nil {
			_, err = s.Report(s.as(s.cto, ""), made.Key, Report{Kind: Finished, Text: "It is\n# done"})
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := s.review(made.ID).Detail; !strings.HasSuffix(got, "\n\nCTO reported:\n\n> It is\n> # done\n\nApprove the task, or send it back.") {
			t.Errorf("the detail is %q", got)
		}
	})
}
