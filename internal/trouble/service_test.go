package trouble

import (
	"context"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
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
		is    link.Status
		kind  string
		after time.Duration
	}{
		{name: "not configured", is: link.Status{State: link.NotConfigured}},
		{name: "the first attempt", is: link.Status{State: link.Connecting}},
		{name: "connected", is: link.Status{State: link.Connected, ConnectedAt: &at}},
		{name: "connected with less", is: link.Status{State: link.MissingScopes, ConnectedAt: &at}},
		{name: "refused for its scopes", is: link.Status{State: link.MissingScopes}, kind: unusable, after: unusableGrace},
		{name: "unauthorized", is: link.Status{State: link.Unauthorized}, kind: unusable, after: unusableGrace},
		{name: "untrusted", is: link.Status{State: link.Untrusted}, kind: unusable, after: unusableGrace},
		{name: "unreachable", is: link.Status{State: link.Unreachable}, kind: unusable, after: unusableGrace},
		{name: "slow at the door", is: link.Status{State: link.Slow}, kind: unusable, after: unusableGrace},
		{name: "slow on a connection", is: link.Status{State: link.Slow, ConnectedAt: &at}, kind: unusable, after: unusableGrace},
		{name: "no device to pair", is: link.Status{State: link.Unpaired}, kind: unusable, after: unusableGrace},
		{name: "a device to approve", is: link.Status{State: link.Unpaired, DeviceID: "d1"}, kind: pending, after: pairingGrace},
	}
	tried := map[link.State]bool{}
	for _, c := range cases {
		tried[c.is.State] = true
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, dbtest.New(t))
			w.starts(link.Connecting).shows(func(s *link.Status) { *s = c.is }).turns(c.is.State)
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
	for _, s := range link.States() {
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
	for _, state := range []link.State{
		link.Unauthorized, link.Unpaired, link.Untrusted, link.Slow, link.MissingScopes, link.Unreachable,
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
	p := newWorld(t, nil).starts(link.Connecting).shows(func(s *link.Status) { s.DeviceID = strings.Repeat("d", 64) })
	p.turns(link.Unpaired)
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
		p := w.starts(link.Connected)
		p.turns(link.Unreachable)
		w.passes(unusableGrace - moment)
		p.turns(link.Connected) // for less than the check interval
		p.turns(link.Unreachable)
		w.passes(unusableGrace - moment)
		w.want("")
		p.turns(link.Connecting) // as another device: unknown yet
		p.turns(link.Slow)       // another state of the same condition
		w.passes(moment)
		w.want("gateway_trouble open x1")
		p.turns(link.Connected)
		p.turns(link.Unauthorized)
		w.passes(lasting)
		w.want("gateway_trouble open x1") // never resolved
		p.turns(link.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x1")
		p.turns(link.Slow)
		w.passes(unusableGrace - moment)
		w.want("gateway_trouble resolved x1")
		w.passes(moment)
		w.want("gateway_trouble open x2")
		p.turns(link.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x2")
		p.turns(link.Slow)
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
		p := w.starts(link.Unreachable)
		w.passes(time.Minute)
		late := w.starts(link.Unreachable) // another process, a minute later
		w.passes(unusableGrace - time.Minute)
		w.want("gateway_trouble open x1")
		w.person(inbox.GatewayTrouble, inbox.Resolved)
		w.passes(lasting)
		w.want("gateway_trouble resolved x1")
		for _, state := range []inbox.State{inbox.Acked, inbox.Snoozed, inbox.Resolved} {
			w.person(inbox.GatewayTrouble, state)
			p.turns(link.Untrusted)
			w.passes(lasting)
			p.turns(link.Unreachable)
			w.passes(lasting)
			w.want("gateway_trouble " + string(state) + " x1")
		}
		p.turns(link.Connected)
		late.turns(link.Connected)
		w.passes(lasting)
		w.person(inbox.GatewayTrouble, inbox.Open) // a person reopened it
		w.passes(lasting)
		w.want("gateway_trouble open x1")
		w.person(inbox.GatewayTrouble, inbox.Resolved)
		w.passes(moment)
		p.turns(link.Unreachable)
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
		one, same := w.starts(link.Unreachable), w.starts(link.Unreachable)
		w.passes(time.Minute)
		two := w.starts(link.Unreachable)
		w.passes(unusableGrace - time.Minute)
		w.want("gateway_trouble open x1")
		one.turns(link.Connected)
		same.turns(link.Connected)
		w.passes(lasting) // the third one is late in both cases
		w.want("gateway_trouble resolved x1")
		two.turns(link.Connected)
		w.passes(lasting)
		w.want("gateway_trouble resolved x1")

		two.turns(link.Untrusted) // while the other one stays connected
		w.passes(lasting)
		w.want("gateway_trouble open x2")
		w.passes(time.Hour)
		w.want("gateway_trouble open x2")
		two.turns(link.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x2")
	})
}

// A new process resolves items that an earlier one raised.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, state := range []link.State{link.Connected, link.NotConfigured} {
		w := newWorld(t, dbtest.New(t))
		w.starts(link.Unreachable)
		w.passes(lasting)
		w.all = nil
		p := w.starts(link.Unreachable)
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
		p := w.starts(link.Connecting).shows(func(s *link.Status) { s.DeviceID = "d1" })
		p.turns(link.Unpaired)
		w.passes(pairingGrace)
		w.want("pairing_pending open x1")
		p.turns(link.Unreachable) // the gateway restarts
		w.passes(unusableGrace - moment)
		w.want("pairing_pending open x1")
		w.passes(moment)
		w.want("gateway_trouble open x1, pairing_pending open x1")
		p.turns(link.Unpaired)
		w.passes(lasting)
		w.want("gateway_trouble open x1, pairing_pending open x1")
		p.turns(link.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x1, pairing_pending resolved x1")
	})
}

