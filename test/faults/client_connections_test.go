package faults

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// withAdmin makes a client ask for operator.admin, for which it opens a second connection.
func withAdmin(o *link.Options) { o.Scopes = []string{scopeRead, scopeWrite, scopeAdmin} }

// connectionOf returns the connection for a purpose, or the zero Connection.
func connectionOf(s link.Status, p link.Purpose) link.Connection {
	for _, one := range s.Connections {
		if one.Purpose == p {
			return one
		}
	}
	return link.Connection{}
}

// noOwnerTools checks that no run was offered the owner tools.
func noOwnerTools(t *testing.T, r *Runtime) {
	t.Helper()
	if runs := r.OwnerRuns(); len(runs) > 0 {
		t.Errorf("runs began with operator.admin: %v", runs)
	}
}

// schedules adds a job to the runtime and removes it again.
func schedules(t *testing.T, c *gateway.Client) error {
	t.Helper()
	job, err := c.AddJob(t.Context(), gateway.NewJob{Name: "test", AgentID: "cto", Message: "hi", SessionTarget: "isolated", Schedule: gateway.JobSchedule{Kind: "cron", Expr: "0 6 * * *", Zone: "UTC"}})
	if err != nil {
		return err
	}
	return c.RemoveJob(t.Context(), job.ID)
}

// An agent with the gateway's owner tools could change the gateway's configuration, so
// methods that start runs must never use the connection with operator.admin.
func TestClientTwoConnections(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r, withAdmin)
	var mu sync.Mutex
	over := map[string]bool{} // by method: whether the call came with operator.admin
	r.Watch(func(q Request) bool {
		mu.Lock()
		defer mu.Unlock()
		over[q.Method] = q.Admin
		return true
	})
	works(t, c, "run-1")
	if err := c.SendMessage(t.Context(), gateway.OutgoingMessage{SessionKey: "agent:cto:test", Text: "hi", RunID: "said"}); err != nil {
		t.Error(err)
	}
	if err := schedules(t, c); err != nil {
		t.Error(err)
	}
	if err := c.SubscribeSessions(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.ListSessions(t.Context(), 10); err != nil {
		t.Error(err)
	}
	r.Silence("cto", true)
	ask(t, c, "run-2", "agent:cto:stop")
	if a, err := c.Wait(t.Context(), "run-2", time.Millisecond); err != nil || a.Outcome != gateway.Running {
		t.Errorf("wait: %+v, %v", a, err)
	}
	if stopped, err := c.Stop(t.Context(), "agent:cto:stop", "run-2"); err != nil || !stopped {
		t.Errorf("stop: %v, %v", stopped, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for method, admin := range map[string]bool{
		"agent": false, "agent.wait": false, "chat.send": false,
		"agents.list": true, "sessions.subscribe": true, "sessions.list": true, "chat.abort": true, "cron.add": true, "cron.remove": true,
	} {
		if was, called := over[method]; !called || was != admin {
			t.Errorf("%s: called %t, with operator.admin %t, want %t", method, called, was, admin)
		}
	}
	noOwnerTools(t, r)
	s := c.Status()
	if runs := connectionOf(s, link.StartsRuns); !slices.Equal(runs.ScopesGranted, []string{scopeRead, scopeWrite, "operator.approvals", "operator.questions"}) || runs.ConnectedAt == nil {
		t.Errorf("starts runs: %+v", runs)
	}
	if all := connectionOf(s, link.Manages); !slices.Equal(all.ScopesGranted, []string{scopeRead, scopeWrite, scopeAdmin}) || all.ConnectedAt == nil {
		t.Errorf("manages: %+v", all)
	}
	if n := r.Connections(); n != 2 || len(s.Connections) != 2 || s.ConnectedAt == nil || len(s.MissingScopes) != 0 {
		t.Errorf("%d connections, status %+v", n, s)
	}
}

// A run inherits the scopes of the connection that starts it.
func TestOwnerRuns(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	plain, all := join(t, r), dial(t, r, nil)
	all.event("connect.challenge")
	all.ok("connect", hello(func(in object) { in["scopes"] = []string{scopeRead, scopeWrite, scopeAdmin} }))
	plain.ok("agent", question("cto", "run-1", "hi"))
	plain.wait("run-1")
	noOwnerTools(t, r)
	all.ok("agent", question("cto", "run-2", "hi"))
	all.wait("run-2")
	if runs := r.OwnerRuns(); !slices.Equal(runs, []string{"run-2"}) {
		t.Errorf("offered the owner tools: %v", runs)
	}
}

// Without operator.admin, or if the gateway does not grant it, there is one connection.
func TestClientOneConnection(t *testing.T) {
	t.Parallel()
	for name, withheld := range map[string]string{"not asked for": "", "not granted": scopeAdmin} {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{})
			state, change := link.Connected, func(*link.Options) {}
			if withheld != "" {
				r.Withhold(withheld)
				state, change = link.MissingScopes, withAdmin
			}
			c := impatient(t, r, change)
			in(t, c, state)
			works(t, c, "run-1")
			err := schedules(t, c)
			if f := fault.Of(err); !errors.Is(err, link.ErrMissingScope) || f.Facts["missing_scope"] != scopeAdmin {
				t.Errorf("a change of jobs: %v", err)
			}
			s := c.Status()
			if n := r.Connections(); n != 1 || len(s.Connections) != 1 || s.Connections[0].Purpose != link.Everything {
				t.Errorf("%d connections: %+v", n, s.Connections)
			}
		})
	}
}

