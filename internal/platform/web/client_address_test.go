package web_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// addressAt returns the client address that the API sees for a request.
func addressAt(trusted ...string) func(peer string, forwardedFor ...string) netip.Addr {
	o := web.Options{Title: "Test", Version: "1"}
	for _, s := range trusted {
		o.TrustedProxies = append(o.TrustedProxies, netip.MustParsePrefix(s))
	}
	api := web.New(o)
	var got netip.Addr
	web.Get(api, "/address", actor.Public, "Note the address", func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		got = web.ClientAddress(ctx)
		return nil, nil
	})
	handler := api.Handler()
	return func(peer string, forwardedFor ...string) netip.Addr {
		r := httptest.NewRequestWithContext(context.Background(), "GET", "/api/v1/address", nil)
		r.RemoteAddr = peer
		r.Header["X-Forwarded-For"] = forwardedFor
		r.Header.Set("Forwarded", "for=198.51.100.77")
		r.Header.Set("X-Real-Ip", "198.51.100.78")
		got = netip.MustParseAddr("198.51.100.99")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		return got
	}
}

// The client address is that of the connection, whatever the headers say: otherwise
// a client that guesses passwords could avoid the rate limit.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(string, ...string) netip.Addr{
		"nobody is trusted": addressAt(), "others are trusted": addressAt("127.0.0.1/32", "10.0.0.0/8", "fd00::/8"),
	} {
		for peer, want := range map[string]netip.Addr{
			"192.0.2.7:4711":         netip.MustParseAddr("192.0.2.7"),
			"[::ffff:192.0.2.7]:80":  netip.MustParseAddr("192.0.2.7"),
			"[2001:db8::7]:80":       netip.MustParseAddr("2001:db8::7"),
			"[fe80::7%eth0]:80":      netip.MustParseAddr("fe80::7%eth0"),
			"@":                      {},
			"":                       {},
			"nowhere.example.com:80": {},
		} {
			if got := at(peer, "198.51.100.1"); got != want {
				t.Errorf("%s, %q: %v, want %v", name, peer, got, want)
			}
		}
	}
	if a := web.ClientAddress(t.Context()); a.IsValid() {
		t.Errorf("without a request: %v", a)
	}
}

