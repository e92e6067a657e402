package link

import (
	"context"
	"net/url"
	"strings"

	"wardroom/internal/platform/clock"
)

// Endpoint is the address of a gateway, with the shared token for it.
type Endpoint struct {
	URL   string // http, https, ws or wss; empty means that no gateway is configured
	Token string // the gateway's shared token; never shown, logged or returned

	// Problem says in a sentence why the stored token could not be read; empty if it could, or if none is stored.
	Problem string

	// URLEditable and TokenEditable say that people change the value in the dashboard. Errors
	// then tell them to change it there, and not in the environment.
	URLEditable, TokenEditable bool
}

// endpoint is an Endpoint that a client uses or is about to use.
type endpoint struct {
	Endpoint
	url   *url.URL        // nil when no gateway is configured
	trial bool            // not in use, but examined by ExamineAs
	life  context.Context // ends when another endpoint replaces this one
	end   context.CancelFunc
}

// endpoint returns e in the form that a client with the options o uses. It returns an
// error if the address is invalid.
func (o Options) endpoint(e Endpoint) (*endpoint, error) {
	address, err := parseURL(e.URL)
	if err != nil {
		return nil, err
	}
	if address != nil && address.Scheme == "ws" && (len(o.Pins) > 0 || o.Roots != nil) {
		return nil, errPlainPins
	}
	at := &endpoint{Endpoint: e, url: address}
	at.life, at.end = context.WithCancel(context.Background())
	return at, nil
}

// replaced reports whether another endpoint has replaced e.
func (e *endpoint) replaced() bool { return e.life.Err() != nil }

// SetEndpoint changes the gateway to which the client connects, and its shared token. The
// client closes its connections, makes new ones at once, and no longer uses tokens that
// another gateway issued. SetEndpoint returns an error if the address is invalid, and does
// nothing if e is in use already. It may be called before Run.
func (c *Client) SetEndpoint(e Endpoint) error {
	at, err := c.opt.endpoint(e)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest.Endpoint == e {
		at.end()
		return nil
	}
	c.secrets.AddShared(e.Token)
	was := c.latest
	c.latest = at
	was.end()
	return nil
}

// CheckEndpoint returns the error that SetEndpoint would return for e.
func (c *Client) CheckEndpoint(e Endpoint) error {
	at, err := c.opt.endpoint(e)
	if err == nil {
		at.end()
	}
	return err
}

// Address returns the gateway's address as it was configured, or an empty string if no
// gateway is configured.
func (c *Client) Address() string { return c.latestEndpoint().URL }

// HasToken reports whether a shared token is configured.
func (c *Client) HasToken() bool { return c.latestEndpoint().Token != "" }

func (c *Client) latestEndpoint() *endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

// awaitEndpoint starts using the endpoint that SetEndpoint last set, and waits until one
// has an address. It returns false if ctx ends first. Only Run's goroutine calls it.
func (c *Client) awaitEndpoint(ctx context.Context) bool {
	for {
		c.applyEndpoint()
		if c.at.url != nil {
			return true
		}
		select {
		case <-c.at.life.Done():
		case <-ctx.Done():
			return false
		}
	}
}

// applyEndpoint starts using the endpoint that SetEndpoint stored. What the status says
// about the previous gateway is discarded. The log tells of a change only after Run has
// begun: what the settings set before is the address with which the client starts.
func (c *Client) applyEndpoint() {
	c.mu.Lock()
	defer c.mu.Unlock()
	started, was := c.started, c.at.Endpoint
	c.started = true
	if c.at == c.latest {
		return
	}
	c.wallet = c.walletFor(c.latest, c.wallet)
	c.at = c.latest
	c.sharedWallet = c.wallet
	c.scopesRejected, c.latency = false, 0
	now := c.firstStatus()
	state, text := now.State, now.LastError
	now.State, now.Since, now.DeviceID = c.status.State, c.status.Since, c.status.DeviceID
	c.status = now
	switch {
	case !started || c.at.URL == was.URL && c.at.Token == was.Token:
	case c.at.url == nil:
		c.opt.Log.Info("the gateway's address was removed")
	default:
		c.opt.Log.Info("the gateway's address or token was changed", "url", now.URL)
	}
	c.setState(&failure{state: state, text: text, quiet: true})
	c.notifyChange()
}

