package config

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// DeviceKey is the key pair with which Wardroom authenticates to the gateway as a
// device. Printing it does not show the private key. A nil DeviceKey means that there
// is no key pair.
type DeviceKey struct{ private ed25519.PrivateKey }

// Reveal returns the private key, or nil if there is none. Only code that uses the
// key should call it.
func (d *DeviceKey) Reveal() ed25519.PrivateKey {
	if d == nil {
		return nil
	}
	return slices.Clone(d.private)
}

// ID returns the device ID: the SHA-256 hash of the public key, in lower-case hex. It
// is not a secret.
func (d *DeviceKey) ID() string {
	sum := sha256.Sum256(d.public())
	return hex.EncodeToString(sum[:])
}

func (d *DeviceKey) public() []byte { return d.private[ed25519.SeedSize:] }

// String returns "[secret]", or "" if there is no key.
func (d *DeviceKey) String() string {
	if d == nil {
		return ""
	}
	return hidden
}

// Format redacts the key for every formatting verb, including %q, %x and %#v.
func (d *DeviceKey) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), d.String())
}

// LogValue redacts the key in log messages.
func (d *DeviceKey) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText redacts the key in JSON.
func (d *DeviceKey) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Authorities holds the certificate authorities from the file in
// AGENTRT_GATEWAY_CA_FILE.
type Authorities struct {
	File string
	Pool *x509.CertPool
}

// String returns the path of the file with the certificate authorities.
func (a *Authorities) String() string {
	if a == nil {
		return ""
	}
	return a.File
}

// Fingerprint is the SHA-256 hash of a DER-encoded certificate.
type Fingerprint [sha256.Size]byte

// String formats the fingerprint in the same way as openssl: AB:CD:…
func (f Fingerprint) String() string {
	return strings.ReplaceAll(fmt.Sprintf("% X", f[:]), " ", ":")
}

// Headers of Ed25519 keys in the PKCS #8 and SubjectPublicKeyInfo formats (RFC 8410).
// The key itself follows the header.
const (
	pkcs8Head = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"
	spkiHead  = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
)

// keyText is the maximum length of an encoded key; longer texts are not decoded. The
// longest valid key has 88 characters.
const keyText = 200

// Errors for invalid keys and certificates. Their messages never quote a key.
var (
	errNotBase64  = errors.New("is not base64url")
	errKeyLength  = errors.New("has the wrong length")
	errKeyPEM     = errors.New("is a whole PEM file instead of the line between BEGIN and END")
	errKeyFile    = errors.New("is a file name instead of the key itself")
	errKeyHex     = errors.New("is in hex")
	errKeyHalves  = errors.New("contains a public key that does not match its private key")
	errPinShape   = errors.New("is not a SHA-256 fingerprint")
	errNoPEM      = errors.New("it contains no PEM certificate")
	errPEMContent = errors.New("it contains an invalid certificate")
	errPEMSize    = errors.New("it is too large")
	errPEMFile    = errors.New("it is not a file")
)

// keyBytes decodes a key from standard base64 or base64url, with or without padding.
func keyBytes(s string) ([]byte, error) {
	s = strings.TrimSpace(s)
	switch _, notHex := hex.DecodeString(s); {
	case strings.HasPrefix(s, "-----BEGIN"):
		return nil, errKeyPEM
	case strings.HasSuffix(s, ".pem") || strings.HasSuffix(s, ".key"): // base64 has no dots
		return nil, errKeyFile
	case len(s) == hex.EncodedLen(ed25519.SeedSize) && notHex == nil:
		return nil, errKeyHex
	case len(s) > keyText:
		return nil, errKeyLength
	}
	s = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(s, "="))
	if strings.ContainsAny(s, "\r\n") { // the decoder would skip them
		return nil, errNotBase64
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errNotBase64 // the decoder's error would quote the key
	}
	return data, nil
}

