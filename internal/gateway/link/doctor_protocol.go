package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/fault"
)

// checkGateway examines the layers above HTTP. It connects in the same way as the client,
// with each credential that the client would try.
func (x *examination) checkGateway(ctx context.Context) bool {
	for {
		k, h, ok, again := x.authenticate(ctx)
		if again {
			continue
		}
		if !ok {
			return false
		}
		if !x.checkScopes(ctx, h) || !x.recordProtocol(h) {
			k.closeNow(nil)
			return false
		}
		return x.checkUse(ctx, k, h)
	}
}

// authenticate opens one connection and completes its handshake. If the gateway rejects
// the credential and the client has another one to try, again is true.
func (x *examination) authenticate(ctx context.Context) (k *Conn, h hello, ok, again bool) {
	c := x.client
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	x.begin()
	k, fail := c.dial(ctx)
	if fail != nil {
		return nil, h, x.fail(LayerUpgrade, fail), false
	}
	x.ok(LayerUpgrade, "WebSocket connection opened.")
	x.begin()
	h, fail = c.handshake(ctx, k)
	if k.challengedAt.IsZero() {
		k.closeNow(nil)
		return nil, h, x.fail(LayerChallenge, fail), false
	}
	x.step(LayerChallenge, StepOK, k.challengedAt.Sub(x.began), "Received the gateway's challenge"+x.checkClocks(k)+".")
	x.began = k.challengedAt
	if fail != nil {
		k.closeNow(nil)
		if fail.pace == soon && fail.layer != LayerScopes {
			x.warn(LayerAuth, fail.text, strings.TrimSuffix(fail.fix, anotherCredential))
			return nil, h, false, true
		}
		if fail.pairing != nil {
			x.step(LayerAuth, StepOK, -1, "The gateway accepted the token: it checks the token before it requires approval.")
		}
		if fail.narrow && x.asksForAdmin() {
			if _, second := x.checkRunConn(ctx); second == nil {
				fail.text += " Without operator.admin the connection works, but Wardroom cannot change schedules or stop other clients' runs."
			}
		}
		return nil, h, x.fail(LayerAuth, fail), false
	}
	k.ws.SetReadLimit(h.readLimit())
	x.recordAuth(k)
	return k, h, true, false
}

// skewed is the smallest clock difference for which the doctor adds a warning. When the gateway
// checks signatures, it tolerates two minutes.
const skewed = 30 * time.Second

// checkClocks compares the gateway's clock with this host's clock, and adds a warning if
// they differ too much.
func (x *examination) checkClocks(k *Conn) string {
	ahead := k.ahead
	if max(ahead, -ahead) < skewed {
		return ""
	}
	by := fmt.Sprintf("%s ahead of", ahead.Round(time.Second))
	if ahead < 0 {
		by = fmt.Sprintf("%s behind", (-ahead).Round(time.Second))
	}
	if !slices.ContainsFunc(x.result.Warnings, func(f Finding) bool { return f.Layer == LayerChallenge }) {
		x.warn(LayerChallenge, fmt.Sprintf("The gateway's clock is %s this host's. The connection works, but the times of sessions and schedules are wrong by the same amount.", by),
			"Correct the clock of the host that is wrong, for example with: timedatectl set-ntp true")
	}
	return fmt.Sprintf(". The gateway's clock is %s this host's", by)
}

// recordAuth records which credential the gateway accepted and whether the device is
// paired.
func (x *examination) recordAuth(k *Conn) {
	c := x.client
	took := time.Since(k.challengedAt)
	with := "No token required."
	switch k.cred.kind {
	case sharedToken:
		with = "Shared token accepted."
	case deviceToken:
		with = "Device token accepted."
	}
	x.step(LayerAuth, StepOK, took, with)
	if k.cred.kind == noCredential {
		x.warn(LayerAuth, "The gateway requires no token, so anyone can connect to it.",
			"Set gateway.auth.token in its configuration, and AGENTRT_GATEWAY_TOKEN to the same token.")
	}
	switch {
	case c.device == nil:
		x.step(LayerPairing, StepSkipped, -1, "Wardroom has no device key, and the gateway does not require one.")
	case k.cred.kind == deviceToken || c.wallet.issued != "":
		x.step(LayerPairing, StepOK, -1, fmt.Sprintf("The device %s is paired.", c.device.id))
	default:
		x.step(LayerPairing, StepOK, -1,
			fmt.Sprintf("The gateway accepted the device %s without approval, as it does on its own host.", c.device.id))
	}
}

