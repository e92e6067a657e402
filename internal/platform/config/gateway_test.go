package config_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wardroom/internal/platform/config"
)

// The key pair of these tests, in the formats that people use.
const (
	keySeed   = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	keyPublic = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
	keyID     = "56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c"
)

func key(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	seed, err := base64.RawURLEncoding.DecodeString(keySeed)
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

// pkcs8 returns the private key in openssl's format.
func pkcs8(t *testing.T, k ed25519.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// spki returns the public key in openssl's format.
func spki(t *testing.T, k ed25519.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// A key copied from another tool must be accepted in any of the usual formats.
func TestDeviceKey(t *testing.T) {
	k := key(t)
	for name, private := range map[string]string{
		"a seed":                 keySeed,
		"a seed with padding":    keySeed + "=",
		"a seed and blanks":      "  " + keySeed + "\n",
		"seed and public key":    base64.RawURLEncoding.EncodeToString(k),
		"PKCS #8":                base64.RawURLEncoding.EncodeToString(pkcs8(t, k)),
		"PKCS #8 of a PEM file":  base64.StdEncoding.EncodeToString(pkcs8(t, k)),
		"both in plain base64":   base64.StdEncoding.EncodeToString(k),
		"a seed in plain base64": base64.StdEncoding.EncodeToString(k.Seed()),
	} {
		for _, public := range []string{"", keyPublic, keyPublic + "=", base64.StdEncoding.EncodeToString(spki(t, k))} {
			for _, id := range []string{"", keyID, strings.ToUpper(keyID)} {
				r := good()
				r.GatewayURL, r.DevicePrivateKey, r.DevicePublicKey, r.DeviceID, r.DeviceToken = "ws://gw:1", config.Secret(private), public, id, "device-token"
				c, warnings, err := r.Check()
				if err != nil || len(warnings) != 0 {
					t.Errorf("%s: %v, %v", name, warnings, err)
					continue
				}
				if !c.DeviceKey.Reveal().Equal(k) || c.DeviceKey.ID() != keyID || c.DeviceToken != "device-token" {
					t.Errorf("%s: another key with the id %s", name, c.DeviceKey.ID())
				}
			}
		}
	}
	c, _, err := good().Check()
	if err != nil || c.DeviceKey != nil || c.DeviceKey.Reveal() != nil {
		t.Errorf("without a key: %v, %v", c.DeviceKey, err)
	}
}

// A start with an incomplete identity would only fail hours later, at the gateway.
func TestDeviceMistakes(t *testing.T) {
	k := key(t)
	halves := append(k.Seed(), make([]byte, 32)...)
	for name, test := range map[string]struct {
		private, public, id, token string
		says                       string
	}{
		"no key, a token":      {token: "t", says: "AGENTRT_DEVICE_TOKEN is set but AGENTRT_DEVICE_PRIVATE_KEY is not"},
		"no key, an id":        {id: keyID, says: "AGENTRT_DEVICE_ID is set but AGENTRT_DEVICE_PRIVATE_KEY is not"},
		"no key, a public key": {public: keyPublic, says: "AGENTRT_DEVICE_PUBLIC_KEY is set but AGENTRT_DEVICE_PRIVATE_KEY is not"},
		"a word":               {private: "not a key!", says: "AGENTRT_DEVICE_PRIVATE_KEY is not base64url"},
		"hex":                  {private: strings.Repeat("ab", 32), says: "AGENTRT_DEVICE_PRIVATE_KEY is in hex"},
		"the file's name":      {private: "device.pem", says: "AGENTRT_DEVICE_PRIVATE_KEY is a file name"},
		"a short key":          {private: keySeed[:40], says: "AGENTRT_DEVICE_PRIVATE_KEY has the wrong length"},
		"a line break inside":  {private: keySeed[:20] + "\n" + keySeed[20:], says: "AGENTRT_DEVICE_PRIVATE_KEY is not base64url"},
		"a whole PEM file":     {private: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8(t, k)})), says: "AGENTRT_DEVICE_PRIVATE_KEY is a whole PEM file"},
		"an RSA key":           {private: base64.StdEncoding.EncodeToString(make([]byte, 1200)), says: "AGENTRT_DEVICE_PRIVATE_KEY has the wrong length"},
		"halves of two keys":   {private: base64.RawURLEncoding.EncodeToString(halves), says: "AGENTRT_DEVICE_PRIVATE_KEY contains a public key that does not match"},
		"another public key":   {private: keySeed, public: keySeed, says: "AGENTRT_DEVICE_PUBLIC_KEY does not match"},
		"a broken public key":  {private: keySeed, public: "A6E", says: "AGENTRT_DEVICE_PUBLIC_KEY"},
		"another id":           {private: keySeed, id: strings.Repeat("0", 64), says: "AGENTRT_DEVICE_ID does not match"},
		"a token with a break": {private: keySeed, token: "a\nb", says: "AGENTRT_DEVICE_TOKEN contains a space"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			r.GatewayURL = "ws://gw:1"
			r.DevicePrivateKey, r.DevicePublicKey, r.DeviceID, r.DeviceToken = config.Secret(test.private), test.public, test.id, config.Secret(test.token)
			_, _, err := r.Check()
			if err == nil {
				t.Fatal("accepted")
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, test.says) {
				t.Errorf("said %q, want one line with %q", text, test.says)
			}
			if test.private != "" && strings.Contains(err.Error(), strings.TrimSpace(test.private)) {
				t.Errorf("it shows the key: %v", err)
			}
		})
	}
}

