package trouble

import (
	"context"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

const lasting, moment = unusableGrace + time.Minute, time.Second

// Every unusable state is raised after its delay. A restart, or no configured gateway, is
// not raised.
func TestEveryState(t *testing.T) {
	t.Parallel()
	at := clock.At(night)
	cases := []struct {
		name  string
		is    gateway.Status
		kind  string
		after time.Duration
	}{
		{name: "not configured", is: gateway.Status{State: gateway.NotConfigured}},
		{name: "the first attempt", is: gateway.Status{State: gateway.Connecting}},
		{name: "connected", is: gateway.Status{State: gateway.Connected, ConnectedAt: &at}},
		{name: "connected with less", is: gateway.Status{State: gateway.MissingScopes, ConnectedAt: &at}},
		{name: "refused for its scopes", is: gateway.Status{State: gateway.MissingScopes}, kind: unusable, after: unusableGrace},
		{name: "unauthorized", is: gateway.Status{State: gateway.Unauthorized}, kind: unusable, after: unusableGrace},
		{name: "untrusted", is: gateway.Status{State: gateway.Untrusted}, kind: unusable, after: unusableGrace},
		{name: "unreachable", is: gateway.Status{State: gateway.Unreachable}, kind: unusable, after: unusableGrace},
		{name: "slow at the door", is: gateway.Status{State: gateway.Slow}, kind: unusable, after: unusableGrace},
		{name: "slow on a connection", is: gateway.Status{State: gateway.Slow, ConnectedAt: &at}, kind: unusable, after: unusableGrace},
		{name: "no device to pair", is: gateway.Status{State: gateway.Unpaired}, kind: unusable, after: unusableGrace},
		{name: "a device to approve", is: gateway.Status{State: gateway.Unpaired, DeviceID: "d1"}, kind: pending, after: pairingGrace},
	}
	tried := map[gateway.State]bool{}
	for _, c := range cases {
		tried[c.is.State] = true
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, dbtest.New(t))
			w.starts(gateway.Connecting).shows(func(s *gateway.Status) { *s = c.is }).turns(c.is.State)
			if c.kind == "" {
				w.passes(lasting)
				w.want("")
				return
			}
			w.passes(c.after - moment)
			w.want("")
			w.passes(moment)
			w.want(c.kind + " open x1")
			w.passes(time.Hour)
			w.want(c.kind + " open x1")
		})
	}
	for _, s := range gateway.States() {
		if !tried[s] {
			t.Errorf("nobody knows what becomes of %s", s)
		}
	}
}

// The item names the problem and the next step, and does not quote the gateway, whose
// messages may contain secrets.
func TestWords(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, state := range []gateway.State{
		gateway.Unauthorized, gateway.Unpaired, gateway.Untrusted, gateway.Slow, gateway.MissingScopes, gateway.Unreachable,
	} {
		w := newWorld(t, nil)
		p := w.starts(state)
		m := p.condition().inboxItem()
		if titles[m.Title] {
			t.Errorf("%q is said of two states", m.Title)
		}
		titles[m.Title] = true
		if string(m.Kind) != unusable || m.Severity != "high" || !m.At.Equal(night) || m.Subject.Kind != event.TopicGateway {
			t.Errorf("%s: %+v", state, m)
		}
		for _, part := range []string{"2026-11-16 03:00:00 UTC", "Settings → Gateway", "doctor"} {
			if !strings.Contains(m.Detail, part) {
				t.Errorf("%s: %q does not say %q", state, m.Detail, part)
			}
		}
		if strings.Contains(m.Title+m.Detail, secret) {
			t.Errorf("%s tells what the gateway said: %+v", state, m)
		}
	}
	p := newWorld(t, nil).starts(gateway.Connecting).shows(func(s *gateway.Status) { s.DeviceID = strings.Repeat("d", 64) })
	p.turns(gateway.Unpaired)
	m := p.condition().inboxItem()
	if string(m.Kind) != pending || m.Subject.Kind != "device" || m.Subject.ID != strings.Repeat("d", 64) || len(m.Subject.Name) != 12 || strings.Contains(m.Detail, secret) {
		t.Errorf("pairing: %+v", m)
	}
}

