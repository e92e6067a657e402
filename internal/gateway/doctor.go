package gateway

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/platform/clock"
)

// Layer is one of the things that have to work, each on top of the one before,
// until the gateway can be used.
type Layer string

// The layers, from the bottom.
const (
	LayerDNS       Layer = "dns"       // the name in the address has an address
	LayerTCP       Layer = "tcp"       // something listens there
	LayerTLS       Layer = "tls"       // and shows a certificate that we trust
	LayerHTTP      Layer = "http"      // and speaks HTTP, and is not starting
	LayerUpgrade   Layer = "upgrade"   // and opens a WebSocket
	LayerChallenge Layer = "challenge" // and begins the gateway's handshake
	LayerAuth      Layer = "auth"      // and takes our credential
	LayerPairing   Layer = "pairing"   // and has approved our device
	LayerScopes    Layer = "scopes"    // and grants what we ask for
	LayerProtocol  Layer = "protocol"  // and speaks our version of the protocol
	LayerMethods   Layer = "methods"   // and has the methods that we use, and answers them
	LayerEvents    Layer = "events"    // and tells what happens
)

// Layers lists them from the bottom.
func Layers() []Layer {
	return []Layer{
		LayerDNS, LayerTCP, LayerTLS, LayerHTTP, LayerUpgrade, LayerChallenge,
		LayerAuth, LayerPairing, LayerScopes, LayerProtocol, LayerMethods, LayerEvents,
	}
}

// StepState says what became of a layer.
type StepState string

// The states of a layer.
const (
	StepOK         StepState = "ok"
	StepFailed     StepState = "failed"
	StepNotReached StepState = "not_reached" // a layer below failed
	StepSkipped    StepState = "skipped"     // it does not apply, or cannot be seen
)

// Step is one layer, examined.
type Step struct {
	Layer  Layer     `json:"layer" enum:"dns,tcp,tls,http,upgrade,challenge,auth,pairing,scopes,protocol,methods,events" doc:"What was examined."`
	State  StepState `json:"state" enum:"ok,failed,not_reached,skipped" doc:"skipped: it does not apply here, or cannot be seen. not_reached: a layer before it failed."`
	Saw    string    `json:"saw" doc:"What was seen, in words; empty when it was not reached."`
	TookMS *float64  `json:"took_ms" doc:"Milliseconds that it took; null when it took no time of its own."`
}

// Finding is something that is wrong, and what to do about it.
type Finding struct {
	Layer Layer  `json:"layer" enum:"dns,tcp,tls,http,upgrade,challenge,auth,pairing,scopes,protocol,methods,events" doc:"Where."`
	Cause string `json:"cause" doc:"What is wrong, in words."`
	Fix   string `json:"fix" doc:"What to do: the setting to change, or the command to run."`
}

// Examination is what the doctor found. No secret is in it.
type Examination struct {
	Configured bool       `json:"configured" doc:"Whether a gateway is configured at all. Without one nothing is examined: set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN."`
	Healthy    bool       `json:"healthy" doc:"Whether every layer that applies works."`
	URL        string     `json:"url" doc:"The address that was examined, without credentials; empty when none is configured."`
	At         clock.Time `json:"at" doc:"When the examination began. Who asks within some seconds of another gets the same one."`
	TookMS     float64    `json:"took_ms" doc:"Milliseconds that all of it took."`
	Failure    *Finding   `json:"failure" doc:"The first layer that does not work; null when all do."`
	Warnings   []Finding  `json:"warnings" nullable:"false" doc:"What works and deserves attention."`
	Steps      []Step     `json:"layers" nullable:"false" doc:"Each layer, from the bottom."`
}

// An examination is shared with those who ask while it goes on or soon after.
// A refused credential is shown again later than that: the gateway locks an
// address out after ten wrong tokens in a minute, and the connection itself is
// refused two to four times in it.
const (
	examShared  = 10 * time.Second
	examRefused = 30 * time.Second
)

// ExamLimit is the longest that an examination takes, whatever the settings.
const ExamLimit = 2 * time.Minute

// eventLimit is the longest that it listens for an event.
const eventLimit = time.Minute

// examRoom lets one examination at a time be made, and keeps the last one.
type examRoom struct {
	turn chan struct{} // has room for the one who examines
	last *examination  // of who has the turn
}

func newExamRoom() examRoom { return examRoom{turn: make(chan struct{}, 1)} }

// Examine finds out what stands between us and the gateway, from the name in
// its address to its events, and stops at the first thing that does not work.
// It does so on short connections of its own, with the credential that the
// client would show next; the client's connection goes on beside it. tell is
// called with each step as it is known, and may be nil.
//
// One examination is made at a time; others wait for it and get the same. It
// ends within ExamLimit. The only error is that ctx ended.
func (c *Client) Examine(ctx context.Context, tell func(Step)) (Examination, error) {
	select {
	case c.exam.turn <- struct{}{}:
	case <-ctx.Done():
		return Examination{}, ctx.Err()
	}
	defer func() { <-c.exam.turn }()
	if tell == nil {
		tell = func(Step) {}
	}
	if last := c.exam.last; last != nil && c.opt.Now().Before(last.until) && !c.connectedSince(last.is.At) {
		for _, s := range last.is.Steps {
			tell(s)
		}
		return last.copy(), nil
	}
	x := newExamination(c, tell)
	x.examine(ctx)
	if err := ctx.Err(); err != nil {
		return Examination{}, err // half of it is nothing to share
	}
	c.exam.last = x
	return x.copy(), nil
}

