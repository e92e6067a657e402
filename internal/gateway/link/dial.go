package link

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

// failure tells the operator why there is no connection and how to fix that.
type failure struct {
	state State
	text  string        // the cause, in full sentences
	fix   string        // what to do: a setting or a command; may be empty
	layer Layer         // the layer that failed, if it is not the one being examined
	pace  pace          // how soon to retry
	after time.Duration // minimum delay that the gateway asked for

	narrow bool // only the scopes were rejected: a client that requests fewer may connect
	quiet  bool // not to be logged, because the leader has logged it

	pairing     *Pairing     // the request to approve, or nil
	certificate *Certificate // the rejected certificate, or nil
}

func unreachable(format string, args ...any) *failure {
	return &failure{state: Unreachable, text: fmt.Sprintf(format, args...)}
}

// withFix sets the text that tells the operator how to fix the failure.
func (f *failure) withFix(format string, args ...any) *failure {
	f.fix = fmt.Sprintf(format, args...)
	return f
}

// slowHostFix tells the operator what to do about a slow gateway.
const slowHostFix = "Check the load of the gateway's host and the port in AGENTRT_GATEWAY_URL, or raise AGENTRT_GATEWAY_TIMEOUT_MS."

// firstFrames is the maximum size of a frame during the handshake. The handshake ends with
// hello-ok, in which the gateway announces its own limit. The hello-ok from a gateway with four
// agents was 26 kB.
const firstFrames = 4 << 20

// connect opens a connection and performs the handshake. Together they take at most
// Options.Timeout.
func (c *Client) connect(ctx context.Context) (*Conn, hello, *failure) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	stop := context.AfterFunc(c.at.life, cancel)
	defer stop()
	k, fail := c.dial(ctx)
	if fail != nil {
		return nil, hello{}, fail
	}
	h, fail := c.handshake(ctx, k)
	c.shareWallet()
	if fail != nil {
		k.closeNow(nil)
		return nil, hello{}, fail
	}
	k.ws.SetReadLimit(h.readLimit())
	return k, h, nil
}

// dial opens a WebSocket connection, but sends nothing over it.
func (c *Client) dial(ctx context.Context) (*Conn, *failure) {
	k := newConn(c)
	k.cred = c.wallet.next()
	c.mu.Lock()
	c.status.Auth = k.cred.kind
	c.mu.Unlock()
	var reached atomic.Bool // a TCP connection was accepted
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{ConnectDone: func(_, _ string, err error) {
		if err == nil {
			reached.Store(true)
		}
	}})
	// Send no Origin and no X-Forwarded header: the gateway closes connections with
	// either.
	ws, resp, err := websocket.Dial(ctx, c.at.url.String(), &websocket.DialOptions{
		HTTPClient: c.http,
		OnPingReceived: func(context.Context, []byte) bool {
			k.markAlive()
			return true
		},
	})
	if err != nil {
		k.closeNow(err)
		return nil, c.dialFailure(err, resp, reached.Load())
	}
	ws.SetReadLimit(firstFrames)
	k.ws = ws
	return k, nil
}

// dialFailure explains why the WebSocket connection could not be opened.
func (c *Client) dialFailure(err error, resp *http.Response, reached bool) *failure {
	return c.viaProxy(c.directFailure(err, resp, reached), err, resp)
}

