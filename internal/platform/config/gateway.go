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

// DeviceKey is the key pair of this service as a device of the gateway. Nothing
// that prints it shows the private half. The nil DeviceKey is none.
type DeviceKey struct{ private ed25519.PrivateKey }

// Reveal returns the private key itself, for the one place that needs it; nil
// when there is none.
func (d *DeviceKey) Reveal() ed25519.PrivateKey {
	if d == nil {
		return nil
	}
	return slices.Clone(d.private)
}

// ID is the name of the device at the gateway: the SHA-256 of the public key, in
// lower-case hex. It is no secret.
func (d *DeviceKey) ID() string {
	sum := sha256.Sum256(d.public())
	return hex.EncodeToString(sum[:])
}

func (d *DeviceKey) public() []byte { return d.private[ed25519.SeedSize:] }

// String hides the key.
func (d *DeviceKey) String() string {
	if d == nil {
		return ""
	}
	return hidden
}

// Format hides the key from every verb, also from %q, %x and %#v.
func (d *DeviceKey) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), d.String())
}

// LogValue hides the key in a log line.
func (d *DeviceKey) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText hides the key in JSON.
func (d *DeviceKey) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Authorities are the certificates of AGENTRT_GATEWAY_CA_FILE.
type Authorities struct {
	File string
	Pool *x509.CertPool
}

// String is the name of the file.
func (a *Authorities) String() string {
	if a == nil {
		return ""
	}
	return a.File
}

// Fingerprint is the SHA-256 of a certificate in DER.
type Fingerprint [sha256.Size]byte

// String writes the fingerprint as openssl does: AB:CD:…
func (f Fingerprint) String() string {
	return strings.ReplaceAll(fmt.Sprintf("% X", f[:]), " ", ":")
}

// What stands before the bytes of an Ed25519 key when it is written as PKCS #8
// and as a SubjectPublicKeyInfo (RFC 8410). The key is always the rest.
const (
	pkcs8Head = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"
	spkiHead  = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
)

// keyText is the longest text of a key that is looked at; the longest that is
// accepted has 88 characters.
const keyText = 200

// The mistakes in a key. None of them quotes it.
var (
	errNotBase64  = errors.New("is not base64url")
	errKeyLength  = errors.New("has another length")
	errKeyPEM     = errors.New("is a whole PEM file, of which only the line between BEGIN and END belongs here")
	errKeyFile    = errors.New("is the name of a file, and what belongs here is the key itself")
	errKeyHex     = errors.New("is in hex")
	errKeyHalves  = errors.New("holds a public half that does not belong to its private half")
	errPinShape   = errors.New("is no SHA-256 fingerprint")
	errNoPEM      = errors.New("holds no certificate in PEM")
	errPEMContent = errors.New("holds a certificate that cannot be read")
	errPEMSize    = errors.New("is too large")
	errPEMFile    = errors.New("is not a file")
)

