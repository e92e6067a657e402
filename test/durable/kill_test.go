package durable

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db/dbtest"
)

// point is a point of a standup at which the service is killed.
type point struct {
	name  string
	env   map[string]string
	scene func(x *trial)                     // how the agents behave from the start
	drive func(x *trial) error               // what leads to the point; nil runs the standup
	at    blow                               // where the service is killed
	down  func(x *trial)                     // what happens while it is down
	again blow                               // where it is killed a second time
	up    func(x *trial)                     // what happens after the restart
	want  outcome                            // the expected result
	setup func(x *trial) (down func(*trial)) // like scene, but returns down
}

// points are in the order of the standup.
func points() []point {
	thinks := func(agent string) func(x *trial) (down func(*trial)) {
		return func(x *trial) (down func(*trial)) {
			speak := x.think(agent)
			return func(*trial) { speak() }
		}
	}
	// The agent thinks until after the restart.
	thinksOn := func(agent string) func(x *trial) (down func(*trial)) {
		return func(x *trial) (down func(*trial)) {
			speak := x.think(agent)
			return func(x *trial) { x.on("agent.wait", "-"+agent+"-1", speak) }
		}
	}
	return []point{
		{
			name: "before the start is committed",
			at:   event("standup.started", `SELECT COUNT(*) FROM standups WHERE phase = 'opened'`),
			up:   func(x *trial) { x.mustRun() },
		},
		{
			name: "after the start, before the job begins",
			at: trap{
				on: "UPDATE ON jobs", when: "NEW.kind = 'standup' AND NEW.state = 'running' AND OLD.state = 'ready'",
				here: `SELECT COUNT(*) FROM jobs WHERE kind = 'standup' AND state = 'ready'`,
			},
		},
		{
			name: "while it notes who is expected",
			at: trap{
				on: "INSERT ON job_steps", when: "NEW.name = 'gather'",
				here: `SELECT COUNT(*) - (SELECT COUNT(*) FROM job_steps) FROM jobs WHERE kind = 'standup' AND state = 'running'`,
			},
		},
		{name: "before the first question is written", at: step("gather", "ask %-cto-1")},
		{name: "a question is written and not sent", at: wire{method: "agent", run: "-cto-1", lost: true}},
		{name: "a question has arrived, and nobody heard that it was accepted", at: wire{method: "agent", run: "-cto-1"}},
		{name: "a question is accepted, and that is not noted", at: accepted("cto")},
		{name: "an agent thinks, and answers while nobody listens", at: wire{method: "agent.wait", run: "-cto-1"}, setup: thinks("cto")},
		{
			name: "an agent thinks, and answers before the gateway restarts", at: wire{method: "agent.wait", run: "-cto-1"},
			setup: func(x *trial) (down func(*trial)) {
				speak := x.think("cto")
				return func(x *trial) {
					speak()
					until(x.T, "the answer", 60*time.Second, func() bool { return x.runtime.Asked("cto") == 1 && x.runtime.Busy() == 0 })
					x.runtime.Restart(0)
				}
			},
		},
		{name: "an agent thinks for longer than the service is dead", at: wire{method: "agent.wait", run: "-cto-1"}, setup: thinksOn("cto")},
		{name: "an answer has come and is not stored", at: stored("cto")},
		{name: "an answer is stored and no report yet", at: step("ask %-cto-1", "keep %-cto-1")},
		{name: "between two participants", at: step("keep %-cto-1", "ask %-cpo-1")},
		{name: "the second question has arrived", at: wire{method: "agent", run: "-cpo-1"}},
		{name: "the second participant thinks", at: wire{method: "agent.wait", run: "-cpo-1"}, setup: thinks("cpo")},
		{name: "the third question is written and not sent", at: wire{method: "agent", run: "-cmo-1", lost: true}},
		{name: "the third participant thinks", at: wire{method: "agent.wait", run: "-cmo-1"}, setup: thinksOn("cmo")},
		{name: "the third answer is stored and no report yet", at: step("ask %-cmo-1", "keep %-cmo-1")},
		{name: "before the review begins", at: step("keep %-cmo-1", "review")},
		{name: "the review is written and not sent", at: wire{method: "agent", run: "-coo-1", lost: true}},
		{name: "the review has arrived", at: wire{method: "agent", run: "-coo-1"}},
		{name: "the facilitator thinks", at: wire{method: "agent.wait", run: "-coo-1"}, setup: thinks("coo")},
		{name: "the review has come and is not stored", at: stored("coo")},
		{
			name: "the review was nonsense, and is not asked for again yet", scene: nonsense, at: step("ask %-coo-1", "ask %-coo-2"),
			want: twice,
		},
		{
			name: "the repeated review is written and not sent", scene: nonsense, at: wire{method: "agent", run: "-coo-2", lost: true},
			want: twice,
		},
		{name: "the facilitator thinks about the repeated review", setup: nonsenseAndThought, at: wire{method: "agent.wait", run: "-coo-2"}, want: twice},
		{
			name: "in the middle of the close, with one of two tasks made",
			at:   trap{on: "INSERT ON tasks", when: "NEW.title = 'Call the bank'", here: `SELECT COUNT(*) FROM standup_questions WHERE state = 'answered' AND agent_id = 'coo'`},
		},
		{name: "before the close is committed", at: step("ask %-coo-1", "close")},
		{
			name: "after the close, before the job is over",
			at: trap{
				on: "UPDATE ON jobs", when: "NEW.kind = 'standup' AND NEW.state = 'done'",
				here: `SELECT COUNT(*) FROM standups JOIN jobs ON jobs.key = standups.id WHERE standups.status = 'completed' AND jobs.state = 'running'`,
			},
		},
		{
			name: "while a silent agent is stopped", env: map[string]string{"STANDUP_AGENT_TIMEOUT": "8s"},
			scene: func(x *trial) { x.runtime.Silence("cpo", true) }, at: wire{method: "chat.abort"},
			want: outcome{
				reports: "answered timed_out answered",
				lines:   "note note note question answer question timeout question answer question summary note",
			},
		},
		{
			name: "during a cancel that is not committed", drive: cancelled("cto"),
			at:    event("standup.failed", `SELECT COUNT(*) FROM standup_questions WHERE accepted AND state = 'open'`),
			setup: thinks("cto"),
		},
		{
			name: "after a cancel, before the job that stops its run begins", drive: cancelled("cto"),
			scene: func(x *trial) { x.runtime.Silence("cto", true) },
			at: trap{
				on: "UPDATE ON jobs", when: "NEW.kind = 'stop run' AND NEW.state = 'running' AND OLD.state = 'ready'",
				here: `SELECT COUNT(*) FROM jobs WHERE kind = 'stop run' AND state = 'ready'`,
			},
			up: stopped, want: cancel,
		},
		{
			name: "after a cancel, before its run is stopped", drive: cancelled("cto"),
			scene: func(x *trial) { x.runtime.Silence("cto", true) },
			at:    wire{method: "chat.abort", lost: true},
			up:    stopped, want: cancel,
		},
		{
			name: "while a retry is started", drive: retried, scene: refuses,
			at: trap{on: "UPDATE ON standups", when: "NEW.attempt = 2 AND OLD.attempt = 1", here: `SELECT COUNT(*) FROM standups WHERE status = 'error'`},
			up: func(x *trial) { x.mustRun() }, want: retry,
		},
		{name: "a retry has written its question and not sent it", drive: retried, scene: refuses, at: wire{method: "agent", run: "-coo-2", lost: true}, want: retry},
		{name: "a retry has asked", drive: retried, scene: refuses, setup: thinks("coo"), at: wire{method: "agent.wait", run: "-coo-2"}, want: retry},
		{
			name: "twice: while an agent thinks, and while its answer is looked for",
			at:   wire{method: "agent.wait", run: "-cto-1"}, setup: thinks("cto"), again: wire{method: "chat.history"},
		},
		{name: "twice: a question is not sent, and neither is it the second time", at: wire{method: "agent", run: "-cpo-1", lost: true}, again: wire{method: "agent", run: "-cpo-1", lost: true}},
		{name: "twice: between two participants, and before the close is committed", at: step("keep %-cpo-1", "ask %-cmo-1"), again: step("ask %-coo-1", "close")},
		{
			name: "the gateway restarted under a question, and that is not noted",
			at:   wire{method: "agent.wait", run: "-cto-1"}, setup: restarts,
			again: step("gather", "lost %-cto-1"),
			want: outcome{
				asked: map[string]int{"cto": 2},
				lines: "note note note question note question answer question answer question answer question summary note",
			},
		},
		{
			name: "the gateway restarted under a question, which is not asked again yet",
			at:   wire{method: "agent.wait", run: "-cto-1"}, setup: restarts,
			again: step("lost %-cto-1", "ask %-cto-2"),
			want: outcome{
				asked: map[string]int{"cto": 2},
				lines: "note note note question note question answer question answer question answer question summary note",
			},
		},
	}
}

