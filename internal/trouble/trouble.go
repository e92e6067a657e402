// Package trouble raises an inbox item when the gateway stays unusable, or when Wardroom's
// device still needs approval on the gateway's host. It resolves the item once the gateway
// is connected. It also raises an item when a login to a provider of models ends, when a file of an
// agent is almost too long for the runtime, or when an agent uses another model than configured.
//
// The package has no database table. The inbox stores the raised items, and each process
// keeps the condition of its own connection in memory.
package trouble

import (
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
)

// Conditions of a gateway connection. All of them except healthy are also kinds of inbox items.
const (
	healthy  = "well"
	unusable = string(inbox.GatewayTrouble) // unusable: unavailable, refusing Wardroom or too slow
	pending  = string(inbox.PairingPending) // Wardroom's device needs approval on the gateway's host
)

// How long a condition must last before an inbox item is raised. These delays avoid items
// for a gateway that is just restarting and for a device that is approved soon after its
// first request.
const (
	unusableGrace = 5 * time.Minute
	pairingGrace  = time.Minute
)

// classify returns the condition of a connection. While the connection is being
// established, known is false. The condition is healthy if no gateway is configured. It
// is also healthy if only scopes are missing, because the connection is usable and the
// dashboard shows the missing scopes.
func classify(is link.Status) (doing string, known bool) {
	switch {
	case is.State == link.Connecting:
		return "", false
	case is.State == link.NotConfigured, is.State == link.Connected,
		is.State == link.MissingScopes && is.ConnectedAt != nil:
		return healthy, true
	case is.State == link.Unpaired && is.DeviceID != "":
		return pending, true
	}
	return unusable, true // includes unpaired without a device that could be approved
}

// condition is the condition that the gateway connection is in, and the time when it began.
type condition struct {
	doing    string // empty while unknown
	since    clock.Time
	state    link.State   // latest state of the period
	device   string       // id of Wardroom's device; may be empty
	downOnly link.Purpose // purpose of the only connection that is down; empty if all are
	reported bool         // raised or resolved in the inbox
}

// due reports whether the condition has lasted long enough to be reported to the inbox and
// has not been reported yet. How long it has lasted is unknown if the clock was set back since.
func (is condition) due(now time.Time) bool {
	after := map[string]time.Duration{unusable: unusableGrace, pending: pairingGrace}[is.doing]
	return is.doing != "" && !is.reported && (now.Sub(is.since.Time) >= after || is.since.After(now.Add(clock.Skew)))
}

// same reports whether both are the same period of the same condition.
func (is condition) same(other condition) bool {
	return is.doing == other.doing && is.since.Equal(other.since.Time)
}

// cause returns the cause of the inbox item for the given kind of problem. It is the same every
// time, so that a recurring problem increases the count of the existing item.
func cause(kind string) string { return "gateway/" + kind }

// inboxItem returns the inbox item for the condition.
func (is condition) inboxItem() inbox.NewItem {
	m := inbox.NewItem{Cause: cause(is.doing), Kind: inbox.Kind(is.doing), Severity: inbox.High, At: is.since.Time}
	since := is.since.UTC().Format("2006-01-02 15:04:05 UTC")
	if is.doing == pending {
		m.Subject = event.Subject{Kind: "device", ID: is.device, Name: is.device[:min(12, len(is.device))]}
		m.Title = "The gateway is waiting for you to approve Wardroom"
		m.Detail = "Wardroom's device has been waiting for approval on the gateway's host since " + since +
			". Until it is approved, Wardroom cannot ask agents or see what they do.\n\n" +
			"Settings → Gateway shows the command to run there. This item resolves itself after the approval."
		return m
	}
	title, why := describe(is.state)
	lost := "Until it is back, Wardroom cannot ask agents or see what they do."
	switch is.downOnly {
	case link.StartsRuns:
		title, why = "Agents can't be started", "the connection that starts runs is down."
		lost = "Agents' activity is still visible, and runs can be stopped. Until the connection is back, Wardroom cannot ask agents."
	case link.Manages:
		title, why = "Schedules cannot be changed", "the connection with operator.admin is down."
		lost = "Agents can still be asked, and their activity is visible. Until the connection is back, schedules cannot be changed, and only runs that Wardroom started can be stopped."
	case link.Everything:
	}
	m.Subject = event.Subject{Kind: event.TopicGateway, ID: "connection", Name: "connection"}
	m.Title = title
	m.Detail = "The gateway has been unusable since " + since + ": " + why + " " + lost + "\n\n" +
		"Settings → Gateway shows its current state. Run the doctor there to find the cause and the fix. " +
		"This item resolves itself once the gateway is connected."
	return m
}

// downPurpose returns the purpose of the connection that is down while another one is up, or "" if all connections are
// up or all are down.
func downPurpose(status link.Status) (only link.Purpose) {
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

// describe returns a title for an inbox item and an explanation of the gateway's state. It
// omits the gateway's own error message, which may contain secrets.
func describe(state link.State) (title, why string) {
	switch state {
	case link.Unauthorized:
		return "The gateway refuses Wardroom", "it refuses Wardroom's token or device, or has blocked Wardroom's address."
	case link.Unpaired:
		return "The gateway requires a paired device", "it accepts only paired devices, and Wardroom is not paired."
	case link.Untrusted:
		return "The gateway's certificate is not trusted", "its certificate is not trusted, so Wardroom does not connect."
	case link.Slow:
		return "The gateway is too slow", "it accepts connections or requests but does not answer in time."
	case link.MissingScopes:
		return "The gateway refuses Wardroom's scopes", "fewer scopes are approved for Wardroom's device than it requests."
	case link.NotConfigured, link.Connecting, link.Connected, link.Unreachable:
	}
	return "The gateway cannot be reached", "no gateway answers at its address."
}