// A private key that appears in a log must be replaced.
func TestDeviceKeyIsNeverShown(t *testing.T) {
	r := good()
	r.GatewayURL, r.DevicePrivateKey, r.DeviceToken = "ws://gw:1", keySeed, "hUnTeR2-device-token"
	c, _, err := r.Check()
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&shown, nil), slog.NewTextHandler(&shown, nil)} {
		slog.New(h).Info("start", "config", c, "key", c.DeviceKey, "raw", r)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb, c)
		fmt.Fprintf(&shown, verb, c.DeviceKey)
		fmt.Fprintf(&shown, verb, r)
	}
	encoded, err := json.Marshal([]any{c.DeviceKey, r})
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(encoded)
	k := key(t)
	for _, secret := range []string{keySeed, "hUnTeR2", hex.EncodeToString(k.Seed()), hex.EncodeToString([]byte(keySeed)), numbers(k.Seed()), base64.StdEncoding.EncodeToString(k)[:42]} {
		if strings.Contains(strings.ToLower(shown.String()), strings.ToLower(secret)) {
			t.Errorf("%q is shown in %s", secret, shown.String())
		}
	}
	if !strings.Contains(c.String(), "DeviceKey=[secret]") {
		t.Errorf("String() = %s", c)
	}
}

// caFile writes a PEM file with a certificate and returns its name and the
// fingerprint.
func caFile(t *testing.T, before string) (name string, sum [32]byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, before+string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))), sha256.Sum256(der)
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const (
	pinHex   = "ab0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"
	pinColon = "AB:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:FF"
)

// Fingerprints are copied from openssl, from Wardroom's status, or from elsewhere.
func TestPins(t *testing.T) {
	for _, given := range []string{pinHex, strings.ToUpper(pinHex), pinColon, strings.ToLower(pinColon), "sha256:" + pinHex, "SHA256:" + pinColon, " " + pinColon + " ", "sha256 Fingerprint=" + pinColon, "SHA256 Fingerprint=" + pinColon} {
		other := strings.Repeat("00", 32)
		for list, want := range map[string]int{given: 1, given + "," + other: 2, other + ", " + given: 2} {
			r := good()
			r.GatewayURL, r.GatewayTLSPin = "wss://gw", list
			c, warnings, err := r.Check()
			if err != nil || len(warnings) != 0 || len(c.GatewayPins) != want {
				t.Errorf("%q: %v, %v, %v", list, c.GatewayPins, warnings, err)
				continue
			}
			if !strings.Contains(fmt.Sprint(c.GatewayPins), pinColon) {
				t.Errorf("%q is understood as %v", list, c.GatewayPins)
			}
		}
	}
}

