package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"wardroom/internal/gateway/wire"
)

// netTrace records the network steps of one HTTP request. It has a lock, because net/http
// may call the tracing hooks from other goroutines.
type netTrace struct {
	mu sync.Mutex

	dnsBegan, tcpBegan, tlsBegan time.Time
	dns, tcp, tls                time.Duration // duration of each; 0 if it did not succeed
	addresses                    []string      // the resolved addresses
	remote                       string        // the peer's address
	state                        tls.ConnectionState
}

func (s *netTrace) trace() *httptrace.ClientTrace {
	locked := func(do func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	}
	first := func(at *time.Time) {
		locked(func() {
			if at.IsZero() {
				*at = time.Now()
			}
		})
	}
	since := func(at time.Time) time.Duration { return max(time.Since(at), time.Nanosecond) }
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { first(&s.dnsBegan) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			locked(func() {
				if i.Err == nil {
					s.dns = since(s.dnsBegan)
					for _, a := range i.Addrs {
						s.addresses = append(s.addresses, a.String())
					}
				}
			})
		},
		ConnectStart: func(string, string) { first(&s.tcpBegan) },
		ConnectDone: func(_, address string, err error) {
			locked(func() {
				if err == nil && s.tcp == 0 {
					s.tcp, s.remote = since(s.tcpBegan), address
				}
			})
		},
		TLSHandshakeStart: func() { first(&s.tlsBegan) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			locked(func() {
				if err == nil {
					s.tls, s.state = since(s.tlsBegan), state
				}
			})
		},
	}
}

// checkNetwork checks the layers below the WebSocket connection with one request to the gateway's health page. The
// request contains no token, because the page requires none.
func (x *examination) checkNetwork(ctx context.Context) bool {
	c := x.client
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	s := &netTrace{}
	x.begin()
	p, err := x.probe(httptrace.WithClientTrace(ctx, s.trace()))
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(x.began) - s.dns - s.tcp - s.tls
	if err != nil {
		return x.networkFailure(ctx, s, err)
	}
	x.recordNetwork(s)
	if f := x.startupFailure(p); f != nil {
		return x.fail(LayerHTTP, f)
	}
	x.step(LayerHTTP, StepOK, took, x.healthPage(p))
	return true
}

// mostPage limits how many bytes of the health page are read.
const mostPage = 4096

// page is the response to an HTTP request.
type page struct {
	status int
	header http.Header
	body   []byte
}

func (x *examination) probe(ctx context.Context) (page, error) {
	at := *x.client.at.url
	at.Scheme = map[string]string{"ws": "http", "wss": "https"}[at.Scheme]
	at = *at.JoinPath("startupz")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return page{}, err
	}
	resp, err := x.client.http.Do(req)
	if err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostPage))
	return page{resp.StatusCode, resp.Header, body}, err
}

// networkFailure records the layer at which the request for the health page failed.
func (x *examination) networkFailure(ctx context.Context, s *netTrace, err error) bool {
	c := x.client
	f := c.dialFailure(err, nil, s.tcp > 0)
	at := f.layer
	proxy, _ := c.proxy()
	switch {
	case at != "":
	case proxy != "":
		at = LayerTCP
	case s.tcp == 0 && !s.dnsBegan.IsZero() && s.dns == 0:
		at = LayerDNS
		f.text = fmt.Sprintf("Could not resolve the name %s: %s", c.at.url.Hostname(), f.text)
		f.fix = "Check AGENTRT_GATEWAY_URL and this host's DNS."
	case s.tcp == 0:
		at = LayerTCP
	case !s.tlsBegan.IsZero() && s.tls == 0:
		at = LayerTLS
	default:
		at = LayerHTTP
		if f.layer = ""; hungUp(err) && c.speaksTLS(ctx) {
			at = LayerTLS
			f = unreachable("%s requires TLS, but AGENTRT_GATEWAY_URL begins with ws://.", c.at.url.Host).withFix(
				"Set AGENTRT_GATEWAY_URL=%s", secured(c.at.url),
			)
		}
	}
	switch at {
	case LayerDNS:
		return x.fail(LayerDNS, f)
	case LayerTCP:
		x.recordDNS(s)
	case LayerTLS:
		x.recordDNS(s)
		x.recordTCP(s)
	default:
		x.recordNetwork(s)
	}
	return x.fail(at, f)
}

