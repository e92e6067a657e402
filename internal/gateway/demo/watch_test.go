package demo

import (
	"slices"
	"sync"
	"testing"
)

// What happens to a client at the moment in which its request arrives happens
// before the request does: else a test that ends a client there ends it anywhere.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	var mu sync.Mutex
	var seen []Request
	r.Watch(func(q Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, q)
		if q.Method == "agent" && r.Asked("cto") > 0 {
			t.Error("the question was put before it was seen")
		}
		return q.RunID != "run-1"
	})
	c.ask("agent", question("cto", "run-1", "lost"))
	c.ok("health", object{})
	if n := r.Asked(""); n != 0 || r.Calls("agent") != 0 {
		t.Errorf("a question that was lost was put %d times, and its method called %d times", n, r.Calls("agent"))
	}
	r.Watch(func(q Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, q)
		return true
	})
	c.ok("agent", question("cto", "run-2", "comes"))
	c.wait("run-2")
	want := []Request{
		{Method: "agent", RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test"},
		{Method: "health"},
		{Method: "agent", RunID: "run-2", AgentID: "cto", SessionKey: "agent:cto:test"},
		{Method: "agent.wait", RunID: "run-2"},
	}
	mu.Lock()
	if !slices.Equal(seen, want) {
		t.Errorf("saw %+v, want %+v", seen, want)
	}
	mu.Unlock()
	r.Heal()
	c.ok("health", object{})
	if mu.Lock(); len(seen) != len(want) {
		t.Error("who was healed of its watcher still has it")
	}
	mu.Unlock()
}
