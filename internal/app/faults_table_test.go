package app_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/test/faults"
)

// badFrames returns the kinds of bad frames that have no effect. The missing kind makes
// valid answers unreadable.
func badFrames() []faults.Garbage {
	return []faults.Garbage{
		faults.NotJSON, faults.WrongShape, faults.BinaryFrame, faults.InvalidUTF8, faults.StrayAnswer, faults.UnknownEvent,
		faults.ExtraMembers, faults.MissingMembers, faults.ControlCharacters,
	}
}

// garbage returns trials with every kind of bad frame, starting with the handshake.
func garbage() []trial {
	trials := []trial{{
		name: "wrong types in what exists", turns: "Garble",
		turn:   func(f *broken) { f.runtime.Garble(faults.WrongTypes) },
		during: func(f *broken) { f.wantUnreadable() },
	}}
	for _, k := range badFrames() {
		trials = append(trials, trial{name: string(k), turns: "Garble Drop", turn: func(f *broken) {
			f.runtime.Garble(k)
			f.again()
		}})
	}
	return append(trials, trial{
		name: "all kinds but one", turns: "Garble Drop",
		turn: func(f *broken) { f.runtime.Garble(badFrames()...); f.again() },
	})
}

// again cuts the connection and waits for the next one.
func (f *broken) again() {
	f.t.Helper()
	made := f.s.Gateway.Connections()
	f.runtime.Drop()
	f.await("the next connection", func() bool { return f.s.Gateway.Connections() > made })
}

// wantUnreadable checks that unreadable answers are not shown as empty.
func (f *broken) wantUnreadable() {
	f.t.Helper()
	_ = f.ask("run-unreadable", time.Second) // its answer is unreadable too
	f.await("the failure", func() bool { return f.owner.get("/api/v1/agentrt/sessions").status != http.StatusOK })
	a := f.owner.get("/api/v1/agentrt/sessions")
	a.wantProblem(http.StatusConflict, "gateway_refused")
	for id, a := range f.owner.team() {
		if a.Runtime != nil || a.Presence != nil {
			f.t.Errorf("%s is %+v, although the roster was unreadable", id, a)
		}
	}
}

// disorder returns trials with valid frames that come in the wrong order, too often or
// not at all.
func disorder() []trial {
	return []trial{
		{name: "everything three times", turns: "Repeat", turn: func(f *broken) { f.runtime.Repeat("", 2) }},
		{name: "the result before the word that it was taken", turns: "Reverse", turn: func(f *broken) { f.runtime.Reverse("agent", 2) }},
		{name: "events in swapped pairs", turns: "SwapEvents", turn: func(f *broken) { f.runtime.SwapEvents(true) }},
		{name: "no event of runs", turns: "LoseEvents", turn: func(f *broken) { f.runtime.LoseEvents("agent", true); f.runtime.LoseEvents("chat", true) }},
		{name: "no event arrives", turns: "LoseEvents", turn: func(f *broken) { f.runtime.LoseEvents("", true) }},
		{name: "no event is sent", turns: "MuteEvents", turn: func(f *broken) { f.runtime.MuteEvents(true) }},
		{name: "a frame of somebody else's making", turns: "Inject", turn: func(f *broken) {
			f.runtime.Inject([]byte(`{"type":"event","event":"sessions.changed","payload":[[[`), false)
			f.runtime.Inject([]byte(`{"type":"event","event":"agent","payload":{"stream":"lifecycle","runId":"x","sessionKey":"agent:cto:none","data":{"phase":"start"}}}`), false)
		}},
		{name: "no numbers yet", turns: "Refreshing", turn: func(f *broken) { f.runtime.Refreshing(1000) }, during: func(f *broken) {
			var before int64
			if was := f.owner.session(cto).Tokens; was != nil {
				before = was.Output
			}
			f.answers()
			f.await("the numbers to be unknown, or those of the transcript", func() bool {
				got := f.owner.session(cto)
				if got.Tokens == nil {
					return got.CostUSD == nil && got.CostComplete == nil
				}
				return got.Tokens.Output > before
			})
			f.wantThere()
		}},
		// After the clock is set back, old totals can stand as current for a minute, so these come last.
		{name: "the clock is behind", turns: "Skew Drop", turn: func(f *broken) { f.runtime.Skew(-26 * time.Hour); f.again() }},
		{name: "the clock is ahead", turns: "Skew Drop", turn: func(f *broken) { f.runtime.Skew(26 * time.Hour); f.again() }},
	}
}

