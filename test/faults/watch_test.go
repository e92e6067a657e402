package faults

import (
	"slices"
	"sync"
	"testing"

	"wardroom/internal/gateway/demo"
)

// Watch must report a request before it is handled. Otherwise a test that kills a client
// when a request is reported would do so at an arbitrary point.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	var mu sync.Mutex
	var seen []Request
	r.Watch(func(q Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, q)
		if q.Method == "agent" && r.Asked("cto") > 0 {
			t.Error("the run started before Watch reported it")
		}
		return q.RunID != "run-1"
	})
	c.ask("agent", question("cto", "run-1", "lost"))
	c.ok("health", object{})
	if n := r.Asked(""); n != 0 || r.Calls("agent") != 0 {
		t.Errorf("a lost request started %d runs and counted %d calls", n, r.Calls("agent"))
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
		t.Error("Heal did not turn Watch off")
	}
	mu.Unlock()
}