// condition returns the current condition of the process.
func (p *process) condition() condition { return p.current }

// Short interruptions neither raise nor resolve an item.
func TestTroubleComesAndGoes(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		p := w.starts(gateway.Connected)
		p.turns(gateway.Unreachable)
		w.passes(unusableGrace - moment)
		p.turns(gateway.Connected) // for less than the check interval
		p.turns(gateway.Unreachable)
		w.passes(unusableGrace - moment)
		w.want("")
		p.turns(gateway.Connecting) // as another device: unknown yet
		p.turns(gateway.Slow)       // another state of the same condition
		w.passes(moment)
		w.want("gateway_trouble open x1")
		p.turns(gateway.Connected)
		p.turns(gateway.Unauthorized)
		w.passes(lasting)
		w.want("gateway_trouble open x1") // never resolved
		p.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x1")
		p.turns(gateway.Slow)
		w.passes(unusableGrace - moment)
		w.want("gateway_trouble resolved x1")
		w.passes(moment)
		w.want("gateway_trouble open x2")
		p.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x2")
		p.turns(gateway.Slow)
		w.move(-365 * 24 * time.Hour) // the clock was ahead
		w.passes(every)
		w.want("gateway_trouble open x3")
	})
}

// An item that a person has handled is not raised again for the same trouble.
func TestPeopleAreHeard(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		p := w.starts(gateway.Unreachable)
		w.passes(time.Minute)
		late := w.starts(gateway.Unreachable) // another process, a minute later
		w.passes(unusableGrace - time.Minute)
		w.want("gateway_trouble open x1")
		w.person(inbox.GatewayTrouble, inbox.Resolved)
		w.passes(lasting)
		w.want("gateway_trouble resolved x1")
		for _, state := range []inbox.State{inbox.Acked, inbox.Snoozed, inbox.Resolved} {
			w.person(inbox.GatewayTrouble, state)
			p.turns(gateway.Untrusted)
			w.passes(lasting)
			p.turns(gateway.Unreachable)
			w.passes(lasting)
			w.want("gateway_trouble " + string(state) + " x1")
		}
		p.turns(gateway.Connected)
		late.turns(gateway.Connected)
		w.passes(lasting)
		w.person(inbox.GatewayTrouble, inbox.Open) // a person reopened it
		w.passes(lasting)
		w.want("gateway_trouble open x1")
		w.person(inbox.GatewayTrouble, inbox.Resolved)
		w.passes(moment)
		p.turns(gateway.Unreachable)
		w.passes(lasting)
		w.want("gateway_trouble open x2")
	})
}

// One of several processes raises the item, and one still in trouble does not raise a
// resolved item again.
func TestReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		one, same := w.starts(gateway.Unreachable), w.starts(gateway.Unreachable)
		w.passes(time.Minute)
		two := w.starts(gateway.Unreachable)
		w.passes(unusableGrace - time.Minute)
		w.want("gateway_trouble open x1")
		one.turns(gateway.Connected)
		same.turns(gateway.Connected)
		w.passes(lasting) // the third one is late in both cases
		w.want("gateway_trouble resolved x1")
		two.turns(gateway.Connected)
		w.passes(lasting)
		w.want("gateway_trouble resolved x1")

		two.turns(gateway.Untrusted) // while the other one stays connected
		w.passes(lasting)
		w.want("gateway_trouble open x2")
		w.passes(time.Hour)
		w.want("gateway_trouble open x2")
		two.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x2")
	})
}

// A new process resolves items that an earlier one raised.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, state := range []gateway.State{gateway.Connected, gateway.NotConfigured} {
		w := newWorld(t, dbtest.New(t))
		w.starts(gateway.Unreachable)
		w.passes(lasting)
		w.all = nil
		p := w.starts(gateway.Unreachable)
		w.passes(lasting)
		w.want("gateway_trouble open x1")
		p.turns(state)
		w.passes(every)
		w.want("gateway_trouble resolved x1")
	}
}

