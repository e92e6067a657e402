package link

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// Layer is one of the layers that must work before Wardroom can use the gateway. Each
// layer depends on the ones before it.
type Layer string

// The layers of a gateway connection, from the bottom up.
const (
	LayerDNS       Layer = "dns"       // DNS lookup
	LayerTCP       Layer = "tcp"       // TCP connection
	LayerTLS       Layer = "tls"       // TLS certificate
	LayerHTTP      Layer = "http"      // HTTP, and the gateway has started
	LayerUpgrade   Layer = "upgrade"   // WebSocket upgrade
	LayerChallenge Layer = "challenge" // gateway handshake
	LayerAuth      Layer = "auth"      // credential accepted
	LayerPairing   Layer = "pairing"   // device approved
	LayerScopes    Layer = "scopes"    // scopes granted
	LayerProtocol  Layer = "protocol"  // protocol version
	LayerMethods   Layer = "methods"   // required methods available
	LayerEvents    Layer = "events"    // events arrive
)

// Layers returns the layers of a gateway connection, from the bottom up.
func Layers() []Layer {
	return []Layer{
		LayerDNS, LayerTCP, LayerTLS, LayerHTTP, LayerUpgrade, LayerChallenge,
		LayerAuth, LayerPairing, LayerScopes, LayerProtocol, LayerMethods, LayerEvents,
	}
}

// StepState is the result of examining a layer.
type StepState string

// Possible results for a layer.
const (
	StepOK         StepState = "ok"
	StepFailed     StepState = "failed"
	StepNotReached StepState = "not_reached" // a layer below failed
	StepSkipped    StepState = "skipped"     // not applicable, or not observable
)

// Step is the result of checking one layer of the connection, such as DNS or TLS.
type Step struct {
	Layer  Layer     `json:"layer" enum:"dns,tcp,tls,http,upgrade,challenge,auth,pairing,scopes,protocol,methods,events" doc:"Layer that was examined."`
	State  StepState `json:"state" enum:"ok,failed,not_reached,skipped" doc:"skipped: not applicable, or not observable. not_reached: an earlier layer failed."`
	Saw    string    `json:"saw" doc:"What was observed; empty when the layer was not reached."`
	TookMS *float64  `json:"took_ms" doc:"Duration in milliseconds; null when it was not measured separately."`
}

// Finding describes a problem and how to fix it.
type Finding struct {
	Layer Layer  `json:"layer" enum:"dns,tcp,tls,http,upgrade,challenge,auth,pairing,scopes,protocol,methods,events" doc:"Layer that has the problem."`
	Cause string `json:"cause" doc:"What is wrong."`
	Fix   string `json:"fix" doc:"What to do: a setting to change or a command to run."`
}

// Examination is the result of checking the connection to the gateway with Examine. It
// contains no secrets.
type Examination struct {
	Configured bool       `json:"configured" doc:"Whether a gateway is configured. If not, nothing is examined: connect one with PATCH /settings, or set AGENTRT_GATEWAY_URL and AGENTRT_GATEWAY_TOKEN."`
	Healthy    bool       `json:"healthy" doc:"Whether all applicable layers work."`
	URL        string     `json:"url" doc:"Address of the gateway, without credentials; empty when none is configured."`
	At         clock.Time `json:"at" doc:"When the examination began. Requests within a few seconds share one examination."`
	TookMS     float64    `json:"took_ms" doc:"Total duration in milliseconds."`
	Failure    *Finding   `json:"failure" doc:"First layer that does not work; null when all work."`
	Warnings   []Finding  `json:"warnings" nullable:"false" doc:"Things that work but need attention."`
	Steps      []Step     `json:"layers" nullable:"false" doc:"All layers, from the bottom."`
}

// How long the doctor's result is reused. examRefused applies if the gateway rejected a credential.
// It is longer because the gateway blocks an IP address after ten wrong tokens in a minute, and the
// client's own connection attempts already send two to four of them.
const (
	examShared  = 10 * time.Second
	examRefused = 30 * time.Second
)

// ExamLimit is the maximum time that the doctor takes for one run.
const ExamLimit = 2 * time.Minute

// eventLimit is the longest time that the doctor waits for an event.
const eventLimit = time.Minute

// examCache prevents concurrent runs of the doctor, and keeps the result of the last run.
type examCache struct {
	turn  chan struct{} // semaphore of size 1
	last  *examination  // guarded by turn
	trial chan struct{} // semaphore of size 1 for ExamineAs
}

func newExamCache() examCache {
	return examCache{turn: make(chan struct{}, 1), trial: make(chan struct{}, 1)}
}

// Examine checks each layer between Wardroom and the gateway, from the DNS lookup to the
// gateway's events, and stops at the first layer that does not work. It opens separate,
// short-lived connections with the credential that the client would try next, and does
// not affect the client's own connection. If report is not nil, it is called after each
// step.
//
// Concurrent callers share one run of the doctor, which takes at most ExamLimit. Examine returns an
// error only if ctx ends.
func (c *Client) Examine(ctx context.Context, report func(Step)) (Examination, error) {
	select {
	case c.exam.turn <- struct{}{}:
	case <-ctx.Done():
		return Examination{}, ctx.Err()
	}
	defer func() { <-c.exam.turn }()
	if report == nil {
		report = func(Step) {}
	}
	if last := c.exam.last; last != nil && last.client.at == c.latestEndpoint() && c.opt.Now().Before(last.until) &&
		!c.connectedSince(last.result.At) {
		for _, s := range last.result.Steps {
			report(s)
		}
		return last.copy(), nil
	}
	x := newExamination(c, report)
	x.examine(ctx)
	if err := ctx.Err(); err != nil {
		return Examination{}, err // do not share an incomplete examination
	}
	c.exam.last = x
	return x.copy(), nil
}

