package faults

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"wardroom/internal/gateway/demo"
)

// Each port mode answers probes and upgrades in its own way.
func TestSetPort(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := join(t, r)
	for door, want := range map[PortMode]struct {
		status int
		body   string
	}{
		PortWebPage:      {200, "It works!"},
		PortBadGateway:   {502, "Bad Gateway"},
		PortUnavailable:  {503, "Service Unavailable"},
		PortRedirect:     {302, "Found"},
		PortProxyRefused: {403, `"type":"proxy_attribution_required"`},
	} {
		r.SetPort(door)
		ws, resp, err := websocket.Dial(t.Context(), r.URL(), &websocket.DialOptions{HTTPClient: trusting()})
		if err == nil {
			_ = ws.CloseNow()
			t.Fatalf("mode %d opens a socket", door)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want.status || !strings.Contains(string(body), want.body) {
			t.Errorf("mode %d answers %d %q", door, resp.StatusCode, body)
		}
		if status, _ := get(t, r.URL()+"/healthz"); status != want.status {
			t.Errorf("mode %d answers a probe with %d", door, status)
		}
	}
	r.SetPort(PortReset)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := trusting().Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("PortReset: %v", err)
	}
	c.ok("health", object{}) // existing connections stay
	r.SetPort(PortNormal)
	join(t, r)
}

// A silent port must not delay the end of the runtime, with or without TLS.
func TestSilentPortCloses(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		r := open(t, demo.Options{})
		if secure {
			r = openTLS(t)
		}
		r.SetPort(PortSilent)
		done := make(chan error, 1)
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL(), http.NoBody)
			if err == nil {
				var resp *http.Response
				if resp, err = trusting().Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}
			done <- err
		}()
		eventually(t, "a connection is held", func() bool { return r.heldAtPort.Load() == 1 })
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			if err == nil {
				t.Error("it was answered")
			}
		case <-time.After(patience):
			t.Error("it was never released")
		}
	}
}

// peer returns the certificate that the runtime presents.
func peer(t *testing.T, r *Runtime) *x509.Certificate {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return as[*tls.Conn](c).ConnectionState().PeerCertificates[0]
}

// No client can verify the certificate by name, so a client that connects has pinned it.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := openTLS(t)
	cert := peer(t, r)
	if cert.Subject.CommonName != "openclaw-gateway" || len(cert.DNSNames)+len(cert.IPAddresses) > 0 || cert.CheckSignatureFrom(cert) != nil {
		t.Errorf("certificate for %v, %v", cert.Subject, cert.DNSNames)
	}
	sum := sha256.Sum256(cert.Raw)
	block, _ := pem.Decode(r.CertificatePEM())
	if r.Fingerprint() != hex.EncodeToString(sum[:]) || block == nil || string(block.Bytes) != string(cert.Raw) {
		t.Error("the fingerprint or the file is of another certificate")
	}
	c := dial(t, r, &websocket.DialOptions{HTTPClient: trusting()})
	c.ok("connect", hello(nil))

	before := r.Fingerprint()
	if err := r.ChangeCertificate(); err != nil {
		t.Fatal(err)
	}
	sum = sha256.Sum256(peer(t, r).Raw)
	if r.Fingerprint() == before || r.Fingerprint() != hex.EncodeToString(sum[:]) {
		t.Error("the certificate is still the old one")
	}
	c.ok("health", object{})
	r.Restart(0)
	if status, _ := get(t, r.URL()+"/healthz"); status != http.StatusOK {
		t.Errorf("after a restart: %d", status)
	}
}

// Plain HTTP on a TLS port is disconnected without an answer.
func TestTLSPlain(t *testing.T) {
	t.Parallel()
	r := openTLS(t)
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if strings.Contains(string(got), "HTTP/") || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("answered %q, %v", got, err)
	}
	plain := open(t, demo.Options{})
	if plain.Fingerprint() != "" || plain.CertificatePEM() != nil || plain.ChangeCertificate() != nil {
		t.Error("without TLS there is a certificate")
	}
}
