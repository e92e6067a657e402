package gateway

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

// errPlainPins is for an address where no certificate will ever be seen.
var errPlainPins = errors.New("the gateway's address is not encrypted, so that its certificate cannot be checked: it must begin with wss://")

// tlsConfig is how the gateway's certificate is checked. Nothing is sent, not
// even the request for a WebSocket, before that has passed.
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
		cfg.InsecureSkipVerify = true // the person who runs the service wants it so; refused in production
	}
	if len(o.Pins) > 0 {
		pins := slices.Clone(o.Pins)
		// The certificate that the gateway makes for itself holds no names, so
		// nothing but its fingerprint can be checked. VerifyConnection also runs
		// when a session is resumed.
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

// pinError means that the certificate is not one of those that are pinned.
type pinError struct{ leaf *x509.Certificate }

func (*pinError) Error() string { return "the certificate is not the pinned one" }

// fingerprint is the SHA-256 of a certificate as openssl prints it.
func fingerprint(cert *x509.Certificate) string { return colons(sha256.Sum256(cert.Raw)) }

func colons(sum [32]byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// pinned names the pins, so that a person sees beside the presented fingerprint
// what was expected. A rotation has two of them.
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

// tlsFailure says what is wrong with the encryption; nil when that is not it.
func (c *Client) tlsFailure(err error) *failure {
	host := c.url.Host
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		f := unreachable("%s does not speak TLS.", host).mend("Use ws:// or http:// in AGENTRT_GATEWAY_URL, or switch TLS on in the gateway (gateway.tls.enabled).")
		f.layer = LayerTLS
		return f
	}
	if pin, ok := errors.AsType[*pinError](err); ok && pin.leaf != nil {
		return c.untrusted(pin.leaf, "its fingerprint is not one of AGENTRT_GATEWAY_TLS_PIN, which names "+c.pinned(),
			"If the gateway has a new certificate, that setting is out of date; if not, somebody may be listening in between.")
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(untrusted.UnverifiedCertificates) > 0 {
		leaf := untrusted.UnverifiedCertificates[0]
		return c.untrusted(leaf, c.whyUntrusted(untrusted.Err), "")
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		f := unreachable("The TLS handshake with %s failed: %s.", host, alert).mend("The gateway, or a proxy between, must speak TLS 1.2 or later.")
		f.layer = LayerTLS
		return f
	}
	return nil
}

// untrusted tells what was presented, so that a person can compare it with the
// gateway's own, and how to trust it then.
func (c *Client) untrusted(leaf *x509.Certificate, why, hint string) *failure {
	shown := &Certificate{
		Fingerprint: fingerprint(leaf),
		Subject:     c.secrets.bounded(leaf.Subject.String(), 100),
		ValidFrom:   clock.At(leaf.NotBefore),
		ValidUntil:  clock.At(leaf.NotAfter),
	}
	if hint != "" {
		hint = " " + hint
	}
	f := &failure{state: Untrusted, pace: slow, layer: LayerTLS, certificate: shown, text: fmt.Sprintf(
		"The certificate of %s is not trusted: %s.%s It presented the SHA-256 fingerprint %s, subject %q, valid from %s until %s.",
		c.url.Host, why, hint, shown.Fingerprint, shown.Subject, day(leaf.NotBefore), day(leaf.NotAfter))}
	return f.mend("Compare the fingerprint on the gateway's host (openssl x509 -noout -fingerprint -sha256 -in gateway-cert.pem); when it is the same, set AGENTRT_GATEWAY_TLS_PIN=%s and restart.", shown.Fingerprint)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// whyUntrusted puts the verifier's error into words.
func (c *Client) whyUntrusted(err error) string {
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return c.wrongName(name.Certificate)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && invalid.Cert != nil {
		return fmt.Sprintf("by this host's clock it is not valid now but from %s until %s, so it is to be renewed, or the clock to be set", day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if c.opt.Roots != nil {
			return "no authority in AGENTRT_GATEWAY_CA_FILE vouches for it"
		}
		return "no authority that this host trusts vouches for it (AGENTRT_GATEWAY_CA_FILE can name another)"
	}
	return c.secrets.words(err.Error())
}

// wrongName quotes the names that a certificate holds, for a person who wonders
// what to write instead.
func (c *Client) wrongName(cert *x509.Certificate) string {
	if cert == nil || len(cert.DNSNames)+len(cert.IPAddresses) == 0 {
		return "it holds no names at all, so that only AGENTRT_GATEWAY_TLS_PIN can trust it"
	}
	var names []string
	for _, name := range cert.DNSNames[:min(len(cert.DNSNames), 5)] {
		names = append(names, c.secrets.bounded(name, 100))
	}
	for _, ip := range cert.IPAddresses[:min(len(cert.IPAddresses), 5)] {
		names = append(names, ip.String())
	}
	return fmt.Sprintf("it is not for that name but for %q", names)
}
