package link

import (
	"context"
	"crypto/ed25519"
	"slices"
	"time"
)

// Identity is the device identity that Wardroom uses to connect. The zero value means
// that Wardroom connects without a device.
type Identity struct {
	Key   ed25519.PrivateKey
	Token string // issued by the gateway; may be empty
	// Gateway is the address of the gateway that issued Token, as Endpoint.URL has it. The
	// client sends the token to no other gateway.
	Gateway string
	// Problem says in sentences why the stored device could not be read. Key is then empty.
	Problem string
}

// tokenFor returns the identity's token, or an empty string if another gateway issued it.
func (id *Identity) tokenFor(e *endpoint) string {
	if id.Gateway != e.URL {
		return ""
	}
	return id.Token
}

// DeviceEventKind says what a DeviceEvent is about.
type DeviceEventKind string

// Kinds of device events.
const (
	TokenIssued  DeviceEventKind = "issued"  // the gateway issued a token, possibly the same as before
	TokenRefused DeviceEventKind = "refused" // the gateway rejected the device's token; another credential is tried
	// the gateway accepted the device without approval, as it does on its own host
	AcceptedLocally DeviceEventKind = "local"
)

// DeviceEvent is a change in the device's state that the gateway reports while Wardroom
// is connecting.
type DeviceEvent struct {
	DeviceID string
	Kind     DeviceEventKind
	Token    string // the issued or rejected token; a secret
	Gateway  string // address of the gateway, as Endpoint.URL has it
}

// OnDeviceEvent sets a function that is called with each DeviceEvent. The function runs
// on the goroutine that executes Run and must not block. Call OnDeviceEvent before Run.
func (c *Client) OnDeviceEvent(fn func(DeviceEvent)) { c.onDeviceEvent = fn }

func (c *Client) emitDeviceEvent(n DeviceEvent) {
	n.Gateway = c.at.URL
	if c.onDeviceEvent != nil {
		c.onDeviceEvent(n)
	}
}

// idOf returns the id of a device, or an empty string if the device is nil.
func idOf(d *device) string {
	if d == nil {
		return ""
	}
	return d.id
}

// SetIdentity changes the device that future connections use. If the current connection
// uses a different device, the client reconnects immediately. If only the token differs,
// the new token is used from the next connection on. If Options sets a device,
// SetIdentity does nothing.
func (c *Client) SetIdentity(id Identity) {
	if len(c.opt.DeviceKey) > 0 {
		return
	}
	id.Key = slices.Clone(id.Key)
	c.deviceProblem.Store(&id.Problem)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = &id
	if c.at.url == nil {
		c.status.DeviceID = idOf(newDevice(id.Key))
	}
	if idOf(c.sharedDevice) == idOf(newDevice(id.Key)) {
		return
	}
	for _, k := range []*Conn{c.conn, c.starting} {
		if k != nil {
			k.end(errNewIdentity)
		}
	}
	select {
	case c.identityChanged <- struct{}{}:
	default: // already signaled
	}
}

// applyIdentity starts using the identity that SetIdentity stored. Only Run's goroutine calls it.
func (c *Client) applyIdentity() {
	c.mu.Lock()
	next := c.next
	c.next = nil
	c.mu.Unlock()
	if next == nil {
		return
	}
	was := idOf(c.device)
	c.device = newDevice(next.Key)
	c.wallet = wallet{shared: c.at.Token, issued: next.tokenFor(c.at)}
	c.secrets.AddKey(next.Key)
	c.secrets.Add(next.Token)
	c.shareWallet()
	if was == idOf(c.device) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.DeviceID = idOf(c.device)
	if c.status.State != Connecting {
		c.setState(anotherDevice()) // the old state concerned the previous device
	}
}

// outdated reports whether the endpoint or the identity has changed since the latest
// connection attempt began. The caller must hold the lock.
func (c *Client) outdated() bool {
	return c.at != c.latest || c.next != nil && idOf(newDevice(c.next.Key)) != idOf(c.sharedDevice)
}

// anotherDevice returns the failure for a connection that the client closes because
// SetIdentity has set a different device. The status shows this failure until the next
// connection attempt.
func anotherDevice() *failure {
	return &failure{state: Connecting, pace: soon, text: "Wardroom is reconnecting with another device."}
}

// Introduction is the result of Introduce. It says how the gateway responded to a device.
type Introduction struct {
	// State is Connected if the gateway accepted the device, and Unpaired if the device
	// needs approval. Otherwise it is the state that describes the failure.
	State   State
	Token   string        // the issued token; empty if the device needs no approval. A secret
	Scopes  []string      // the granted scopes
	Pairing *Pairing      // the request that waits for approval, or nil
	Error   string        // what is wrong and how to fix it
	Gateway string        // address of the gateway, as Endpoint.URL has it
	After   time.Duration // minimum delay before the next Introduce
}

// Introduce connects briefly as the device with the given key, using the shared token and
// a separate connection. It takes at most Options.Timeout. If ctx ends first, the result
// is the same as if the gateway had not answered in time.
func (c *Client) Introduce(ctx context.Context, key ed25519.PrivateKey) Introduction {
	at := c.latestEndpoint()
	if at.url == nil {
		return Introduction{State: NotConfigured, Error: at.notConfigured()}
	}
	t := c.cloneAs(at, newDevice(key), wallet{shared: at.Token})
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	k, fail := t.dial(ctx)
	if fail != nil {
		return t.failedIntroduction(fail)
	}
	h, fail := t.handshake(ctx, k)
	if fail != nil {
		k.closeNow(nil)
		return t.failedIntroduction(fail)
	}
	k.closeGracefully()
	k.closeNow(nil)
	return Introduction{State: Connected, Token: t.wallet.issued, Scopes: scopesOf(h.Auth.Scopes), Gateway: at.URL}
}

// failedIntroduction returns the Introduction for a failure.
func (c *Client) failedIntroduction(f *failure) Introduction {
	in := Introduction{State: f.state, Pairing: f.pairing, Error: c.at.message(f), Gateway: c.at.URL, After: f.after}
	if f.pace == slow {
		in.After = max(in.After, c.opt.Backoff.Max)
	}
	return in
}