// connectedSince reports whether the client's current connection was made after the given time. If
// so, a doctor's result from that time is out of date.
func (c *Client) connectedSince(at clock.Time) bool {
	now := c.Status()
	return now.State == Connected && now.Since.After(at.Time)
}

// examination holds the state of an examination that is in progress or has ended.
type examination struct {
	client *Client // separate client, without a connection
	owner  *Client // the client under examination
	report func(Step)
	result Examination
	began  time.Time // start of the current layer
	until  time.Time // end of the period in which the result is reused
}

func newExamination(c *Client, report func(Step)) *examination {
	x := &examination{client: c.clone(), owner: c, report: report, result: Examination{
		At: clock.At(c.opt.Now()), Warnings: []Finding{},
	}}
	for _, l := range Layers() {
		x.result.Steps = append(x.result.Steps, Step{Layer: l, State: StepNotReached})
	}
	if at := x.client.at.url; at != nil {
		x.result.Configured, x.result.URL = true, at.String()
	}
	return x
}

// clone returns a new client with c's settings and credentials, but without a connection
// or a log.
func (c *Client) clone() *Client {
	c.mu.Lock()
	at, is, has := c.credentials()
	c.mu.Unlock()
	return c.cloneAs(at, is, has)
}

// credentials returns the endpoint, the device and the credentials for the next
// connection. The caller must hold the lock.
func (c *Client) credentials() (*endpoint, *device, wallet) {
	if c.next != nil { // no connection has used it yet
		return c.latest, newDevice(c.next.Key), wallet{shared: c.latest.Token, issued: c.next.tokenFor(c.latest)}
	}
	return c.latest, c.sharedDevice, c.walletFor(c.latest, c.sharedWallet)
}

// cloneAs is like clone, but uses the given endpoint, device and credentials.
func (c *Client) cloneAs(at *endpoint, is *device, has wallet) *Client {
	opt := c.opt
	opt.Log = slog.New(slog.DiscardHandler)
	var key ed25519.PrivateKey
	if is != nil {
		key = is.key
	}
	t := &Client{
		opt: opt, at: at, latest: at, http: c.http, device: is, wallet: has,
		secrets: wire.NewSecrets(key, opt.Token, at.Token, opt.DeviceToken, has.issued),
		wake:    make(chan struct{}, 1), identityChanged: make(chan struct{}, 1),
		changed: make(chan struct{}), exam: newExamCache(),
	}
	t.events.now = t.opt.Now
	t.deviceProblem.Store(c.deviceProblem.Load())
	return t
}

// examine checks the connection layer by layer until a layer fails or ctx ends.
func (x *examination) examine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ExamLimit)
	defer cancel()
	begin := time.Now()
	shared := examShared
	if x.result.Configured {
		x.result.Healthy = x.checkNetwork(ctx) && x.checkGateway(ctx)
	}
	if f := x.result.Failure; f != nil && f.Layer == LayerAuth {
		shared = examRefused
	}
	x.result.TookMS = milliseconds(time.Since(begin))
	x.until = x.owner.opt.Now().Add(shared)
	for _, s := range x.result.Steps {
		if s.State == StepNotReached {
			x.report(s)
		}
	}
}

// copy returns a copy of the examination's result that the caller may modify.
func (x *examination) copy() Examination {
	is := x.result
	is.Warnings, is.Steps = append([]Finding{}, is.Warnings...), slices.Clone(is.Steps)
	if is.Failure != nil {
		f := *is.Failure
		is.Failure = &f
	}
	return is
}

// begin starts measuring the time for the next layer.
func (x *examination) begin() { x.began = time.Now() }

// step records the result for a layer. A negative duration means that the time was not
// measured.
func (x *examination) step(l Layer, state StepState, took time.Duration, saw string) {
	for i := range x.result.Steps {
		s := &x.result.Steps[i]
		if s.Layer != l {
			continue
		}
		s.State, s.Saw = state, saw
		if took >= 0 {
			ms := milliseconds(took)
			s.TookMS = &ms
		}
		x.report(*s)
	}
}

// ok records that a layer works and how long the check took since begin was called.
func (x *examination) ok(l Layer, saw string) { x.step(l, StepOK, time.Since(x.began), saw) }

// fail records the failure of the layer f.layer, or of l if f.layer is empty. Earlier layers without a result are
// marked as skipped: the gateway rejected the connection before it checked them. fail always returns false.
func (x *examination) fail(l Layer, f *failure) bool {
	if f.layer != "" {
		l = f.layer
	}
	for _, s := range x.result.Steps {
		if s.Layer == l {
			break
		}
		if s.State == StepNotReached {
			x.step(s.Layer, StepSkipped, -1, "Not checked: the gateway rejected the connection for another reason first.")
		}
	}
	at := x.client.at
	cause := at.named(f.text)
	x.step(l, StepFailed, time.Since(x.began), cause)
	x.result.Failure = &Finding{Layer: l, Cause: cause, Fix: at.advice(f.fix)}
	return false
}

func (x *examination) warn(l Layer, cause, fix string) {
	at := x.client.at
	x.result.Warnings = append(x.result.Warnings, Finding{l, at.named(cause), at.advice(fix)})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
