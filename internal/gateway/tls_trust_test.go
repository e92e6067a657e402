package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/gateway/link"
)

// certificate returns a certificate signed by an authority, or by itself; change may
// modify it.
func certificate(t *testing.T, by *tls.Certificate, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "openclaw-gateway"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	if change != nil {
		change(cert)
	}
	parent, signer := cert, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func authority(t *testing.T) tls.Certificate {
	return certificate(t, nil, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		c.Subject.CommonName = "an authority"
	})
}

func loopback(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }

func pin(c tls.Certificate) [32]byte { return sha256.Sum256(c.Certificate[0]) }

func pool(certs ...tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c.Leaf)
	}
	return p
}

// encrypted returns a gateway behind the certificate that present returns.
func encrypted(t *testing.T, present func() tls.Certificate, script func(n int, p *peer)) *replayer {
	t.Helper()
	g := newReplayer(t, script)
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{present()}}, nil
	}}
	g.StartTLS()
	return g
}

// stays completes the handshake and stays connected.
func stays(_ int, p *peer) {
	p.greet("boot-1")
	p.gone()
}

// Which certificates are trusted decides who can read the token. The gateway's own
// certificate has no names, so only its fingerprint can be verified.
func TestTrust(t *testing.T) {
	t.Parallel()
	own := certificate(t, nil, nil)
	other := certificate(t, nil, nil)
	ca, foreign := authority(t), authority(t)
	signed := certificate(t, &ca, loopback)
	named := certificate(t, &ca, func(c *x509.Certificate) { c.DNSNames = []string{"gateway.example.org"} })
	expired := certificate(t, &ca, func(c *x509.Certificate) {
		loopback(c)
		c.NotAfter = time.Now().Add(-time.Minute)
	})
	for name, test := range map[string]struct {
		presents tls.Certificate
		trusts   func(*link.Options)
		says     string // empty if it connects
	}{
		"the gateway's own, unpinned":        {own, func(*link.Options) {}, "contains no names"},
		"the gateway's own, as authority":    {own, func(o *link.Options) { o.Roots = pool(own) }, "contains no names"},
		"the gateway's own, pinned":          {own, func(o *link.Options) { o.Pins = [][32]byte{pin(own)} }, ""},
		"the second of two pins":             {own, func(o *link.Options) { o.Pins = [][32]byte{pin(other), pin(own)} }, ""},
		"another pin":                        {own, func(o *link.Options) { o.Pins = [][32]byte{pin(other)} }, "does not match AGENTRT_GATEWAY_TLS_PIN"},
		"a pin, though an authority signed":  {signed, func(o *link.Options) { o.Pins, o.Roots = [][32]byte{pin(other)}, pool(ca) }, "does not match AGENTRT_GATEWAY_TLS_PIN"},
		"a pin, though verification is off":  {own, func(o *link.Options) { o.Pins, o.InsecureTLS = [][32]byte{pin(other)}, true }, "does not match AGENTRT_GATEWAY_TLS_PIN"},
		"an expired one, pinned":             {expired, func(o *link.Options) { o.Pins = [][32]byte{pin(expired)} }, ""},
		"an authority of our own":            {signed, func(o *link.Options) { o.Roots = pool(ca) }, ""},
		"an authority that nobody named":     {signed, func(*link.Options) {}, "not signed by an authority that this host trusts"},
		"another authority than the one":     {signed, func(o *link.Options) { o.Roots = pool(foreign) }, "not signed by an authority in AGENTRT_GATEWAY_CA_FILE"},
		"another name":                       {named, func(o *link.Options) { o.Roots = pool(ca) }, `valid for ["gateway.example.org"]`},
		"an expired one":                     {expired, func(o *link.Options) { o.Roots = pool(ca) }, "valid only from"},
		"the gateway's own, nothing checked": {own, func(o *link.Options) { o.InsecureTLS = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := encrypted(t, func() tls.Certificate { return test.presents }, stays)
			opt := g.options()
			test.trusts(&opt)
			c := client(t, opt)
			if test.says == "" {
				await(t, c)
				return
			}
			s := untilState(t, c, link.Untrusted)
			if want := fmt.Sprintf("%X", pin(test.presents)); strings.ReplaceAll(s.Certificate.Fingerprint, ":", "") != want {
				t.Errorf("the fingerprint is %s, want %s", s.Certificate.Fingerprint, want)
			}
			for _, part := range []string{test.says, "CN=openclaw-gateway", "AGENTRT_GATEWAY_TLS_PIN=" + s.Certificate.Fingerprint, test.presents.Leaf.NotAfter.UTC().Format(time.DateOnly)} {
				if !strings.Contains(s.LastError, part) {
					t.Errorf("it lacks %q: %s", part, s.LastError)
				}
			}
			if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrUntrusted) {
				t.Errorf("Agents: %v", err)
			}
			if g.dials() != 0 {
				t.Error("the gateway saw a request")
			}
			noToken(t, g, c)
		})
	}
}