// connectedSince says whether a connection came about after that: what was found
// before it is true no more.
func (c *Client) connectedSince(at clock.Time) bool {
	now := c.Status()
	return now.State == Connected && now.Since.After(at.Time)
}

// examination is one that goes on.
type examination struct {
	client *Client // of its own, with no connection yet
	owner  *Client // whose connection goes on beside it
	tell   func(Step)
	is     Examination
	began  time.Time // of the layer
	until  time.Time // shared so long
}

func newExamination(c *Client, tell func(Step)) *examination {
	x := &examination{client: c.twin(), owner: c, tell: tell, is: Examination{
		At: clock.At(c.opt.Now()), Configured: c.url != nil, Warnings: []Finding{},
	}}
	for _, l := range Layers() {
		x.is.Steps = append(x.is.Steps, Step{Layer: l, State: StepNotReached})
	}
	if c.url != nil {
		x.is.URL = c.url.String()
	}
	return x
}

// twin is a client with the settings and the credentials of c, which has no
// connection and tells nobody of what it does.
func (c *Client) twin() *Client {
	c.mu.Lock()
	is, has := c.credentials()
	c.mu.Unlock()
	return c.twinAs(is, has)
}

// credentials are the device and the wallet of the next connection; the caller
// holds the lock.
func (c *Client) credentials() (*device, wallet) {
	if c.next != nil { // nothing has been connected with it yet
		return newDevice(c.next.Key), wallet{shared: c.opt.Token, issued: c.next.Token}
	}
	return c.is, c.shown
}

// twinAs is twin with another device and its credentials.
func (c *Client) twinAs(is *device, has wallet) *Client {
	opt := c.opt
	opt.Log = slog.New(slog.DiscardHandler)
	var key ed25519.PrivateKey
	if is != nil {
		key = is.key
	}
	t := &Client{
		opt: opt, url: c.url, http: c.http, device: is, wallet: has,
		secrets: newSecrets(key, opt.Token, opt.DeviceToken, has.issued),
		wake:    make(chan struct{}, 1), became: make(chan struct{}, 1), changed: make(chan struct{}), exam: newExamRoom(),
		runs: &runs{},
	}
	t.events.now = t.opt.Now
	return t
}

// examine goes through the layers, until one fails or ctx ends.
func (x *examination) examine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ExamLimit)
	defer cancel()
	begin := time.Now()
	shared := examShared
	if x.is.Configured {
		x.is.Healthy = x.reach(ctx) && x.enter(ctx)
	}
	if f := x.is.Failure; f != nil && f.Layer == LayerAuth {
		shared = examRefused
	}
	x.is.TookMS = milliseconds(time.Since(begin))
	x.until = x.owner.opt.Now().Add(shared)
	for _, s := range x.is.Steps {
		if s.State == StepNotReached {
			x.tell(s)
		}
	}
}

// copy is the result, for somebody who may change it.
func (x *examination) copy() Examination {
	is := x.is
	is.Warnings, is.Steps = append([]Finding{}, is.Warnings...), slices.Clone(is.Steps)
	if is.Failure != nil {
		f := *is.Failure
		is.Failure = &f
	}
	return is
}

// begin starts the clock of the next layer.
func (x *examination) begin() { x.began = time.Now() }

// step notes what became of a layer. took is negative when it took no time of
// its own.
func (x *examination) step(l Layer, state StepState, took time.Duration, saw string) {
	for i := range x.is.Steps {
		s := &x.is.Steps[i]
		if s.Layer != l {
			continue
		}
		s.State, s.Saw = state, saw
		if took >= 0 {
			ms := milliseconds(took)
			s.TookMS = &ms
		}
		x.tell(*s)
	}
}

// ok notes a layer that works and took since begin.
func (x *examination) ok(l Layer, saw string) { x.step(l, StepOK, time.Since(x.began), saw) }

// fail notes the layer that does not work: that of the failure, or the one that
// is examined. What lies between and is not known is skipped: the gateway
// refuses some things before it looks at others.
func (x *examination) fail(l Layer, f *failure) bool {
	if f.layer != "" {
		l = f.layer
	}
	for _, s := range x.is.Steps {
		if s.Layer == l {
			break
		}
		if s.State == StepNotReached {
			x.step(s.Layer, StepSkipped, -1, "Not seen: the gateway refused us for something else before.")
		}
	}
	x.step(l, StepFailed, time.Since(x.began), f.text)
	x.is.Failure = &Finding{Layer: l, Cause: f.text, Fix: placed(f.fix)}
	return false
}

func (x *examination) warn(l Layer, cause, fix string) {
	x.is.Warnings = append(x.is.Warnings, Finding{l, cause, placed(fix)})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
