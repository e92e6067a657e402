package web_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// forwarded returns an API with the trusted proxies, a function that sends it a request from a peer with a header, and
// its log.
func forwarded(t *testing.T, trusted ...string) (*web.API, func(peer, name, value string), *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	o := web.Options{Title: "Test", Version: "1", Log: slog.New(slog.NewTextHandler(log, nil))}
	for _, p := range trusted {
		o.TrustedProxies = append(o.TrustedProxies, netip.MustParsePrefix(p))
	}
	api := web.New(o)
	web.Get(api, "/nothing", actor.Public, "Nothing", func(context.Context, *struct{}) (*struct{}, error) { return nil, nil }, web.Quiet())
	return api, func(peer, name, value string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/nothing", nil)
		r.RemoteAddr = peer
		if name != "" {
			r.Header.Set(name, value)
		}
		api.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}, log
}

// Behind a proxy that nobody listed, everyone shares one login limit: the operator must learn which address to list.
func TestUnlistedProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, trusted, peer, header, value, want, says string }{
		{"no proxy", "10.0.0.0/8", "203.0.113.5:1", "", "", "", ""},
		{"a listed proxy", "10.0.0.0/8", "10.0.0.7:1", "X-Forwarded-For", "203.0.113.5", "", ""},
		{"an unlisted proxy", "192.168.0.0/16", "10.0.0.7:1", "X-Forwarded-For", "203.0.113.5", "10.0.0.7", "add 10.0.0.7 to TRUSTED_PROXIES"},
		{"the container form of its address", "192.168.0.0/16", "[::ffff:10.0.0.7]:1", "X-Forwarded-For", "203.0.113.5", "10.0.0.7", "add 10.0.0.7 to TRUSTED_PROXIES"},
		{"with the newer header", "192.168.0.0/16", "[fd00::7]:1", "Forwarded", "for=203.0.113.5", "fd00::7", "the header Forwarded"},
		{"a listed proxy with only the newer header", "10.0.0.0/8", "10.0.0.7:1", "Forwarded", "for=203.0.113.5", "10.0.0.7", "Configure it to send X-Forwarded-For"},
		{"a second proxy before the listed one", "127.0.0.1/32", "127.0.0.1:1", "X-Forwarded-For", "203.0.113.5, 10.0.0.8", "10.0.0.8", "add 10.0.0.8 to TRUSTED_PROXIES"},
		{"a colleague in the same network", "127.0.0.1/32", "127.0.0.1:1", "X-Forwarded-For", "10.0.0.8", "", ""},
		{"a client that forges an entry", "127.0.0.1/32", "127.0.0.1:1", "X-Forwarded-For", "198.51.100.1, 203.0.113.5", "", ""},
	} {
		api, send, log := forwarded(t, c.trusted)
		send(c.peer, c.header, c.value)
		send(c.peer, c.header, c.value)
		list := api.Unlisted()
		switch {
		case c.want == "":
			if len(list) > 0 || log.Len() > 0 {
				t.Errorf("%s: %v\n%s", c.name, list, log)
			}
		case len(list) != 1 || list[0].Address.String() != c.want || list[0].Requests != 2 || !strings.Contains(list[0].Text(), c.says):
			t.Errorf("%s: %+v", c.name, list)
		case strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), c.says):
			t.Errorf("%s: the log says %s", c.name, log)
		}
	}
}

// Anyone can send the header, so strangers must neither fill the log nor hide the proxy.
func TestUnlistedProxiesAreFew(t *testing.T) {
	t.Parallel()
	api, send, log := forwarded(t, "192.168.0.0/16")
	for i := range 1000 {
		send(fmt.Sprintf("[2001:db8::%x]:1", i), "X-Forwarded-For", "127.0.0.1, "+strings.Repeat("x", i))
	}
	for range 1000 {
		send("10.0.0.7:1", "X-Forwarded-For", "203.0.113.5")
	}
	list := api.Unlisted()
	if len(list) > 16 || list[0].Address.String() != "10.0.0.7" || list[0].Requests != 1000 {
		t.Errorf("%d: %+v", len(list), list[0])
	}
	if n := strings.Count(log.String(), "level=WARN"); n != len(list) {
		t.Errorf("%d warnings about %d addresses", n, len(list))
	}
}
