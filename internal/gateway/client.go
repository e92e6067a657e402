package gateway

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Client is a client of one gateway, for all goroutines of the process. Make it
// with New, run Run once, and use the rest at any time: without a connection
// everything fails at once with the reason. It never sends a request twice.
//
// Where operator.admin is asked for, it holds two connections; see connections.go.
type Client struct {
	opt     Options
	leader  *Client  // of a starter: the client that it belongs to; else nil
	starter *Client  // holds the connection that starts runs; nil where the only connection does
	url     *url.URL // nil when none is configured
	http    *http.Client
	secrets *secrets
	device  *device // nil when we are none; of the goroutine of Run alone, as the next one
	wallet  wallet
	hear    func(DeviceNews) // nil is nobody; see OnDevice
	became  chan struct{}    // says that there is another identity
	events  hub
	runs    *runs
	waiting atomic.Int32  // callers in Await; they make us try again soon
	wake    chan struct{} // says that there is one more of them
	exam    examRoom

	mu      sync.Mutex
	conn    *conn // nil while there is none
	status  Status
	latency time.Duration
	shown   wallet        // a copy of the wallet, for examinations
	is      *device       // a copy of the device, likewise
	next    *Identity     // what to become with the next connection; nil when that is so already
	made    uint64        // connections
	changed chan struct{} // closed, and replaced, when the state changes

	starting *conn  // the connection of the starter; nil while it has none
	watching *conn  // whose events are passed on: conn, or starting while there is no conn
	heard    string // boot id of the last connection that was watched
	narrowed bool   // the gateway refused us for our scopes alone: the starter, which asks for fewer, may be let in

	copied wallet // of a starter: the leader's wallet when it was last copied
}

// New returns a client that does nothing until Run. A bad address is a mistake
// in the settings, and the error says what is wrong with it.
func New(opt Options) (*Client, error) {
	address, err := parseURL(opt.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case len(opt.DeviceKey) != 0 && len(opt.DeviceKey) != ed25519.PrivateKeySize:
		return nil, errors.New("the device's private key has another length than an Ed25519 key")
	case opt.DeviceToken != "" && len(opt.DeviceKey) == 0:
		return nil, errors.New("a device token is of no use without the device's private key")
	case address != nil && address.Scheme == "ws" && (len(opt.Pins) > 0 || opt.Roots != nil):
		return nil, errPlainPins
	}
	c := &Client{
		opt:     opt.withDefaults(),
		url:     address,
		secrets: newSecrets(opt.DeviceKey, opt.Token, opt.DeviceToken),
		device:  newDevice(opt.DeviceKey),
		wallet:  wallet{shared: opt.Token, given: opt.DeviceToken},
		wake:    make(chan struct{}, 1),
		became:  make(chan struct{}, 1),
		changed: make(chan struct{}),
		exam:    newExamRoom(),
		runs:    &runs{},
	}
	c.showWallet()
	c.http = &http.Client{
		Transport: c.opt.HTTP,
		// Following a redirect would show our token to whoever it names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.events.now = c.opt.Now
	c.status = Status{
		State:         NotConfigured,
		Since:         clock.At(c.opt.Now()),
		ScopesAsked:   list(opt.Scopes),
		ScopesGranted: []string{},
		MissingScopes: []string{},
		Unavailable:   []Unavailable{},
		Auth:          noCredential,
	}
	if c.device != nil {
		c.status.DeviceID = c.device.id
	}
	if address == nil {
		c.status.LastError = notConfigured
	} else {
		c.status.State, c.status.URL = Connecting, address.String()
	}
	if slices.Contains(c.opt.Scopes, scopeAdmin) {
		c.starter = c.newStarter()
	}
	return c, nil
}

const stopping = "The service is stopping."

const notConfigured = "To use agents, set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN in this service's environment or its .env, and restart it."

// parseURL reads the address. It accepts no credentials in it, because an
// address is shown and logged.
func parseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error would quote the address, and with it what may be a password.
		return nil, errors.New("the gateway's address cannot be read as a URL, such as ws://127.0.0.1:18789")
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return nil, errors.New("the gateway's address must begin with ws://, wss://, http:// or https://")
	}
	switch {
	case u.Hostname() == "":
		return nil, errors.New("the gateway's address names no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the gateway's address must not hold credentials, a query or a fragment; the token has its own setting")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func (o Options) withDefaults() Options {
	or := func(d *time.Duration, fallback time.Duration) {
		if *d <= 0 {
			*d = fallback
		}
	}
	or(&o.Timeout, 15*time.Second)
	or(&o.Silence, 75*time.Second)
	or(&o.Settle, time.Second)
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = clock.Now
	}
	if o.HTTP == nil {
		o.HTTP = &http.Transport{Proxy: http.ProxyFromEnvironment}
	} else {
		o.HTTP = o.HTTP.Clone()
	}
	// A WebSocket is HTTP/1.1, and a connection that refused to become one is of
	// no further use.
	o.HTTP.Protocols = new(http.Protocols)
	o.HTTP.Protocols.SetHTTP1(true)
	o.HTTP.DisableKeepAlives = true
	o.HTTP.TLSClientConfig = o.tlsConfig()
	o.Backoff = o.Backoff.withDefaults()
	o.Scopes = list(o.Scopes)
	return o
}