// twice is a standup whose review was requested twice.
var twice = outcome{
	asked: map[string]int{"coo": 2},
	lines: "note note note question answer question answer question answer question question summary note",
}

// retry is a standup whose first attempt failed at the review.
var retry = outcome{
	attempt: 2, asked: map[string]int{"coo": 2},
	lines: "note note note question answer question answer question answer question error note note question summary note",
}

// cancel is a standup that was canceled while its first participant answered.
var cancel = outcome{
	status: "error", code: "cancelled", reports: "asked pending pending", lines: "note note note question error",
	asked: map[string]int{"cpo": 0, "cmo": 0, "coo": 0}, tasks: -1,
}

// stopped waits until the gateway has no run in progress.
func stopped(x *trial) {
	x.Helper()
	until(x.T, "the orphaned run to be stopped", lease+60*time.Second, func() bool { return x.runtime.Busy() == 0 })
}

// nonsense makes the facilitator first answer with text that is not a review.
func nonsense(x *trial) {
	x.runtime.Answer("coo", func(q demo.Question) string {
		if q.RunID[len(q.RunID)-1] == '1' {
			return "All is well, I think."
		}
		return review
	})
}

// nonsenseAndThought is nonsense with a facilitator that thinks while the service is
// down.
func nonsenseAndThought(x *trial) (down func(*trial)) {
	word := make(chan struct{})
	x.runtime.Answer("coo", func(q demo.Question) string {
		if q.RunID[len(q.RunID)-1] == '1' {
			return "All is well, I think."
		}
		<-word
		return review
	})
	speak := sync.OnceFunc(func() { close(word) })
	x.Cleanup(speak)
	return func(*trial) { speak() }
}

