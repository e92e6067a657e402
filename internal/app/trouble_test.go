package app_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// A gateway that is offline is raised in the inbox once, even with two replicas, and
// resolved when it is back.
func TestGatewayTrouble(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		var ahead atomic.Int64 // how far the clock of the trouble service is ahead
		start := func() *service {
			a := h.build()
			a.Trouble.Every = 20 * time.Millisecond
			a.Trouble.Now = func() time.Time { return clock.Now().Add(time.Duration(ahead.Load())) }
			return h.run(a).connected()
		}
		s := start()
		replicas := []*service{s}
		if engine == db.Postgres {
			replicas = append(replicas, start())
		}
		owner := s.login(ownerEmail)
		of := func(state string) []inbox.Item { return owner.inboxOf(inbox.GatewayTrouble, state) }
		_ = h.runtime.Close()
		for _, r := range replicas {
			waitFor(t, "the gateway to be offline", func() bool { return r.Gateway.Status().State == link.Unreachable })
		}
		var items []inbox.Item
		waitFor(t, "the inbox", func() bool {
			ahead.Add(int64(time.Minute)) // the service may notice it at any time
			items = of("open")
			return len(items) > 0
		})
		if i := items[0]; len(items) != 1 || i.Count != 1 || i.Subject.Kind != "gateway" || i.Severity != inbox.High || !strings.Contains(i.Detail, "Settings → Gateway") {
			t.Errorf("the inbox has %+v", items)
		}
		h.reopen()
		for _, r := range replicas {
			r.connected()
		}
		waitFor(t, "the item to be resolved", func() bool {
			items = of("resolved")
			return len(items) == 1 && len(of("open")) == 0
		})
		if items[0].Count != 1 || items[0].Resolution.Note != "The gateway is connected." {
			t.Errorf("at the end the inbox has %+v", items)
		}
	})
}
