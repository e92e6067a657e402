// Package gateway is the one line between this service and the agents: it
// keeps a connection to the agent runtime's gateway open, says honestly how that
// connection is doing, asks agents questions and brings back their answers.
//
// It speaks protocol 4 of OpenClaw's gateway (tested against 2026.9.6) and knows
// nothing of tasks, standups or tables.
package gateway

import (
	"crypto/ed25519"
	"crypto/x509"
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
	// ErrTimeout means that the gateway took the request, or the connection, and
	// did not answer in time.
	ErrTimeout = fault.New(fault.Timeout, "gateway_timeout", "The agent runtime did not answer in time.")
	// ErrUnauthorized means that the gateway refuses our token.
	ErrUnauthorized = fault.New(fault.Unavailable, "gateway_unauthorized", "The agent runtime refuses our credentials.")
	// ErrUnpaired means that the gateway wants a paired device, or has not approved ours.
	ErrUnpaired = fault.New(fault.Unavailable, "gateway_unpaired", "The agent runtime has not paired with this service.")
	// ErrUntrusted means that the gateway's certificate was not accepted, so that
	// it was told nothing.
	ErrUntrusted = fault.New(fault.Unavailable, "gateway_untrusted", "The agent runtime's certificate is not trusted.")
	// ErrMissingScope means that we are connected and may not do this.
	ErrMissingScope = fault.New(fault.Forbidden, "missing_scope", "The agent runtime has not granted what this needs.")
	// ErrForeignRun means that the gateway lets others stop a run, and not us.
	ErrForeignRun = fault.New(fault.Conflict, "run_not_ours", "The agent runtime lets only whoever began this run stop it.")
	// ErrBusy means that the gateway could not take this request at the moment.
	ErrBusy = fault.New(fault.Unavailable, "gateway_busy", "The agent runtime cannot take this now.")
	// ErrRefused means that the gateway understood the request and will not do it,
	// such as asking an agent it does not know. Sending it again changes nothing.
	ErrRefused = fault.New(fault.Conflict, "gateway_refused", "The agent runtime refused this.")
)

// Options are the settings of a Client. The first block comes from the person
// who runs the service; every other zero value stands for its default.
type Options struct {
	URL     string        // http, https, ws or wss; empty means that no gateway is configured
	Token   string        // the gateway's shared token; never shown, logged or returned
	Scopes  []string      // exactly what we ask for, such as operator.read
	Timeout time.Duration // how long one request may take, and how long connecting may; 15 s

	DeviceKey   ed25519.PrivateKey // signs for us as a paired device; nil when we are none
	DeviceToken string             // of that device, used before Token; never shown, logged or returned

	Roots       *x509.CertPool // who may vouch for the gateway's certificate; nil is whom the system trusts
	Pins        [][32]byte     // SHA-256 of the certificates (DER) that are trusted whatever they say; then Roots do not count
	InsecureTLS bool           // any certificate will do

	Version string       // of this service, told to the gateway
	Log     *slog.Logger // gets one line per change of state

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
	Connecting    State = "connecting"     // the first attempt has not ended yet, or the first one as another device
	Connected     State = "connected"      // and everything asked for was granted
	Unauthorized  State = "unauthorized"   // the token is refused
	Unpaired      State = "unpaired"       // a device must be approved on the gateway's side
	Untrusted     State = "untrusted"      // its certificate is not accepted
	Slow          State = "slow"           // it takes connections or requests and does not answer in time
	MissingScopes State = "missing_scopes" // connected, with less than was asked for
	Unreachable   State = "unreachable"    // anything else that keeps us apart
)

// Status is the truth about the connection, for people and for the API. What it
// tells of the gateway itself (version, protocol, boot id, scopes, latency) is
// from the last connection that succeeded.
type Status struct {
	State          State       `json:"state" enum:"not_configured,connecting,connected,unauthorized,unpaired,untrusted,missing_scopes,slow,unreachable" doc:"How the connection to the agent runtime is doing. While it retries, the last failure stays."`
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

	Connections []Connection  `json:"connections" nullable:"false" doc:"The connections to the gateway: one, or two where operator.admin is asked for, so that no run is started with it. Empty when none is configured."`
	Unavailable []Unavailable `json:"unavailable" nullable:"false" doc:"What does not work because this version of the gateway does not have it. All else works."`

	Auth        string       `json:"auth" enum:"none,token,device_token" doc:"With which credential the last attempt to connect was made."`
	DeviceID    string       `json:"device_id" doc:"The id of this service as a device, as the gateway lists it; empty when it has no key pair."`
	Pairing     *Pairing     `json:"pairing" doc:"What waits for approval on the gateway's host; null unless the state is unpaired and the gateway named a request."`
	Certificate *Certificate `json:"certificate" doc:"The certificate that was presented and not accepted; null unless the state is untrusted."`
}

// Pairing is a request that a person has to approve on the gateway's host.
type Pairing struct {
	RequestID      string   `json:"request_id" doc:"The gateway's id of the request: letters, digits and hyphens."`
	Command        string   `json:"command" doc:"What to run on the gateway's host to approve it."`
	Scopes         []string `json:"scopes" nullable:"false" doc:"The scopes that the approval would grant."`
	ApprovedScopes []string `json:"scopes_approved" nullable:"false" doc:"The scopes that are approved already; empty for a new device."`
}

// Certificate is what a gateway presented. All of it is what the other side
// says, but for the fingerprint.
type Certificate struct {
	Fingerprint string     `json:"fingerprint" doc:"SHA-256 of the certificate, as openssl prints it. Compare it on the gateway's host before you set AGENTRT_GATEWAY_TLS_PIN to it."`
	Subject     string     `json:"subject" doc:"Whom it names."`
	ValidFrom   clock.Time `json:"valid_from" doc:"Since when it is valid."`
	ValidUntil  clock.Time `json:"valid_until" doc:"Until when it is valid."`
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