// agents returns trials in which a single agent fails.
func agents() []trial {
	// ends waits for the end of a run that does not succeed.
	ends := func(f *broken, id string, want gateway.Outcome, status string) {
		a, err := f.s.Gateway.Wait(f.t.Context(), id, 40*time.Second)
		if err != nil || a.Outcome != want {
			f.t.Errorf("%s: %+v, %v, want it %s", id, a, err, want)
		}
		f.await("the session to be "+status, func() bool {
			got := f.owner.session(cto)
			return !got.Active && got.Status != nil && *got.Status == status
		})
		f.wantThere()
	}
	active := func(f *broken, id string) {
		f.await("the run to show", func() bool {
			got := f.owner.session(cto)
			return got.Active && got.ActiveRunID != nil && *got.ActiveRunID == id
		})
		f.await("the presence", func() bool { return f.owner.presence("cto").State == agent.Active })
	}
	return []trial{
		{name: "an agent thinks long", turns: "Delay", turn: func(f *broken) { f.runtime.Delay("cto", 15*time.Second) }, during: func(f *broken) {
			id := f.begin()
			active(f, id)
			f.s.answered(id)
			f.wantThere()
		}},
		{name: "an agent never ends", turns: "Silence", turn: func(f *broken) { f.runtime.Silence("cto", true) }, during: func(f *broken) {
			const id = "run-silent"
			if err := f.ask(id, 15*time.Second); err != nil {
				f.t.Fatal(err)
			}
			active(f, id)
			ends(f, id, gateway.TimedOut, "timeout")
		}},
		{name: "the clockwork of jobs stands still", turns: "StopJobs", turn: func(f *broken) { f.runtime.StopJobs(true) }}, // see TestMissedJobReachesTheInbox
		{name: "an agent's provider refuses", turns: "Fail", turn: func(f *broken) { f.runtime.Fail("cto", "the provider is overloaded") }, during: func(f *broken) {
			ends(f, f.begin(), gateway.Failed, "failed")
		}},
	}
}

// unreachable returns a trial without a connection.
func unreachable(name, turns, says string, turn func(*broken)) trial {
	return trial{
		name: name, turns: turns, turn: turn, says: says,
		state: link.Unreachable, status: http.StatusServiceUnavailable, code: "gateway_unreachable",
	}
}

// lives returns trials in which the runtime or connections stop and start.
func lives() []trial {
	starting := unreachable("starting for long", "Starting Drop", "starting", func(f *broken) { f.runtime.Starting(true); f.runtime.Drop() })
	restart := unreachable("a restart that takes long", "Restart", "", func(f *broken) { f.runtime.Restart(15 * time.Second) })
	closed := unreachable("the end", "Close", "", func(f *broken) { _ = f.runtime.Close() })
	closed.heal = func(f *broken) { f.reopen() }
	return []trial{
		{name: "the cable", turns: "Drop", turn: func(f *broken) { f.again() }},
		{name: "a restart at once", turns: "Restart", turn: func(f *broken) {
			made := f.s.Gateway.Connections()
			f.runtime.Restart(0)
			f.await("the next connection", func() bool { return f.s.Gateway.Connections() > made })
		}},
		{name: "a restart in the middle of a run", turns: "Restart Silence", turn: func(f *broken) {
			f.runtime.Silence("cto", true)
			f.begin()
			made := f.s.Gateway.Connections()
			f.runtime.Restart(0)
			f.runtime.Silence("cto", false)
			f.await("the next connection", func() bool { return f.s.Gateway.Connections() > made })
		}},
		{name: "a restart after which the turn is resumed", turns: "Resume Restart Silence", turn: func(f *broken) {
			f.runtime.Resume(50 * time.Millisecond)
			f.runtime.Silence("cto", true)
			f.begin()
			made := f.s.Gateway.Connections()
			f.runtime.Restart(0)
			f.runtime.Silence("cto", false)
			f.await("the next connection", func() bool { return f.s.Gateway.Connections() > made })
		}},
		restart, starting, closed,
	}
}

