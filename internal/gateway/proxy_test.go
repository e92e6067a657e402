package gateway_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"

	"wardroom/internal/gateway/link"
)

// A proxy from the environment that is in the way must be named: the gateway is not at fault, and nobody finds it there.
func TestProxyIsBlamed(t *testing.T) {
	t.Parallel()
	closed := strings.TrimPrefix(unused(t), "ws://")
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(refusing.Close)
	rude := hangUp(t)
	for name, c := range map[string]struct{ gateway, proxy, says string }{
		"nobody at its address":     {"ws://gateway.example:18789", "http://" + closed, "The proxy refused the connection"},
		"it forbids the address":    {"ws://gateway.example:18789", refusing.URL, "answered HTTP 403"},
		"it forbids the tunnel":     {"wss://gateway.example", refusing.URL, "Forbidden"},
		"it hangs up":               {"ws://gateway.example:18789", strings.Replace(rude, "ws", "http", 1), "closed the connection"},
		"its name has no address":   {"ws://gateway.example:18789", "http://proxy.invalid:3128", "proxy's name proxy.invalid"},
		"it has a password as well": {"ws://gateway.example:18789", "http://bob:kitten@" + closed, "The proxy refused the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			via, err := neturl.Parse(c.proxy)
			if err != nil {
				t.Fatal(err)
			}
			g := &replayer{t: t}
			g.Server = &httptest.Server{URL: c.gateway}
			opt := g.options()
			opt.HTTP = &http.Transport{Proxy: http.ProxyURL(via)}
			if via.Hostname() == "proxy.invalid" {
				opt.HTTP.DialContext = failing(&net.DNSError{Err: "no such host", Name: via.Hostname()}).DialContext
			}
			s := untilState(t, client(t, opt), link.Unreachable)
			at, _ := neturl.Parse(c.gateway)
			for _, want := range []string{c.says, "goes through the proxy " + via.Host, "_PROXY is set in Wardroom's environment", "Add " + at.Hostname() + " to NO_PROXY"} {
				if !strings.Contains(s.LastError, want) {
					t.Errorf("without %q: %s", want, s.LastError)
				}
			}
			if strings.Contains(s.LastError, "kitten") {
				t.Errorf("the password is in it: %s", s.LastError)
			}
			found, err := client(t, opt).Examine(t.Context(), func(link.Step) {})
			if err != nil || found.Failure == nil || !strings.Contains(found.Failure.Cause, via.Host) || !strings.Contains(found.Failure.Fix, "NO_PROXY") {
				t.Errorf("the doctor says %+v, %v", found.Failure, err)
			}
		})
	}
}

// A stored token that can't be read must not be reported as missing.
func TestUnreadableTokenIsBlamed(t *testing.T) {
	t.Parallel()
	all := recorded[handshakes](t, "handshake.json")
	g := replay(t, func(_ int, p *peer) {
		p.send(all.Challenge)
		refused := all.Refused["no auth, device"]
		p.answer(p.expect("connect"), refused.Response)
		p.close(refused.Close.Code, refused.Close.Reason)
	})
	opt := g.options()
	opt.Token = ""
	c := client(t, opt)
	const why = "Wardroom could not decrypt the stored token: the key file is readable by other users."
	if err := c.SetEndpoint(link.Endpoint{URL: g.URL, Problem: why}); err != nil {
		t.Fatal(err)
	}
	if s := untilState(t, c, link.Unauthorized); !strings.Contains(s.LastError, why) || strings.Contains(s.LastError, "none is set") {
		t.Errorf("it says %q", s.LastError)
	}
}