// Behind a proxy, clients must be distinguished, and none may choose its address.
func TestClientAddressBehindProxies(t *testing.T) {
	t.Parallel()
	at := addressAt("127.0.0.1/32", "10.0.0.0/8", "fd00::/8", "fe80::/10")
	for _, tt := range []struct {
		name, peer string
		header     []string
		want       string
	}{
		{"no header", "10.0.0.1:80", nil, "10.0.0.1"},
		{"one proxy", "10.0.0.1:80", []string{"192.0.2.7"}, "192.0.2.7"},
		{"what the caller made up", "10.0.0.1:80", []string{"198.51.100.1, 192.0.2.7"}, "192.0.2.7"},
		{"a proxy that the caller made up", "10.0.0.1:80", []string{"198.51.100.1, 10.0.0.9, 192.0.2.7"}, "192.0.2.7"},
		{"two proxies", "10.0.0.1:80", []string{"198.51.100.1, 192.0.2.7, 10.0.0.2"}, "192.0.2.7"},
		{"another proxy, which is not trusted", "10.0.0.1:80", []string{"192.0.2.7, 203.0.113.5"}, "203.0.113.5"},
		{"only proxies", "10.0.0.1:80", []string{"10.0.0.3,10.0.0.2"}, "10.0.0.3"},
		{"several lines", "10.0.0.1:80", []string{"198.51.100.1", "192.0.2.7", "10.0.0.3, 10.0.0.2"}, "192.0.2.7"},
		{"blanks", "10.0.0.1:80", []string{" 198.51.100.1 ,\t192.0.2.7\t, 10.0.0.2 "}, "192.0.2.7"},
		{"a port", "10.0.0.1:80", []string{"192.0.2.7:4711, 10.0.0.2:80"}, "192.0.2.7"},
		{"IPv6", "[fd00::1]:80", []string{"2001:DB8::7"}, "2001:db8::7"},
		{"IPv6 in brackets", "[fd00::1]:80", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"IPv6 with a port", "[fd00::1]:80", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"IPv6 with a zone", "[fe80::1%eth0]:80", []string{"2001:db8::7%eth1"}, "2001:db8::7"},
		{"a proxy in its zone", "[fe80::1%eth0]:80", []string{"192.0.2.7, fe80::2%eth1"}, "192.0.2.7"},
		{"IPv4 as IPv6", "[::ffff:10.0.0.1]:80", []string{"::ffff:192.0.2.7, ::ffff:10.0.0.2"}, "192.0.2.7"},
		{"a word", "10.0.0.1:80", []string{"192.0.2.7, unknown"}, "10.0.0.1"},
		{"a word behind a proxy", "10.0.0.1:80", []string{"192.0.2.7, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"nothing", "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"nothing between commas", "10.0.0.1:80", []string{"192.0.2.7,,10.0.0.2"}, "10.0.0.2"},
		{"a comma at the end", "10.0.0.1:80", []string{"192.0.2.7,"}, "10.0.0.1"},
		{"an empty line", "10.0.0.1:80", []string{"192.0.2.7", ""}, "10.0.0.1"},
		{"a name", "10.0.0.1:80", []string{"localhost"}, "10.0.0.1"},
		{"IPv4 in brackets", "10.0.0.1:80", []string{"[192.0.2.7]"}, "10.0.0.1"},
		{"a number with a leading zero", "10.0.0.1:80", []string{"192.0.02.7"}, "10.0.0.1"},
		{"a bad port", "10.0.0.1:80", []string{"192.0.2.7:http"}, "10.0.0.1"},
		{"a long zone", "10.0.0.1:80", []string{"2001:db8::7%" + strings.Repeat("z", 60)}, "10.0.0.1"},
		{"the longest chain", "10.0.0.1:80", []string{"192.0.2.7" + strings.Repeat(",10.0.0.2", 31)}, "192.0.2.7"},
		{"a longer chain", "10.0.0.1:80", []string{"192.0.2.7" + strings.Repeat(",10.0.0.2", 32)}, "10.0.0.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := at(tt.peer, tt.header...); got != netip.MustParseAddr(tt.want) {
				t.Errorf("%s with %.200q: %v, want %s", tt.peer, tt.header, got, tt.want)
			}
		})
	}
}

// Whatever the header contains, the result must be the peer or an address in the
// header, and entries prepended by a client must not change it.
func FuzzForwardedFor(f *testing.F) {
	at := addressAt("10.0.0.0/8", "fd00::/8")
	for _, s := range []string{"", "192.0.2.7", "a, 10.0.0.2", "[::1%x]:5,10.0.0.2:1", "::ffff:10.0.0.1", ",,,", "10.0.0.1,10.0.0.1\t", "[fd00::1]"} {
		f.Add(s, "198.51.100.1")
	}
	f.Fuzz(func(t *testing.T, header, before string) {
		got := at("10.0.0.1:80", header)
		peer := netip.MustParseAddr("10.0.0.1")
		if !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Fatalf("%q: %v", header, got)
		}
		if got != peer && !written(header, got) {
			t.Errorf("%q: %v is not in it", header, got)
		}
		if trusted := got.Is4() && got.As4()[0] == 10 || got.Is6() && got.As16()[0] == 0xfd; trusted {
			return
		}
		if with := at("10.0.0.1:80", before, header); with != got {
			t.Errorf("%q makes %v of %q, which is %v", before, with, header, got)
		}
		if with := at("10.0.0.1:80", before+","+header); with != got {
			t.Errorf("%q before %q makes %v of %v", before, header, with, got)
		}
		if direct := at("192.0.2.9:80", header); direct != netip.MustParseAddr("192.0.2.9") {
			t.Errorf("%q makes a stranger %v", header, direct)
		}
	})
}