// closedDoors returns what else may answer at the runtime's address, with a part of the
// status that Wardroom then shows.
func closedDoors() map[faults.PortMode]string {
	return map[faults.PortMode]string{
		faults.PortWebPage: "HTTP 200", faults.PortBadGateway: "HTTP 502", faults.PortUnavailable: "HTTP 503", faults.PortRedirect: "redirects",
		faults.PortProxyRefused: "HTTP 403", faults.PortReset: "closed the connection", faults.PortSilent: "did not answer within",
	}
}

// doors returns a trial for each of them.
func doors() []trial {
	var trials []trial
	for door, says := range closedDoors() {
		if door == faults.PortSilent {
			continue
		}
		trials = append(trials, unreachable("door "+fmt.Sprint(door), "SetPort Drop", says, func(f *broken) {
			f.runtime.SetPort(door)
			f.runtime.Drop()
		}))
	}
	return append(trials, trial{
		name: "the mute door", turns: "SetPort Drop", turn: func(f *broken) { f.runtime.SetPort(faults.PortSilent); f.runtime.Drop() },
		state: link.Slow, status: http.StatusGatewayTimeout, code: "gateway_timeout", says: closedDoors()[faults.PortSilent],
	})
}

// lockedFor is how long the runtime locks Wardroom out. Even a busy machine finishes its
// checks in that time.
const lockedFor = 20 * time.Second

// access returns trials in which the runtime refuses scopes or methods.
func access() []trial {
	const otherToken = "another-gateway-token-09ab"
	unauthorized := trial{state: link.Unauthorized, status: http.StatusServiceUnavailable, code: "gateway_unauthorized"}
	locked, changed := unauthorized, unauthorized
	locked.name, locked.turns, locked.says = "locked out", "LockOut Drop", "locked"
	locked.turn = func(f *broken) { f.runtime.LockOut(lockedFor); f.runtime.Drop() }
	changed.name, changed.turns, changed.says = "another token", "ChangeToken", "AGENTRT_GATEWAY_TOKEN"
	changed.turn = func(f *broken) { f.secret(otherToken, "another token"); f.runtime.ChangeToken(otherToken) }
	changed.heal = func(f *broken) { f.runtime.ChangeToken(gatewayToken) }
	dropped := func(f *broken) { f.runtime.Drop() } // existing connections keep their scopes
	return []trial{
		locked, changed,
		{
			name: "no scope at all", turns: "Withhold Drop", turn: func(f *broken) { f.runtime.Withhold("operator.read", "operator.write"); f.runtime.Drop() },
			state: link.MissingScopes, status: http.StatusForbidden, code: "missing_scope", says: "operator.read", heal: dropped,
		},
		{name: "not the scope to ask", turns: "Withhold Drop", turn: func(f *broken) { f.runtime.Withhold("operator.write"); f.again() }, heal: dropped, during: func(f *broken) {
			if st := f.owner.status(); st.State != link.MissingScopes || !strings.Contains(st.LastError, "operator.write") {
				f.t.Errorf("the status is %+v", st)
			}
			if err := f.ask("run-refused", time.Second); err == nil {
				f.t.Error("without the scope a question was taken")
			}
			f.owner.session(cto)
			if p := f.owner.presence("cto"); p.State != agent.Idle {
				f.t.Errorf("the presence is %+v", p)
			}
		}},
		{name: "without methods that are used", turns: "RemoveMethods Drop", turn: func(f *broken) { f.runtime.RemoveMethods("chat.history", "sessions.usage"); f.again() }, heal: dropped, during: func(f *broken) {
			lacks := func(method string) bool {
				return slices.ContainsFunc(f.owner.status().Unavailable, func(u link.Unavailable) bool { return u.Method == method && u.Feature != "" && u.Why != "" })
			}
			_ = f.ask("run-uncounted", time.Second) // the totals are read after a run; else every two minutes
			f.await("both being told, also the one that no gateway lists", func() bool { return lacks("chat.history") && lacks("sessions.usage") })
			if st := f.owner.status(); st.State != link.Connected {
				f.t.Errorf("the status is %+v", st)
			}
			f.owner.session(cto)
		}},
		unreachable("an older protocol", "SetProtocol Drop", "protocol 3", func(f *broken) { f.runtime.SetProtocol(3); f.runtime.Drop() }),
		unreachable("a newer protocol", "SetProtocol Drop", "protocol 5", func(f *broken) { f.runtime.SetProtocol(5); f.runtime.Drop() }),
	}
}

