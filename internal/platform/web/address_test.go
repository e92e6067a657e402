package web_test

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"testing"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/web"
)

// The address is that of the connection, whatever the caller says of itself.
func TestClientAddress(t *testing.T) {
	api := web.New(web.Options{Title: "Test", Version: "1"})
	var got netip.Addr
	web.Get(api, "/address", actor.Public, "Note the address", func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		got = web.ClientAddress(ctx)
		return nil, nil
	})
	for peer, want := range map[string]netip.Addr{
		"192.0.2.7:4711":         netip.MustParseAddr("192.0.2.7"),
		"[::ffff:192.0.2.7]:80":  netip.MustParseAddr("192.0.2.7"),
		"[2001:db8::7]:80":       netip.MustParseAddr("2001:db8::7"),
		"[fe80::7%eth0]:80":      netip.MustParseAddr("fe80::7%eth0"),
		"@":                      {},
		"":                       {},
		"nowhere.example.com:80": {},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/address", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", "198.51.100.1")
		r.Header.Set("Forwarded", "for=198.51.100.1")
		got = netip.MustParseAddr("198.51.100.99")
		api.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if got != want {
			t.Errorf("%q: %v, want %v", peer, got, want)
		}
	}
	if a := web.ClientAddress(t.Context()); a.IsValid() {
		t.Errorf("without a request: %v", a)
	}
}