// hungUp reports whether the server closed the connection without answering.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// speaksTLS reports whether the server expects TLS. It is called after the server has
// closed an unencrypted connection. It performs only the handshake and sends no data, so
// it does not verify the certificate.
func (c *Client) speaksTLS(ctx context.Context) bool {
	if c.at.url.Scheme != "ws" {
		return false
	}
	//nolint:gosec // the connection is closed unused: see above
	d := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(ctx, "tcp", hostPort(c.at.url))
	if err != nil {
		return false
	}
	_ = conn.Close() // only the handshake matters
	return true
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// secured returns u as a wss:// URL.
func secured(u *url.URL) string {
	with := *u
	with.Scheme = "wss"
	return with.String()
}

// recordNetwork records that the layers below HTTP (DNS, TCP and TLS) work or were
// skipped.
func (x *examination) recordNetwork(s *netTrace) {
	x.recordDNS(s)
	x.recordTCP(s)
	x.recordTLS(s)
}

func (x *examination) recordDNS(s *netTrace) {
	host := x.client.at.url.Hostname()
	_, literal := netip.ParseAddr(host)
	proxy, variable := x.client.proxy()
	switch {
	case proxy != "":
		x.step(LayerDNS, StepSkipped, -1,
			fmt.Sprintf("The proxy %s resolves the name (%s in Wardroom's environment).", proxy, variable))
	case literal == nil:
		x.step(LayerDNS, StepSkipped, -1, host+" is an IP address, so no lookup is needed.")
	case s.dns > 0:
		x.step(LayerDNS, StepOK, s.dns,
			fmt.Sprintf("%s resolves to %s.", host, strings.Join(s.addresses[:min(len(s.addresses), 4)], ", ")))
	default:
		x.step(LayerDNS, StepSkipped, -1, "Not checked: Wardroom did not resolve the name itself.")
	}
}

func (x *examination) recordTCP(s *netTrace) {
	if s.tcp == 0 {
		x.step(LayerTCP, StepSkipped, -1, "Not checked: Wardroom did not open the connection itself.")
		return
	}
	x.step(LayerTCP, StepOK, s.tcp, fmt.Sprintf("Connected to %s.", s.remote))
}

func (x *examination) recordTLS(s *netTrace) {
	c := x.client
	if c.at.url.Scheme == "ws" {
		x.step(LayerTLS, StepSkipped, -1, "The address begins with ws://, so the connection is not encrypted.")
		x.warnUnencrypted()
		return
	}
	if len(s.state.PeerCertificates) == 0 {
		x.step(LayerTLS, StepOK, s.tls, "Encrypted.")
		return
	}
	leaf := s.state.PeerCertificates[0]
	how := "signed by an authority that this host trusts"
	switch {
	case len(c.opt.Pins) > 0:
		how = "pinned by AGENTRT_GATEWAY_TLS_PIN"
	case c.opt.InsecureTLS:
		how = "not verified"
		x.warn(LayerTLS, "AGENTRT_GATEWAY_INSECURE_TLS is true: Wardroom accepts any certificate, so anyone on the network path can read the token.",
			"Set AGENTRT_GATEWAY_TLS_PIN="+fingerprint(leaf)+" instead, after comparing the fingerprint on the gateway's host.")
	case c.opt.Roots != nil:
		how = "signed by an authority in AGENTRT_GATEWAY_CA_FILE"
	}
	x.step(LayerTLS, StepOK, s.tls,
		fmt.Sprintf("%s; the certificate is %s, valid until %s.", tls.VersionName(s.state.Version), how, day(leaf.NotAfter)))
	const soon = 14 * 24 * time.Hour
	if left := leaf.NotAfter.Sub(c.opt.Now()); left < soon && len(c.opt.Pins) == 0 && !c.opt.InsecureTLS {
		x.warn(LayerTLS, fmt.Sprintf("The gateway's certificate expires on %s.", day(leaf.NotAfter)),
			"Renew it before then: Wardroom does not connect with an expired certificate.")
	}
}

// warnUnencrypted adds a warning if the token is sent over a network without encryption.
func (x *examination) warnUnencrypted() {
	host := x.client.at.url.Hostname()
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return
	}
	x.warn(LayerTLS, "The token and all messages travel unencrypted to "+host+".",
		"Enable TLS in the gateway (gateway.tls.enabled), use wss:// in AGENTRT_GATEWAY_URL, and set AGENTRT_GATEWAY_TLS_PIN to the certificate's fingerprint; or run Wardroom on the gateway's host.")
}

