package link

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/fault"
)

// Client connects to one gateway. It is safe for concurrent use. Create it with New and
// call Run once; the other methods may be called at any time. While there is no
// connection, requests fail immediately with an error that gives the reason. The client
// never sends a request twice.
//
// If operator.admin is among the requested scopes, the client makes two connections: see
// conn_routing.go.
type Client struct {
	opt             Options
	at              *endpoint // in use; written only by the goroutine of Run, with the lock held
	started         bool      // Run has begun; guarded by the lock
	leader          *Client   // if this is a starter, the client that it belongs to; otherwise nil
	starter         *Client   // holds the connection that starts runs; nil if there is only one connection
	http            *http.Client
	secrets         *wire.Secrets
	device          *device // nil without a device; like wallet, used only by the goroutine of Run
	wallet          wallet
	onDeviceEvent   func(DeviceEvent)      // called with device events; may be nil. See OnDeviceEvent
	deviceProblem   atomic.Pointer[string] // Identity.Problem
	identityChanged chan struct{}          // signals that SetIdentity changed the identity
	events          hub
	waiting         atomic.Int32  // number of callers in Await; while it is positive, retries come sooner
	wake            chan struct{} // signals that Await was called
	exam            examCache

	mu           sync.Mutex
	latest       *endpoint // as SetEndpoint last set it
	conn         *Conn     // nil while disconnected
	status       Status
	latency      time.Duration
	sharedWallet wallet        // copy of wallet for other goroutines
	sharedDevice *device       // copy of device for other goroutines
	next         *Identity     // identity for the next connection; nil if unchanged
	made         uint64        // number of connections so far
	changed      chan struct{} // closed and replaced when the status changes

	starting       *Conn  // connection of the starter; nil while it has none
	watching       *Conn  // source of the published events: conn, or starting while conn is nil
	lastBootID     string // boot id of the last event source
	scopesRejected bool   // the gateway rejected only the scopes, so the starter, which requests fewer, may connect

	copied wallet // if this is a starter, the leader's credentials as last copied
}

// New returns a client that does nothing until Run is called. It returns an error if the
// options are invalid.
func New(opt Options) (*Client, error) {
	at, err := opt.endpoint(Endpoint{URL: opt.URL, Token: opt.Token})
	if err != nil {
		return nil, err
	}
	switch {
	case len(opt.DeviceKey) != 0 && len(opt.DeviceKey) != ed25519.PrivateKeySize:
		return nil, errors.New("the device's private key is not a valid Ed25519 key: wrong length")
	case opt.DeviceToken != "" && len(opt.DeviceKey) == 0:
		return nil, errors.New("a device token requires the device's private key")
	}
	c := &Client{
		opt:             opt.withDefaults(),
		at:              at,
		latest:          at,
		secrets:         wire.NewSecrets(opt.DeviceKey, opt.Token, opt.DeviceToken),
		device:          newDevice(opt.DeviceKey),
		wallet:          wallet{shared: opt.Token, given: opt.DeviceToken},
		wake:            make(chan struct{}, 1),
		identityChanged: make(chan struct{}, 1),
		changed:         make(chan struct{}),
		exam:            newExamCache(),
	}
	c.shareWallet()
	c.http = &http.Client{
		Transport: c.opt.HTTP,
		// A redirect could send the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.events.now = c.opt.Now
	c.status = c.firstStatus()
	c.status.DeviceID = idOf(c.device)
	if slices.Contains(c.opt.Scopes, scopeAdmin) {
		c.starter = c.newStarter()
	}
	return c, nil
}

// Secrets returns what redacts the client's tokens and keys in the gateway's texts.
func (c *Client) Secrets() *wire.Secrets { return c.secrets }

const stopping = "Wardroom is shutting down."

// ShownURL returns a gateway's address in the form in which Status has it, so that people see the same
// address everywhere: with ws or wss. It returns an invalid address as it is.
func ShownURL(address string) string {
	u, err := parseURL(address)
	if err != nil || u == nil {
		return address
	}
	return u.String()
}

// parseURL parses the gateway's URL. It rejects a URL that contains credentials, because the URL is
// shown and logged.
func parseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parser's error would quote the address, which may contain a password.
		return nil, errors.New("the gateway's address is not a valid URL; use one like ws://127.0.0.1:18789")
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
		return nil, errors.New("the gateway's address has no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New(
			"the gateway's address must not contain credentials, a query or a fragment; set the token separately",
		)
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return nil, errors.New("the gateway's address has an invalid port; use one from 1 to 65535")
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
	// WebSocket needs HTTP/1.1, and a connection whose upgrade failed cannot be reused.
	o.HTTP.Protocols = new(http.Protocols)
	o.HTTP.Protocols.SetHTTP1(true)
	o.HTTP.DisableKeepAlives = true
	o.HTTP.TLSClientConfig = o.tlsConfig()
	o.Backoff = o.Backoff.withDefaults()
	o.Scopes = list(o.Scopes)
	return o
}

