package demo

import (
	"crypto/subtle"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// statusAccessChanged is the close code for clients whose access has changed. The real
// gateway's close reason was not recorded; the demo's describes the change.
const statusAccessChanged = websocket.StatusCode(4001)

// Withhold denies scopes to new connections, which still get the other scopes they ask for.
// Existing connections keep their scopes, as with the real gateway. Calling it without
// scopes turns it off.
func (r *Runtime) Withhold(scopes ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.withheld = slices.Clone(scopes)
}

// RefuseClients disconnects clients whose scopes match, and refuses new ones whose
// requested scopes match, with the error of a starting gateway. Nil turns it off.
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

// WithoutAdmin reports whether scopes lack operator.admin. Use it with RefuseClients.
func WithoutAdmin(scopes []string) bool { return !WithAdmin(scopes) }

// OwnerRuns returns the ids of the runs that started with operator.admin, oldest first. The
// real gateway offers its owner tools to the agents of such runs.
func (r *Runtime) OwnerRuns() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.adminRuns)
}

// RemoveMethods makes methods unknown, as in another gateway version: new connections don't
// see them listed, and calls fail on all connections. Calling it without methods turns it
// off.
func (r *Runtime) RemoveMethods(methods ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.removed = slices.Clone(methods)
}

// SetProtocol sets the protocol version that new connections negotiate, such as 3 or 5. The
// frames stay those of version 4. Zero restores version 4.
func (r *Runtime) SetProtocol(version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.protocol = version
}

// protocolVersion returns the protocol version in the handshake. The caller must hold r.mu.
func (r *Runtime) protocolVersion() int {
	if r.faults.protocol > 0 {
		return r.faults.protocol
	}
	return protocol
}

// Skew offsets the gateway's clock by d: in the challenge, in ticks and other timestamps,
// and when it checks a signature's age. Timers are not affected.
func (r *Runtime) Skew(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.skew = d
}

// LockOut refuses all connections for d, whatever their token, as the gateway does after
// too many wrong tokens. Zero turns it off. The error was not recorded; it follows the
// gateway's documentation.
func (r *Runtime) LockOut(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.lockedUntil = time.Now().Add(d)
}

// lockedOut returns the refusal during a lockout, or nil. The caller must hold r.mu.
func (r *Runtime) lockedOut() *failure {
	left := time.Until(r.faults.lockedUntil)
	if left <= 0 {
		return nil
	}
	f := unauthorized("too many failed authentication attempts (retry later)", "AUTH_RATE_LIMITED", "rate_limited", "wait_then_retry")
	f.RetryAfterMs = int((left + time.Millisecond - 1) / time.Millisecond)
	return f
}

// ChangeToken replaces the shared token; an empty token is ignored. Clients that connected
// with the old token are disconnected with close code 4001. Device tokens stay valid. Heal
// does not restore the old token.
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

// unauthorized returns the refusal of a credential.
func unauthorized(why, code, reason, next string) *failure {
	f := invalid("unauthorized: %s", why)
	f.Details = object{
		"code": code, "authReason": reason, "canRetryWithDeviceToken": false, "recommendedNextStep": next,
	}
	return f
}
