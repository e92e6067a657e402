package trouble

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

const lasting, moment = patience + time.Minute, time.Second

// A gateway that dies at night must be in the inbox in the morning, and one that
// restarts, or that there is none of, must not.
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
		{name: "refused for its scopes", is: gateway.Status{State: gateway.MissingScopes}, kind: away, after: patience},
		{name: "unauthorized", is: gateway.Status{State: gateway.Unauthorized}, kind: away, after: patience},
		{name: "untrusted", is: gateway.Status{State: gateway.Untrusted}, kind: away, after: patience},
		{name: "unreachable", is: gateway.Status{State: gateway.Unreachable}, kind: away, after: patience},
		{name: "slow at the door", is: gateway.Status{State: gateway.Slow}, kind: away, after: patience},
		{name: "slow on a connection", is: gateway.Status{State: gateway.Slow, ConnectedAt: &at}, kind: away, after: patience},
		{name: "no device to pair", is: gateway.Status{State: gateway.Unpaired}, kind: away, after: patience},
		{name: "a device to approve", is: gateway.Status{State: gateway.Unpaired, DeviceID: "d1"}, kind: pending, after: pairingPatience},
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

// Who reads the item must learn what is wrong and where to go, and nothing that
// the gateway said: it may quote a secret.
func TestWords(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, state := range []gateway.State{
		gateway.Unauthorized, gateway.Unpaired, gateway.Untrusted, gateway.Slow, gateway.MissingScopes, gateway.Unreachable,
	} {
		w := newWorld(t, nil)
		p := w.starts(state)
		m := p.spell().matter()
		if titles[m.Title] {
			t.Errorf("%q is said of two states", m.Title)
		}
		titles[m.Title] = true
		if m.Kind != away || m.Severity != "high" || !m.At.Equal(night) || m.Subject.Kind != event.TopicGateway {
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
	m := p.spell().matter()
	if m.Kind != pending || m.Subject.Kind != "device" || m.Subject.ID != strings.Repeat("d", 64) || len(m.Subject.Name) != 12 || strings.Contains(m.Detail, secret) {
		t.Errorf("pairing: %+v", m)
	}
}

// spell is how the process has been doing.
func (p *process) spell() spell { return p.Service.is }

// An item that comes and goes with every hiccup is one that nobody reads.
func TestTroubleComesAndGoes(t *testing.T) {
	t.Parallel()
	dbtest.Twice(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		p := w.starts(gateway.Connected)
		p.turns(gateway.Unreachable)
		w.passes(patience - moment)
		p.turns(gateway.Connected) // for less than the time between two looks
		p.turns(gateway.Unreachable)
		w.passes(patience - moment)
		w.want("")
		p.turns(gateway.Connecting) // as another device: nobody knows yet
		p.turns(gateway.Slow)       // other words for the same
		w.passes(moment)
		w.want("gateway_trouble open x1")
		p.turns(gateway.Connected)
		p.turns(gateway.Unauthorized)
		w.passes(lasting)
		w.want("gateway_trouble open x1") // it was never taken back
		p.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x1")
		p.turns(gateway.Slow)
		w.passes(patience - moment)
		w.want("gateway_trouble resolved x1")
		w.passes(moment)
		w.want("gateway_trouble open x2")
		p.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x2")
	})
}

// Somebody who has dealt with an item must not be told the same again.
func TestPeopleAreHeard(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		p := w.starts(gateway.Unreachable)
		w.passes(time.Minute)
		late := w.starts(gateway.Unreachable) // another process, which has to wait for a minute more
		w.passes(patience - time.Minute)
		w.want("gateway_trouble open x1")
		w.person(away, "resolved")
		w.passes(lasting)
		w.want("gateway_trouble resolved x1")
		for _, state := range []string{"acked", "snoozed", "resolved"} {
			w.person(away, state)
			p.turns(gateway.Untrusted)
			w.passes(lasting)
			p.turns(gateway.Unreachable)
			w.passes(lasting)
			w.want("gateway_trouble " + state + " x1")
		}
		p.turns(gateway.Connected)
		late.turns(gateway.Connected)
		w.passes(lasting)
		w.person(away, "open") // somebody wants to look at it again
		w.passes(lasting)
		w.want("gateway_trouble open x1")
		w.person(away, "resolved")
		w.passes(moment)
		p.turns(gateway.Unreachable)
		w.passes(lasting)
		w.want("gateway_trouble open x2")
	})
}