// refuses makes the facilitator's model refuse for lack of credit.
func refuses(x *trial) { x.runtime.Fail("coo", "no credit") }

// restarts restarts the gateway while the service is down and an agent works, which ends
// the agent's run.
func restarts(x *trial) (down func(*trial)) {
	x.runtime.Silence("cto", true)
	return func(x *trial) {
		until(x.T, "the run to begin", 60*time.Second, func() bool { return x.runtime.Asked("cto") == 1 })
		x.runtime.Silence("cto", false)
		x.runtime.Restart(0)
	}
}

// cancelled cancels the standup while an agent thinks.
func cancelled(agent string) func(x *trial) error {
	return func(x *trial) error {
		if err := x.run(); err != nil {
			return err
		}
		until(x.T, agent+" to think", 60*time.Second, func() bool {
			return x.count(`SELECT COUNT(*) FROM standup_questions WHERE accepted AND agent_id = ?`, agent) == 1
		})
		_, _, err := request(x.Context(), x.life().url, x.token, http.MethodPost, x.path()+"/cancel", nil)
		return err
	}
}

// retried runs a standup that fails, fixes the cause and retries it.
func retried(x *trial) error {
	if err := x.run(); err != nil {
		return err
	}
	until(x.T, "the first attempt to fail", 60*time.Second, func() bool { return x.count(`SELECT COUNT(*) FROM standups WHERE status = 'error'`) == 1 })
	x.runtime.Fail("coo", "")
	return x.run()
}

// mustRun starts the standup; the service must not crash.
func (x *trial) mustRun() {
	x.Helper()
	if err := x.run(); err != nil {
		x.Fatal(err)
	}
}

// After a crash at any point, the standup continues with the same data: it does not get
// stuck, ask an agent twice or create a task twice.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			from := plant(t, engine)
			for _, p := range sample(points(), engine) {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					p.play(newTrial(t, from, p.env))
				})
			}
		})
	}
}

// play leads the service to the point, kills it there, restarts it and checks the
// standup.
func (p point) play(x *trial) {
	if p.scene != nil {
		p.scene(x)
	}
	if p.setup != nil {
		p.down = p.setup(x)
	}
	if p.drive == nil {
		p.drive = (*trial).run
	}
	x.start()
	x.connected()
	x.open()
	struck := p.at.prepare(x)
	driven := make(chan error, 1)
	go func() {
		defer close(driven) // also if drive fails the test
		driven <- p.drive(x)
	}()
	struck()
	if err := <-driven; err != nil && !errors.Is(err, errDied) {
		x.Fatal(err)
	}
	if p.down != nil {
		p.down(x)
	}
	if p.again != nil {
		struck := p.again.prepare(x)
		x.start()
		struck()
	}
	x.start()
	if p.up != nil {
		p.up(x)
	}
	r := x.end()
	x.inTime(r)
	x.whole(r, p.want)
}
