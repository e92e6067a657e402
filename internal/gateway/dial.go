package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// failure is why there is no connection, in words for the person who can mend it.
type failure struct {
	state State
	text  string // the cause, in whole sentences
	fix   string // what to do about it: the setting, or the command; may be empty
	layer Layer  // where it lies, when that is not where the attempt stood
	pace  pace
	after time.Duration // the gateway asked us not to come back before

	narrow bool // it lies in the scopes alone: who asks for fewer may be let in
	quiet  bool // it is in the log already

	pairing     *Pairing     // what a person has to approve; else nil
	certificate *Certificate // what was presented and not accepted; else nil
}

func unreachable(format string, args ...any) *failure {
	return &failure{state: Unreachable, text: fmt.Sprintf(format, args...)}
}

// mend adds what to do about it.
func (f *failure) mend(format string, args ...any) *failure {
	f.fix = fmt.Sprintf(format, args...)
	return f
}

// words is the cause and the fix, for where there is room for one text.
func (f *failure) words() string { return strings.TrimSpace(f.text + " " + placed(f.fix)) }

// whereSettings is where a setting is changed: who reads of it in the dashboard
// finds none there.
const whereSettings = "Settings are read from this service's environment and its .env when it starts: change them there and restart it."

// placed adds to what is to be done where that is, when it is a setting.
func placed(fix string) string {
	if !strings.Contains(fix, "AGENTRT_") || strings.Contains(fix, "restart") {
		return fix
	}
	return strings.TrimRight(fix, ". ") + ". " + whereSettings
}

// lookAtHost is what to do about a gateway that is slow.
const lookAtHost = "Look at the load of the gateway's host, and whether AGENTRT_GATEWAY_URL names its port; AGENTRT_GATEWAY_TIMEOUT_MS is how long we wait."

// firstFrames is the read limit until the gateway has told its own. Its
// hello-ok was 26 kB with four agents.
const firstFrames = 4 << 20

// connect dials and shakes hands. Both share one request's time.
func (c *Client) connect(ctx context.Context) (*conn, hello, *failure) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	k, fail := c.dial(ctx)
	if fail != nil {
		return nil, hello{}, fail
	}
	h, fail := c.handshake(ctx, k)
	c.showWallet()
	if fail != nil {
		k.drop(nil)
		return nil, hello{}, fail
	}
	k.ws.SetReadLimit(h.readLimit())
	return k, h, nil
}

// dial opens a WebSocket, on which nothing has been said yet.
func (c *Client) dial(ctx context.Context) (*conn, *failure) {
	k := newConn(c)
	k.cred = c.wallet.next()
	c.mu.Lock()
	c.status.Auth = k.cred.kind
	c.mu.Unlock()
	var reached atomic.Bool // somebody has taken the connection
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{ConnectDone: func(_, _ string, err error) {
		if err == nil {
			reached.Store(true)
		}
	}})
	// No Origin and no X-Forwarded header: the gateway hangs up on both.
	ws, resp, err := websocket.Dial(ctx, c.url.String(), &websocket.DialOptions{
		HTTPClient: c.http,
		OnPingReceived: func(context.Context, []byte) bool {
			k.heard()
			return true
		},
	})
	if err != nil {
		k.drop(err)
		return nil, c.dialFailure(err, resp, reached.Load())
	}
	ws.SetReadLimit(firstFrames)
	k.ws = ws
	return k, nil
}

