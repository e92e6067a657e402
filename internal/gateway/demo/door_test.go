package demo

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
)

// What stands before a gateway answers probes and upgrades in its own way.
func TestFront(t *testing.T) {
	t.Parallel()
	r := open(t, Options{})
	c := join(t, r)
	for door, want := range map[Door]struct {
		status int
		body   string
	}{
		PageDoor:   {200, "It works!"},
		BrokenDoor: {502, "Bad Gateway"},
		BusyDoor:   {503, "Service Unavailable"},
		MovedDoor:  {302, "Found"},
		ProxyDoor:  {403, `"type":"proxy_attribution_required"`},
	} {
		r.Front(door)
		ws, resp, err := websocket.Dial(t.Context(), r.URL(), &websocket.DialOptions{HTTPClient: trusting()})
		if err == nil {
			_ = ws.CloseNow()
			t.Fatalf("door %d opens a socket", door)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want.status || !strings.Contains(string(body), want.body) {
			t.Errorf("door %d answers %d %q", door, resp.StatusCode, body)
		}
		if status, _ := get(t, r.URL()+"/healthz"); status != want.status {
			t.Errorf("door %d answers a probe with %d", door, status)
		}
	}
	r.Front(ResetDoor)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := trusting().Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("a reset door: %v", err)
	}
	c.ok("health", object{}) // who is in stays in
	r.Front(OpenDoor)
	join(t, r)
}

// A mute door must not hold up the end of the runtime, with TLS or without.
func TestMuteDoorCloses(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		r := open(t, Options{TLS: secure})
		r.Front(MuteDoor)
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
		eventually(t, "somebody stands at the door", func() bool { return r.waiting.Load() == 1 })
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			if err == nil {
				t.Error("it was answered")
			}
		case <-time.After(patience):
			t.Error("it waits for ever")
		}
	}
}

// peer is the certificate that the runtime shows.
func peer(t *testing.T, r *Runtime) *x509.Certificate {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return only[*tls.Conn](c).ConnectionState().PeerCertificates[0]
}

// The certificate is one that no client can verify by name, so a client that
// connects has pinned it.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := open(t, Options{TLS: true})
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

// Who speaks plain HTTP to a gateway with TLS is hung up on without a word.
func TestTLSPlain(t *testing.T) {
	t.Parallel()
	r := open(t, Options{TLS: true})
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
	plain := open(t, Options{})
	if plain.Fingerprint() != "" || plain.CertificatePEM() != nil || plain.ChangeCertificate() != nil {
		t.Error("without TLS there is a certificate")
	}
}
