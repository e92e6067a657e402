package durable

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db/dbtest"
)

// handing is a point of a dispatch at which the service is killed.
type handing struct {
	name  string
	at    blow
	down  func(x *trial)
	asked int    // how often the agent must be asked in total
	state string // of the dispatch; empty is ended
}

func handings() []handing {
	state := func(to string) string {
		return "NEW.state = '" + to + "' AND OLD.state <> '" + to + "'"
	}
	is := func(states string) string { return `SELECT COUNT(*) FROM dispatches WHERE state IN (` + states + `)` }
	return []handing{
		{
			name: "before it is committed", at: event("task.dispatched", `SELECT 1 - COUNT(*) FROM dispatches`), state: "none",
		},
		{
			name: "after it is committed, before its job begins", asked: 1,
			at: trap{
				on: "UPDATE ON jobs", when: "NEW.kind = 'dispatch' AND NEW.state = 'running' AND OLD.state = 'ready'",
				here: `SELECT COUNT(*) FROM jobs WHERE kind = 'dispatch' AND state = 'ready'`,
			},
		},
		{name: "the question leaves and does not arrive", asked: 1, at: wire{method: "agent", lost: true}},
		{name: "the question has arrived, and nobody heard that it was accepted", asked: 1, at: wire{method: "agent"}},
		{name: "it is accepted, and that is not noted", asked: 1, at: trap{on: "UPDATE ON dispatches", when: state("started"), here: is("'queued'")}},
		{name: "the agent works", asked: 1, at: wire{method: "agent.wait"}},
		{
			name: "the agent works, and the gateway restarts meanwhile", asked: 2, at: wire{method: "agent.wait"},
			down: func(x *trial) { x.runtime.Restart(0) },
		},
		{name: "the run has ended, and that is not stored", asked: 1, at: trap{on: "UPDATE ON dispatches", when: state("ended"), here: is("'started'")}},
		{name: "the end is not committed", asked: 1, at: event("task.dispatch_ended", is("'started'"))},
		{
			name: "after the end, before its job is over", asked: 1,
			at: trap{
				on: "UPDATE ON jobs", when: "NEW.kind = 'dispatch' AND NEW.state = 'done'",
				here: `SELECT COUNT(*) FROM jobs JOIN dispatches d ON d.id = jobs.key WHERE jobs.state = 'running' AND d.state = 'ended'`,
			},
		},
	}
}

// A crash during a dispatch must not make the agent work twice or leave the task waiting
// forever.
func TestKillDispatch(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			from := plant(t, engine)
			for _, p := range sample(handings(), engine) {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					p.play(newTrial(t, from, nil))
				})
			}
		})
	}
}

func (p handing) play(x *trial) {
	x.runtime.Answer("cto", func(demo.Question) string { return "Done." })
	const thinks = 300 * time.Millisecond
	x.runtime.Delay("cto", thinks)
	if p.down != nil {
		x.runtime.Delay("cto", 30*time.Second) // not done before the restart
	}
	x.start()
	x.connected()
	var task struct{ Key string }
	x.want(http.MethodPost, "/api/v1/tasks", map[string]string{"title": "Ship it", "assignee_id": "cto"}, http.StatusCreated, &task)
	struck := p.at.prepare(x)
	driven := make(chan error, 1)
	go func() {
		_, _, err := request(x.Context(), x.life().url, x.token, http.MethodPost, "/api/v1/tasks/"+task.Key+"/dispatch", nil)
		driven <- err
	}()
	struck()
	if err := <-driven; err != nil && !errors.Is(err, errDied) {
		x.Fatal(err)
	}
	if p.down != nil {
		x.runtime.Delay("cto", thinks)
		p.down(x)
	}
	x.start()
	var got struct {
		Status   string
		Dispatch *struct {
			State string
			Error *struct{ Code, Detail string }
		}
	}
	read := func() { x.want(http.MethodGet, "/api/v1/tasks/"+task.Key, nil, http.StatusOK, &got) }
	if p.state == "none" {
		if read(); got.Dispatch != nil || x.count(`SELECT COUNT(*) FROM dispatches`) != 0 {
			x.Errorf("an uncommitted dispatch is shown: %+v", got.Dispatch)
		}
		return
	}
	until(x.T, "the end of the dispatch", 60*time.Second, func() bool { read(); return got.Dispatch.State == "ended" || got.Dispatch.State == "failed" })
	if got.Dispatch.State != "ended" || got.Status != "todo" {
		x.Errorf("the dispatch is %+v %+v, and the task is %s", got.Dispatch, got.Dispatch.Error, got.Status)
	}
	if n := x.runtime.Asked("cto"); n != p.asked {
		x.Errorf("the agent worked %d times, want %d", n, p.asked)
	}
	if n := x.count(`SELECT COUNT(*) FROM events WHERE kind = 'task.dispatch_ended'`); n != 1 {
		x.Errorf("its end is recorded %d times", n)
	}
	until(x.T, "the job to be over", 60*time.Second, func() bool {
		return x.count(`SELECT COUNT(*) FROM jobs WHERE kind = 'dispatch' AND state IN ('ready', 'running')`) == 0
	})
	until(x.T, "what it cost", 60*time.Second, func() bool { return x.count(`SELECT COUNT(*) FROM tasks WHERE cost_nano > 0`) == 1 })
	if n := x.count(`SELECT COUNT(*) FROM usage_ledger WHERE task_key = ? AND runs > 0`, task.Key); n != 1 {
		x.Errorf("the ledger has %d runs of the task, want 1", n)
	}
}