// A pending approval is raised after its delay.
func TestPairing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		p := w.starts(gateway.Connecting).shows(func(s *gateway.Status) { s.DeviceID = "d1" })
		p.turns(gateway.Unpaired)
		w.passes(pairingGrace)
		w.want("pairing_pending open x1")
		p.turns(gateway.Unreachable) // the gateway restarts
		w.passes(unusableGrace - moment)
		w.want("pairing_pending open x1")
		w.passes(moment)
		w.want("gateway_trouble open x1, pairing_pending open x1")
		p.turns(gateway.Unpaired)
		w.passes(lasting)
		w.want("gateway_trouble open x1, pairing_pending open x1")
		p.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x1, pairing_pending resolved x1")
	})
}

// An item that could not be raised during a database outage is raised afterwards.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.New(t))
	p := w.starts(gateway.Unreachable)
	show := dbtest.Hide(t, w.d, "inbox_items")
	w.move(unusableGrace)
	if err := p.Check(t.Context()); err == nil {
		t.Error("an item that was not raised was not noticed")
	}
	show()
	w.want("")
	w.passes(every)
	w.want("gateway_trouble open x1")
}

// The condition can change without a notification of a state change.
func TestScopesOfAConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.New(t))
	p := w.starts(gateway.MissingScopes)
	w.passes(unusableGrace)
	w.want("gateway_trouble open x1")
	p.shows(func(s *gateway.Status) { s.ConnectedAt = clock.Ptr(w.clock()) })
	w.passes(every)
	w.want("gateway_trouble resolved x1")
}

// Run watches and checks until its context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	runs := func(t *testing.T, p *process, ok func() bool) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		for end := time.Now().Add(time.Minute); !ok() && !t.Failed(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Error("nothing happens")
			}
			p.w.move(every)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Run("looks", func(t *testing.T) {
		w := newWorld(t, dbtest.New(t))
		p := w.starts(gateway.Unreachable)
		runs(t, p, func() bool { return w.items() == "gateway_trouble open x1" })
	})
	t.Run("listens", func(t *testing.T) {
		p := newWorld(t, nil).starts(gateway.Connecting)
		p.Every = time.Hour
		p.shows(func(s *gateway.Status) { s.State = gateway.Connected })
		runs(t, p, func() bool {
			p.Service.mu.Lock()
			defer p.Service.mu.Unlock()
			return p.condition().doing == healthy
		})
	})
}

// With one of two connections up, the item describes only what is unavailable.
func TestOneConnectionOfTwo(t *testing.T) {
	t.Parallel()
	at := clock.At(night)
	for _, c := range []struct {
		down      gateway.Purpose
		title     string
		says, not string
	}{
		{gateway.StartsRuns, "Agents can't be started", "Agents' activity is still visible", "see what they do"},
		{gateway.Manages, "Schedules cannot be changed", "Agents can still be asked, and their activity is visible", "cannot ask agents"},
	} {
		both := []gateway.Connection{{Purpose: gateway.StartsRuns, ConnectedAt: &at}, {Purpose: gateway.Manages, ConnectedAt: &at}}
		for i := range both {
			if both[i].Purpose == c.down {
				both[i].ConnectedAt = nil
			}
		}
		s := &Service{Now: func() time.Time { return night }}
		s.Observe(gateway.Status{State: gateway.Unreachable, Connections: both})
		m := s.current.inboxItem()
		if string(m.Kind) != unusable || m.Title != c.title || !strings.Contains(m.Detail, c.says) || strings.Contains(m.Detail, c.not) {
			t.Errorf("%s: %s\n%s", c.down, m.Title, m.Detail)
		}
		both[0].ConnectedAt, both[1].ConnectedAt = nil, nil
		s.Observe(gateway.Status{State: gateway.Unreachable, Connections: both})
		if m := s.current.inboxItem(); m.Title != "The gateway cannot be reached" || !strings.Contains(m.Detail, "cannot ask agents") {
			t.Errorf("both: %s\n%s", m.Title, m.Detail)
		}
	}
}
