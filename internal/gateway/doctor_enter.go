package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/platform/fault"
)

// enter examines what the gateway itself decides: it connects as the client
// does, with each credential that the client would try.
func (x *examination) enter(ctx context.Context) bool {
	for {
		k, h, ok, again := x.introduce(ctx)
		if again {
			continue
		}
		if !ok {
			return false
		}
		if !x.granted(ctx, h) || !x.speaks(h) {
			k.drop(nil)
			return false
		}
		return x.uses(ctx, k, h)
	}
}

// introduce makes one connection, up to the gateway's greeting. again says that
// the credential was refused and the client has another.
func (x *examination) introduce(ctx context.Context) (k *conn, h hello, ok, again bool) {
	c := x.client
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	x.begin()
	k, fail := c.dial(ctx)
	if fail != nil {
		return nil, h, x.fail(LayerUpgrade, fail), false
	}
	x.ok(LayerUpgrade, "A WebSocket is open.")
	x.begin()
	h, fail = c.handshake(ctx, k)
	if k.challengedAt.IsZero() {
		k.drop(nil)
		return nil, h, x.fail(LayerChallenge, fail), false
	}
	x.step(LayerChallenge, StepOK, k.challengedAt.Sub(x.began), "The gateway sent its challenge"+x.clocks(k)+".")
	x.began = k.challengedAt
	if fail != nil {
		k.drop(nil)
		if fail.pace == soon && fail.layer != LayerScopes {
			x.warn(LayerAuth, fail.text, strings.TrimSuffix(fail.fix, " Another credential is tried next."))
			return nil, h, false, true
		}
		if fail.pairing != nil {
			x.step(LayerAuth, StepOK, -1, "The gateway took the token: it looks at that before it asks for an approval.")
		}
		if fail.narrow && x.asksForAdmin() {
			if _, second := x.startsRuns(ctx); second == nil {
				fail.text += " Without operator.admin the gateway lets this service in: until then agents are asked and watched, and only schedules cannot be changed."
			}
		}
		return nil, h, x.fail(LayerAuth, fail), false
	}
	k.ws.SetReadLimit(h.readLimit())
	x.admitted(k)
	return k, h, true, false
}

// skewed is from when on two clocks differ so much that people notice. The
// gateway itself takes signatures whose time differs from its own by two
// minutes at most.
const skewed = 30 * time.Second

// clocks compares the gateway's clock with ours, and warns.
func (x *examination) clocks(k *conn) string {
	ahead := k.ahead
	if max(ahead, -ahead) < skewed {
		return ""
	}
	by := fmt.Sprintf("%s ahead of", ahead.Round(time.Second))
	if ahead < 0 {
		by = fmt.Sprintf("%s behind", (-ahead).Round(time.Second))
	}
	if !slices.ContainsFunc(x.is.Warnings, func(f Finding) bool { return f.Layer == LayerChallenge }) {
		x.warn(LayerChallenge, fmt.Sprintf("The gateway's clock is %s this host's. A device's signature holds all the same, because it carries the time of the gateway's own challenge; "+
			"but times of sessions, ages and schedules are shown wrong by as much.", by),
			"Set the clock of whichever host is wrong, for example: timedatectl set-ntp true")
	}
	return fmt.Sprintf(", by whose clock it is %s ours", strings.Replace(by, "ahead of", "later than", 1))
}

// admitted notes with what we were let in.
func (x *examination) admitted(k *conn) {
	c := x.client
	took := time.Since(k.challengedAt)
	with := map[string]string{
		sharedToken: "Accepted with the shared token.", deviceToken: "Accepted with the device's token.", noCredential: "Accepted without a token.",
	}[k.cred.kind]
	x.step(LayerAuth, StepOK, took, with)
	if k.cred.kind == noCredential {
		x.warn(LayerAuth, "The gateway lets anybody in: it asks for no token.", "Set gateway.auth.token in its configuration, and AGENTRT_GATEWAY_TOKEN here.")
	}
	switch {
	case c.device == nil:
		x.step(LayerPairing, StepSkipped, -1, "This service has no device key, and the gateway let it in without one.")
	case k.cred.kind == deviceToken || c.wallet.issued != "":
		x.step(LayerPairing, StepOK, -1, fmt.Sprintf("The device %s is paired.", c.device.id))
	default:
		x.step(LayerPairing, StepOK, -1, fmt.Sprintf("The device %s was let in without an approval, as on the gateway's own host.", c.device.id))
	}
}