// While the connection that starts runs is down, no run starts, not even over the other
// connection. Everything else works, and new runs wait.
func TestClientRunConnectionDown(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r, withAdmin)
	events, stop := c.Events(1000)
	defer stop()
	r.RefuseClients(WithoutAdmin)
	eventually(t, "the loss is noticed", func() bool { return c.Status().State == link.Unreachable })
	_, start := c.Start(t.Context(), gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"})
	say := c.SendMessage(t.Context(), gateway.OutgoingMessage{SessionKey: "agent:cto:test", Text: "hi", RunID: "said"})
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, await := c.Await(brief)
	for name, err := range map[string]error{"Start": start, "Say": say, "Await": await} {
		f := fault.Of(err)
		if !link.IsUnavailable(err) || errors.Is(err, link.ErrUnsure) || f.RetryAfter <= 0 || !strings.Contains(f.Detail, "starts runs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Agents(t.Context()); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := schedules(t, c); err != nil {
		t.Errorf("scheduling: %v", err)
	}
	if _, _, err := c.StopSession(t.Context(), "agent:cto:test", ""); err != nil {
		t.Errorf("stopping: %v", err)
	}
	s := c.Status()
	if s.ConnectedAt != nil || s.RetryAt == nil || connectionOf(s, link.StartsRuns).ConnectedAt != nil || connectionOf(s, link.Manages).State != link.Connected {
		t.Errorf("status %+v", s)
	}
	for done := false; !done; {
		select {
		case e := <-events:
			if e.Name == link.EventDisconnected {
				t.Error("the connection that watches was told to be gone")
			}
		default:
			done = true
		}
	}
	r.RefuseClients(nil)
	in(t, c, link.Connected)
	works(t, c, "run-2")
	if n := r.Asked(""); n != 1 {
		t.Errorf("%d runs began, want the last one alone", n)
	}
	noOwnerTools(t, r)
}

// While the connection with operator.admin is down, runs and events still work. Methods
// that need it fail as with an unreachable gateway, and no scope is reported as missing.
func TestClientAdminConnectionDown(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r, withAdmin)
	events, stop := c.Events(1000)
	defer stop()
	r.RefuseClients(WithAdmin)
	eventually(t, "the loss is noticed", func() bool { return c.Status().State == link.Unreachable })
	works(t, c, "run-1")
	r.Silence("cto", true)
	ask(t, c, "run-2", "agent:cto:stop")
	if stopped, err := c.Stop(t.Context(), "agent:cto:stop", "run-2"); err != nil || !stopped {
		t.Errorf("stopping: %v, %v", stopped, err)
	}
	if err := schedules(t, c); !errors.Is(err, link.ErrUnreachable) || errors.Is(err, link.ErrMissingScope) {
		t.Errorf("scheduling: %v", err)
	}
	ticks(r, 1)
	r.RefuseClients(nil)
	in(t, c, link.Connected)
	ticks(r, 1)
	if err := schedules(t, c); err != nil {
		t.Errorf("scheduling afterwards: %v", err)
	}
	// Events came over one connection at a time, and every change was reported.
	var told []string
	for late := time.After(patience); len(told) < 7; {
		select {
		case e := <-events:
			if e.Name == "tick" || e.Name == link.EventConnected && e.Resync || e.Name == link.EventDisconnected {
				told = append(told, e.Name)
			}
		case <-late:
			t.Fatalf("told only %v", told)
		}
	}
	if want := "connected disconnected connected tick disconnected connected tick"; strings.Join(told, " ") != want {
		t.Errorf("told %v, want %s", told, want)
	}
}

