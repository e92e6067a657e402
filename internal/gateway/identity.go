package gateway

import (
	"context"
	"crypto/ed25519"
	"slices"
	"time"
)

// Identity is a device that this service can be to the gateway. The zero
// Identity is none.
type Identity struct {
	Key   ed25519.PrivateKey
	Token string // that the gateway gave this device; empty when there is none yet
}

// NewsKind says what became of our device.
type NewsKind string

// The kinds of news.
const (
	TokenIssued  NewsKind = "issued"  // the gateway gave it a token, or the same one again
	TokenRefused NewsKind = "refused" // the gateway takes its token no more; another credential is tried
	LetInAsLocal NewsKind = "local"   // it was let in without an approval, as on the gateway's own host
)

// DeviceNews is what the gateway let us know of our device while we connected.
type DeviceNews struct {
	DeviceID string
	Kind     NewsKind
	Token    string // which was issued or refused; a secret
}

// OnDevice has hear told of what becomes of our device, from the goroutine of
// Run, which must not be held up. Call it before Run.
func (c *Client) OnDevice(hear func(DeviceNews)) { c.hear = hear }

func (c *Client) tell(n DeviceNews) {
	if c.hear != nil {
		c.hear(n)
	}
}

// idOf is the id of a device, and empty for none.
func idOf(d *device) string {
	if d == nil {
		return ""
	}
	return d.id
}

// Become makes us another device, or none, from the next connection on. The
// present connection ends when that is another device than it was made with,
// and is made anew at once; a token alone changes nothing until then. A device
// of the settings stays what it is, and then nothing happens.
func (c *Client) Become(id Identity) {
	if len(c.opt.DeviceKey) > 0 {
		return
	}
	id.Key = slices.Clone(id.Key)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = &id
	if c.url == nil {
		c.status.DeviceID = idOf(newDevice(id.Key))
	}
	if idOf(c.is) == idOf(newDevice(id.Key)) {
		return
	}
	for _, k := range []*conn{c.conn, c.starting} {
		if k != nil {
			k.end(errBecame)
		}
	}
	select {
	case c.became <- struct{}{}:
	default: // it has been told already
	}
}

// adopt becomes what Become said. Of the goroutine of Run.
func (c *Client) adopt() {
	c.mu.Lock()
	next := c.next
	c.next = nil
	c.mu.Unlock()
	if next == nil {
		return
	}
	was := idOf(c.device)
	c.device = newDevice(next.Key)
	c.wallet = wallet{shared: c.opt.Token, issued: next.Token}
	c.secrets.addKey(next.Key)
	c.secrets.add(next.Token)
	c.showWallet()
	if was == idOf(c.device) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.DeviceID = idOf(c.device)
	if c.status.State != Connecting {
		c.enter(anotherDevice()) // what was wrong was said to the one before
	}
}

// outdated says whether we are to be another device than the one that the
// connection was begun as; the caller holds the lock.
func (c *Client) outdated() bool {
	return c.next != nil && idOf(newDevice(c.next.Key)) != idOf(c.is)
}

// anotherDevice is why a connection ends that was made as another device, and how
// things stand until the next attempt has ended.
func anotherDevice() *failure {
	return &failure{state: Connecting, pace: soon, text: "The connection is made anew, as another device."}
}

// Introduction is how the gateway took a device.
type Introduction struct {
	// State is Connected when the device was let in, Unpaired when somebody has to
	// approve it, and otherwise what is in the way.
	State   State
	Token   string        // that it was given; empty where a device needs no approval. A secret
	Scopes  []string      // that it was granted
	Pairing *Pairing      // the request that waits for approval; else nil
	Error   string        // what is wrong and what to do, in words
	After   time.Duration // not to be asked again before; 0 says nothing
}

// Introduce shows the gateway another device with the shared token, on a short
// connection of its own, beside the one that the client holds. It takes at most
// one request's time. The end of ctx looks like a gateway that does not answer.
func (c *Client) Introduce(ctx context.Context, key ed25519.PrivateKey) Introduction {
	if c.url == nil {
		return Introduction{State: NotConfigured, Error: notConfigured}
	}
	t := c.twinAs(newDevice(key), wallet{shared: c.opt.Token})
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	k, fail := t.dial(ctx)
	if fail != nil {
		return t.turnedAway(fail)
	}
	h, fail := t.handshake(ctx, k)
	if fail != nil {
		k.drop(nil)
		return t.turnedAway(fail)
	}
	k.farewell()
	k.drop(nil)
	return Introduction{State: Connected, Token: t.wallet.issued, Scopes: scopesOf(h.Auth.Scopes)}
}

// turnedAway is an introduction that failed.
func (c *Client) turnedAway(f *failure) Introduction {
	in := Introduction{State: f.state, Pairing: f.pairing, Error: f.words(), After: f.after}
	if f.pace == slow {
		in.After = max(in.After, c.opt.Backoff.Max)
	}
	return in
}
