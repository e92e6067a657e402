//go:build journey

package realgateway

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// Certificate returns the self-signed certificate of a gateway with TLS, in DER
// format. The certificate names no host, so clients cannot verify it in the usual
// way.
func (g *Gateway) Certificate(t testing.TB) []byte {
	t.Helper()
	der, err := g.certificate()
	if err != nil {
		t.Fatalf("read the gateway's certificate: %v", err)
	}
	return der
}

func (g *Gateway) certificate() ([]byte, error) {
	data, err := os.ReadFile(g.path("state", "gateway", "tls", "gateway-cert.pem"))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("there is no PEM block in it")
	}
	return block.Bytes, nil
}

// Fingerprint returns the SHA-256 hash of a certificate in DER format, written as
// openssl writes it: AB:CD:…
func Fingerprint(der []byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(der)), " ", ":")
}

// ownTLS returns a TLS configuration that accepts only the certificate in the
// gateway's folder. The certificate is read for each connection, because the
// gateway creates it during startup.
func (g *Gateway) ownTLS() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // the certificate names no host; it is compared below
		VerifyPeerCertificate: func(chain [][]byte, _ [][]*x509.Certificate) error {
			want, err := g.certificate()
			if err != nil {
				return fmt.Errorf("the gateway's certificate: %w", err)
			}
			if len(chain) == 0 || !bytes.Equal(chain[0], want) {
				return errors.New("this is not the gateway's certificate")
			}
			return nil
		},
	}
}

// ownClient returns an HTTP client that accepts only this gateway's certificate.
func (g *Gateway) ownClient() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: g.ownTLS()}}
}