// A pin or an authority that is silently ignored is worse than none.
func TestGatewayTLSMistakes(t *testing.T) {
	ca, _ := caFile(t, "")
	for name, test := range map[string]struct {
		change func(*config.Raw)
		says   string
	}{
		"a short pin":       {func(r *config.Raw) { r.GatewayTLSPin = pinHex[:62] }, "AGENTRT_GATEWAY_TLS_PIN contains"},
		"a SHA-1":           {func(r *config.Raw) { r.GatewayTLSPin = pinColon[:59] }, "AGENTRT_GATEWAY_TLS_PIN contains"},
		"colons at random":  {func(r *config.Raw) { r.GatewayTLSPin = "a:b" + pinHex[2:] }, "AGENTRT_GATEWAY_TLS_PIN contains"},
		"a colon too early": {func(r *config.Raw) { r.GatewayTLSPin = "A:B" + pinColon[3:] }, "AGENTRT_GATEWAY_TLS_PIN contains"},
		"no pin at all":     {func(r *config.Raw) { r.GatewayTLSPin = " ,\f" }, "AGENTRT_GATEWAY_TLS_PIN is empty"},
		"a pin twice":       {func(r *config.Raw) { r.GatewayTLSPin = pinHex + "," + pinColon }, "twice"},
		"a pin and a CA":    {func(r *config.Raw) { r.GatewayTLSPin, r.GatewayCAFile = pinHex, ca }, "AGENTRT_GATEWAY_TLS_PIN and AGENTRT_GATEWAY_CA_FILE are both set"},
		"a pin, unchecked":  {func(r *config.Raw) { r.GatewayTLSPin, r.GatewayInsecureTLS = pinHex, "true" }, "AGENTRT_GATEWAY_INSECURE_TLS is true, so"},
		"a pin without TLS": {func(r *config.Raw) { r.GatewayURL, r.GatewayTLSPin = "ws://gw:1", pinHex }, "AGENTRT_GATEWAY_TLS_PIN is set but AGENTRT_GATEWAY_URL begins with ws://"},
		"a CA without TLS":  {func(r *config.Raw) { r.GatewayURL, r.GatewayCAFile = "http://gw:1", ca }, "AGENTRT_GATEWAY_CA_FILE is set but AGENTRT_GATEWAY_URL begins with http://"},
		"no such CA file":   {func(r *config.Raw) { r.GatewayCAFile = ca + "x" }, "AGENTRT_GATEWAY_CA_FILE cannot be used"},
		"a CA folder":       {func(r *config.Raw) { r.GatewayCAFile = filepath.Dir(ca) }, "AGENTRT_GATEWAY_CA_FILE cannot be used: it is not a file"},
		"an empty CA file":  {func(r *config.Raw) { r.GatewayCAFile = file(t, "") }, "contains no PEM certificate"},
		"a CA file of keys": {func(r *config.Raw) {
			r.GatewayCAFile = file(t, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
		}, "contains no PEM certificate"},
		"a damaged CA file": {func(r *config.Raw) {
			r.GatewayCAFile = file(t, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
		}, "contains an invalid certificate"},
		"a film as CA file": {func(r *config.Raw) { r.GatewayCAFile = file(t, strings.Repeat("x", 4<<20+1)) }, "is too large"},
		"perhaps insecure":  {func(r *config.Raw) { r.GatewayInsecureTLS = "maybe" }, "AGENTRT_GATEWAY_INSECURE_TLS"},
		"insecure in production": {
			func(r *config.Raw) { r.NodeEnv, r.GatewayInsecureTLS = "production", "true" },
			"AGENTRT_GATEWAY_INSECURE_TLS is true: in production set AGENTRT_GATEWAY_TLS_PIN",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			r.GatewayURL = "wss://gw"
			test.change(&r)
			_, _, err := r.Check()
			if err == nil {
				t.Fatal("accepted")
			}
			if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, test.says) {
				t.Errorf("said %q, want one line with %q", text, test.says)
			}
		})
	}
}