// granted compares the scopes with those that were asked for, on both connections
// where there are two.
func (x *examination) granted(ctx context.Context, h hello) bool {
	c := x.client
	has := scopesOf(h.Auth.Scopes)
	missing := missingScopes(c.opt.Scopes, has)
	x.begin()
	if len(missing) == 0 {
		saw := fmt.Sprintf("Granted as asked: %s.", strings.Join(has, ", "))
		if !x.asksForAdmin() {
			x.step(LayerScopes, StepOK, -1, saw)
			return true
		}
		second, fail := x.startsRuns(ctx)
		if fail != nil {
			fail.text, fail.layer = "The second connection, which starts runs without operator.admin, cannot be made. "+fail.text, LayerScopes
			fail.fix = cmp.Or(fail.fix, "Look at the gateway's log.")
			return x.fail(LayerScopes, fail)
		}
		x.ok(LayerScopes, saw+" "+second)
		return true
	}
	f := &failure{text: fmt.Sprintf("The gateway granted %s and not %s. %s", orNone(has), strings.Join(missing, ", "), neededFor(missing))}
	f.fix = "On the gateway's own host a service is granted what it asks for; from elsewhere it has to be a paired device: “Pair this service” in the dashboard, under Settings → Gateway, makes it one and says what to run there."
	if c.device != nil {
		f.fix = "Approve this device for more on the gateway's host (openclaw devices list, openclaw devices approve)."
	}
	if len(has) > 0 {
		f.fix += " Or do without: AGENTRT_GATEWAY_SCOPES=" + strings.Join(has, ",")
	}
	return x.fail(LayerScopes, f)
}

// asksForAdmin reports whether there are two connections to examine.
func (x *examination) asksForAdmin() bool { return slices.Contains(x.client.opt.Scopes, scopeAdmin) }

// startsRuns makes the connection that starts runs, as the client does, and ends it.
func (x *examination) startsRuns(ctx context.Context) (saw string, fail *failure) {
	s := x.client.twinAs(x.client.device, x.client.wallet)
	s.opt.Scopes = runScopes(s.opt.Scopes)
	k, h, fail := s.connect(ctx)
	if fail != nil {
		return "", fail
	}
	k.farewell()
	k.drop(nil)
	has := scopesOf(h.Auth.Scopes)
	if s.holdsAdmin(has) {
		return "", unasked()
	}
	if missing := missingScopes(s.opt.Scopes, has); len(missing) > 0 {
		return "", &failure{text: fmt.Sprintf("The gateway granted it %s and not %s.", orNone(has), strings.Join(missing, ", "))}
	}
	return fmt.Sprintf("The second connection, which starts runs, is granted %s and not operator.admin.", strings.Join(has, ", ")), nil
}

// speaks notes the version of the protocol, which the handshake has checked.
func (x *examination) speaks(h hello) bool {
	saw := fmt.Sprintf("Protocol %d", protocol)
	if v := x.client.secrets.bounded(h.Server.Version, 40); v != "" {
		saw += ", gateway " + v
		if v != Tested {
			saw += " (this service is tested with " + Tested + ")"
		}
	}
	x.step(LayerProtocol, StepOK, -1, saw+".")
	return true
}

// uses serves the connection as the client does, and examines methods and events.
func (x *examination) uses(ctx context.Context, k *conn, h hello) bool {
	c := x.client
	events, stop := c.Events(16)
	defer stop()
	serving, leave := context.WithCancel(ctx)
	c.attach(k, h)
	var carried sync.WaitGroup
	carried.Go(func() { c.carry(serving, k) })
	defer carried.Wait()
	defer leave()
	return x.answers(ctx, h) && x.tells(ctx, k, events)
}

