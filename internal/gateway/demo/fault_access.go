package demo

import (
	"crypto/subtle"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// statusAccessChanged is the close code for clients whose access has changed. The close
// reason that the real gateway sends is not known, so the demo uses a description of the
// change.
const statusAccessChanged = websocket.StatusCode(4001)

// Withhold denies scopes to new connections. They still get the other scopes that they
// request. Existing connections keep their scopes, as on the real gateway. Calling
// Withhold without scopes turns the fault off.
func (r *Runtime) Withhold(scopes ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.withheld = slices.Clone(scopes)
}

// RefuseClients disconnects the clients whose scopes satisfy the function match. It also refuses
// new clients that request such scopes, with the error that a starting gateway sends. A nil
// function turns the fault off.
func (r *Runtime) RefuseClients(match func(scopes []string) bool) {
	r.mu.Lock()
	r.faults.refused = match
	var cut []*connection
	for c := range r.conns {
		if match != nil && c.ready && match(c.scopes) {
			cut = append(cut, c)
		}
	}
	r.mu.Unlock()
	for _, c := range cut {
		c.cut()
		<-c.done
	}
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
	return slices.Clone(r.adminRuns)
}

// RemoveMethods makes the runtime behave like a gateway version that lacks the given
// methods: the handshake no longer lists them, and calls to them fail on all connections.
// Calling RemoveMethods without methods turns the fault off.
func (r *Runtime) RemoveMethods(methods ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.removed = slices.Clone(methods)
}

// SetProtocol sets the protocol version that new connections negotiate, such as 3 or 5.
// The frames themselves remain in the format of version 4. Zero restores version 4.
func (r *Runtime) SetProtocol(version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.protocol = version
}

// protocolVersion returns the protocol version that the handshake announces. The caller
// must hold r.mu.
func (r *Runtime) protocolVersion() int {
	if r.faults.protocol > 0 {
		return r.faults.protocol
	}
	return protocol
}

// Skew shifts the gateway's clock by d. This changes all timestamps, such as those in the
// challenge and in ticks, and affects the check of a signature's age. It does not affect
// timers.
func (r *Runtime) Skew(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.skew = d
}

// LockOut refuses all connections for the duration d, whatever token they present, as the
// gateway does after too many wrong tokens. Zero turns the fault off. The error is
// modeled on the gateway's documentation, because no recording of it exists.
func (r *Runtime) LockOut(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.lockedUntil = time.Now().Add(d)
}

// lockedOut returns the failure to send during a lockout, or nil if there is no lockout.
// The caller must hold r.mu.
func (r *Runtime) lockedOut() *failure {
	left := time.Until(r.faults.lockedUntil)
	if left <= 0 {
		return nil
	}
	f := unauthorized("too many failed authentication attempts (retry later)", "AUTH_RATE_LIMITED", "rate_limited", "wait_then_retry")
	f.RetryAfterMs = int((left + time.Millisecond - 1) / time.Millisecond)
	return f
}

// ChangeToken replaces the shared token. It ignores an empty token. Clients that
// connected with the old token are disconnected with close code 4001. Device tokens stay
// valid. Heal does not restore the old token.
func (r *Runtime) ChangeToken(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if token == "" || token == r.token {
		return
	}
	r.token = token
	for c := range r.conns {
		if c.shared {
			c.close(statusAccessChanged, "gateway auth changed")
		}
	}
}

// sameSecret compares two secrets in constant time.
func sameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// unauthorized returns the failure for a rejected credential.
func unauthorized(why, code, reason, next string) *failure {
	f := invalid("unauthorized: %s", why)
	f.Details = object{
		"code": code, "authReason": reason, "canRetryWithDeviceToken": false, "recommendedNextStep": next,
	}
	return f
}