// dialFailure says why not even a WebSocket came about.
func (c *Client) dialFailure(err error, resp *http.Response, reached bool) *failure {
	host := c.url.Host
	if resp != nil {
		return c.httpFailure(resp)
	}
	if fail := c.tlsFailure(err); fail != nil {
		return fail
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		f := unreachable("The name %s cannot be resolved.", c.secrets.words(dns.Name)).mend("Check AGENTRT_GATEWAY_URL and the DNS of this host.")
		f.layer = LayerDNS
		return f
	}
	var timeout net.Error
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
	switch {
	case late && reached:
		f := &failure{state: Slow, text: fmt.Sprintf("%s accepted the connection and did not answer within %s. The gateway is overloaded or stands still, or this is none.", host, c.opt.Timeout)}
		return f.mend("%s", lookAtHost)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("Nothing listens at %s.", host).mend("Start the gateway, or correct AGENTRT_GATEWAY_URL.")
	case late:
		return unreachable("%s did not answer within %s.", host, c.opt.Timeout).mend("Check AGENTRT_GATEWAY_URL and the firewalls between.")
	case speaksOther(err):
		return unreachable("What listens at %s does not speak HTTP.", host).mend("It is no gateway: correct the port in AGENTRT_GATEWAY_URL.")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		hint := "A gateway with TLS needs wss:// in AGENTRT_GATEWAY_URL"
		if c.url.Scheme == "wss" {
			hint = "A gateway without TLS needs ws:// in AGENTRT_GATEWAY_URL"
		}
		return unreachable("%s hung up before it answered.", host).mend("%s, and a proxy between must be one that the gateway trusts (gateway.trustedProxies in its configuration).", hint)
	default:
		return unreachable("Cannot connect to %s: %s.", host, c.secrets.words(rootText(err)))
	}
}

// speaksOther tells an answer that is no HTTP, for which net/http has no type. The
// others are met by the request of whoever is spoken to before it is written: then
// net/http itself closes the connection.
func speaksOther(err error) bool {
	text := err.Error()
	return strings.Contains(text, "malformed HTTP") || strings.Contains(text, "readLoopPeekFailLocked: %!w(<nil>)") || errors.Is(err, net.ErrClosed)
}

// rootText is the innermost text of err: the layers around it only repeat that
// a WebSocket could not be dialled.
func rootText(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

func (c *Client) httpFailure(resp *http.Response) *failure {
	var body []byte
	if resp.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, 200)) // only to quote it
	}
	f := unreachable("%s answers HTTP %d and does not open a WebSocket.", c.url.Host, resp.StatusCode).
		mend("Is AGENTRT_GATEWAY_URL the address of the gateway? A proxy between must pass upgrades to WebSocket on.")
	switch {
	case resp.StatusCode == http.StatusBadRequest && c.url.Scheme == "ws" && strings.Contains(strings.ToLower(string(body)), "http request to an https"):
		f.text, f.layer = fmt.Sprintf("%s wants TLS.", c.url.Host), LayerTLS
		f.fix = "Write wss:// or https:// in AGENTRT_GATEWAY_URL."
	case resp.StatusCode == http.StatusSwitchingProtocols:
		f.text = fmt.Sprintf("%s agreed to open a WebSocket and did it wrongly.", c.url.Host)
		f.fix = "A proxy between may be the cause: set AGENTRT_GATEWAY_URL to the gateway itself."
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		f.text = fmt.Sprintf("%s redirects to another address, which we do not follow because it would be shown the token.", c.url.Host)
		f.fix = "Set AGENTRT_GATEWAY_URL to the gateway itself."
	case resp.StatusCode == http.StatusServiceUnavailable:
		f.text, f.pace = fmt.Sprintf("The gateway at %s is starting or stopping (HTTP 503).", c.url.Host), quick
		f.fix = "Wait: a gateway takes up to half a minute to start. If it stays so, look at its log, or at the proxy between."
		f.after = c.retryAfter(resp.Header.Get("Retry-After"))
	case strings.Contains(string(body), "proxy_attribution_required"):
		f.text = fmt.Sprintf("The gateway at %s refuses the proxy between (HTTP %d): it does not trust it to say who its callers are.", c.url.Host, resp.StatusCode)
		f.fix = "Name the proxy in gateway.trustedProxies of the gateway's configuration, or set AGENTRT_GATEWAY_URL to the gateway itself."
		f.text += " It says: " + c.secrets.words(string(body))
	case len(body) > 0:
		f.text += " It says: " + c.secrets.words(string(body))
	}
	return f
}

// retryAfter reads the header of that name: seconds, or a date. Such an answer
// may be that of a proxy which knows little of the gateway, so we stay away for
// at most as long as between two attempts anyway.
func (c *Client) retryAfter(header string) time.Duration {
	most := c.opt.Backoff.Max
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(c.opt.Now()), 0), most)
}
