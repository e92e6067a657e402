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

// Elsewhere is the address from which a Proxy says that its callers come: one
// that is kept free for documents, and so is nobody's.
const Elsewhere = "203.0.113.5"

// Proxy stands before a gateway as a reverse proxy does in production: it has a
// certificate that a CA vouches for, and tells the gateway that the caller is
// not from the gateway's own machine. Such callers need an approved device; the
// shared token alone is enough only for those who connect to the gateway itself.
type Proxy struct {
	URL    string // https://127.0.0.1:port
	CAFile string // the CA's certificate, in PEM

	http *http.Client // trusts it
}

// StartProxy starts a proxy before g, which must have been started BehindProxy.
// It ends with the test.
func StartProxy(t testing.TB, g *Gateway) *Proxy {
	t.Helper()
	target, err := url.Parse(g.URL)
	if err != nil {
		t.Fatalf("the gateway's address: %v", err)
	}
	server := httptest.NewTLSServer(&httputil.ReverseProxy{
		Transport: g.http.Transport,
		ErrorLog:  log.New(io.Discard, "", 0), // a gateway that restarts is not an error of the proxy
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