// health is the content of the gateway's health page.
type health struct {
	Status  string      `json:"status"` // started, starting or draining
	Version string      `json:"version"`
	Uptime  wire.Number `json:"uptimeMs"`
	Pending string      `json:"pendingReason"`
}

// startupFailure returns the failure that the health page's response indicates, or nil. A missing page is not a
// failure, because a proxy may not forward requests for it.
func (x *examination) startupFailure(p page) *failure {
	c, body := x.client, p.body
	var h health
	isPage := json.Unmarshal(body, &h) == nil && h.Status != ""
	switch code := p.status; {
	case code == http.StatusServiceUnavailable && isPage && h.Status == "draining":
		return unreachable("The gateway is shutting down or restarting.").withFix(
			"Wait, or start it again. Wardroom retries automatically.",
		)
	case code == http.StatusServiceUnavailable && isPage:
		f := unreachable("The gateway is starting.").withFix("%s", startingFix)
		if h.Pending != "" {
			f.text = fmt.Sprintf("The gateway is starting and waits for %s.", c.secrets.Bounded(h.Pending, 100))
		}
		return f
	case code >= 300 && code < 400, code == http.StatusBadGateway, code == http.StatusServiceUnavailable,
		code == http.StatusGatewayTimeout,
		code == http.StatusForbidden && bytes.Contains(body, []byte("proxy_attribution_required")):
	case code == http.StatusBadRequest && strings.Contains(strings.ToLower(string(body)), "http request to an https"):
	default:
		return nil
	}
	f := c.httpFailure(&http.Response{StatusCode: p.status, Header: p.header, Body: io.NopCloser(bytes.NewReader(body))})
	if f.layer == LayerTLS {
		f.fix = "Set AGENTRT_GATEWAY_URL=" + secured(c.at.url)
	}
	if p.status == http.StatusBadGateway || p.status == http.StatusGatewayTimeout {
		f.text = fmt.Sprintf("A proxy at %s reports that the gateway behind it is unavailable (HTTP %d).", c.at.url.Host,
			p.status)
		f.fix = "Start the gateway, or correct its address in the proxy's configuration."
	}
	return c.viaProxy(f, nil, &http.Response{StatusCode: p.status})
}

// healthPage describes the gateway's health page in one sentence, for the report.
func (x *examination) healthPage(p page) string {
	var h health
	if json.Unmarshal(p.body, &h) != nil || h.Status == "" {
		return fmt.Sprintf("HTTP %d, but no gateway health page (/startupz).", p.status)
	}
	saw := fmt.Sprintf("HTTP %d from /startupz: %s", p.status, x.client.secrets.Bounded(h.Status, 40))
	if h.Version != "" {
		saw += ", version " + x.client.secrets.Bounded(h.Version, 40)
	}
	if up, ok := h.Uptime.Whole(); ok && up > 0 {
		saw += fmt.Sprintf(", up for %s", (time.Duration(min(up, 1<<40)) * time.Millisecond).Round(time.Second))
	}
	return saw + "."
}