// walletFor returns the credentials for an endpoint that may replace c.at. It leaves out
// tokens that are for another gateway.
func (c *Client) walletFor(e *endpoint, has wallet) wallet {
	if e == c.at {
		return has
	}
	w := wallet{shared: e.Token}
	if e.URL == c.at.URL {
		w.issued = has.issued
	}
	if e.URL == c.opt.URL {
		w.given = c.opt.DeviceToken
	}
	return w
}

// firstStatus returns the status before the first connection to the endpoint in use. It
// does not set the device.
func (c *Client) firstStatus() Status {
	s := Status{
		State:         NotConfigured,
		Since:         clock.At(c.opt.Now()),
		LastError:     c.at.notConfigured(),
		ScopesAsked:   list(c.opt.Scopes),
		ScopesGranted: []string{},
		MissingScopes: []string{},
		Unavailable:   []Unavailable{},
		Auth:          noCredential,
	}
	if c.at.url != nil {
		s.State, s.LastError, s.URL = Connecting, "", c.at.url.String()
	}
	return s
}

// anotherEndpoint returns the failure for a connection that the client closes because
// SetEndpoint has set another endpoint.
func anotherEndpoint() *failure {
	return &failure{
		state: Connecting, pace: soon, quiet: true,
		text: "Wardroom is reconnecting, because the gateway's address or token was changed.",
	}
}

// ExamineAs is like Examine, but checks the connection to another endpoint, with the
// client's device and without any token except e.Token, and does not wait for events. The
// client does not use e afterwards, and the result is not shared. ExamineAs returns an error
// if the address is invalid or ctx ends.
func (c *Client) ExamineAs(ctx context.Context, e Endpoint) (Examination, error) {
	at, err := c.opt.endpoint(e)
	if err != nil {
		return Examination{}, err
	}
	defer at.end()
	at.trial = true
	select {
	case c.exam.trial <- struct{}{}:
	case <-ctx.Done():
		return Examination{}, ctx.Err()
	}
	defer func() { <-c.exam.trial }()
	c.mu.Lock()
	_, is, _ := c.credentials()
	c.mu.Unlock()
	candidate := c.cloneAs(at, is, wallet{shared: e.Token})
	candidate.shareWallet()
	x := newExamination(candidate, func(Step) {})
	x.examine(ctx)
	return x.copy(), ctx.Err()
}

// notConfigured returns what to do if no gateway is configured.
func (e *endpoint) notConfigured() string {
	if e.URLEditable {
		return "To use agents, connect a gateway in the dashboard under Settings → Gateway."
	}
	return "To use agents, set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN in Wardroom's environment or .env file, then restart it."
}

// What errors call a setting that people change in the dashboard.
const (
	fieldAddress = "the address"
	fieldToken   = "the token"
)

// named returns a text in which the variables of settings that people change in the
// dashboard are replaced by the names of the fields there.
func (e *endpoint) named(text string) string {
	if e.URLEditable {
		text = strings.NewReplacer("AGENTRT_GATEWAY_URL=", fieldAddress+" to ",
			"AGENTRT_GATEWAY_URL", fieldAddress).Replace(text)
	}
	if e.TokenEditable {
		text = strings.ReplaceAll(text, "AGENTRT_GATEWAY_TOKEN", fieldToken)
	}
	return text
}

// Where to change a setting that a fix names.
const (
	whereSettings  = "Change settings in Wardroom's environment or .env file, then restart it."
	whereDashboard = "Change it in the dashboard under Settings → Gateway."
)

// advice returns a fix that also says where to change the settings that it names, unless
// it mentions a restart.
func (e *endpoint) advice(fix string) string {
	out := e.named(fix)
	if out != fix && !e.trial { // the fields of a trial are where its result is shown
		out = strings.TrimRight(out, ". ") + ". " + whereDashboard
	}
	if strings.Contains(out, "AGENTRT_") && !strings.Contains(out, "restart") {
		out = strings.TrimRight(out, ". ") + ". " + whereSettings
	}
	return out
}

// message returns the cause of the failure and the fix as one text.
func (e *endpoint) message(f *failure) string {
	return strings.TrimSpace(e.named(f.text) + " " + e.advice(f.fix))
}
