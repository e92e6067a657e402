package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// purpose is what a run in the ledger is filed under.
type purpose struct{ Task, Job string }

func (p *played) filed(t *testing.T) map[string]purpose {
	t.Helper()
	rows, err := p.DB.Query(t.Context(), `SELECT run_id, task_key, job_id FROM usage_ledger`)
	by := map[string]purpose{}
	_, err = db.All(rows, err, func(r db.Row) (one struct{}, err error) {
		var id string
		var of purpose
		err = r.Scan(&id, &of.Task, &of.Job)
		by[id] = of
		return one, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return by
}

// spawn makes a session of a sub-agent.
func (r *runtime) spawn(by *conversation, key string) *conversation {
	c := r.open(key)
	c.ParentKey = by.Key
	return c
}

// send has an agent ask another one.
func (r *runtime) send(from, to *conversation, runID string, u *gateway.Usage) {
	r.say(to, false, gateway.Turn{Role: "user", Origin: "sessions_send", From: from.Key})
	r.say(to, false, gateway.Turn{Role: "assistant", RunID: runID, Usage: u})
}

// An agent that has others work on its task spends for it what they spend: a task
// that shows only its own part looks cheap whatever it costs.
func TestWhatOthersSpendForATask(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := play(d)
		task := p.open("agent:coo:Task:TASK-7")
		p.ask(task, "own", used("m", 1, 1, 1))
		child := p.spawn(task, "agent:coo:subagent:1")
		p.ask(child, "child", used("m", 10, 1, 5))
		grandchild := p.spawn(child, "agent:coo:subagent:2")
		p.ask(grandchild, "grandchild", used("m", 100, 1, 50))
		main := p.open("agent:cto:main")
		p.ask(main, "before", used("m", 1000, 1, 500))
		p.send(task, main, "asked", used("m", 1000, 1, 500))
		p.send(grandchild, main, "asked by the grandchild", used("m", 1000, 1, 500))
		p.say(main, false, gateway.Turn{Role: "assistant", RunID: "last word", Usage: used("m", 1, 1, 1)})
		p.ask(main, "after", used("m", 1000, 1, 500))
		p.ask(p.spawn(main, "agent:cto:subagent:3"), "of no task", used("m", 1000, 1, 500))
		p.ask(p.spawn(p.open("agent:cto:cron:Daily:run:5"), "agent:cto:subagent:4"), "of a job", used("m", 1000, 1, 500))
		round := p.spawn(child, "agent:cto:subagent:5")
		round.ParentKey = round.Key
		p.ask(round, "its own parent", used("m", 1000, 1, 500))
		p.look(t, true)
		task7 := purpose{Task: "TASK-7"}
		want := map[string]purpose{
			"own": task7, "child": task7, "grandchild": task7, "asked": task7, "asked by the grandchild": task7, "last word": task7,
			"before": {}, "after": {}, "of no task": {}, "of a job": {Job: "daily"}, "its own parent": {},
		}
		if diff := cmp.Diff(want, p.filed(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if sum, err := p.OfTask(t.Context(), d, "TASK-7"); err != nil || sum.Tokens.Input != 2112 {
			t.Errorf("the task: %+v, %v", sum, err)
		}

		// What only the totals of a sub-agent have is for the same.
		child.lost = append(child.lost, gateway.Turn{Usage: used("m", 10000, 1, 5000)})
		p.ask(child, "again", used("m", 1, 1, 1))
		p.look(t, true)
		if sum, err := p.OfTask(t.Context(), d, "TASK-7"); err != nil || sum.Tokens.Input != 12113 || sum.Corrections != 1 {
			t.Errorf("and what was lost: %+v, %v", sum, err)
		}
	})
}