// An item that could not be raised during a database outage is raised afterwards.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.New(t))
	p := w.starts(link.Unreachable)
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
	p := w.starts(link.MissingScopes)
	w.passes(unusableGrace)
	w.want("gateway_trouble open x1")
	p.shows(func(s *link.Status) { s.ConnectedAt = clock.Ptr(w.clock()) })
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
		p := w.starts(link.Unreachable)
		runs(t, p, func() bool { return w.items() == "gateway_trouble open x1" })
	})
	t.Run("listens", func(t *testing.T) {
		p := newWorld(t, nil).starts(link.Connecting)
		p.Every = time.Hour
		p.shows(func(s *link.Status) { s.State = link.Connected })
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
		down      link.Purpose
		title     string
		says, not string
	}{
		{link.StartsRuns, "Agents can't be started", "Agents' activity is still visible", "see what they do"},
		{link.Manages, "Schedules cannot be changed", "Agents can still be asked, and their activity is visible", "cannot ask agents"},
	} {
		both := []link.Connection{{Purpose: link.StartsRuns, ConnectedAt: &at}, {Purpose: link.Manages, ConnectedAt: &at}}
		for i := range both {
			if both[i].Purpose == c.down {
				both[i].ConnectedAt = nil
			}
		}
		s := &Service{Now: func() time.Time { return night }}
		s.Observe(link.Status{State: link.Unreachable, Connections: both})
		m := s.current.inboxItem()
		if string(m.Kind) != unusable || m.Title != c.title || !strings.Contains(m.Detail, c.says) || strings.Contains(m.Detail, c.not) {
			t.Errorf("%s: %s\n%s", c.down, m.Title, m.Detail)
		}
		both[0].ConnectedAt, both[1].ConnectedAt = nil, nil
		s.Observe(link.Status{State: link.Unreachable, Connections: both})
		if m := s.current.inboxItem(); m.Title != "The gateway cannot be reached" || !strings.Contains(m.Detail, "cannot ask agents") {
			t.Errorf("both: %s\n%s", m.Title, m.Detail)
		}
	}
}