// written reports whether one of the entries is a, in any notation.
func written(header string, a netip.Addr) bool {
	for entry := range strings.SplitSeq(header, ",") {
		entry = strings.Trim(entry, " \t")
		if p, err := netip.ParseAddrPort(entry); err == nil && p.Addr().Unmap().WithZone("") == a {
			return true
		}
		if b, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil && b.Unmap().WithZone("") == a {
			return true
		}
	}
	return false
}

// A client must not be able to send others to another host: links in responses
// never contain the host of the request.
func TestLinksAreRelative(t *testing.T) {
	t.Parallel()
	api := web.New(web.Options{Title: "Test", Version: "1", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	web.Get(api, "/things", actor.Public, "List", func(ctx context.Context, _ *struct{}) (*web.List[int], error) {
		return web.Page(ctx, []int{1}, "next"), nil
	})
	for _, target := range []string{"/api/v1/things", "http://evil.example/api/v1/things", "//evil.example/api/v1/things", "/api/v1/nothing"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
		r.RemoteAddr = "192.0.2.1:80" // even from a trusted proxy
		r.Host = "evil.example"
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Server", "X-Host", "X-Original-Url", "X-Rewrite-Url"} {
			r.Header.Set(name, "evil.example")
		}
		r.Header.Set("Forwarded", "host=evil.example")
		r.Header.Set("X-Forwarded-Prefix", "//evil.example")
		w := httptest.NewRecorder()
		api.Handler().ServeHTTP(w, r)
		// This name appears in the path, not as a host, and only to the client that sent it.
		said := fmt.Sprint(w.Header()) + strings.ReplaceAll(w.Body.String(), `"instance":"//evil.example`, "")
		if strings.Contains(said, "//evil") {
			t.Errorf("%s: %d %v %s", target, w.Code, w.Header(), w.Body)
		}
	}
}

// Only a direct connection from this machine is local: a proxy on the machine speaks for clients
// elsewhere, and a website can point its name to a loopback address.
func TestLocal(t *testing.T) {
	t.Parallel()
	api := web.New(web.Options{Title: "Test", Version: "1", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	var got bool
	web.Get(api, "/local", actor.Public, "Note whether it is local", func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		got = web.Local(ctx)
		return nil, nil
	})
	handler := api.Handler()
	for _, test := range []struct {
		peer, host, header, value string
		want                      bool
	}{
		{peer: "127.0.0.1:4711", host: "127.0.0.1:3000", want: true},
		{peer: "127.9.9.9:4711", host: "LocalHost", want: true},
		{peer: "[::1]:4711", host: "[::1]:3000", want: true},
		{peer: "[::ffff:127.0.0.1]:4711", host: "localhost:3000", want: true},
		{peer: "127.0.0.1:4711", host: "localhost:3000", header: "Origin", value: "http://localhost:3000", want: true},
		{peer: "192.0.2.7:4711", host: "127.0.0.1:3000"},
		{peer: "@", host: "127.0.0.1:3000"},
		{peer: "127.0.0.1:4711", host: "rebound.example:3000"},
		{peer: "127.0.0.1:4711", host: "127.0.0.1.example.com"},
		{peer: "127.0.0.1:4711", host: "192.0.2.1"},
		{peer: "127.0.0.1:4711", host: "127.0.0.1:3000", header: "X-Forwarded-For", value: "127.0.0.1"},
		{peer: "127.0.0.1:4711", host: "127.0.0.1:3000", header: "Forwarded", value: "for=127.0.0.1"},
		{peer: "127.0.0.1:4711", host: "127.0.0.1:3000", header: "Origin", value: "https://wardroom.example"},
		{peer: "127.0.0.1:4711", host: "127.0.0.1:3000", header: "Sec-Fetch-Site", value: "cross-site"},
	} {
		r := httptest.NewRequestWithContext(context.Background(), "GET", "/api/v1/local", nil)
		r.RemoteAddr, r.Host = test.peer, test.host
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		got = !test.want
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
	if web.Local(context.Background()) {
		t.Error("no request is local")
	}
}