// asDevice gives the service a key pair.
func asDevice(h *house) {
	h.raw.DevicePrivateKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	h.secret(h.raw.DevicePrivateKey.Reveal(), "the device's key")
}

// devices returns trials of the pairing.
func devices() []trial {
	approve := func(f *broken) {
		for _, p := range f.runtime.Pending() {
			f.runtime.Approve(p.ID)
		}
	}
	unpaired := trial{
		state: link.Unpaired, status: http.StatusServiceUnavailable, code: "gateway_unpaired", says: "openclaw devices approve ", heal: approve,
		during: func(f *broken) {
			if p := f.owner.status().Pairing; p == nil || p.RequestID != f.runtime.Pending()[0].ID {
				f.t.Errorf("unpaired, the pairing is %+v", p)
			}
		},
	}
	required, removed := unpaired, unpaired
	required.name, required.turns = "a pairing is required", "RequirePairing Drop"
	required.turn = func(f *broken) { f.runtime.RequirePairing(true); f.runtime.Drop() }
	removed.name, removed.turns = "the device is removed", "Remove"
	removed.turn = func(f *broken) { f.runtime.Remove(f.owner.status().DeviceID) }
	return []trial{
		required,
		{name: "another device token", turns: "RotateToken Drop", turn: func(f *broken) {
			f.runtime.RotateToken(f.owner.status().DeviceID)
			f.again()
		}},
		removed,
		{name: "the clock is ahead", turns: "Skew Drop", turn: func(f *broken) { f.runtime.Skew(time.Hour); f.again() }},
	}
}

// withTLS gives the house a runtime with a pinned certificate.
func withTLS(h *house) {
	h.t.Helper()
	r, err := faults.StartTLS(context.Background(), demo.Options{Token: gatewayToken, Board: h.tasksOf})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = r.Close() })
	h.runtime = r
	h.raw.GatewayURL, h.raw.GatewayTLSPin = r.URL(), r.Fingerprint()
}

// certificates returns trials with a changed certificate, which is not trusted until a
// person changes the setting.
func certificates() []trial {
	return []trial{{
		name: "another certificate", turns: "ChangeCertificate Drop", turn: func(f *broken) {
			if err := f.runtime.ChangeCertificate(); err != nil {
				f.t.Fatal(err)
			}
			f.runtime.Drop()
		},
		state: link.Untrusted, status: http.StatusServiceUnavailable, code: "gateway_untrusted", says: "AGENTRT_GATEWAY_TLS_PIN",
		during: func(f *broken) {
			shown := f.owner.status().Certificate
			if shown == nil || !strings.EqualFold(strings.ReplaceAll(shown.Fingerprint, ":", ""), f.runtime.Fingerprint()) {
				f.t.Errorf("the certificate is shown as %+v", shown)
			}
		},
		heal: func(f *broken) {
			f.load.end()
			f.s.stop()
			f.raw.GatewayTLSPin = f.runtime.Fingerprint()
			f.s = f.start().connected()
			f.owner = f.s.login(ownerEmail)
			f.begins()
		},
	}}
}

