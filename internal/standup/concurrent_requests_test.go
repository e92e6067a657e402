package standup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/standup"
)

// Concurrent requests of all kinds at two replicas fail only with expected errors.
// Afterwards the record, its brief, jobs, questions and events are consistent.
func TestThrong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, inbox := quiet(t, d)
		o.task(t, 3, "in_progress", "")
		o.says("cto", "- TASK-3 waits for figures")
		o.reviews(`{"summary":"Fine.","resolutions":[{"task":"TASK-3","resolution":"cto sends the figures today"}],
			"escalations":[{"title":"Sign the contract with Acme","detail":"it ends"}],"action_items":[{"title":"Write the report"}]}`)
		other := o.service(d)
		services := []*standup.Service{o.Service, other}
		work(t, o.Service)
		if d.Engine() != db.SQLite {
			work(t, other) // only one process can use an SQLite file
		}
		id := o.open(t).ID
		if _, err := o.Run(signedIn(t), id, false); err != nil { // a standup canceled before its first run has no attempt
			t.Fatal(err)
		}
		end, over := context.WithTimeout(signedIn(t), 2*time.Second)
		defer over()
		var crowd sync.WaitGroup
		for n := range 8 {
			crowd.Go(func() {
				s := services[n%2]
				for end.Err() == nil {
					if err := o.press(t, s, id); err != nil {
						t.Errorf("nobody foresaw: %v", err)
						return
					}
				}
			})
		}
		crowd.Wait()
		m, err := o.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if m.Status == standup.Running {
			m = o.end(t, id)
		}
		if m.Status == standup.Completed { // run it again to reach a known end
			_, err = o.Run(signedIn(t), id, true)
		} else {
			_, err = o.Run(signedIn(t), id, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		m = o.end(t, id)
		wantEnd(t, m, standup.Completed, "")
		o.oneStory(t, d, m)
		inbox.want(t, "escalation x1 open Sign the contract with Acme")
		if n := len(o.comments(t)); n != 1 {
			t.Errorf("the decision was told %d times", n)
		}
	})
}

// press sends a random request to a standup and returns only unexpected errors.
func (o *office) press(t *testing.T, s *standup.Service, id string) error {
	ctx := signedIn(t)
	var err error
	switch n := rand.IntN(20); {
	case n < 8:
		_, err = s.Run(ctx, id, n < 3)
	case n < 10:
		_, err = s.Cancel(ctx, id)
	case n < 16:
		agent := []string{"cto", "cpo", "cmo"}[rand.IntN(3)]
		by := actor.Actor{ID: agent, Name: agent, Role: actor.Agent, AgentID: agent}
		_, err = s.SubmitReport(actor.With(ctx, by), id, agent, standup.Submission{Text: fmt.Sprintf("## Yesterday\n%d\n## Today\nb\n## Blockers\n- TASK-3 waits for figures", rand.IntN(3))})
	default:
		_, err = s.Get(ctx, id)
	}
	for _, foreseen := range []error{standup.ErrRunning, standup.ErrCompleted, standup.ErrIdle, standup.ErrEnded, standup.ErrTooManySubmissions} {
		if errors.Is(err, foreseen) {
			return nil
		}
	}
	return err
}

// oneStory checks that the data stored about a standup is consistent.
func (o *office) oneStory(t *testing.T, d *db.DB, m standup.Standup) {
	t.Helper()
	count := func(query string, args ...any) (n int) {
		t.Helper()
		if err := d.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	said := func(kind, part string) (n int) {
		for _, l := range m.Transcript {
			if l.Kind == kind && strings.Contains(l.Text, part) {
				n++
			}
		}
		return n
	}
	wait(t, "the job to be noted as done", func() bool {
		return count(`SELECT COUNT(*) FROM jobs WHERE kind = 'standup' AND key = ? AND state IN ('ready', 'running')`, m.ID) == 0
	})
	for what, is := range map[string][2]int{
		"attempts, and their events":         {m.Attempt, count(`SELECT COUNT(*) FROM events WHERE kind = 'standup.started'`)},
		"attempts, and their lines":          {m.Attempt, said("note", " started the standup")},
		"attempts, and their ends":           {m.Attempt, count(`SELECT COUNT(*) FROM events WHERE kind IN ('standup.completed', 'standup.failed')`)},
		"failures, and their lines":          {count(`SELECT COUNT(*) FROM events WHERE kind = 'standup.failed'`), said("error", "")},
		"questions, and their events":        {count(`SELECT COUNT(*) FROM standup_questions`), count(`SELECT COUNT(*) FROM events WHERE kind = 'standup.asked'`)},
		"questions, and their lines":         {count(`SELECT COUNT(*) FROM standup_questions`), said("question", "")},
		"reports submitted, and their lines": {count(`SELECT COUNT(*) FROM events WHERE kind = 'standup.reported' AND data LIKE '%"submitted"%'`), said("note", " submitted the report of ")},
		"reports, and their lines":           {count(`SELECT COUNT(*) FROM events WHERE kind = 'standup.reported'`), said("answer", "") + said("timeout", "") + said("failure", "")},
		"questions that are open at the end": {0, count(`SELECT COUNT(*) FROM standup_questions WHERE state = 'open'`)},
		"open blockers":                      {1, count(`SELECT COUNT(*) FROM standup_blockers WHERE status = 'open'`)},
		"tasks made":                         {1, count(`SELECT COUNT(*) FROM standup_effects WHERE kind = 'task'`)},
	} {
		if is[0] != is[1] {
			t.Errorf("%s: %d and %d", what, is[0], is[1])
		}
	}
	var roll string
	if err := d.QueryRow(t.Context(), `SELECT roll FROM standups WHERE id = ?`, m.ID).Scan(&roll); err != nil {
		t.Fatal(err)
	}
	want := make([]string, len(m.Reports))
	for i, r := range m.Reports {
		want[i] = fmt.Sprintf("%s %s %s", r.AgentID, r.Status, r.Name)
	}
	if roll != strings.Join(want, "\n") {
		t.Errorf("in lists it is %q, want %q", roll, want)
	}
}
