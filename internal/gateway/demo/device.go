package demo

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// signatureWindow is the maximum difference between a signature's timestamp and the gateway's
// clock.
const signatureWindow = 120 * time.Second

var deviceParams = params{required: words("id publicKey signature signedAt nonce")}

// device is a client's proof of its device identity.
type device struct {
	ID, PublicKey, Signature, Nonce string
	SignedAt                        int64 // Unix milliseconds
}

// readDevice reads the device from a connect request and verifies its signature. It
// returns nil for a client without a device. The caller must hold r.mu.
func (r *Runtime) readDevice(c *connection, in connectRequest, client clientInfo, auth credentials) (*device, *failure) {
	if len(in.Device) == 0 || string(in.Device) == "null" {
		return nil, nil
	}
	var d device
	if f := deviceParams.read("connect", "/device", in.Device, &d); f != nil {
		return nil, f
	}
	key, err := base64.RawURLEncoding.DecodeString(d.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, deviceRefused("device public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID", "device-public-key")
	}
	hash := sha256.Sum256(key)
	age := r.clock().Sub(time.UnixMilli(d.SignedAt))
	switch {
	case d.ID != hex.EncodeToString(hash[:]):
		return nil, deviceRefused("device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", "device-id-mismatch")
	case age.Abs() > signatureWindow:
		return nil, deviceRefused("device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED", "device-signature-stale")
	case d.Nonce != c.nonce:
		return nil, deviceRefused("device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH", "device-nonce-mismatch")
	}
	signature, err := base64.RawURLEncoding.DecodeString(d.Signature)
	if err != nil {
		signature = nil
	}
	for _, payload := range d.signedPayloads(in, client, auth) {
		if ed25519.Verify(key, []byte(payload), signature) {
			return &d, nil
		}
	}
	return nil, deviceRefused("device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID", "device-signature")
}

// signedPayloads returns the two payloads that the device may have signed: one for each supported
// version of the payload format.
func (d device) signedPayloads(in connectRequest, client clientInfo, auth credentials) []string {
	fields := func(version string, more ...string) string {
		return strings.Join(append([]string{
			version, d.ID, client.ID, client.Mode, in.Role, strings.Join(in.Scopes, ","),
			strconv.FormatInt(d.SignedAt, 10), auth.signedToken(), d.Nonce,
		}, more...), "|")
	}
	return []string{fields("v3", normalizePlatform(client.Platform), normalizePlatform(client.DeviceFamily)), fields("v2")}
}

// normalizePlatform returns a platform name in the form that devices sign: trimmed, with
// ASCII letters in lowercase.
func normalizePlatform(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, strings.TrimSpace(s))
}

// deviceRefused returns the failure for a device whose proof is invalid.
func deviceRefused(message, code, reason string) *failure {
	f := invalid("%s", message)
	f.Details = object{"code": code, "reason": reason}
	return f
}

// credentials is the `auth` member of a connect request.
type credentials struct {
	Token, Password, DeviceToken, BootstrapToken string
}

func readCredentials(raw json.RawMessage) (credentials, *failure) {
	var auth credentials
	if len(raw) == 0 {
		return auth, nil
	}
	return auth, authParams.read("connect", "/auth", raw, &auth)
}

// signedToken returns the token that the device's signature covers: the first of Token,
// DeviceToken and BootstrapToken that is not empty. It never returns the password.
func (a credentials) signedToken() string {
	for _, s := range []string{a.Token, a.DeviceToken, a.BootstrapToken} {
		if s != "" {
			return s
		}
	}
	return ""
}
