package pairing

import (
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway"
)

// show puts together what is stored and what the connection says.
func (s *Service) show(st gateway.Status, is, then *stored, trouble error) Pairing {
	p := Pairing{
		State: None, Connection: st.State, Auth: st.Auth, Request: st.Pairing,
		Asked: st.ScopesAsked, Granted: st.ScopesGranted, Connections: st.Connections,
	}
	switch {
	case s.Own != nil:
		d := deviceOf(s.Own)
		p.State, p.Device = Settings, &d
	case is != nil:
		p.own(st, is, trouble)
	}
	if s.Own == nil && then != nil {
		d := deviceOf(publicOf(then.device))
		d.MadeAt = then.device.MadeAt
		p.Next = &Next{Device: d, Request: then.answer.Request, Error: then.answer.Error}
	}
	if p.Request != nil {
		p.Granted = p.Request.ApprovedScopes
	}
	p.Missing = p.missing(st)
	p.Detail = s.detail(p, st, trouble)
	return p
}

// own tells of a device that was made here.
func (p *Pairing) own(st gateway.Status, is *stored, trouble error) {
	d := deviceOf(publicOf(is.device))
	d.MadeAt = is.device.MadeAt
	p.Device, p.Since, p.TokenSince = &d, d.MadeAt, is.tokenAt
	if is.replaced != "" {
		r := reminder(is.replaced)
		p.Replaced = &r
	}
	shown := st.DeviceID == d.ID
	switch {
	case trouble != nil:
		p.State = Unreadable
	case shown && (st.State == gateway.Unpaired || st.Pairing != nil):
		p.State = Pending
	case is.admitted == "":
		p.State = Made
	default:
		p.State, p.Since = is.admitted, is.admittedAt
	}
	if !shown { // this process has not come to it yet
		p.Request = nil
	}
}

// known says whether anybody can tell which scopes we have.
func (p *Pairing) known(st gateway.Status) bool {
	return p.Request != nil || st.GatewayVersion != "" && st.State != gateway.Unpaired
}

// missing are the scopes that we asked for, or have a use for, and do not have.
func (p *Pairing) missing(st gateway.Status) []Missing {
	out := []Missing{}
	if !p.known(st) {
		return out
	}
	scopes := slices.Clone(p.Asked)
	for _, scope := range gateway.NeededScopes() {
		if !gateway.Covered(p.Asked, scope) {
			scopes = append(scopes, scope)
		}
	}
	for _, scope := range scopes {
		if gateway.Covered(p.Granted, scope) {
			continue
		}
		m := Missing{Scope: scope, Asked: slices.Contains(p.Asked, scope), NeededFor: gateway.NeededFor(scope)}
		switch {
		case !m.Asked:
			m.Fix = "Only if you need that: add it to AGENTRT_GATEWAY_SCOPES and restart."
			if p.Device != nil && p.State != Local {
				m.Fix += " The device then asks for the larger approval."
			}
		case p.Request != nil:
			m.Fix = "Run on the gateway's host: " + p.Request.Command
		case p.Device == nil:
			m.Fix = "It has to be approved for a device, and this service is none. " + howToPair + " On the gateway's own host none is needed."
		default:
			m.Fix = "Approve this device for it on the gateway's host: openclaw devices list, openclaw devices approve."
		}
		out = append(out, m)
	}
	return out
}

// detail says in words what the state means.
func (s *Service) detail(p Pairing, st gateway.Status, trouble error) string {
	var b strings.Builder
	switch p.State {
	case None:
		b.WriteString("This service shows the shared token alone. On the gateway's own host that is enough. From elsewhere it has to be a paired device. " + howToPair)
	case Settings:
		b.WriteString("The device stands in AGENTRT_DEVICE_PRIVATE_KEY. Nothing of it is changed here.")
	case Made:
		b.WriteString("The device is made, and the gateway has not said anything of it yet.")
	case Paired:
		b.WriteString("The gateway has approved this device.")
	case Local:
		b.WriteString("The gateway let this device in without an approval, as it does on its own host: it keeps nothing of it and gave it no token, so that the shared token is still needed.")
	case Unreadable:
		b.WriteString(unreadable(trouble))
	case Pending:
	}
	if p.State != Unreadable && p.State != None && st.LastError != "" {
		fmt.Fprintf(&b, " %s", st.LastError)
	}
	if p.Next != nil {
		b.WriteString(" Another device is to replace it, and this one stays in use until that is approved.")
	}
	return strings.TrimSpace(b.String())
}