// Valid settings work, and dangerous ones cause a warning.
func TestGatewayTLS(t *testing.T) {
	ca, _ := caFile(t, "a note before it\n")
	r := good()
	r.GatewayURL, r.GatewayCAFile = "https://gw", ca
	c, warnings, err := r.Check()
	if err != nil || len(warnings) != 0 || c.GatewayCA == nil || c.GatewayCA.Pool == nil || !strings.Contains(c.String(), "GatewayCA="+ca) {
		t.Errorf("an authority: %v, %v, %v", c.GatewayCA, warnings, err)
	}
	r = good()
	r.GatewayURL, r.GatewayInsecureTLS = "wss://gw", "true"
	c, warnings, err = r.Check()
	if err != nil || !c.GatewayInsecureTLS || len(warnings) != 1 || !strings.Contains(warnings[0], "an attacker on the network can read the token") {
		t.Errorf("unchecked: %v, %v", warnings, err)
	}
	r = good()
	r.GatewayToken, r.DevicePrivateKey, r.DeviceToken, r.GatewayTLSPin = "t", keySeed, "d", pinHex
	_, warnings, err = r.Check()
	if err != nil || len(warnings) != 1 || warnings[0] != "AGENTRT_GATEWAY_TOKEN, AGENTRT_DEVICE_TOKEN are set but AGENTRT_GATEWAY_URL is not: no gateway is configured, and none can be set in the dashboard" {
		t.Errorf("without an address: %q, %v", warnings, err)
	}
}

// FuzzDeviceKey looks for a key that is accepted as a different key, and for an
// error that quotes it.
func FuzzDeviceKey(f *testing.F) {
	f.Add(keySeed, keyPublic, keyID)
	f.Add(keySeed+"=", "", "")
	f.Add("MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f", "x", "y")
	f.Add("%s%d\n", "\x00", "\xff")
	f.Fuzz(func(t *testing.T, private, public, id string) {
		r := good()
		r.GatewayURL, r.DevicePrivateKey, r.DevicePublicKey, r.DeviceID = "ws://gw:1", config.Secret(private), public, id
		c, _, err := r.Check()
		if err != nil {
			if len(private) >= 20 && strings.Contains(err.Error(), private) {
				t.Errorf("it shows the key: %v", err)
			}
			return
		}
		k := c.DeviceKey.Reveal()
		if k == nil {
			if strings.TrimSpace(private) != "" {
				t.Errorf("%q is no key and no mistake", private)
			}
			return
		}
		given, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimSpace(private)), "="))
		if err != nil || !bytes.Contains(given, k.Seed()) || !ed25519.NewKeyFromSeed(k.Seed()).Equal(k) {
			t.Errorf("%q is understood as another key", private)
		}
	})
}

// FuzzPins looks for a fingerprint that is accepted as a different one.
func FuzzPins(f *testing.F) {
	f.Add(pinHex)
	f.Add("sha256:" + pinColon + "," + pinHex)
	f.Add("a:b,\x00")
	f.Add("\f") // this once pinned nothing, without an error
	f.Fuzz(func(t *testing.T, text string) {
		r := good()
		r.GatewayURL, r.GatewayTLSPin = "wss://gw", text
		c, _, err := r.Check()
		if err != nil {
			return
		}
		if len(c.GatewayPins) == 0 && text != "" {
			t.Errorf("%q pins nothing", text)
		}
		for _, p := range c.GatewayPins {
			if !strings.Contains(strings.ToLower(strings.ReplaceAll(text, ":", "")), hex.EncodeToString(p[:])) {
				t.Errorf("%q is understood as %s", text, p)
			}
		}
	})
}

// numbers formats bytes like a printed slice that was not redacted.
func numbers(b []byte) string {
	var out []string
	for _, c := range b {
		out = append(out, strconv.Itoa(int(c)))
	}
	return strings.Join(out, " ")
}
