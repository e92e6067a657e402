package durable

import (
	"strings"
	"sync"
	"time"

	"wardroom/internal/gateway/demo"
)

// blow is what ends a life of the service at a certain point. It is prepared
// before the meeting begins; struck waits until it has hit, and ends the test
// when it hit elsewhere or not at all.
type blow interface {
	prepare(x *trial) (struck func())
}

// within ends the service in the middle of a transaction.
func (p trap) prepare(x *trial) (struck func()) {
	sprung, unset := p.set(x)
	return func() {
		x.Helper()
		until(x.T, "the transaction to get to its trap", 40*time.Second, sprung)
		x.kill()
		unset()
		if n := x.count(p.here); n != 1 {
			x.Fatalf("the service was killed elsewhere: %s is %d", p.here, n)
		}
	}
}

// wire ends the service when a request of its has arrived at the gateway.
type wire struct {
	method string
	run    string // how the run id ends, such as "-cto-1"; empty: any
	lost   bool   // the request's last bytes never came
}

func (w wire) prepare(x *trial) (struck func()) {
	hit := make(chan struct{})
	var once sync.Once
	x.mu.Lock()
	x.see = func(r demo.Request) bool {
		served := true
		if r.Method == w.method && strings.HasSuffix(r.RunID, w.run) {
			once.Do(func() {
				// What the life before sent can arrive only now.
				p := x.life()
				select {
				case <-p.up:
				case <-p.exited:
				}
				x.kill()
				close(hit)
				served = !w.lost
			})
		}
		return served
	}
	x.mu.Unlock()
	return func() {
		x.Helper()
		select {
		case <-hit:
		case <-time.After(40 * time.Second):
			x.Fatalf("no %s of %q reached the gateway", w.method, w.run)
		}
	}
}

// step is the end of a transaction that makes a step of the meeting: all of its
// effect is written, and nothing is committed. after is the step before it.
func step(after, name string) trap {
	return trap{
		on: "INSERT ON job_steps", when: "NEW.name LIKE '" + name + "'",
		here: `SELECT (SELECT COUNT(*) FROM job_steps WHERE name LIKE '` + after + `') - 2 * (SELECT COUNT(*) FROM job_steps WHERE name LIKE '` + name + `')`,
	}
}

// accepted is the note that the gateway has a question.
func accepted(agent string) trap {
	return trap{
		on: "UPDATE ON standup_questions", when: "NEW.accepted AND NOT OLD.accepted AND NEW.agent_id = '" + agent + "'",
		here: `SELECT COUNT(*) FROM standup_questions WHERE state = 'open' AND NOT accepted AND agent_id = '` + agent + `'`,
	}
}

// stored is the note of an answer that has come.
func stored(agent string) trap {
	return trap{
		on: "UPDATE ON standup_questions", when: "NEW.state = 'answered' AND OLD.state = 'open' AND NEW.agent_id = '" + agent + "'",
		here: `SELECT COUNT(*) FROM standup_questions WHERE state = 'open' AND accepted AND agent_id = '` + agent + `'`,
	}
}

// event is the record of what happened, at the end of a transaction.
func event(kind, here string) trap {
	return trap{on: "INSERT ON events", when: "NEW.kind = '" + kind + "'", here: here}
}

// think lets an agent think until release is called.
func (x *trial) think(agent string) (release func()) {
	word, say := make(chan struct{}), says(agent)
	x.runtime.Answer(agent, func(q demo.Question) string {
		<-word
		return say(q)
	})
	release = sync.OnceFunc(func() { close(word) })
	x.Cleanup(release)
	return release
}

// on calls fn when a request arrives at the gateway, once, and not before the
// next life of the service.
func (x *trial) on(method, run string, fn func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fn = sync.OnceFunc(fn)
	x.see = func(r demo.Request) bool {
		if r.Method == method && strings.HasSuffix(r.RunID, run) {
			fn()
		}
		return true
	}
}
