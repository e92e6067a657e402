// Package gateway is the one line between this service and the agents: it
// keeps a connection to the agent runtime's gateway open, says honestly how that
// connection is doing, asks agents questions and brings back their answers.
//
// It speaks protocol 4 of OpenClaw's gateway (tested against 2026.9.6) and knows
// nothing of tasks, standups or tables.
package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// The ways in which talking to the gateway fails. Each comes wrapped, with what
// was special this time in its Detail.
var (
	// ErrNotConfigured is answered to everything while no address is set.
	ErrNotConfigured = fault.New(fault.Unavailable, "gateway_not_configured", "No agent runtime is configured.")
	// ErrUnreachable means that there is no connection, that it ended before the
	// answer came, or that the gateway is about to restart. A request that met it
	// may have been carried out; only those with a run id may be sent again.
	ErrUnreachable = fault.New(fault.Unavailable, "gateway_unreachable", "The agent runtime cannot be reached.")
	// ErrTimeout means that the gateway took the request and did not answer in time.
	ErrTimeout = fault.New(fault.Timeout, "gateway_timeout", "The agent runtime did not answer in time.")
	// ErrUnauthorized means that the gateway refuses our token.
	ErrUnauthorized = fault.New(fault.Unavailable, "gateway_unauthorized", "The agent runtime refuses our credentials.")
	// ErrUnpaired means that the gateway wants a paired device, or has not approved ours.
	ErrUnpaired = fault.New(fault.Unavailable, "gateway_unpaired", "The agent runtime has not paired with this service.")
	// ErrMissingScope means that we are connected and may not do this.
	ErrMissingScope = fault.New(fault.Forbidden, "missing_scope", "The agent runtime has not granted what this needs.")
	// ErrBusy means that the gateway could not take this request at the moment.
	ErrBusy = fault.New(fault.Unavailable, "gateway_busy", "The agent runtime cannot take this now.")
	// ErrRefused means that the gateway understood the request and will not do it,
	// such as asking an agent it does not know. Sending it again changes nothing.
	ErrRefused = fault.New(fault.Conflict, "gateway_refused", "The agent runtime refused this.")
)

// Options are the settings of a Client. URL, Token and Scopes come from the
// person who runs the service; every other zero value stands for its default.
type Options struct {
	URL     string        // http, https, ws or wss; empty means that no gateway is configured
	Token   string        // the gateway's shared token; never shown, logged or returned
	Scopes  []string      // exactly what we ask for, such as operator.read
	Timeout time.Duration // how long one request may take; 15 s
	Version string        // of this service, told to the gateway
	Log     *slog.Logger  // gets one line per change of state

	HTTP    *http.Transport // how to dial, with its TLS settings; nil is a plain one of our own
	Backoff Backoff         // how soon to try again after a failure
	Silence time.Duration   // a connection without any frame or ping for so long is dead; 75 s, as the gateway ticks every 30 s
	Settle  time.Duration   // how long Wait stays for the tokens and cost of a run that has ended; 1 s
	Now     func() time.Time
}

// State says how the connection is doing.
type State string

// The states of the connection. While it retries the last failure stays; it does
// not flap back to Connecting.
const (
	NotConfigured State = "not_configured" // no address is set
	Connecting    State = "connecting"     // the first attempt has not ended yet
	Connected     State = "connected"      // and everything asked for was granted
	Unauthorized  State = "unauthorized"   // the token is refused
	Unpaired      State = "unpaired"       // a device must be approved on the gateway's side
	MissingScopes State = "missing_scopes" // connected, with less than was asked for
	Unreachable   State = "unreachable"    // anything else that keeps us apart
)

// Status is the truth about the connection, for people and for the API. What it
// tells of the gateway itself (version, protocol, boot id, scopes, latency) is
// from the last connection that succeeded.
type Status struct {
	State          State       `json:"state" enum:"not_configured,connecting,connected,unauthorized,unpaired,missing_scopes,unreachable" doc:"How the connection to the agent runtime is doing. While it retries, the last failure stays."`
	Since          clock.Time  `json:"since" doc:"When it came into this state."`
	LastError      string      `json:"error" doc:"What is wrong and what to do about it; empty when nothing is."`
	URL            string      `json:"url" doc:"The gateway's address, without credentials; empty when none is configured."`
	GatewayVersion string      `json:"version" doc:"Version of the gateway; empty before the first connection."`
	Protocol       int         `json:"protocol" doc:"Protocol spoken on the last connection; 0 before the first one."`
	BootID         string      `json:"boot_id" doc:"Changes whenever the gateway restarts."`
	ConnectedAt    *clock.Time `json:"connected_at" doc:"When the present connection was made; null without one."`
	LastSeenAt     *clock.Time `json:"last_seen_at" doc:"When the gateway was last heard; null before the first time."`
	LatencyMS      *float64    `json:"latency_ms" doc:"Milliseconds of the last round trip; null before the first one."`
	Failures       int         `json:"failures" doc:"Attempts to connect that have failed since the last connection."`
	RetryAt        *clock.Time `json:"retry_at" doc:"When the next attempt is due; null while connected."`
	ScopesAsked    []string    `json:"scopes_asked" nullable:"false" doc:"The scopes that we ask for."`
	ScopesGranted  []string    `json:"scopes_granted" nullable:"false" doc:"The scopes that the gateway granted."`
	MissingScopes  []string    `json:"scopes_missing" nullable:"false" doc:"The scopes that were asked for and are not covered by those granted."`
}

// Agent is one row of the runtime's roster.
type Agent struct {
	ID           string // such as "cto"
	Name         string // as configured; may be empty
	IdentityName string // what the agent calls itself; may be empty
	Emoji        string
	Model        string // "provider/model"; empty when the runtime does not say
	Default      bool   // the one that answers when nobody is named
}
