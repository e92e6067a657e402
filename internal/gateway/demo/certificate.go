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

// newCertificate returns a certificate like the one that the real gateway generates:
// self-signed, valid for ten years, and without a host name to verify. The key is an
// ECDSA key, because generating a 2048-bit RSA key in every test would take too long.
func newCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("demo: generate a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("demo: generate a serial number: %w", err)
	}
	name := pkix.Name{CommonName: "openclaw-gateway"}
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: name, Issuer: name, NotBefore: from, NotAfter: from.AddDate(10, 0, 0),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("demo: create a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Fingerprint returns the SHA-256 of the certificate in lowercase hexadecimal, for
// pinning. It is empty if the runtime does not use TLS.
func (r *Runtime) Fingerprint() string {
	der := r.certificateDER()
	if der == nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// CertificatePEM returns the certificate in PEM format, so that clients can trust it. It is nil
// if the runtime does not use TLS.
func (r *Runtime) CertificatePEM() []byte {
	der := r.certificateDER()
	if der == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (r *Runtime) certificateDER() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.certificate == nil {
		return nil
	}
	return r.certificate.Certificate[0]
}

// ChangeCertificate generates a new certificate for new connections. Existing connections
// stay open. If the runtime does not use TLS, ChangeCertificate does nothing.
func (r *Runtime) ChangeCertificate() error {
	if r.certificateDER() == nil {
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

// tlsListener wraps accepted connections in TLS.
type tlsListener struct {
	net.Listener
	config *tls.Config
}

// wrapTLS makes the listener ln use TLS if the runtime has a certificate. The caller must
// hold r.mu.
func (r *Runtime) wrapTLS(ln net.Listener, b *boot) net.Listener {
	if r.certificate == nil {
		return ln
	}
	// A silent port may hold the handshake, which then counts toward the server's
	// ReadHeaderTimeout.
	return tlsListener{ln, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if !r.waitAdmitted(b.ctx, b) {
				return nil, net.ErrClosed
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.certificate, nil
		},
	}}
}

// Accept returns a TLS connection that net/http doesn't recognize as such. Otherwise the
// server would answer plain HTTP clients with an explanation, whereas the real gateway
// just closes the connection.
func (s tlsListener) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return opaqueConn{tls.Server(c, s.config)}, nil
}

type opaqueConn struct{ *tls.Conn }