func parsePrivateKey(s string) (*DeviceKey, error) {
	data, err := keyBytes(s)
	if err != nil {
		return nil, err
	}
	if seed, ok := bytes.CutPrefix(data, []byte(pkcs8Head)); ok && len(seed) == ed25519.SeedSize {
		data = seed
	}
	switch len(data) {
	case ed25519.SeedSize:
		return &DeviceKey{ed25519.NewKeyFromSeed(data)}, nil
	case ed25519.PrivateKeySize:
		key := ed25519.NewKeyFromSeed(data[:ed25519.SeedSize])
		if !bytes.Equal(key, data) {
			return nil, errKeyHalves
		}
		return &DeviceKey{key}, nil
	}
	return nil, errKeyLength
}

func parsePublicKey(s string) ([]byte, error) {
	data, err := keyBytes(s)
	if err != nil {
		return nil, err
	}
	if key, ok := bytes.CutPrefix(data, []byte(spkiHead)); ok {
		data = key
	}
	if len(data) != ed25519.PublicKeySize {
		return nil, errKeyLength
	}
	return data, nil
}

// parseFingerprint parses a fingerprint in upper-case or lower-case hex. Colons and
// the prefix "sha256:" are optional.
func parseFingerprint(s string) (Fingerprint, error) {
	var f Fingerprint
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(s, "sha256:")
	if strings.Contains(s, ":") {
		if len(s) != 3*len(f)-1 {
			return f, errPinShape
		}
		for i := 2; i < len(s); i += 3 {
			if s[i] != ':' {
				return f, errPinShape
			}
		}
		s = strings.ReplaceAll(s, ":", "")
	}
	data, err := hex.DecodeString(s)
	if err != nil || len(data) != len(f) {
		return Fingerprint{}, errPinShape
	}
	copy(f[:], data)
	return f, nil
}

// mostPEM is the maximum size of a PEM file, in bytes. Even a file with all public
// certificate authorities is smaller.
const mostPEM = 4 << 20

// readAuthorities reads a PEM file with certificates. It fails if one of them is
// invalid, because a skipped certificate would go unnoticed until it is needed.
func readAuthorities(name string) (*Authorities, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // reading a pipe could block forever
		return nil, errPEMFile
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostPEM+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostPEM {
		return nil, errPEMSize
	}
	pool := x509.NewCertPool()
	found := false
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errPEMContent
		}
		pool.AddCert(cert)
		found = true
	}
	if !found {
		return nil, errNoPEM
	}
	return &Authorities{File: name, Pool: pool}, nil
}

// device validates the device key and checks that the other device settings match it.
func (k *checker) device(r Raw, c *Config) {
	const private = "AGENTRT_DEVICE_PRIVATE_KEY"
	c.DeviceToken = k.token("AGENTRT_DEVICE_TOKEN", r.DeviceToken)
	if strings.TrimSpace(r.DevicePrivateKey.Reveal()) == "" {
		for _, s := range []struct{ name, value string }{
			{"AGENTRT_DEVICE_ID", r.DeviceID},
			{"AGENTRT_DEVICE_PUBLIC_KEY", r.DevicePublicKey},
			{"AGENTRT_DEVICE_TOKEN", r.DeviceToken.Reveal()},
		} {
			if s.value != "" {
				k.reject(s.name, "is set but %s is not: set both, or remove it", private)
			}
		}
		return
	}
	key, err := parsePrivateKey(r.DevicePrivateKey.Reveal())
	if err != nil {
		k.reject(private, "%w: set it to an Ed25519 private key in base64url: 32 bytes (seed), 64 bytes (seed and public key) or 48 bytes (PKCS #8)", err)
		return
	}
	if s := strings.TrimSpace(r.DevicePublicKey); s != "" {
		public, err := parsePublicKey(s)
		switch {
		case err != nil:
			k.reject("AGENTRT_DEVICE_PUBLIC_KEY",
				"%w: set it to an Ed25519 public key of 32 bytes in base64url, or remove it: it is derived from %s", err, private)
		case !bytes.Equal(public, key.public()):
			k.reject("AGENTRT_DEVICE_PUBLIC_KEY", "does not match %s: remove it, or set the matching key", private)
		}
	}
	if s := strings.TrimSpace(r.DeviceID); s != "" && !strings.EqualFold(s, key.ID()) {
		k.reject("AGENTRT_DEVICE_ID", "does not match %s: remove it, or set the matching key", private)
	}
	c.DeviceKey = key
}