// keyBytes decodes base64 in either alphabet, with or without padding.
func keyBytes(s string) ([]byte, error) {
	s = strings.TrimSpace(s)
	switch _, notHex := hex.DecodeString(s); {
	case strings.HasPrefix(s, "-----BEGIN"):
		return nil, errKeyPEM
	case strings.HasSuffix(s, ".pem") || strings.HasSuffix(s, ".key"): // no base64 has a point
		return nil, errKeyFile
	case len(s) == hex.EncodedLen(ed25519.SeedSize) && notHex == nil:
		return nil, errKeyHex
	case len(s) > keyText:
		return nil, errKeyLength
	}
	s = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(s, "="))
	if strings.ContainsAny(s, "\r\n") { // which the decoder would skip
		return nil, errNotBase64
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errNotBase64 // the decoder's error would quote where it stumbled
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

// parseFingerprint takes hex in either case, with or without colons between the
// bytes, and with or without "sha256:" before it.
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

// mostPEM is more than the certificates of all public authorities together.
const mostPEM = 4 << 20

// readAuthorities reads a PEM file. A certificate in it that cannot be read is a
// mistake: leaving it out would be found out only when it is needed.
func readAuthorities(name string) (*Authorities, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // reading a pipe could wait for ever
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

// device reads the identity of the service. Whatever else is given of it must
// belong to the private key.
func (k *checker) device(r Raw, c *Config) {
	const private = "AGENTRT_DEVICE_PRIVATE_KEY"
	c.DeviceToken = k.token("AGENTRT_DEVICE_TOKEN", r.DeviceToken)
	if strings.TrimSpace(r.DevicePrivateKey.Reveal()) == "" {
		for _, s := range []struct{ name, value string }{
			{"AGENTRT_DEVICE_ID", r.DeviceID}, {"AGENTRT_DEVICE_PUBLIC_KEY", r.DevicePublicKey}, {"AGENTRT_DEVICE_TOKEN", r.DeviceToken.Reveal()},
		} {
			if s.value != "" {
				k.reject(s.name, "is set and %s is not: set that, too, or remove this", private)
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
			k.reject("AGENTRT_DEVICE_PUBLIC_KEY", "%w: set it to an Ed25519 public key of 32 bytes in base64url, or remove it: it follows from %s", err, private)
		case !bytes.Equal(public, key.public()):
			k.reject("AGENTRT_DEVICE_PUBLIC_KEY", "does not belong to %s: remove it, or set the key that it belongs to", private)
		}
	}
	if s := strings.TrimSpace(r.DeviceID); s != "" && !strings.EqualFold(s, key.ID()) {
		k.reject("AGENTRT_DEVICE_ID", "does not belong to %s: remove it, or set the key that it belongs to", private)
	}
	c.DeviceKey = key
}

// gatewayTLS reads how the gateway's certificate is checked. Two ways at once
// would leave it open which of them counts.
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
		k.reject(insecure, "is true: in production set %s to the fingerprint of the gateway's certificate instead, or %s to its authority", pin, ca)
	case c.GatewayInsecureTLS && (hasCA || hasPin):
		k.reject(insecure, "is true, and %s or %s is set, which it would make void: remove one", pin, ca)
	case hasCA && hasPin:
		k.reject(pin, "and %s are both set: with a pin the fingerprint alone counts, so remove one", ca)
	}
	if scheme, _, _ := strings.Cut(c.GatewayURL, ":"); scheme == "ws" || scheme == "http" {
		for _, s := range []struct {
			name string
			set  bool
		}{{ca, hasCA}, {pin, hasPin}} {
			if s.set {
				k.reject(s.name, "is set and AGENTRT_GATEWAY_URL begins with %s://, which is not encrypted: write wss://, or remove this", scheme)
			}
		}
	}
	if c.GatewayInsecureTLS && !c.Production {
		k.warn("%s is true: any certificate is trusted, so that anybody between can read the token; set %s instead", insecure, pin)
	}
}

// asPrinted is what openssl writes before a fingerprint. It is copied along with it.
var asPrinted = regexp.MustCompile(`(?i)\bsha-?256 fingerprint=`)

// pins reads a list of fingerprints.
func (k *checker) pins(name, s string) []Fingerprint {
	var out []Fingerprint
	s = asPrinted.ReplaceAllString(s, " ")
	named := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, v := range named {
		f, err := parseFingerprint(v)
		switch {
		case err != nil:
			k.reject(name, "names %.120q, which %w: set it to 64 hex digits, with or without colons, as openssl x509 -noout -fingerprint -sha256 prints them", v, err)
		case slices.Contains(out, f):
			k.reject(name, "names %s twice: remove one of them", f)
		default:
			out = append(out, f)
		}
	}
	if s != "" && len(named) == 0 {
		k.reject(name, "names nothing: set it to the fingerprint of the gateway's certificate, or remove it")
	}
	return out
}

// unused warns of settings that wait for an address.
func (k *checker) unused(r Raw) {
	if r.GatewayURL != "" {
		return
	}
	var names []string
	for _, s := range []struct{ name, value string }{
		{"AGENTRT_GATEWAY_TOKEN", r.GatewayToken.Reveal()},
		{"AGENTRT_DEVICE_PRIVATE_KEY", r.DevicePrivateKey.Reveal()},
		{"AGENTRT_GATEWAY_CA_FILE", r.GatewayCAFile},
		{"AGENTRT_GATEWAY_TLS_PIN", r.GatewayTLSPin},
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
		k.warn("%s %s set and AGENTRT_GATEWAY_URL is not: no gateway is configured", strings.Join(names, ", "), verb)
	}
}