// checkScopes compares the granted scopes with the requested ones, on both connections if
// there are two.
func (x *examination) checkScopes(ctx context.Context, h hello) bool {
	c := x.client
	has := scopesOf(h.Auth.Scopes)
	missing := missingScopes(c.opt.Scopes, has)
	x.begin()
	if len(missing) == 0 {
		saw := fmt.Sprintf("Granted: %s.", strings.Join(has, ", "))
		if !x.asksForAdmin() {
			x.step(LayerScopes, StepOK, -1, saw)
			return true
		}
		second, fail := x.checkRunConn(ctx)
		if fail != nil {
			fail.text, fail.layer = "Could not open the second connection, which starts runs without operator.admin. "+fail.text,
				LayerScopes
			fail.fix = cmp.Or(fail.fix, "Check the gateway's log.")
			return x.fail(LayerScopes, fail)
		}
		x.ok(LayerScopes, saw+" "+second)
		return true
	}
	f := &failure{
		text: fmt.Sprintf("The gateway granted %s, but not %s. %s", orNone(has),
			strings.Join(missing, ", "), neededFor(missing)),
	}
	f.fix = "Pair Wardroom in the dashboard under Settings → Gateway, or run it on the gateway's host, where scopes need no approval."
	if c.device != nil {
		f.fix = "Approve more scopes for the device on the gateway's host (openclaw devices list, then openclaw devices approve)."
	}
	if len(has) > 0 {
		f.fix += " Or request fewer: AGENTRT_GATEWAY_SCOPES=" + strings.Join(has, ",")
	}
	return x.fail(LayerScopes, f)
}

// asksForAdmin reports whether the client requests operator.admin. If it does, there are
// two connections to examine.
func (x *examination) asksForAdmin() bool { return slices.Contains(x.client.opt.Scopes, scopeAdmin) }

// checkRunConn opens the connection for starting runs in the same way as the client, and
// closes it again.
func (x *examination) checkRunConn(ctx context.Context) (saw string, fail *failure) {
	s := x.client.cloneAs(x.client.at, x.client.device, x.client.wallet)
	s.opt.Scopes = runScopes(s.opt.Scopes, s.device != nil)
	k, h, fail := s.connect(ctx)
	if fail != nil {
		return "", fail
	}
	k.closeGracefully()
	k.closeNow(nil)
	has := scopesOf(h.Auth.Scopes)
	if s.holdsAdmin(has) {
		return "", unrequestedAdmin()
	}
	if missing := missingScopes(s.opt.Scopes, has); len(missing) > 0 {
		return "", &failure{
			text: fmt.Sprintf("The gateway granted it %s, but not %s.", orNone(has), strings.Join(missing, ", ")),
		}
	}
	return fmt.Sprintf("The second connection, which starts runs, has %s without operator.admin.",
		strings.Join(has, ", ")), nil
}

// recordProtocol records the protocol version, which the handshake has already checked.
func (x *examination) recordProtocol(h hello) bool {
	saw := fmt.Sprintf("Protocol %d", protocol)
	if v := x.client.secrets.Bounded(h.Server.Version, 40); v != "" {
		saw += ", gateway " + v
		if v != Tested {
			saw += " (Wardroom is tested with " + Tested + ")"
		}
	}
	x.step(LayerProtocol, StepOK, -1, saw+".")
	return true
}

// checkUse checks the gateway's methods and events while the client serves the
// connection as usual.
func (x *examination) checkUse(ctx context.Context, k *Conn, h hello) bool {
	c := x.client
	events, stop := c.Events(16)
	defer stop()
	serving, leave := context.WithCancel(ctx)
	c.attach(k, h)
	var readRowEvent sync.WaitGroup
	readRowEvent.Go(func() { c.serveAttached(serving, k) })
	defer readRowEvent.Wait()
	defer leave()
	return x.checkMethods(ctx, h) && x.checkEvents(ctx, k, events)
}

