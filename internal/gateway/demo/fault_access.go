package demo

import (
	"crypto/subtle"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// statusAccessChanged is the close code of clients whose access has changed.
// The reason that goes with it was not recorded; ours says what happened.
const statusAccessChanged = websocket.StatusCode(4001)

// Withhold keeps scopes from those who connect from now on: they get in with
// what else they asked for. Without any scope it heals. Connections that exist
// keep what they have, as with the real gateway.
func (r *Runtime) Withhold(scopes ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.withheld = slices.Clone(scopes)
}

// Bar cuts the connections that hold scopes for which whom is true, and turns
// those away that ask for such ones, as a gateway does that is starting. Nil
// heals.
func (r *Runtime) Bar(whom func(scopes []string) bool) {
	r.mu.Lock()
	r.faults.barred = whom
	var cut []*connection
	for c := range r.conns {
		if whom != nil && c.ready && whom(c.scopes) {
			cut = append(cut, c)
		}
	}
	r.mu.Unlock()
	for _, c := range cut {
		c.cut()
		<-c.done
	}
}

// Admin reports whether operator.admin is among the scopes, for Bar.
func Admin(scopes []string) bool { return slices.Contains(scopes, scopeAdmin) }

// Plain reports whether it is not.
func Plain(scopes []string) bool { return !Admin(scopes) }

// OwnerRuns are the runs that began with operator.admin, by id and in their order:
// the real gateway offers their agents its owner tools.
func (r *Runtime) OwnerRuns() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.owners)
}

// Without takes methods away, as in a gateway of another version: those who
// connect from now on are not told of them, and nobody is served. Without any
// method it heals.
func (r *Runtime) Without(methods ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.without = slices.Clone(methods)
}

// Speak makes the runtime speak another version of the protocol, such as 3 or
// 5, to those who connect from now on; its frames stay those of 4. Zero heals.
func (r *Runtime) Speak(version int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.protocol = version
}

// speaks is the version of the protocol in the handshake. The lock is held.
func (r *Runtime) speaks() int {
	if r.faults.protocol > 0 {
		return r.faults.protocol
	}
	return protocol
}

// Skew puts the gateway's clock wrong by d: in the challenge, ticks and all
// other stamps, and in what it thinks of a signature's age. Timers go right.
func (r *Runtime) Skew(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.skew = d
}

// LockOut refuses everyone who connects within d, whatever their token, as the
// gateway does after too many wrong ones. Zero heals. The error was not
// recorded: it follows the gateway's documentation.
func (r *Runtime) LockOut(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.lockedUntil = time.Now().Add(d)
}

// lockedOut is the refusal of those who are locked out. The lock is held.
func (r *Runtime) lockedOut() *failure {
	left := time.Until(r.faults.lockedUntil)
	if left <= 0 {
		return nil
	}
	f := unauthorized("too many failed authentication attempts (retry later)", "AUTH_RATE_LIMITED", "rate_limited", "wait_then_retry")
	f.RetryAfterMs = int((left + time.Millisecond - 1) / time.Millisecond)
	return f
}

// ChangeToken gives the runtime another shared token, which must not be empty.
// Who came in with the old one is closed with 4001, and only the new one lets
// anybody in. Device tokens stay good. Heal does not bring the old one back.
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

// sameSecret compares secrets in a time that tells nothing of them.
func sameSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// unauthorized is a refusal of credentials.
func unauthorized(why, code, reason, next string) *failure {
	f := invalid("unauthorized: %s", why)
	f.Details = object{
		"code": code, "authReason": reason, "canRetryWithDeviceToken": false, "recommendedNextStep": next,
	}
	return f
}