// slow returns a trial in which the connected runtime does not answer.
func slow(name, turns string, turn func(*broken)) trial {
	return trial{
		name: name, turns: turns, turn: func(f *broken) {
			turn(f)
			f.owner.get("/api/v1/agents").want(http.StatusOK) // a request has to notice it
		},
		state: link.Slow, status: http.StatusGatewayTimeout, code: "gateway_timeout", says: "did not answer",
	}
}

// silence returns trials with late or missing answers.
func silence() []trial {
	return []trial{
		{name: "late lists", turns: "Lag", turn: func(f *broken) { f.runtime.Lag("sessions.list", 400*time.Millisecond) }},
		{name: "a late handshake", turns: "Lag Drop", turn: func(f *broken) { f.runtime.Lag("connect", 400*time.Millisecond); f.again() }},
		{name: "no costs", turns: "Hang", turn: func(f *broken) { f.runtime.Hang("sessions.usage", true) }, during: func(f *broken) {
			f.answers()
			f.wantThere()
		}},
	}
}

// muteness returns trials in which requests are never answered but events arrive.
func muteness() []trial {
	return []trial{slow("no answer", "Hang", func(f *broken) { f.runtime.Hang("", true) })}
}

// halfOpen returns trials with an open connection that delivers nothing.
func halfOpen() []trial {
	return []trial{slow("half open", "Freeze", func(f *broken) { f.runtime.Freeze(true) })}
}

// torn returns trials with connections that break within a frame.
func torn() []trial {
	return []trial{
		{name: "a torn answer", turns: "Tear", turn: func(f *broken) { f.runtime.Tear("agents.list", true) }, during: func(f *broken) {
			made := f.s.Gateway.Connections()
			for id, a := range f.owner.team() {
				if a.Runtime != nil {
					f.t.Errorf("%s is in the runtime: %t, although half of the roster is missing", id, *a.Runtime)
				}
			}
			f.await("the next connection", func() bool { return f.s.Gateway.Connections() > made })
			f.answersAgain()
		}},
		unreachable("torn handshakes", "Tear Drop", "", func(f *broken) { f.runtime.Tear("", true); f.runtime.Drop() }),
	}
}

// Sizes of frames: the gateway's limit, and how much the heap may grow.
const (
	largest = 25 << 20
	large   = 4 << 20 // the race detector can read this much in time
	room    = 512 << 20
	rest    = 64 << 20
)

// huge returns trials with frames of the maximum size and above.
func huge() []trial {
	return []trial{
		{name: "huge answers", turns: "Bloat", turn: func(f *broken) { f.runtime.Bloat("agents.list", large) }, during: func(f *broken) {
			f.wantRoom(f.wantThere)
		}},
		{name: "large events", turns: "Bloat", turn: func(f *broken) { f.runtime.Bloat("agent", 1<<20); f.runtime.Bloat("chat", 1<<20) }, during: func(f *broken) {
			f.wantRoom(f.answers)
		}},
		{name: "an answer that is too large", turns: "Bloat", turn: func(f *broken) { f.runtime.Bloat("agents.list", largest+1) }, during: func(f *broken) {
			made := f.s.Gateway.Connections()
			f.wantRoom(func() { f.owner.team() })
			f.await("the next connection", func() bool { return f.s.Gateway.Connections() > made })
			f.answersAgain()
		}},
		unreachable("a greeting that is too large", "Bloat Drop", "", func(f *broken) { f.runtime.Bloat("connect", 20<<20); f.runtime.Drop() }),
	}
}

// wantRoom checks that the heap does not grow much while fn runs.
func (f *broken) wantRoom(fn func()) {
	f.t.Helper()
	runtime.GC()
	before, most := heap(), uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for {
			most = max(most, heap())
			select {
			case <-stop:
				return
			case <-look.C:
			}
		}
	}()
	fn()
	close(stop)
	<-done
	f.t.Logf("the heap had %d MiB, and at most %d MiB", before>>20, most>>20)
	if most > before+room {
		f.t.Errorf("the heap grew from %d MiB to %d MiB", before>>20, most>>20)
	}
	f.await("the room to be given back", func() bool { runtime.GC(); return heap() < before+rest })
}

// heap returns the size of all objects, including garbage.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
