package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// newCertificate returns a certificate like the one that the real gateway generates:
// self-signed, valid for ten years, and without a host name to verify. The key is an
// ECDSA key, because generating a 2048-bit RSA key in every test would take too long.
func newCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("faults: generate a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("faults: generate a serial number: %w", err)
	}
	name := pkix.Name{CommonName: "openclaw-gateway"}
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: name, Issuer: name, NotBefore: from, NotAfter: from.AddDate(10, 0, 0),
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("faults: create a certificate: %w", err)
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