// Both connections receive every event; each event must be counted once.
func TestClientEventsOnce(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r, withAdmin)
	events, stop := c.Events(1000)
	defer stop()
	works(t, c, "run-1")
	ticks(r, 3)
	ended, ticked := 0, 0
	for ticked < 3 {
		e := <-events
		if change := c.Content(e).Change; change != nil && change.Run != nil && !change.Run.Began {
			ended++
		}
		if e.Name == "tick" {
			ticked++
		}
	}
	select {
	case e := <-events:
		t.Errorf("%s came after the last tick", e.Name)
	case <-time.After(50 * time.Millisecond):
	}
	if ended != 1 {
		t.Errorf("the end of one run was told %d times", ended)
	}
}

// A service that stops leaves no goroutine behind, whichever connection is up.
func TestClientTwoConnectionsShutDown(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]func([]string) bool{"both": nil, "runs": WithAdmin, "manages": WithoutAdmin} {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{})
			c, err := gateway.New(link.Options{URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite, scopeAdmin}, Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			in(t, c, link.Connected)
			events, _ := c.Events(100)
			r.RefuseClients(match)
			began := time.Now()
			cancel()
			if err := <-done; err != nil || time.Since(began) > patience/2 {
				t.Errorf("ended with %v after %s", err, time.Since(began))
			}
			eventually(t, "nobody is connected", func() bool { return r.Connections() == 0 })
			for range events {
			}
			_, start := c.Start(context.Background(), gateway.Question{RunID: "run-1", AgentID: "cto", Message: "hi"})
			if !errors.Is(start, link.ErrUnreachable) {
				t.Errorf("afterwards: %v", start)
			}
		})
	}
}

// Both connections belong to one device, so there is one pairing request with one result.
func TestClientTwoConnectionsPair(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RequirePairing(true)
	c, heard := clientWithEvents(t, r, withAdmin, func(o *link.Options) { o.Backoff.Max = 20 * time.Millisecond })
	c.SetIdentity(link.Identity{Key: keyOf(1)})
	eventually(t, "it asks", func() bool { return c.Status().Pairing != nil })
	asked, pending := r.Calls("connect"), r.Pending()
	eventually(t, "it asks again", func() bool {
		if now := r.Pending(); len(now) != 1 || now[0].ID != pending[0].ID {
			t.Fatalf("it asks for %+v, after %+v", now, pending)
		}
		return r.Calls("connect") > asked+20
	})
	if len(pending) != 1 || !slices.Equal(pending[0].Scopes, []string{scopeRead, scopeWrite, scopeAdmin}) || c.Status().Pairing.RequestID != pending[0].ID {
		t.Fatalf("it asks for %+v, and shows %+v", pending, c.Status().Pairing)
	}
	r.Approve(pending[0].ID)
	connectedAs(t, c, keyOf(1))
	works(t, c, "run-1")
	for _, p := range []link.Purpose{link.StartsRuns, link.Manages} {
		if connectionOf(c.Status(), p).ConnectedAt == nil {
			t.Errorf("%s is not connected: %+v", p, c.Status())
		}
	}
	issued := 0
	for _, n := range heard() {
		if n.Kind == link.TokenIssued {
			issued++
		}
	}
	if issued != 1 || len(r.Pending()) != 0 {
		t.Errorf("heard %+v, pending %+v", heard(), r.Pending())
	}
	// A new device replaces the device of both connections.
	c.SetIdentity(link.Identity{Key: keyOf(2)})
	eventually(t, "the other device asks", func() bool { return len(r.Pending()) == 1 && c.Status().Pairing != nil })
	if q := r.Pending()[0]; len(q.Scopes) != 3 || q.DeviceID == pending[0].DeviceID {
		t.Errorf("the other device asks for %+v", q)
	}
	eventually(t, "the first device is gone", func() bool { return r.Connections() == 0 })
	r.Approve(r.Pending()[0].ID)
	connectedAs(t, c, keyOf(2))
	works(t, c, "run-2")
	noOwnerTools(t, r)
}