// list is a copy that is never nil: in the API an empty list is [].
func list(s []string) []string { return append([]string{}, s...) }

// Run holds the connection until ctx ends: it connects, reads, and connects
// again whenever that fails. It returns nil, and only after everything that it
// started has ended.
func (c *Client) Run(ctx context.Context) error {
	defer c.events.closeAll()
	if c.url == nil {
		<-ctx.Done()
		return nil
	}
	if c.starter != nil {
		var second sync.WaitGroup
		second.Go(func() { c.starter.stayConnected(ctx) })
		defer second.Wait()
	}
	c.stayConnected(ctx)
	return nil
}

// stayConnected connects again and again until ctx ends.
func (c *Client) stayConnected(ctx context.Context) {
	failures := 0
	var restarting time.Time // until when the gateway is expected back any moment
	for {
		lived, fail := c.session(ctx)
		if ctx.Err() != nil {
			c.fail(unreachable(stopping), 0, 0)
			return
		}
		if lived > steadyAfter {
			failures = 0
		}
		failures++
		if fail.pace == quick {
			restarting = time.Now().Add(restartTakes)
		}
		if fail.pace == steady && (c.waiting.Load() > 0 || time.Now().Before(restarting)) {
			fail.pace = quick
		}
		delay := c.opt.Backoff.delay(failures, fail.pace, fail.after)
		c.fail(fail, failures, delay)
		c.pause(ctx, delay, fail)
	}
}

// steadyAfter is how long a connection must have lived for its loss to count as
// the first failure. Otherwise a gateway that hangs up on everybody at once
// would be called four times a second for ever.
const steadyAfter = 5 * time.Second

// restartTakes is how long after the gateway said goodbye it is called often. A
// restart was seen to take 12 s on two slow cores.
const restartTakes = time.Minute

// pause waits before the next attempt. Somebody who begins to wait for the
// connection shortens it, unless the gateway asked for the pause or only a
// person can help.
func (c *Client) pause(ctx context.Context, delay time.Duration, fail *failure) {
	due := time.NewTimer(delay)
	defer due.Stop()
	wake, became := c.wake, c.became
	if fail.pace == slow || fail.after > 0 {
		wake = nil
	}
	if fail.after > 0 {
		became = nil
	}
	until := time.Now().Add(delay)
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			return
		case <-became:
			return
		case <-wake:
			sooner := c.opt.Backoff.delay(1, quick, 0)
			if time.Until(until) > sooner {
				due.Reset(sooner)
				until = time.Now().Add(sooner)
			}
		}
	}
}

// session makes one connection and serves it to its end. It returns how long it
// lived and why it ended or did not begin.
func (c *Client) session(ctx context.Context) (time.Duration, *failure) {
	if c.leader == nil {
		c.adopt()
	} else if !c.follow(ctx) {
		return 0, unreachable(stopping)
	}
	k, hello, fail := c.connect(ctx)
	if fail != nil {
		return 0, fail
	}
	if fail := c.attach(k, hello); fail != nil {
		k.drop(errBecame)
		return 0, fail
	}
	return c.carry(ctx, k)
}

// carry serves a connection that has been attached, and detaches it.
func (c *Client) carry(ctx context.Context, k *conn) (time.Duration, *failure) {
	defer k.probing.Wait()
	defer k.drop(nil)
	began := time.Now()
	fail := c.serve(ctx, k)
	if ctx.Err() != nil {
		fail = unreachable(stopping)
	}
	c.detach(k, fail)
	return time.Since(began), fail
}

