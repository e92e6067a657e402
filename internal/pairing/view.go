package pairing

import (
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/gateway/link"
)

// show combines the stored devices with the status of the connection.
func (s *Service) show(st link.Status, current, next *stored, trouble error) Pairing {
	p := Pairing{
		State: None, Connection: st.State, Auth: st.Auth, Request: st.Pairing,
		Asked: st.ScopesAsked, Granted: st.ScopesGranted, Connections: st.Connections,
	}
	switch {
	case s.Own != nil:
		d := deviceOf(s.Own)
		p.State, p.Device = Settings, &d
	case current != nil:
		p.own(st, current, trouble)
	}
	if s.Own == nil && next != nil {
		d := deviceOf(publicOf(next.device))
		d.MadeAt = next.device.MadeAt
		p.Next = &Next{Device: d, Request: next.answer.Request, Error: next.answer.Error}
	}
	if p.Request != nil {
		p.Granted = p.Request.ApprovedScopes
	}
	p.Missing = p.missing(st)
	p.Detail = s.detail(p, st, trouble)
	return p
}

// own sets the fields of p for a device that Wardroom created.
func (p *Pairing) own(st link.Status, current *stored, trouble error) {
	d := deviceOf(publicOf(current.device))
	d.MadeAt = current.device.MadeAt
	p.Device, p.Since, p.TokenSince = &d, d.MadeAt, current.tokenAt
	if current.replaced != "" {
		r := reminder(current.replaced)
		p.Replaced = &r
	}
	shown := st.DeviceID == d.ID
	switch {
	case trouble != nil:
		p.State = Unreadable
	case shown && (st.State == link.Unpaired || st.Pairing != nil):
		p.State = Pending
	case current.admitted == "":
		p.State = Made
	default:
		p.State, p.Since = current.admitted, current.admittedAt
	}
	if !shown { // this replica does not use the device yet
		p.Request = nil
	}
}

// known reports whether the granted scopes are known.
func (p *Pairing) known(st link.Status) bool {
	return p.Request != nil || st.GatewayVersion != "" && st.State != link.Unpaired
}

// missing returns the scopes that Wardroom requested or could use but does not have.
func (p *Pairing) missing(st link.Status) []Missing {
	out := []Missing{}
	if !p.known(st) {
		return out
	}
	scopes := slices.Clone(p.Asked)
	for _, scope := range link.NeededScopes() {
		if !link.Covered(p.Asked, scope) {
			scopes = append(scopes, scope)
		}
	}
	for _, scope := range scopes {
		if link.Covered(p.Granted, scope) {
			continue
		}
		m := Missing{Scope: scope, Asked: slices.Contains(p.Asked, scope), NeededFor: link.NeededFor(scope)}
		switch {
		case !m.Asked:
			m.Fix = "If you need these features, add the scope to AGENTRT_GATEWAY_SCOPES and restart Wardroom."
			if p.Device != nil && p.State != Local {
				m.Fix += " The device then requests approval for it."
			}
		case p.Request != nil:
			m.Fix = "Run on the gateway's host: " + p.Request.Command
		case p.Device == nil:
			m.Fix = howToPair + " On the gateway's own host no device is needed."
		default:
			m.Fix = "Approve the device for it on the gateway's host: openclaw devices list, then openclaw devices approve."
		}
		out = append(out, m)
	}
	return out
}

// detail explains the state of the pairing and, where possible, what to do.
func (s *Service) detail(p Pairing, st link.Status, trouble error) string {
	var b strings.Builder
	switch p.State {
	case None:
		b.WriteString("Wardroom uses only the shared token, which is enough on the gateway's own host. On another host it must be a paired device. " + howToPair)
	case Settings:
		b.WriteString("The device is configured in AGENTRT_DEVICE_PRIVATE_KEY and cannot be changed here.")
	case Made:
		b.WriteString("The device is created. The gateway has not responded yet.")
	case Paired:
		b.WriteString("The gateway has approved this device.")
	case Local:
		b.WriteString("The gateway accepted this device without approval, as it does on its own host. It issued no token, so the shared token is still needed.")
	case Unreadable:
		b.WriteString(unreadable(trouble))
	case Pending:
	}
	if p.State != Unreadable && p.State != None && st.LastError != "" {
		fmt.Fprintf(&b, " %s", st.LastError)
	}
	if p.Next != nil {
		b.WriteString(" A new device is waiting for approval; this one stays in use until then.")
	}
	return strings.TrimSpace(b.String())
}