// A device approved for fewer scopes uses those and reports the pending upgrade.
func TestClientScopeUpgrade(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RequirePairing(true)
	before, _ := clientWithEvents(t, r)
	before.SetIdentity(link.Identity{Key: keyOf(1)})
	eventually(t, "it asks", func() bool { return len(r.Pending()) == 1 })
	r.Approve(r.Pending()[0].ID)
	connectedAs(t, before, keyOf(1))

	c, _ := clientWithEvents(t, r, withAdmin)
	c.SetIdentity(link.Identity{Key: keyOf(1)})
	s := in(t, c, link.MissingScopes)
	if s.ConnectedAt == nil || s.Pairing == nil || !slices.Equal(s.MissingScopes, []string{scopeAdmin}) || !slices.Equal(s.ScopesGranted, []string{scopeRead, scopeWrite}) {
		t.Errorf("status %+v", s)
	}
	works(t, c, "run-1")
	events, stop := c.Events(10)
	defer stop()
	if e := <-events; e.Name != link.EventConnected {
		t.Errorf("nothing is watched: %+v", e)
	}
	if err := schedules(t, c); !errors.Is(err, link.ErrMissingScope) || fault.Of(err).Facts["missing_scope"] != scopeAdmin {
		t.Errorf("a change of jobs: %v", err)
	}
	if pending := r.Pending(); len(pending) != 1 || len(pending[0].Scopes) != 3 {
		t.Fatalf("it asks for %+v", pending)
	}
	r.Approve(r.Pending()[0].ID)
	in(t, c, link.Connected)
	if err := schedules(t, c); err != nil {
		t.Errorf("after the approval: %v", err)
	}
	works(t, c, "run-2")
	noOwnerTools(t, r)
}

// Both connections notice a replaced token, and neither keeps retrying with the old one.
func TestClientTwoConnectionsWithANewToken(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RequirePairing(true)
	c, _ := clientWithEvents(t, r, withAdmin)
	c.SetIdentity(link.Identity{Key: keyOf(1)})
	eventually(t, "it asks", func() bool { return len(r.Pending()) == 1 })
	r.Approve(r.Pending()[0].ID)
	s := connectedAs(t, c, keyOf(1))
	r.RotateToken(s.DeviceID)
	r.RefuseClients(WithoutAdmin) // the connection that starts runs sees the new token first
	r.RefuseClients(nil)
	eventually(t, "both are there again", func() bool { return r.Connections() == 2 && c.Status().State == link.Connected })
	works(t, c, "run-1")
	r.RotateToken(s.DeviceID)
	r.Drop()
	eventually(t, "both are there once more", func() bool { return r.Connections() == 2 && c.Status().State == link.Connected })
	works(t, c, "run-2")
}

// The doctor examines both connections and reports the purpose of each.
func TestDoctorTwoConnections(t *testing.T) {
	t.Parallel()
	options := func(r *Runtime) link.Options {
		return link.Options{URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite, scopeAdmin}, Timeout: patience}
	}
	scopes := func(found link.Examination) link.Step {
		i := slices.IndexFunc(found.Steps, func(s link.Step) bool { return s.Layer == link.LayerScopes })
		return found.Steps[i]
	}
	t.Run("both are well", func(t *testing.T) {
		r := ticking(t, false)
		found := examined(t, options(r))
		if saw := scopes(found).Saw; !found.Healthy || !strings.Contains(saw, "starts runs, has operator.read, operator.write, operator.approvals, operator.questions without operator.admin") {
			t.Errorf("found %+v, saw %q", found.Failure, saw)
		}
		eventually(t, "both are gone", func() bool { return r.Connections() == 0 })
	})
	t.Run("the one that starts runs is refused", func(t *testing.T) {
		r := ticking(t, false)
		r.RefuseClients(WithoutAdmin)
		found := examined(t, options(r))
		if f := found.Failure; f == nil || f.Layer != link.LayerScopes || !strings.Contains(f.Cause, "starts runs") || f.Fix == "" {
			t.Errorf("found %+v", f)
		}
		eventually(t, "both are gone", func() bool { return r.Connections() == 0 })
	})
	t.Run("operator.admin waits for its approval", func(t *testing.T) {
		r := ticking(t, false)
		r.RequirePairing(true)
		o := options(r)
		o.DeviceKey = keyOf(1)
		examined(t, link.Options{URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite}, Timeout: patience, DeviceKey: o.DeviceKey})
		r.Approve(r.Pending()[0].ID)
		found := examined(t, o)
		if f := found.Failure; f == nil || f.Layer != link.LayerPairing || !strings.Contains(f.Cause, "cannot change schedules") {
			t.Errorf("found %+v", f)
		}
		if pending := r.Pending(); len(pending) != 1 || !WithAdmin(pending[0].Scopes) {
			t.Errorf("it asked for %+v", pending)
		}
	})
}