// With two pins a gateway can change its certificate without an interruption; with one
// it is rejected until the setting changes.
func TestRotatedCertificate(t *testing.T) {
	t.Parallel()
	before, after := certificate(t, nil, nil), certificate(t, nil, nil)
	for name, pins := range map[string][][32]byte{"both pinned": {pin(before), pin(after)}, "only the old one pinned": {pin(before)}} {
		t.Run(name, func(t *testing.T) {
			var rotated atomic.Bool
			restart := make(chan struct{})
			g := encrypted(t, func() tls.Certificate {
				if rotated.Load() {
					return after
				}
				return before
			}, func(n int, p *peer) {
				p.greet("boot-1")
				if n == 1 {
					<-restart
					p.close(1012, "service restart")
					return
				}
				p.gone()
			})
			opt := g.options()
			opt.Pins = pins
			c := client(t, opt)
			await(t, c)
			rotated.Store(true)
			close(restart)
			if len(pins) == 2 {
				until(t, c, "the second connection", func(s link.Status) bool { return s.State == link.Connected && g.dials() == 2 })
				return
			}
			untilState(t, c, link.Untrusted)
			rotated.Store(false)
			if s := untilState(t, c, link.Connected); s.Certificate != nil {
				t.Error("the refused certificate is still shown")
			}
		})
	}
}

// Nothing is sent before the certificate is accepted.
func TestNothingIsSentToTheUntrusted(t *testing.T) {
	t.Parallel()
	own, other := certificate(t, nil, nil), certificate(t, nil, nil)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}})
	var serving sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	said := make(chan string, 1000)
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			data, _ := io.ReadAll(io.LimitReader(conn, 1<<16)) // ends with the rejection as its error
			conn.Close()
			said <- string(data)
		}
	})
	g := &replayer{t: t}
	for name, trusts := range map[string]func(*link.Options){
		"another pin":   func(o *link.Options) { o.Pins = [][32]byte{pin(other)} },
		"unknown roots": func(o *link.Options) { o.Roots = pool(other) },
	} {
		opt := link.Options{URL: "wss://" + l.Addr().String(), Token: token, Backoff: link.Backoff{Min: time.Millisecond, Max: 5 * time.Millisecond}}
		trusts(&opt)
		c := client(t, opt)
		untilState(t, c, link.Untrusted)
		if heard := <-said; heard != "" {
			t.Errorf("%s: it said %q", name, heard)
		}
		noToken(t, g, c)
	}
}

// The texts in a certificate are untrusted.
func TestHostileCertificate(t *testing.T) {
	t.Parallel()
	hostile := certificate(t, nil, func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: "x\n\x1b[2Jrun this \u202e" + token, Organization: []string{strings.Repeat("endless ", 500)}}
		for range 100 {
			c.DNSNames = append(c.DNSNames, strings.Repeat("a", 60)+"."+strings.Repeat("b", 60)+"."+strings.Repeat("c", 60))
		}
	})
	g := encrypted(t, func() tls.Certificate { return hostile }, stays)
	c := client(t, g.options())
	s := untilState(t, c, link.Untrusted)
	for _, text := range []string{s.LastError, s.Certificate.Subject} {
		if strings.ContainsAny(text, "\n\x1b\u202e") || len(text) > 2500 {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	noToken(t, g, c)
}

// A server that supports only old TLS versions is rejected.
func TestOldTLS(t *testing.T) {
	t.Parallel()
	own := certificate(t, nil, nil)
	g := newReplayer(t, func(_ int, p *peer) { p.gone() })
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, Certificates: []tls.Certificate{own}}
	g.StartTLS()
	opt := g.options()
	opt.Pins = [][32]byte{pin(own)}
	if s := untilState(t, client(t, opt), link.Unreachable); !strings.Contains(s.LastError, "protocol version") {
		t.Errorf("it says %q", s.LastError)
	}
}
