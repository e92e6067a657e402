package durable

import (
	"strings"
	"sync"
	"time"

	"wardroom/internal/gateway/demo"
	"wardroom/test/faults"
)

// blow kills the service at a certain point. It is prepared before the standup starts.
// struck waits until it has hit, and fails the test if it hit elsewhere or not at all.
type blow interface {
	prepare(x *trial) (struck func())
}

// prepare sets the trap. The service is killed within a transaction.
func (p trap) prepare(x *trial) (struck func()) {
	sprung, unset := p.set(x)
	return func() {
		x.Helper()
		until(x.T, "the transaction to get to its trap", 60*time.Second, sprung)
		x.kill()
		unset()
		if n := x.count(p.here); n != 1 {
			x.Fatalf("the service was killed at another point: %s is %d", p.here, n)
		}
	}
}

// wire kills the service when its request has arrived at the gateway.
type wire struct {
	method string
	run    string // suffix of the run ID, such as "-cto-1"; empty matches any
	lost   bool   // the request does not arrive completely
}

func (w wire) prepare(x *trial) (struck func()) {
	hit := make(chan struct{})
	var once sync.Once
	x.mu.Lock()
	x.see = func(r faults.Request) bool {
		served := true
		if r.Method == w.method && strings.HasSuffix(r.RunID, w.run) {
			once.Do(func() {
				// A request of the previous process may arrive only now.
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

// step returns a trap at the end of the transaction of a job step: everything is written
// but not committed. after is the step before it.
func step(after, name string) trap {
	return trap{
		on: "INSERT ON job_steps", when: "NEW.name LIKE '" + name + "'",
		here: `SELECT (SELECT COUNT(*) FROM job_steps WHERE name LIKE '` + after + `') - 2 * (SELECT COUNT(*) FROM job_steps WHERE name LIKE '` + name + `')`,
	}
}

// accepted returns a trap where the accepted question is stored.
func accepted(agent string) trap {
	return trap{
		on: "UPDATE ON standup_questions", when: "NEW.accepted AND NOT OLD.accepted AND NEW.agent_id = '" + agent + "'",
		here: `SELECT COUNT(*) FROM standup_questions WHERE state = 'open' AND NOT accepted AND agent_id = '` + agent + `'`,
	}
}

// stored returns a trap where an answer is stored.
func stored(agent string) trap {
	return trap{
		on: "UPDATE ON standup_questions", when: "NEW.state = 'answered' AND OLD.state = 'open' AND NEW.agent_id = '" + agent + "'",
		here: `SELECT COUNT(*) FROM standup_questions WHERE state = 'open' AND accepted AND agent_id = '` + agent + `'`,
	}
}

// event returns a trap where an event is recorded at the end of a transaction.
func event(kind, here string) trap {
	return trap{on: "INSERT ON events", when: "NEW.kind = '" + kind + "'", here: here}
}

// think makes an agent think until release is called.
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

// on calls fn once when a request arrives at the gateway.
func (x *trial) on(method, run string, fn func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fn = sync.OnceFunc(fn)
	x.see = func(r faults.Request) bool {
		if r.Method == method && strings.HasSuffix(r.RunID, run) {
			fn()
		}
		return true
	}
}
