package link

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
)

// errPlainPins means that certificates are pinned, but the gateway's URL does not begin with
// wss://.
var errPlainPins = errors.New("the gateway's address must begin with wss:// to check its certificate")

// tlsConfig returns the TLS settings, which verify the gateway's certificate. Wardroom
// sends nothing until the verification has succeeded.
func (o Options) tlsConfig() *tls.Config {
	cfg := o.HTTP.TLSClientConfig
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	if o.Roots != nil {
		cfg.RootCAs = o.Roots
	}
	if o.InsecureTLS {
		cfg.InsecureSkipVerify = true // the operator requested it; rejected in production
	}
	if len(o.Pins) > 0 {
		pins := slices.Clone(o.Pins)
		// The gateway's self-signed certificate contains no names, so only its
		// fingerprint can be verified. VerifyConnection also runs for resumed sessions.
		cfg.InsecureSkipVerify = true
		cfg.VerifyConnection = func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 {
				return &pinError{}
			}
			leaf := cs.PeerCertificates[0]
			if !slices.Contains(pins, sha256.Sum256(leaf.Raw)) {
				return &pinError{leaf}
			}
			return nil
		}
	}
	return cfg
}

// pinError means that the gateway's certificate is not one of the pinned ones.
type pinError struct{ leaf *x509.Certificate }

func (*pinError) Error() string { return "the certificate is not the pinned one" }

// fingerprint returns the SHA-256 hash of a certificate, in the format that openssl
// prints.
func fingerprint(cert *x509.Certificate) string { return colons(sha256.Sum256(cert.Raw)) }

func colons(sum [32]byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// pinned lists the fingerprints of the pinned certificates, so that the operator can
// compare them with the fingerprint of the gateway's certificate. Two certificates are
// pinned, for example, while one replaces the other.
func (c *Client) pinned() string {
	const shown = 3
	var names []string
	for _, pin := range c.opt.Pins[:min(len(c.opt.Pins), shown)] {
		names = append(names, colons(pin))
	}
	if more := len(c.opt.Pins) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// tlsFailure explains a TLS error. It returns nil if err is not a TLS error.
func (c *Client) tlsFailure(err error) *failure {
	host := c.at.url.Host
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		f := unreachable("%s does not speak TLS.", host).withFix(
			"Use ws:// or http:// in AGENTRT_GATEWAY_URL, or enable TLS in the gateway (gateway.tls.enabled).",
		)
		f.layer = LayerTLS
		return f
	}
	if pin, ok := errors.AsType[*pinError](err); ok && pin.leaf != nil {
		return c.untrusted(pin.leaf, "its fingerprint does not match AGENTRT_GATEWAY_TLS_PIN ("+c.pinned()+")",
			"If the gateway has a new certificate, update that setting; if not, the connection may be intercepted.")
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok &&
		len(untrusted.UnverifiedCertificates) > 0 {
		leaf := untrusted.UnverifiedCertificates[0]
		return c.untrusted(leaf, c.whyUntrusted(untrusted.Err), "")
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		f := unreachable("The TLS handshake with %s failed: %s.", host, alert).withFix(
			"The gateway, and any proxy in between, must support TLS 1.2 or later.",
		)
		f.layer = LayerTLS
		return f
	}
	return nil
}

// untrusted returns the failure for an untrusted certificate. The failure contains the
// certificate's fingerprint, which the operator can compare with the one on the gateway's
// host and then pin.
func (c *Client) untrusted(leaf *x509.Certificate, why, hint string) *failure {
	shown := &Certificate{
		Fingerprint: fingerprint(leaf),
		Subject:     c.secrets.Bounded(leaf.Subject.String(), 100),
		ValidFrom:   clock.At(leaf.NotBefore),
		ValidUntil:  clock.At(leaf.NotAfter),
	}
	if hint != "" {
		hint = " " + hint
	}
	f := &failure{state: Untrusted, pace: slow, layer: LayerTLS, certificate: shown, text: fmt.Sprintf(
		"The certificate of %s is not trusted: %s.%s Its SHA-256 fingerprint is %s, its subject %q, valid from %s until %s.",
		c.at.url.Host, why, hint, shown.Fingerprint, shown.Subject, day(leaf.NotBefore), day(leaf.NotAfter))}
	return f.withFix("Compare the fingerprint on the gateway's host (openssl x509 -noout -fingerprint -sha256 -in gateway-cert.pem). If it is the same, set AGENTRT_GATEWAY_TLS_PIN=%s and restart Wardroom.", shown.Fingerprint)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// whyUntrusted explains why the certificate could not be verified.
func (c *Client) whyUntrusted(err error) string {
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return c.wrongName(name.Certificate)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired &&
		invalid.Cert != nil {
		return fmt.Sprintf("it is valid only from %s until %s, so renew it or correct this host's clock",
			day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if c.opt.Roots != nil {
			return "it is not signed by an authority in AGENTRT_GATEWAY_CA_FILE"
		}
		return "it is not signed by an authority that this host trusts (add one with AGENTRT_GATEWAY_CA_FILE)"
	}
	return c.secrets.Line(err.Error())
}

// wrongName explains that a certificate does not match the gateway's address, and lists
// the names in the certificate.
func (c *Client) wrongName(cert *x509.Certificate) string {
	if cert == nil || len(cert.DNSNames)+len(cert.IPAddresses) == 0 {
		return "it contains no names, so only AGENTRT_GATEWAY_TLS_PIN can make it trusted"
	}
	var names []string
	for _, name := range cert.DNSNames[:min(len(cert.DNSNames), 5)] {
		names = append(names, c.secrets.Bounded(name, 100))
	}
	for _, ip := range cert.IPAddresses[:min(len(cert.IPAddresses), 5)] {
		names = append(names, ip.String())
	}
	return fmt.Sprintf("it is valid for %q, not for this name", names)
}