// checkMethods checks that the gateway offers the required methods, and that calling one
// of them works.
func (x *examination) checkMethods(ctx context.Context, h hello) bool {
	c := x.client
	x.begin()
	if without := missingFeatures(h.Features.Methods); len(without) > 0 {
		var names, features []string
		for _, u := range without {
			names = append(names, u.Method)
			if !slices.Contains(features, u.Feature) {
				features = append(features, u.Feature)
			}
		}
		return x.fail(LayerMethods, &failure{
			text: fmt.Sprintf("The gateway does not have %s. These features do not work: %s.", strings.Join(names, ", "),
				strings.Join(features, "; ")),
			fix: updateGateway,
		})
	}
	listed := fmt.Sprintf("The gateway has all %d methods that Wardroom uses", len(needs()))
	if len(h.Features.Methods) == 0 {
		listed = "The gateway lists no methods"
	}
	what, err := x.sendProbe(ctx)
	if err == nil {
		x.ok(LayerMethods, listed+what)
		return true
	}
	f := &failure{
		text: "The gateway accepted the connection but did not answer correctly.", fix: "Check the gateway's log.",
	}
	if fa := fault.Of(err); fa != nil {
		f.text = strings.TrimSpace(fa.Title + " " + fa.Detail)
	}
	if errors.Is(err, ErrTimeout) {
		f.text = fmt.Sprintf("The gateway accepted the connection but did not answer a simple request within %s.",
			c.opt.Timeout)
		f.fix = slowHostFix
	}
	return x.fail(LayerMethods, f)
}

// sendProbe sends a read-only request and returns a phrase that describes the response.
func (x *examination) sendProbe(ctx context.Context) (saw string, err error) {
	c := x.client
	if !slices.ContainsFunc(c.Status().ScopesGranted, func(g string) bool { return covers(g, "operator.read") }) {
		var out struct{}
		return "; it answered health.", c.Call(ctx, "health", struct{}{}, &out)
	}
	var list struct {
		Agents []struct {
			ID wire.Word `json:"id"`
		} `json:"agents"`
	}
	err = c.Call(ctx, "agents.list", struct{}{}, &list)
	var ids []string
	for _, a := range list.Agents[:min(len(list.Agents), 8)] {
		ids = append(ids, c.secrets.Line(string(a.ID)))
	}
	if len(ids) == 0 {
		return "; it has no agents.", err
	}
	return fmt.Sprintf("; its agents are %s.", strings.Join(ids, ", ")), err
}

// checkEvents checks that events arrive. If the client's own connection has received an
// event recently, that is enough. Otherwise checkEvents waits for an event for slightly
// longer than the interval that the gateway announced.
func (x *examination) checkEvents(ctx context.Context, k *Conn, events <-chan Event) bool {
	c := x.client
	if c.at.trial {
		x.step(LayerEvents, StepSkipped, -1, "Not checked: events are checked once these settings are in use.")
		return true
	}
	x.begin()
	if age, ok := x.owner.recentEvent(); ok {
		x.step(LayerEvents, StepOK, -1,
			fmt.Sprintf("Wardroom's own connection received an event %s ago.", age.Round(100*time.Millisecond)))
		return true
	}
	tick := k.tick
	if tick <= 0 {
		tick = eventLimit / 2
	}
	// Allow for a tick that is slightly late.
	patience := min(tick+tick/4+500*time.Millisecond, eventLimit)
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case e, open := <-events:
			switch {
			case !open:
				x.ok(LayerEvents, "Received more events than this check reads.")
				return true
			case e.Name == EventDisconnected:
				return x.fail(LayerEvents,
					unreachable("The connection was lost while waiting for events. %s",
						c.Status().LastError).withFix("Check the gateway's log, and any proxy in between."))
			case e.Seq > 0 || e.Name != EventConnected && e.Name != EventGap:
				x.ok(LayerEvents, fmt.Sprintf("Received the event %s.", c.secrets.Bounded(e.Name, 60)))
				return true
			}
		case <-ctx.Done():
			return x.fail(LayerEvents,
				unreachable("No event arrived before the examination's time limit.").withFix("Run it again."))
		case <-late.C:
			return x.fail(LayerEvents, unreachable(
				"The gateway answers requests but sent no event within %s, although it announced one every %s.",
				patience.Round(time.Millisecond), tick,
			).
				withFix("Session data is out of date. Restart the gateway, and check that any proxy in between passes on events without buffering."))
		}
	}
}

// recentEvent returns the time since the last event, and reports whether that is at most twice the
// gateway's announced tick interval.
func (c *Client) recentEvent() (age time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.watching
	if k == nil || k.tick == 0 {
		return 0, false
	}
	at := k.eventAt.Load()
	age = c.opt.Now().Sub(time.UnixMilli(at))
	return max(age, 0), at > 0 && age <= 2*k.tick
}