// gatewayTLS validates the settings for verifying the gateway's certificate. It
// rejects conflicting settings, because it would be unclear which one applies.
func (k *checker) gatewayTLS(r Raw, c *Config) {
	const (
		ca       = "AGENTRT_GATEWAY_CA_FILE"
		pin      = "AGENTRT_GATEWAY_TLS_PIN"
		insecure = "AGENTRT_GATEWAY_INSECURE_TLS"
	)
	c.GatewayInsecureTLS = k.truth(insecure, r.GatewayInsecureTLS)
	c.GatewayPins = k.pins(pin, r.GatewayTLSPin)
	if name := strings.TrimSpace(r.GatewayCAFile); name != "" {
		name = k.path(ca, name)
		authorities, err := readAuthorities(name)
		if name != "" && err != nil {
			k.reject(ca, "cannot be used: %w; set it to a PEM file with the certificates of the gateway's authority", err)
		}
		c.GatewayCA = authorities
	}
	hasCA, hasPin := strings.TrimSpace(r.GatewayCAFile) != "", r.GatewayTLSPin != ""
	switch {
	case c.GatewayInsecureTLS && c.Production:
		k.reject(insecure,
			"is true: in production set %s to the fingerprint of the gateway's certificate, or %s to its certificate authority",
			pin, ca)
	case c.GatewayInsecureTLS && (hasCA || hasPin):
		k.reject(insecure, "is true, so %s or %s, which is also set, has no effect: remove one", pin, ca)
	case hasCA && hasPin:
		k.reject(pin, "and %s are both set: a pin replaces the authority check, so remove one", ca)
	}
	if scheme, _, _ := strings.Cut(c.GatewayURL, ":"); scheme == "ws" || scheme == "http" {
		for _, s := range []struct {
			name string
			set  bool
		}{{ca, hasCA}, {pin, hasPin}} {
			if s.set {
				k.reject(s.name,
					"is set but AGENTRT_GATEWAY_URL begins with %s://, which is not encrypted: use wss://, or remove it", scheme)
			}
		}
	}
	if c.GatewayInsecureTLS && !c.Production {
		k.warn("%s is true: any certificate is accepted, so an attacker on the network can read the token; set %s instead",
			insecure, pin)
	}
}

// asPrinted matches the label that openssl prints before a fingerprint. People often
// copy the label with the fingerprint.
var asPrinted = regexp.MustCompile(`(?i)\bsha-?256 fingerprint=`)

// pins parses a list of certificate fingerprints.
func (k *checker) pins(name, s string) []Fingerprint {
	var out []Fingerprint
	s = asPrinted.ReplaceAllString(s, " ")
	named := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, v := range named {
		f, err := parseFingerprint(v)
		switch {
		case err != nil:
			k.reject(name, "contains %.120q, which %w: set it to 64 hex digits, with or without colons, as openssl x509 -noout -fingerprint -sha256 prints them", v, err)
		case slices.Contains(out, f):
			k.reject(name, "contains %s twice: remove one of them", f)
		default:
			out = append(out, f)
		}
	}
	if s != "" && len(named) == 0 {
		k.reject(name, "is empty: set it to the fingerprint of the gateway's certificate, or remove it")
	}
	return out
}

// unused warns about tokens that have no effect because the gateway address is not set. A
// token from the settings is sent only to an address from the settings.
func (k *checker) unused(r Raw) {
	if r.GatewayURL != "" {
		return
	}
	var names []string
	for _, s := range []struct{ name, value string }{
		{"AGENTRT_GATEWAY_TOKEN", r.GatewayToken.Reveal()},
		{"AGENTRT_DEVICE_TOKEN", r.DeviceToken.Reveal()},
	} {
		if s.value != "" {
			names = append(names, s.name)
		}
	}
	if len(names) > 0 {
		verb := "is"
		if len(names) > 1 {
			verb = "are"
		}
		k.warn("%s %s set but AGENTRT_GATEWAY_URL is not: no gateway is configured, and none can be set in the dashboard",
			strings.Join(names, ", "), verb)
	}
}
