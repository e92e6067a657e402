package faults

import (
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

// After both connections have been cut repeatedly, two are left and no run has started with
// operator.admin. Only one of the two retries an unreachable gateway.
func TestClientTwoConnectionsInAStorm(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r, withAdmin)
	over := make(chan struct{})
	var asking sync.WaitGroup
	for n := range 4 {
		asking.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
				id := strings.Repeat("r", n+1) + time.Now().Format("150405.000000000")
				_, err := c.Start(t.Context(), gateway.Question{RunID: id, AgentID: "cto", SessionKey: "agent:cto:" + id, Message: "hi"})
				if err != nil && !link.IsUnavailable(err) {
					t.Errorf("in the storm: %v", err)
				}
			}
		})
	}
	for range 40 {
		eventually(t, "the next connection", func() bool { return r.Connections() > 0 })
		r.Drop()
	}
	close(over)
	asking.Wait()
	in(t, c, link.Connected)
	eventually(t, "two connections are left", func() bool { return r.Connections() == 2 })
	works(t, c, "run-1")
	noOwnerTools(t, r)
	r.Starting(true)
	r.Drop()
	calledAgain := func() {
		before := r.Calls("connect")
		eventually(t, "the gateway is called again", func() bool { return r.Calls("connect") > before+2 })
	}
	// The connection that starts runs may try once, if it notices the loss before the other does.
	waits := func() bool { return connectionOf(c.Status(), link.StartsRuns).RetryAt == nil }
	calledAgain()
	eventually(t, "the connection that starts runs waits for the other", waits)
	calledAgain()
	if !waits() {
		t.Errorf("the connection that starts runs calls the gateway, too: %+v", connectionOf(c.Status(), link.StartsRuns))
	}
	r.Starting(false)
	in(t, c, link.Connected)
}