// Of several processes one tells, and one that still tries does not bring back
// what another one has taken back.
func TestReplicas(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		one, same := w.starts(gateway.Unreachable), w.starts(gateway.Unreachable)
		w.passes(time.Minute)
		two := w.starts(gateway.Unreachable)
		w.passes(patience - time.Minute)
		w.want("gateway_trouble open x1")
		one.turns(gateway.Connected)
		same.turns(gateway.Connected)
		w.passes(lasting) // the third one is late in both
		w.want("gateway_trouble resolved x1")
		two.turns(gateway.Connected)
		w.passes(lasting)
		w.want("gateway_trouble resolved x1")

		two.turns(gateway.Untrusted) // while the other one has a connection all the time
		w.passes(lasting)
		w.want("gateway_trouble open x2")
		w.passes(time.Hour)
		w.want("gateway_trouble open x2")
		two.turns(gateway.Connected)
		w.passes(every)
		w.want("gateway_trouble resolved x2")
	})
}

// A process that comes after another one knows nothing of what that has told, and
// must still take it back.
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

// An approval that nobody knows to be waited for never comes.
func TestPairing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		p := w.starts(gateway.Connecting).shows(func(s *gateway.Status) { s.DeviceID = "d1" })
		p.turns(gateway.Unpaired)
		w.passes(pairingPatience)
		w.want("pairing_pending open x1")
		p.turns(gateway.Unreachable) // the gateway restarts
		w.passes(patience - moment)
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

// What could not be told while the database was away must be told after it.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.New(t))
	w.starts(gateway.Unreachable)
	w.fault = errors.New("the disk is full")
	w.passes(patience)
	w.want("")
	w.fault = nil
	w.passes(every)
	w.want("gateway_trouble open x1")
}

// A state can mean another thing without having changed: nobody is told then.
func TestScopesOfAConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.New(t))
	p := w.starts(gateway.MissingScopes)
	w.passes(patience)
	w.want("gateway_trouble open x1")
	p.shows(func(s *gateway.Status) { s.ConnectedAt = clock.Ptr(w.clock()) })
	w.passes(every)
	w.want("gateway_trouble resolved x1")
}

// The service has to listen and to look by itself, and to end when it is told to.
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
			return p.spell().doing == well
		})
	})
}

// With one of two connections up, part of the work goes on, and the item must not
// say that all of it has stopped.
func TestOneConnectionOfTwo(t *testing.T) {
	t.Parallel()
	at := clock.At(night)
	for _, c := range []struct {
		down      gateway.Purpose
		title     string
		says, not string
	}{
		{gateway.StartsRuns, "No agent can be asked", "What agents do is still seen", "is not seen"},
		{gateway.Manages, "Schedules cannot be changed", "Agents are still asked and watched", "no agent is asked"},
	} {
		both := []gateway.Connection{{Purpose: gateway.StartsRuns, ConnectedAt: &at}, {Purpose: gateway.Manages, ConnectedAt: &at}}
		for i := range both {
			if both[i].Purpose == c.down {
				both[i].ConnectedAt = nil
			}
		}
		s := &Service{Now: func() time.Time { return night }}
		s.Hear(gateway.Status{State: gateway.Unreachable, Connections: both})
		m := s.is.matter()
		if m.Kind != away || m.Title != c.title || !strings.Contains(m.Detail, c.says) || strings.Contains(m.Detail, c.not) {
			t.Errorf("%s: %s\n%s", c.down, m.Title, m.Detail)
		}
		both[0].ConnectedAt, both[1].ConnectedAt = nil, nil
		s.Hear(gateway.Status{State: gateway.Unreachable, Connections: both})
		if m := s.is.matter(); m.Title != "The gateway cannot be reached" || !strings.Contains(m.Detail, "no agent is asked") {
			t.Errorf("both: %s\n%s", m.Title, m.Detail)
		}
	}
}
