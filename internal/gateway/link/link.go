// Package link connects to the gateway of the agent runtime: it pairs, keeps the connections open, sends requests,
// publishes events, reports the connection's status, and examines what is wrong with it.
//
// It speaks protocol 4 of OpenClaw's gateway (tested with 2026.9.6).
package link

import (
	"crypto/ed25519"
	"crypto/x509"
	"log/slog"
	"net/http"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Errors that gateway requests return. They are returned wrapped, with the cause of the
// failure in the error's Detail.
var (
	// ErrNotConfigured is returned for every request if no gateway address is configured.
	ErrNotConfigured = fault.New(fault.Unavailable, "gateway_not_configured", "No gateway is configured.")
	// ErrUnreachable means that there is no connection, that the connection was lost
	// before the answer arrived, or that the gateway is about to restart. The gateway may
	// have carried out the request, so only requests with a run id are safe to repeat.
	ErrUnreachable = fault.New(fault.Unavailable, "gateway_unreachable", "Wardroom could not reach the gateway.")
	// ErrTimeout means that the gateway accepted the connection or the request but did
	// not answer in time.
	ErrTimeout = fault.New(fault.Timeout, "gateway_timeout", "The gateway did not answer in time.")
	// ErrUnauthorized means that the gateway rejected Wardroom's token.
	ErrUnauthorized = fault.New(fault.Unavailable, "gateway_unauthorized", "The gateway rejected Wardroom's credentials.")
	// ErrUnpaired means that the gateway requires a paired device and Wardroom's device
	// has not been approved.
	ErrUnpaired = fault.New(fault.Unavailable, "gateway_unpaired", "The gateway has not approved Wardroom as a device.")
	// ErrUntrusted means that the gateway's certificate was rejected. Wardroom sends
	// nothing before the certificate is accepted.
	ErrUntrusted = fault.New(fault.Unavailable, "gateway_untrusted", "The gateway's certificate is not trusted.")
	// ErrMissingScope means that the connection lacks a scope that the request requires.
	ErrMissingScope = fault.New(fault.Forbidden, "missing_scope", "The gateway has not granted a required scope.")
	// ErrBusy means that the gateway cannot accept the request at the moment.
	ErrBusy = fault.New(fault.Unavailable, "gateway_busy", "The gateway is busy.")
	// ErrRefused means that the gateway rejected the request, for example because the
	// agent does not exist. Repeating the request does not help.
	ErrRefused = fault.New(fault.Conflict, "gateway_refused", "The gateway rejected the request.")
)

// Options configures a Client. Fields that are zero take default values.
type Options struct {
	URL     string        // http, https, ws or wss; empty means that no gateway is configured
	Token   string        // the gateway's shared token; never shown, logged or returned
	Scopes  []string      // the scopes to request, such as operator.read
	Timeout time.Duration // limit for one request, and for connecting; default 15 s

	DeviceKey   ed25519.PrivateKey // private key of the paired device; nil without a device
	DeviceToken string             // token of that device, tried before Token; never shown, logged or returned

	Roots       *x509.CertPool // authorities that may sign the gateway's certificate; nil means the system's
	Pins        [][32]byte     // SHA-256 of the trusted certificates (DER); when set, Roots is ignored
	InsecureTLS bool           // accept any certificate

	Version string       // Wardroom's version, sent to the gateway
	Log     *slog.Logger // receives one line per change of state

	HTTP    *http.Transport // transport for dialing, with its TLS settings; nil means a default one
	Backoff Backoff         // delays between connection attempts
	// close a connection that receives no frame or ping for this long; default 75 s, because the gateway sends a tick
	// every 30 s
	Silence time.Duration
	Now     func() time.Time
}

// State is the state of the connection to the gateway.
type State string

// States of the connection. While Wardroom retries, the state still reflects the last
// failure and does not return to Connecting.
const (
	NotConfigured State = "not_configured" // no address is set
	Connecting    State = "connecting"     // the first attempt is in progress, or the first one with a new device
	Connected     State = "connected"      // connected, with every requested scope granted
	Unauthorized  State = "unauthorized"   // the gateway rejects the token
	Unpaired      State = "unpaired"       // the gateway has not approved the device
	Untrusted     State = "untrusted"      // the gateway's certificate is rejected
	Slow          State = "slow"           // the gateway accepts connections or requests but does not answer in time
	MissingScopes State = "missing_scopes" // connected, but some requested scopes were not granted
	Unreachable   State = "unreachable"    // any other failure to connect
)

// Status is the status of the connection, which the dashboard and the API show. The
// fields about the gateway itself (version, protocol, boot id, scopes, latency) come from
// the last successful connection.
type Status struct {
	State          State       `json:"state" enum:"not_configured,connecting,connected,unauthorized,unpaired,untrusted,missing_scopes,slow,unreachable" doc:"State of the connection to the gateway. While Wardroom retries, it stays the state of the last failure."`
	Since          clock.Time  `json:"since" doc:"When this state began."`
	LastError      string      `json:"error" doc:"What is wrong and how to fix it; empty when nothing is wrong."`
	URL            string      `json:"url" doc:"Address of the gateway, without credentials; empty when none is configured."`
	GatewayVersion string      `json:"version" doc:"Version of the gateway; empty until the first connection."`
	Protocol       int         `json:"protocol" doc:"Protocol version of the last connection; 0 until the first one."`
	BootID         string      `json:"boot_id" doc:"Id of the gateway's process; changes when the gateway restarts."`
	ConnectedAt    *clock.Time `json:"connected_at" doc:"When the current connection was made; null while disconnected."`
	LastSeenAt     *clock.Time `json:"last_seen_at" doc:"When the gateway last sent anything; null until the first connection."`
	LatencyMS      *float64    `json:"latency_ms" doc:"Duration of the last round trip in milliseconds; null until the first one."`
	Failures       int         `json:"failures" doc:"Failed connection attempts since the last connection."`
	RetryAt        *clock.Time `json:"retry_at" doc:"When Wardroom tries to connect again; null while connected."`
	ScopesAsked    []string    `json:"scopes_asked" nullable:"false" doc:"Scopes that Wardroom requests."`
	ScopesGranted  []string    `json:"scopes_granted" nullable:"false" doc:"Scopes that the gateway granted."`
	MissingScopes  []string    `json:"scopes_missing" nullable:"false" doc:"Requested scopes that the granted ones do not cover."`

	Connections []Connection  `json:"connections" nullable:"false" doc:"Connections to the gateway: one, or two when operator.admin is requested, so that no run starts with that scope. Empty when no gateway is configured."`
	Unavailable []Unavailable `json:"unavailable" nullable:"false" doc:"Features that do not work because this version of the gateway lacks a method."`

	Auth        string       `json:"auth" enum:"none,token,device_token" doc:"Credential of the last connection attempt."`
	DeviceID    string       `json:"device_id" doc:"Wardroom's device id, as the gateway lists it; empty without a key pair."`
	Pairing     *Pairing     `json:"pairing" doc:"Pairing request to approve on the gateway's host; null unless the state is unpaired and the gateway named a request."`
	Certificate *Certificate `json:"certificate" doc:"The certificate that Wardroom rejected; null unless the state is untrusted."`
}

// Pairing is a pairing request that a person must approve on the gateway's host.
type Pairing struct {
	RequestID      string   `json:"request_id" doc:"The gateway's id of the request: letters, digits and hyphens."`
	Command        string   `json:"command" doc:"Command that approves the request, to run on the gateway's host."`
	Scopes         []string `json:"scopes" nullable:"false" doc:"Scopes that the approval grants."`
	ApprovedScopes []string `json:"scopes_approved" nullable:"false" doc:"Scopes that are already approved; empty for a new device."`
}

// Certificate describes a certificate that the gateway presented. Except for the
// fingerprint, its fields are claims that Wardroom has not verified.
type Certificate struct {
	Fingerprint string     `json:"fingerprint" doc:"SHA-256 of the certificate, as openssl prints it. Compare it on the gateway's host before you set AGENTRT_GATEWAY_TLS_PIN to it."`
	Subject     string     `json:"subject" doc:"Subject of the certificate."`
	ValidFrom   clock.Time `json:"valid_from" doc:"Start of the certificate's validity."`
	ValidUntil  clock.Time `json:"valid_until" doc:"End of the certificate's validity."`
}