// directFailure is dialFailure for a connection without a proxy.
func (c *Client) directFailure(err error, resp *http.Response, reached bool) *failure {
	host := c.at.url.Host
	if resp != nil {
		return c.httpFailure(resp)
	}
	if fail := c.tlsFailure(err); fail != nil {
		return fail
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		f := unreachable("Could not resolve the name %s.", c.secrets.Line(dns.Name)).withFix(
			"Check AGENTRT_GATEWAY_URL and this host's DNS.",
		)
		f.layer = LayerDNS
		return f
	}
	var timeout net.Error
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
	switch {
	case late && reached:
		f := &failure{state: Slow, text: fmt.Sprintf("%s accepted the connection but did not answer within %s. The gateway is overloaded or hangs, or the address is not a gateway's.", host, c.opt.Timeout)}
		return f.withFix("%s", slowHostFix)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("Could not connect to %s: connection refused.", host).withFix(
			"Start the gateway, or correct AGENTRT_GATEWAY_URL.",
		)
	case late:
		return unreachable("%s did not answer within %s.", host, c.opt.Timeout).withFix(
			"Check AGENTRT_GATEWAY_URL and any firewall in between.",
		)
	case speaksOther(err):
		return unreachable("The server at %s does not speak HTTP.", host).withFix(
			"It is not a gateway: correct the port in AGENTRT_GATEWAY_URL.",
		)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		hint := "If the gateway uses TLS, use wss:// in AGENTRT_GATEWAY_URL"
		if c.at.url.Scheme == "wss" {
			hint = "If the gateway does not use TLS, use ws:// in AGENTRT_GATEWAY_URL"
		}
		return unreachable("%s closed the connection before answering.", host).withFix(
			"%s. List any proxy in between in gateway.trustedProxies of the gateway's configuration.", hint,
		)
	default:
		return unreachable("Could not connect to %s: %s.", host, c.secrets.Line(rootText(err)))
	}
}

// speaksOther reports whether the server answered with something other than HTTP. It
// parses the error text, because net/http has no error type for that. A closed connection
// counts too: net/http closes it if the server sends data before the request is written.
func speaksOther(err error) bool {
	text := err.Error()
	return strings.Contains(text, "malformed HTTP") || strings.Contains(text, "readLoopPeekFailLocked: %!w(<nil>)") ||
		errors.Is(err, net.ErrClosed)
}

// rootText returns the text of the innermost error in err. The errors that wrap it only
// repeat that dialing failed.
func rootText(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// httpFailure explains why the gateway answered a WebSocket upgrade with an ordinary HTTP
// response.
func (c *Client) httpFailure(resp *http.Response) *failure {
	var body []byte
	if resp.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(resp.Body, 200)) // quoted in the text below
	}
	f := unreachable("%s answered HTTP %d instead of opening a WebSocket.", c.at.url.Host, resp.StatusCode).
		withFix("Check that AGENTRT_GATEWAY_URL is the gateway's address, and that any proxy in between supports WebSockets.")
	switch {
	case resp.StatusCode == http.StatusBadRequest && c.at.url.Scheme == "ws" &&
		strings.Contains(strings.ToLower(string(body)), "http request to an https"):
		f.text, f.layer = fmt.Sprintf("%s requires TLS.", c.at.url.Host), LayerTLS
		f.fix = "Use wss:// or https:// in AGENTRT_GATEWAY_URL."
	case resp.StatusCode == http.StatusSwitchingProtocols:
		f.text = fmt.Sprintf("%s sent an invalid WebSocket handshake.", c.at.url.Host)
		f.fix = "A proxy in between may be the cause: set AGENTRT_GATEWAY_URL to the gateway's own address."
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		f.text = fmt.Sprintf(
			"%s redirects to another address. Wardroom does not follow redirects, because they could expose the token.",
			c.at.url.Host,
		)
		f.fix = "Set AGENTRT_GATEWAY_URL to the gateway's own address."
	case resp.StatusCode == http.StatusServiceUnavailable:
		f.text, f.pace = fmt.Sprintf("The gateway at %s is starting or stopping (HTTP 503).", c.at.url.Host), quick
		f.fix = "Wait: starting takes up to 30 seconds. If the problem persists, check the logs of the gateway and of any proxy in between."
		f.after = c.retryAfter(resp.Header.Get("Retry-After"))
	case strings.Contains(string(body), "proxy_attribution_required"):
		f.text = fmt.Sprintf("The gateway at %s rejected the proxy in between (HTTP %d), because it does not trust the proxy to identify clients.", c.at.url.Host, resp.StatusCode)
		f.fix = "Add the proxy to gateway.trustedProxies in the gateway's configuration, or set AGENTRT_GATEWAY_URL to the gateway's own address."
		f.text += " The response says: " + c.secrets.Line(string(body))
	case len(body) > 0:
		f.text += " The response says: " + c.secrets.Line(string(body))
	}
	return f
}

// retryAfter returns the delay that a Retry-After header specifies, either in seconds or
// as a date. The result is at most Backoff.Max, because the header may come from a proxy
// rather than the gateway.
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