// list returns a copy of s that is never nil, so that an empty list becomes [] in JSON,
// not null.
func list(s []string) []string { return append([]string{}, s...) }

// Run keeps the client connected until ctx ends, and reconnects after every failure. It
// returns nil when ctx has ended and all connections are closed.
func (c *Client) Run(ctx context.Context) error {
	defer c.events.closeAll()
	if c.starter != nil {
		var second sync.WaitGroup
		second.Go(func() { c.starter.stayConnected(ctx) })
		defer second.Wait()
	}
	c.stayConnected(ctx)
	return nil
}

// stayConnected keeps the client connected until ctx ends.
func (c *Client) stayConnected(ctx context.Context) {
	failures := 0
	var restarting time.Time // end of the period in which the gateway may still be restarting
	for {
		lived, fail := c.session(ctx)
		if ctx.Err() != nil {
			if c.at.url != nil {
				c.fail(unreachable(stopping), 0, 0)
			}
			return
		}
		if c.at.replaced() {
			failures, restarting = 0, time.Time{}
			continue
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

// steadyAfter is how long a connection must last to reset the failure count. If shorter
// connections reset it too, Wardroom would reconnect several times a second to a gateway
// that closes every connection immediately.
const steadyAfter = 5 * time.Second

// restartTakes is how long retries stay frequent after the gateway announces a restart.
// On a host with two slow cores, the gateway took 12 s to restart.
const restartTakes = time.Minute

// pause waits before the next connection attempt. A call to Await shortens the pause,
// unless the gateway requested the delay or only a person can fix the failure.
func (c *Client) pause(ctx context.Context, delay time.Duration, fail *failure) {
	due := time.NewTimer(delay)
	defer due.Stop()
	wake, identityChanged := c.wake, c.identityChanged
	if fail.pace == slow || fail.after > 0 {
		wake = nil
	}
	if fail.after > 0 {
		identityChanged = nil
	}
	until := time.Now().Add(delay)
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			return
		case <-identityChanged:
			return
		case <-c.at.life.Done():
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

// session makes one connection and serves it until it ends. It returns how long the
// connection lasted and the reason why it ended or could not be made.
func (c *Client) session(ctx context.Context) (time.Duration, *failure) {
	ready := c.awaitEndpoint
	if c.leader != nil {
		ready = c.awaitLeader
	}
	if !ready(ctx) {
		return 0, unreachable(stopping)
	}
	if c.leader == nil {
		c.applyIdentity()
	}
	k, hello, fail := c.connect(ctx)
	if fail != nil {
		return 0, fail
	}
	if fail := c.attach(k, hello); fail != nil {
		k.closeNow(errNewIdentity)
		return 0, fail
	}
	return c.serveAttached(ctx, k)
}

// serveAttached serves an attached connection until it ends, and then detaches it.
func (c *Client) serveAttached(ctx context.Context, k *Conn) (time.Duration, *failure) {
	defer k.probing.Wait()
	defer k.closeNow(nil)
	stop := context.AfterFunc(c.at.life, func() { k.end(errNewEndpoint) })
	defer stop()
	began := time.Now()
	fail := c.serve(ctx, k)
	if ctx.Err() != nil {
		fail = unreachable(stopping)
	}
	c.detach(k, fail)
	return time.Since(began), fail
}

// attach makes k the connection over which the client sends requests. It fails if the
// client's identity changed while k was connecting. If the identity changes later,
// SetIdentity closes the connection.
func (c *Client) attach(k *Conn, h hello) *failure {
	granted := scopesOf(h.Auth.Scopes)
	k.tick, k.admin = h.tick(), c.holdsAdmin(granted)
	version := c.secrets.Bounded(h.Server.Version, 100)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.leader != nil && k.admin:
		return unrequestedAdmin()
	case c.leader != nil && !c.leader.setStarting(k, version, h), c.leader == nil && c.outdated():
		return anotherDevice()
	}
	c.conn = k
	c.made++
	s := &c.status
	s.ConnectedAt, s.RetryAt, s.Failures = clock.Ptr(c.opt.Now()), nil, 0
	s.GatewayVersion, s.Protocol, s.BootID = version, int(protocol), k.bootID
	s.ScopesGranted = granted
	s.MissingScopes = missingScopes(c.opt.Scopes, granted)
	s.Unavailable = missingFeatures(h.Features.Methods)
	c.scopesRejected = false
	c.setState(c.attachedState())
	c.chooseEventSource()
	if c.starter != nil { // the starter may be able to connect now
		select {
		case c.starter.identityChanged <- struct{}{}:
		default: // already signaled
		}
	}
	return nil
}

// attachedState returns the state of a connected client: Connected, or MissingScopes if
// some scopes were not granted. The caller must hold the lock.
func (c *Client) attachedState() *failure {
	if missing := c.status.MissingScopes; len(missing) > 0 {
		return &failure{state: MissingScopes, text: missingText(missing)}
	}
	return &failure{state: Connected}
}

// detach stops using the connection k and ends all requests on it. It updates the status
// first, so that the callers of those requests find the reason there.
func (c *Client) detach(k *Conn, fail *failure) {
	c.mu.Lock()
	c.conn = nil
	c.status.ConnectedAt = nil
	c.status.LastSeenAt = clock.Ptr(k.lastSeen())
	c.setState(fail)
	c.chooseEventSource()
	if c.leader != nil {
		c.leader.clearStarting()
	}
	c.mu.Unlock()
	close(k.gone)
}

// fail records that a connection attempt failed and when the next one is due.
func (c *Client) fail(f *failure, failures int, delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Failures = failures
	c.status.RetryAt = nil
	if delay > 0 {
		c.status.RetryAt = clock.Ptr(c.opt.Now().Add(delay))
	}
	if c.scopesRejected != f.narrow {
		c.scopesRejected = f.narrow
		c.notifyChange()
	}
	c.setState(f)
}

// setState sets the client's state. It logs only when the state changes, so that an
// unreachable gateway causes one log line instead of one per attempt. The caller must
// hold the lock.
func (c *Client) setState(f *failure) {
	state, text := f.state, c.at.message(f)
	asked := f.pairing != nil && (c.status.Pairing == nil || c.status.Pairing.RequestID != f.pairing.RequestID)
	c.status.LastError, c.status.Pairing, c.status.Certificate = text, f.pairing, f.certificate
	if c.status.State == state {
		if asked { // another pairing request has to be approved
			c.notifyChange()
		}
		return
	}
	c.status.State = state
	c.status.Since = clock.At(c.opt.Now())
	c.notifyChange()
	if text == stopping || f.quiet {
		return
	}
	if state == Connected {
		c.opt.Log.Info("gateway", "state", string(state), "version", c.status.GatewayVersion, "boot_id", c.status.BootID)
		return
	}
	c.opt.Log.Warn("gateway", "state", string(state), "reason", text)
}

// Await waits until runs can be started, then returns the gateway's boot id. While Await
// waits, the client tries to connect about once per second. If ctx ends first or no
// gateway is configured, Await returns an error that describes the current state.
func (c *Client) Await(ctx context.Context) (bootID string, err error) {
	for _, one := range c.both() {
		one.waiting.Add(1)
		defer one.waiting.Add(-1)
		select {
		case one.wake <- struct{}{}:
		default: // already signaled
		}
	}
	for {
		c.mu.Lock()
		k, state, changed := c.runConn(), c.status.State, c.changed
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
			return "", fmt.Errorf("wait for the gateway: %w", c.runFault())
		}
	}
}

// fault returns the error that requests return while there is no connection. It depends
// on the client's current state.
func (c *Client) fault() *fault.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.status.LastError
	if c.leader != nil {
		text = runsUnavailable(text)
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
			text = "Wardroom is connecting to the gateway for the first time."
		}
	case Connected, Unreachable:
	}
	e = e.With("%s", text)
	if c.status.State == NotConfigured {
		return e // without a retry time: only a person can change this
	}
	soon := time.Second // an attempt is under way or about to start
	if at := c.status.RetryAt; at != nil {
		soon = max(soon, at.Sub(c.opt.Now()))
	}
	return e.After(soon)
}
