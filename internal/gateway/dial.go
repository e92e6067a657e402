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
	text  string
	pace  pace
	after time.Duration // the gateway asked us not to come back before

	pairing     *Pairing     // what a person has to approve; else nil
	certificate *Certificate // what was presented and not accepted; else nil
}

func unreachable(format string, args ...any) *failure {
	return &failure{state: Unreachable, text: fmt.Sprintf(format, args...)}
}

// firstFrames is the read limit until the gateway has told its own. Its
// hello-ok was 26 kB with four agents.
const firstFrames = 4 << 20

// connect dials and shakes hands. Both share one request's time.
func (c *Client) connect(ctx context.Context) (*conn, hello, *failure) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	k := newConn(c.opt.Silence, c.opt.Now)
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
		return nil, hello{}, c.dialFailure(err, resp, reached.Load())
	}
	ws.SetReadLimit(firstFrames)
	k.ws = ws
	h, fail := c.handshake(ctx, k)
	if fail != nil {
		k.drop(nil)
		return nil, hello{}, fail
	}
	ws.SetReadLimit(h.readLimit())
	return k, h, nil
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
		return unreachable("The name %s cannot be resolved. Check AGENTRT_GATEWAY_URL and the DNS of this host.", c.secrets.words(dns.Name))
	}
	var timeout net.Error
	late := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
	switch {
	case late && reached:
		return &failure{state: Slow, text: fmt.Sprintf("%s accepted the connection and did not answer within %s. The gateway is overloaded or stands still, or this is none.", host, c.opt.Timeout)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("Nothing listens at %s. Start the gateway, or correct AGENTRT_GATEWAY_URL.", host)
	case late:
		return unreachable("%s did not answer within %s. Check AGENTRT_GATEWAY_URL and the firewalls between.", host, c.opt.Timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		hint := "a gateway with TLS needs wss:// in AGENTRT_GATEWAY_URL"
		if c.url.Scheme == "wss" {
			hint = "a gateway without TLS needs ws:// in AGENTRT_GATEWAY_URL"
		}
		return unreachable("%s hung up before it answered: %s, and a proxy between must be one that the gateway trusts.", host, hint)
	default:
		return unreachable("Cannot connect to %s: %s.", host, c.secrets.words(rootText(err)))
	}
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
	f := unreachable("%s answers HTTP %d and does not open a WebSocket. Is AGENTRT_GATEWAY_URL the address of the gateway?", c.url.Host, resp.StatusCode)
	switch {
	case resp.StatusCode == http.StatusBadRequest && c.url.Scheme == "ws" && strings.Contains(strings.ToLower(string(body)), "http request to an https"):
		f.text = fmt.Sprintf("%s wants TLS. Write wss:// or https:// in AGENTRT_GATEWAY_URL.", c.url.Host)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		f.text = fmt.Sprintf("%s agreed to open a WebSocket and did it wrongly. A proxy between may be the cause.", c.url.Host)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		f.text = fmt.Sprintf("%s redirects to another address, which we do not follow because it would be shown the token. Set AGENTRT_GATEWAY_URL to the gateway itself.", c.url.Host)
	case resp.StatusCode == http.StatusServiceUnavailable:
		f.text, f.pace = fmt.Sprintf("The gateway at %s is starting or stopping (HTTP 503).", c.url.Host), quick
		f.after = c.retryAfter(resp.Header.Get("Retry-After"))
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