// answers looks whether the gateway has the methods that we use, and asks one.
func (x *examination) answers(ctx context.Context, h hello) bool {
	c := x.client
	x.begin()
	if without := lacking(h.Features.Methods); len(without) > 0 {
		var names, features []string
		for _, u := range without {
			names = append(names, u.Method)
			if !slices.Contains(features, u.Feature) {
				features = append(features, u.Feature)
			}
		}
		return x.fail(LayerMethods, &failure{
			text: fmt.Sprintf("The gateway does not have %s. What does not work because of that: %s. All else does.", strings.Join(names, ", "), strings.Join(features, "; ")),
			fix:  updateGateway,
		})
	}
	listed := fmt.Sprintf("All %d methods that we use are there", len(needs()))
	if len(h.Features.Methods) == 0 {
		listed = "The gateway lists no methods"
	}
	what, err := x.ask(ctx)
	if err == nil {
		x.ok(LayerMethods, listed+what)
		return true
	}
	f := &failure{text: "The gateway let us in and does not answer as it should.", fix: "Look at the gateway's log."}
	if fa := fault.Of(err); fa != nil {
		f.text = strings.TrimSpace(fa.Title + " " + fa.Detail)
	}
	if errors.Is(err, ErrTimeout) {
		f.text = fmt.Sprintf("The gateway let us in and did not answer a simple question within %s.", c.opt.Timeout)
		f.fix = lookAtHost
	}
	return x.fail(LayerMethods, f)
}

// ask puts a question that changes nothing.
func (x *examination) ask(ctx context.Context) (saw string, err error) {
	c := x.client
	if !slices.ContainsFunc(c.Status().ScopesGranted, func(g string) bool { return covers(g, "operator.read") }) {
		var out struct{}
		return "; health was answered.", c.call(ctx, "health", struct{}{}, &out)
	}
	agents, err := c.Agents(ctx)
	var ids []string
	for _, a := range agents[:min(len(agents), 8)] {
		ids = append(ids, a.ID)
	}
	if len(agents) == 0 {
		return "; it has no agents.", err
	}
	return fmt.Sprintf("; its agents are %s.", strings.Join(ids, ", ")), err
}

// tells looks whether events come: on the connection of the service, where it
// has heard one lately, else on our own, for as long as the gateway announces.
func (x *examination) tells(ctx context.Context, k *conn, events <-chan Event) bool {
	c := x.client
	x.begin()
	if age, ok := x.owner.heardLately(); ok {
		x.step(LayerEvents, StepOK, -1, fmt.Sprintf("The service's own connection heard an event %s ago.", age.Round(100*time.Millisecond)))
		return true
	}
	tick := k.tick
	if tick <= 0 {
		tick = eventLimit / 2
	}
	// A tick may be late by a little.
	patience := min(tick+tick/4+500*time.Millisecond, eventLimit)
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case e, open := <-events:
			switch {
			case !open:
				x.ok(LayerEvents, "More events came than were read.")
				return true
			case e.Name == EventDisconnected:
				return x.fail(LayerEvents, unreachable("The connection ended while we listened for events. %s", c.Status().LastError).mend("Look at the gateway's log, and at what is between."))
			case e.Seq > 0 || e.Name != EventConnected && e.Name != EventGap:
				x.ok(LayerEvents, fmt.Sprintf("The event %s came.", c.secrets.bounded(e.Name, 60)))
				return true
			}
		case <-ctx.Done():
			return x.fail(LayerEvents, unreachable("No event came in the time that was left for this examination.").mend("Run it again."))
		case <-late.C:
			return x.fail(LayerEvents, unreachable("The gateway answers, and sent no event within %s, although it announces one every %s.", patience.Round(time.Millisecond), tick).
				mend("What is seen of sessions is out of date. Restart the gateway; if a proxy is between, it must pass on what the gateway sends by itself, without holding it back."))
		}
	}
}

// heardLately says whether the connection of the service has had an event within
// twice the time that the gateway announces between two.
func (c *Client) heardLately() (age time.Duration, ok bool) {
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
