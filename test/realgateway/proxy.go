//go:build journey

package realgateway

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Elsewhere is the client address that a Proxy reports to the gateway. It is from a range
// that is reserved for documentation.
const Elsewhere = "203.0.113.5"

// Proxy is a reverse proxy in front of a gateway, as used in production. It has a
// certificate from a CA and reports to the gateway that each client is remote. A remote
// client needs an approved device. The shared token alone is enough only for direct
// connections.
type Proxy struct {
	URL    string // https://127.0.0.1:port
	CAFile string // certificate of the CA, in PEM

	http *http.Client // trusts the CA
}

// StartProxy starts a proxy in front of the gateway g, which must be started with
// Access.BehindProxy. The proxy is stopped when the test ends.
func StartProxy(t testing.TB, g *Gateway) *Proxy {
	t.Helper()
	target, err := url.Parse(g.URL)
	if err != nil {
		t.Fatalf("the gateway's address: %v", err)
	}
	server := httptest.NewTLSServer(&httputil.ReverseProxy{
		Transport: g.http.Transport,
		ErrorLog:  log.New(io.Discard, "", 0), // restarts of the gateway are not errors of the proxy
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
			r.Out.Header.Set("X-Forwarded-For", Elsewhere)
		},
	})
	t.Cleanup(server.Close)
	p := &Proxy{URL: server.URL, CAFile: filepath.Join(t.TempDir(), "ca.pem"), http: server.Client()}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(p.CAFile, ca, 0o600); err != nil {
		t.Fatalf("write the proxy's certificate: %v", err)
	}
	return p
}
