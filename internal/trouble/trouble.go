// Package trouble tells a human when the gateway to the agents cannot be used
// for longer than a moment, or waits for somebody to approve this service, and
// takes that back by itself once there is a connection.
//
// It keeps no table: what was told is in the inbox, and how this process's own
// connection has been doing is in its memory.
package trouble

import (
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// Matter is something that needs a human, as the inbox takes it.
type InboxItem struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
	At                                   time.Time // when it began
}

// How a connection can be doing, as far as people are concerned. The last two
// are kinds of items, too.
const (
	healthy  = "well"
	unusable = "gateway_trouble" // it cannot be used: not there, refusing us, or too slow
	pending  = "pairing_pending" // somebody has to approve this service on the gateway's host
)

// How long each may last before somebody is told: a gateway that restarts, and a
// person who is just about to approve, need nobody else.
const (
	unusableGrace = 5 * time.Minute
	pairingGrace  = time.Minute
)

// judge says how a connection is doing; known is false while that is open. Not
// to have a gateway is a choice. Scopes that are missing on a connection are
// not this package's: it can be used for all the rest, and the dashboard tells.
func classify(is gateway.Status) (doing string, known bool) {
	switch {
	case is.State == gateway.Connecting:
		return "", false
	case is.State == gateway.NotConfigured, is.State == gateway.Connected, is.State == gateway.MissingScopes && is.ConnectedAt != nil:
		return healthy, true
	case is.State == gateway.Unpaired && is.DeviceID != "":
		return pending, true
	}
	return unusable, true // among them: unpaired, and no device that could be approved
}

// spell is a time in which the connection was doing the same without a break.
type condition struct {
	doing  string // empty before anything is known
	since  clock.Time
	state  gateway.State   // the latest of it
	device string          // the id of this service as a device; may be empty
	only   gateway.Purpose // of the one connection of two that is down; empty when all are
	seenTo bool            // the inbox knows of it
}

// due reports whether the inbox is to know of it by now.
func (is condition) due(now time.Time) bool {
	after := map[string]time.Duration{unusable: unusableGrace, pending: pairingGrace}[is.doing]
	return is.doing != "" && !is.reported && now.Sub(is.since.Time) >= after
}

// cause names what brings each of them up. It is the same every time, so that
// troubles that come again and again are one item with a count.
func cause(kind string) string { return "gateway/" + kind }

// matter is what the inbox is told of it.
func (is condition) inboxItem() InboxItem {
	m := InboxItem{Cause: cause(is.doing), Kind: is.doing, Severity: "high", At: is.since.Time}
	since := is.since.UTC().Format("2006-01-02 15:04:05 UTC")
	if is.doing == pending {
		m.Subject = event.Subject{Kind: "device", ID: is.device, Name: is.device[:min(12, len(is.device))]}
		m.Title = "The gateway waits for the approval of this service"
		m.Detail = "Since " + since + " somebody has to approve this service as a device on the gateway's host. Until then no agent can be asked anything, " +
			"and what they do is not seen.\n\nSettings → Gateway shows the command to run there. The approval is noticed by itself, and resolves this item."
		return m
	}
	title, why := describe(is.state)
	lost := "Until it can, no agent is asked anything, and what they do is not seen."
	switch is.only {
	case gateway.StartsRuns:
		title, why = "No agent can be asked", "the connection that starts runs is down."
		lost = "What agents do is still seen and can be stopped. Until the connection is back, no agent is asked anything."
	case gateway.Manages:
		title, why = "Schedules cannot be changed", "the connection with operator.admin is down."
		lost = "Agents are still asked and watched. Until the connection is back, no schedule is changed, and only runs that Wardroom started can be stopped."
	case gateway.Everything:
	}
	m.Subject = event.Subject{Kind: event.TopicGateway, ID: "connection", Name: "connection"}
	m.Title = title
	m.Detail = "The gateway cannot be used since " + since + ": " + why + " " + lost + "\n\n" +
		"Settings → Gateway shows how it does now. Run the doctor there: it names the first thing that does not work, and what to do about it. " +
		"This item resolves itself once the gateway is connected."
	return m
}

// onlyDown is what the one connection is for that is down while another is up;
// empty when none is up, or none is down.
func downPurpose(status gateway.Status) (only gateway.Purpose) {
	up := 0
	for _, one := range status.Connections {
		if one.ConnectedAt != nil {
			up++
		} else {
			only = one.Purpose
		}
	}
	if up == 0 {
		return ""
	}
	return only
}

// words say what keeps us from using a gateway in that state. They are ours
// alone: what the gateway said itself stays where it can be looked at.
func describe(state gateway.State) (title, why string) {
	switch state {
	case gateway.Unauthorized:
		return "The gateway refuses this service", "it refuses the token or the device that we show, or has locked our address out."
	case gateway.Unpaired:
		return "The gateway wants a paired device", "it lets only paired devices in, and this service is none."
	case gateway.Untrusted:
		return "The gateway's certificate is not trusted", "its certificate is not trusted, so that we tell it nothing."
	case gateway.Slow:
		return "The gateway is too slow", "it takes connections or requests and does not answer in time."
	case gateway.MissingScopes:
		return "The gateway refuses the scopes of this service", "fewer scopes are approved for our device than we ask for."
	case gateway.NotConfigured, gateway.Connecting, gateway.Connected, gateway.Unreachable:
	}
	return "The gateway cannot be reached", "nothing answers at its address that we can talk to."
}
