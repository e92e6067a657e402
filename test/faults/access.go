package faults

import (
	"slices"
	"time"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/demo"
)

// statusAccessChanged is the close code for clients whose access has changed. The close
// reason that the real gateway sends is not known, so a description of the change is sent.
const statusAccessChanged = websocket.StatusCode(4001)

const scopeAdmin = "operator.admin"

// Withhold denies scopes to new connections. They still get the other scopes that they
// request. Existing connections keep their scopes, as on the real gateway. Calling
// Withhold without scopes turns the fault off.
func (r *Runtime) Withhold(scopes ...string) {
	r.change(func(f *faults) { f.withheld = slices.Clone(scopes) })
}

// RefuseClients disconnects the clients whose scopes satisfy the function match. It also refuses
// new clients that request such scopes, with the error that a starting gateway sends. A nil
// function turns the fault off.
func (r *Runtime) RefuseClients(match func(scopes []string) bool) {
	r.change(func(f *faults) { f.refused = match })
	cut(r.connected(func(c *connection) bool { return match != nil && c.admitted && match(c.scopes) }))
}

// WithAdmin reports whether scopes include operator.admin. Use it with RefuseClients.
func WithAdmin(scopes []string) bool { return slices.Contains(scopes, scopeAdmin) }

// WithoutAdmin reports whether scopes do not include operator.admin. Use it with
// RefuseClients.
func WithoutAdmin(scopes []string) bool { return !WithAdmin(scopes) }

// OwnerRuns returns the ids of the runs that clients with operator.admin started, oldest
// first. In such runs, the real gateway gives the agent access to its owner tools.
func (r *Runtime) OwnerRuns() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ownerRuns)
}

// RemoveMethods makes the runtime behave like a gateway version that lacks the given
// methods: the handshake no longer lists them, and calls to them fail on all connections.
// Calling RemoveMethods without methods turns the fault off.
func (r *Runtime) RemoveMethods(methods ...string) {
	r.change(func(f *faults) { f.removed = slices.Clone(methods) })
}

// Serves reports whether a method was not removed.
func (b behavior) Serves(method string) bool {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	return !slices.Contains(b.r.faults.removed, method)
}

// SetProtocol sets the protocol version that new connections negotiate, such as 3 or 5.
// The frames themselves remain in the format of version 4. Zero restores version 4.
func (r *Runtime) SetProtocol(version int) { r.change(func(f *faults) { f.protocol = version }) }

// Skew shifts the gateway's clock by d. This changes all timestamps, such as those in the
// challenge and in ticks, and affects the check of a signature's age. It does not affect
// timers.
func (r *Runtime) Skew(d time.Duration) { r.change(func(f *faults) { f.skew = d }) }

// LockOut refuses all connections for the duration d, whatever token they present, as the
// gateway does after too many wrong tokens. Zero turns the fault off. The error is
// modeled on the gateway's documentation, because no recording of it exists.
func (r *Runtime) LockOut(d time.Duration) {
	r.change(func(f *faults) { f.lockedUntil = time.Now().Add(d) })
}

// lockedOut returns the failure to send during a lockout, or nil if there is no lockout.
func (f *faults) lockedOut() *demo.Failure {
	left := time.Until(f.lockedUntil)
	if left <= 0 {
		return nil
	}
	out := demo.Unauthorized("too many failed authentication attempts (retry later)", "AUTH_RATE_LIMITED", "rate_limited", "wait_then_retry")
	out.RetryAfterMs = int((left + time.Millisecond - 1) / time.Millisecond)
	return out
}

// ChangeToken replaces the shared token. It ignores an empty token. Clients that
// connected with the old token are disconnected with close code 4001. Device tokens stay
// valid. Heal does not restore the old token.
func (r *Runtime) ChangeToken(token string) {
	r.mu.Lock()
	same := token == "" || token == r.token
	if !same {
		r.token = token
	}
	r.mu.Unlock()
	if same {
		return
	}
	for _, c := range r.connected(func(c *connection) bool { return c.shared }) {
		c.conn.Close(statusAccessChanged, "gateway auth changed")
	}
}

// notReady returns the failure that a gateway sends while it is starting.
func notReady() *demo.Failure {
	return &demo.Failure{
		Code: "UNAVAILABLE", Message: "gateway starting; retry shortly", Retryable: true, RetryAfterMs: 500,
		Details: object{"reason": "startup-sidecars"},
		Reason:  "gateway starting", CloseCode: websocket.StatusTryAgainLater,
	}
}

// Admit authenticates a client by its device, token and pairing, unless a fault refuses it.
func (b behavior) Admit(conn *demo.Conn, in demo.Login) (demo.Admission, *demo.Failure) {
	return b.r.admit(conn, in)
}

func (r *Runtime) admit(conn *demo.Conn, in demo.Login) (demo.Admission, *demo.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if see := r.faults.logins; see != nil {
		see(in)
	}
	f := r.faults.lockedOut()
	if r.faults.starting {
		f = notReady()
	}
	if f == nil && in.Device != nil {
		f = verifyDevice(in, r.now())
	}
	if f != nil {
		return demo.Admission{}, f
	}
	method, device, f := r.authenticate(in)
	if f == nil && r.faults.refused != nil && r.faults.refused(in.Scopes) {
		f = notReady()
	}
	if f != nil {
		return demo.Admission{}, f
	}
	c := r.connection(conn)
	c.admitted, c.shared = true, method == authToken
	if in.Device != nil {
		c.deviceID = in.Device.ID
	}
	c.scopes = slices.DeleteFunc(in.Granted(device != nil), func(s string) bool { return slices.Contains(r.faults.withheld, s) })
	return demo.Admission{Scopes: c.scopes, DeviceID: c.deviceID, Auth: device.auth(method)}, nil
}

// Names of the authentication methods in hello-ok.
const (
	authToken       = "token"
	authDeviceToken = "device-token"
)

// authenticate checks a client's token and pairing. It returns the paired device, or nil if
// the client is not paired. The caller must hold r.mu.
func (r *Runtime) authenticate(in demo.Login) (method string, device *pairedDevice, f *demo.Failure) {
	auth := in.Auth
	switch {
	case demo.SameSecret(auth.Token, r.token):
		device, f = r.admitDevice(in)
		return authToken, device, f
	case auth.DeviceToken != "":
		device, f = r.admitDeviceToken(in, auth.DeviceToken)
		return authDeviceToken, device, f
	}
	return "", nil, demo.WrongToken(in)
}
