package demo

import (
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Behavior decides what a runtime does at the points where tests make it fail. The package
// test/faults implements it for tests; Standard is how a runtime behaves without faults.
// Unless its comment says otherwise, a method is called with the runtime's lock held, so it
// must not call methods of Runtime.
type Behavior interface {
	// Listen prepares the server of a new gateway process and returns the listener that the
	// server accepts connections from.
	Listen(server *http.Server, ln net.Listener) net.Listener
	// Protocol returns the protocol version that the handshake requires and announces.
	Protocol() int
	// Serves reports whether the gateway's version has a method.
	Serves(method string) bool
	// Receive reports whether to handle a request. It is called without the lock.
	Receive(c *Conn, req Request) bool
	// Frozen reports whether connections are half open, so that no ping is sent and an
	// unanswered one ends no connection. It is called without the lock.
	Frozen() bool
	// Admit authenticates a client whose connect request is well-formed.
	Admit(c *Conn, in Login) (Admission, *Failure)
	// Send queues a frame for a client, with Conn.Queue.
	Send(c *Conn, f Frame)
	// Turn returns how a run that is about to start behaves.
	Turn(q Question) Turn
	// Held reports whether a session's runs must wait, although it has no active run.
	Held(sessionKey string) bool
	// JobsRun reports whether scheduled jobs start when they are due.
	JobsRun() bool
	// UsageFresh reports whether the next answer to sessions.usage has numbers.
	UsageFresh() bool
}

// Question is a message to an agent.
type Question struct {
	AgentID    string
	SessionKey string
	RunID      string
	Message    string
	At         time.Time // when the run started
}

// Turn is how a run behaves. The zero Turn answers from the agent's tasks.
type Turn struct {
	Delay  time.Duration // in addition to Options.Pace
	Silent bool          // the run never answers
	Fail   string        // error text with which the model provider refuses the request
	Answer func(Question) string
}

// Login is a well-formed connect request.
type Login struct {
	Client Client
	Role   string
	Scopes []string // requested
	Auth   Credentials
	Device *Device // nil if the client presents none
	Nonce  string  // from the challenge, which the device must have signed
}

// Granted returns the requested scopes if the gateway grants them, which on a loopback
// socket it does to paired devices and to two kinds of clients without a device. Other
// clients connect without scopes.
func (in Login) Granted(paired bool) []string {
	granted := []string{}
	if paired || in.Client.IsBackend() || in.Client.ID == "cli" && in.Client.Mode == "cli" {
		granted = append(granted, in.Scopes...)
	}
	return granted
}

// Client describes the program that connects.
type Client struct {
	ID           string `json:"id"`
	Mode         string `json:"mode"`
	DisplayName  string `json:"displayName"`
	Platform     string `json:"platform"`
	DeviceFamily string `json:"deviceFamily"`
}

// IsBackend reports whether the client is a backend service. The gateway trusts such
// clients on its own host.
func (c Client) IsBackend() bool { return c.ID == "gateway-client" && c.Mode == "backend" }

// Credentials is the `auth` member of a connect request.
type Credentials struct {
	Token, Password, DeviceToken, BootstrapToken string
}

// Device is a client's proof of its device identity.
type Device struct {
	ID, PublicKey, Signature, Nonce string
	SignedAt                        int64 // Unix milliseconds
}

// Admission is what the gateway grants to a client.
type Admission struct {
	Scopes   []string
	DeviceID string         // empty without a device
	Auth     map[string]any // how the client authenticated, for the `auth` member of hello-ok
}

// Standard is how a runtime behaves without faults: it admits every client that knows the
// shared token, and ignores devices.
type Standard struct{ Token string }

// Listen returns ln.
func (Standard) Listen(_ *http.Server, ln net.Listener) net.Listener { return ln }

// Protocol returns the protocol version of the demo runtime.
func (Standard) Protocol() int { return protocol }

// Serves reports that the gateway has the method.
func (Standard) Serves(string) bool { return true }

// Receive reports that the request is handled.
func (Standard) Receive(*Conn, Request) bool { return true }

// Frozen reports that connections are open.
func (Standard) Frozen() bool { return false }

// Admit grants the requested scopes to a client that knows the shared token.
func (s Standard) Admit(_ *Conn, in Login) (Admission, *Failure) {
	if !SameSecret(in.Auth.Token, s.Token) {
		return Admission{}, WrongToken(in)
	}
	return Admission{Scopes: in.Granted(false), Auth: object{"method": "token"}}, nil
}

// Send queues the frame unchanged.
func (Standard) Send(c *Conn, f Frame) {
	c.Queue(f, Packet{Kind: websocket.MessageText, Data: Encode(f.Body)})
}

// Turn returns the zero Turn.
func (Standard) Turn(Question) Turn { return Turn{} }

// Held reports that no session is held.
func (Standard) Held(string) bool { return false }

// JobsRun reports that scheduled jobs run.
func (Standard) JobsRun() bool { return true }

// UsageFresh reports that usage has numbers.
func (Standard) UsageFresh() bool { return true }
