package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// newCertificate makes a certificate like that which the real gateway makes for
// itself: self-signed, for ten years, and without any name that a client could
// verify. Only its key is another: the gateway's is RSA with 2048 bits, which
// takes too long to make for every test.
func newCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("demo: make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("demo: make a serial number: %w", err)
	}
	name := pkix.Name{CommonName: "openclaw-gateway"}
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: name, Issuer: name, NotBefore: from, NotAfter: from.AddDate(10, 0, 0),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("demo: make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Fingerprint is the SHA-256 of the certificate in lower-case hexadecimal, as
// clients pin it; empty without TLS.
func (r *Runtime) Fingerprint() string {
	der := r.der()
	if der == nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// CertificatePEM is the certificate as a file of trusted ones holds it; nil
// without TLS.
func (r *Runtime) CertificatePEM() []byte {
	der := r.der()
	if der == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (r *Runtime) der() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.certificate == nil {
		return nil
	}
	return r.certificate.Certificate[0]
}

// ChangeCertificate makes a new certificate, which all see who connect from now
// on. Connections that exist stay. Without TLS it does nothing.
func (r *Runtime) ChangeCertificate() error {
	if r.der() == nil {
		return nil
	}
	fresh, err := newCertificate()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.certificate = fresh
	return nil
}

// secured makes what is accepted speak TLS.
type secured struct {
	net.Listener
	config *tls.Config
}

// secure wraps a listener. The lock is held.
func (r *Runtime) secure(ln net.Listener, b *boot) net.Listener {
	if r.certificate == nil {
		return ln
	}
	// The handshake may stand at the mute door, so its time is counted by the
	// server as that of a request's header.
	return secured{ln, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if !r.admitted(b.ctx, b) {
				return nil, net.ErrClosed
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.certificate, nil
		},
	}}
}

// Accept hides that the connection speaks TLS from the HTTP server, which would
// explain itself to those who do not: the real gateway hangs up on them.
func (s secured) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return sealed{tls.Server(c, s.config)}, nil
}

type sealed struct{ *tls.Conn }