// attach makes k the connection that requests use. It fails when we are to be
// another device than the one that k was begun as: a later Become finds k and
// ends it.
func (c *Client) attach(k *conn, h hello) *failure {
	granted := scopesOf(h.Auth.Scopes)
	k.tick, k.admin = h.tick(), c.holdsAdmin(granted)
	version := c.secrets.bounded(h.Server.Version, 100)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.leader != nil && k.admin:
		return unasked()
	case c.leader != nil && !c.leader.takeStarter(k, c.device, version, h), c.leader == nil && c.outdated():
		return anotherDevice()
	}
	c.conn = k
	c.made++
	s := &c.status
	s.ConnectedAt, s.RetryAt, s.Failures = clock.Ptr(c.opt.Now()), nil, 0
	s.GatewayVersion, s.Protocol, s.BootID = version, int(protocol), k.bootID
	s.ScopesGranted = granted
	s.MissingScopes = missingScopes(c.opt.Scopes, granted)
	s.Unavailable = lacking(h.Features.Methods)
	c.narrowed = false
	c.enter(c.attached())
	c.elect()
	if c.starter != nil { // what kept it out may be over
		select {
		case c.starter.became <- struct{}{}:
		default: // it has been told already
		}
	}
	return nil
}

// attached is how a connection does that answers; the caller holds the lock.
func (c *Client) attached() *failure {
	if missing := c.status.MissingScopes; len(missing) > 0 {
		return &failure{state: MissingScopes, text: missingText(missing)}
	}
	return &failure{state: Connected}
}

// detach ends all that k carried, after the state says so: whoever is woken by
// it finds the reason.
func (c *Client) detach(k *conn, fail *failure) {
	c.mu.Lock()
	c.conn = nil
	c.status.ConnectedAt = nil
	c.status.LastSeenAt = clock.Ptr(k.lastSeen())
	c.enter(fail)
	c.elect()
	if c.leader != nil {
		c.leader.dropStarter()
	}
	c.mu.Unlock()
	close(k.gone)
}

// fail notes an attempt that failed and when the next one is due.
func (c *Client) fail(f *failure, failures int, delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Failures = failures
	c.status.RetryAt = nil
	if delay > 0 {
		c.status.RetryAt = clock.Ptr(c.opt.Now().Add(delay))
	}
	if c.narrowed != f.narrow {
		c.narrowed = f.narrow
		c.bump()
	}
	c.enter(f)
}

// enter changes the state; the caller holds the lock. Only a change is logged
// and has a new Since: while the gateway is away there is one line, not one
// for every attempt.
func (c *Client) enter(f *failure) {
	state, text := f.state, f.words()
	asked := f.pairing != nil && (c.status.Pairing == nil || c.status.Pairing.RequestID != f.pairing.RequestID)
	c.status.LastError, c.status.Pairing, c.status.Certificate = text, f.pairing, f.certificate
	if c.status.State == state {
		if asked { // the command to run is another one
			c.bump()
		}
		return
	}
	c.status.State = state
	c.status.Since = clock.At(c.opt.Now())
	c.bump()
	if text == stopping || f.quiet {
		return
	}
	if state == Connected {
		c.opt.Log.Info("gateway", "state", string(state), "version", c.status.GatewayVersion, "boot_id", c.status.BootID)
		return
	}
	c.opt.Log.Warn("gateway", "state", string(state), "reason", text)
}

// Await returns the gateway's boot id once there is a connection that starts
// runs, at once if there is one. While it waits we try to connect about every
// second. When ctx ends first, the error is the fault of the present state.
// Without an address there is nothing to wait for.
func (c *Client) Await(ctx context.Context) (bootID string, err error) {
	for _, one := range c.both() {
		one.waiting.Add(1)
		defer one.waiting.Add(-1)
		select {
		case one.wake <- struct{}{}:
		default: // it has been told already
		}
	}
	for {
		c.mu.Lock()
		k, state, changed := c.startsRuns(), c.status.State, c.changed
		c.mu.Unlock()
		if k != nil {
			return k.bootID, nil
		}
		if state == NotConfigured {
			return "", c.fault()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the gateway: %w", c.startFault())
		}
	}
}

// fault is the failure of the present state, for those who find no connection.
func (c *Client) fault() *fault.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.status.LastError
	if c.leader != nil {
		text = startsNothing(text)
	}
	e := ErrUnreachable
	switch c.status.State {
	case NotConfigured:
		e = ErrNotConfigured
	case Unauthorized:
		e = ErrUnauthorized
	case Unpaired:
		e = ErrUnpaired
	case MissingScopes:
		e = ErrMissingScope
	case Untrusted:
		e = ErrUntrusted
	case Slow:
		e = ErrTimeout
	case Connecting:
		if text == "" {
			text = "The first connection is being made."
		}
	case Connected, Unreachable:
	}
	e = e.With("%s", text)
	if c.status.State == NotConfigured {
		return e // nothing will change by itself
	}
	soon := time.Second // an attempt is under way, or about to be
	if at := c.status.RetryAt; at != nil {
		soon = max(soon, at.Sub(c.opt.Now()))
	}
	return e.After(soon)
}
