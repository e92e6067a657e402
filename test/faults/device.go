package faults

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"wardroom/internal/gateway/demo"
)

// signatureWindow is the maximum difference between a signature's timestamp and the gateway's
// clock.
const signatureWindow = 120 * time.Second

// verifyDevice returns the failure for a client whose device's proof is invalid at the given
// time of the gateway, or nil.
func verifyDevice(in demo.Login, now time.Time) *demo.Failure {
	d := in.Device
	key, err := base64.RawURLEncoding.DecodeString(d.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return deviceRefused("device public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID", "device-public-key")
	}
	hash := sha256.Sum256(key)
	age := now.Sub(time.UnixMilli(d.SignedAt))
	switch {
	case d.ID != hex.EncodeToString(hash[:]):
		return deviceRefused("device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", "device-id-mismatch")
	case age.Abs() > signatureWindow:
		return deviceRefused("device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED", "device-signature-stale")
	case d.Nonce != in.Nonce:
		return deviceRefused("device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH", "device-nonce-mismatch")
	}
	signature, err := base64.RawURLEncoding.DecodeString(d.Signature)
	if err != nil {
		signature = nil
	}
	for _, payload := range signedPayloads(in) {
		if ed25519.Verify(key, []byte(payload), signature) {
			return nil
		}
	}
	return deviceRefused("device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID", "device-signature")
}

// signedPayloads returns the two payloads that a client's device may have signed: one for each
// supported version of the payload format.
func signedPayloads(in demo.Login) []string {
	d, client := in.Device, in.Client
	fields := func(version string, more ...string) string {
		return strings.Join(append([]string{
			version, d.ID, client.ID, client.Mode, in.Role, strings.Join(in.Scopes, ","),
			strconv.FormatInt(d.SignedAt, 10), signedToken(in.Auth), d.Nonce,
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
func deviceRefused(message, code, reason string) *demo.Failure {
	return &demo.Failure{Code: "INVALID_REQUEST", Message: message, Details: object{"code": code, "reason": reason}}
}

// signedToken returns the token that the device's signature covers: the first of Token,
// DeviceToken and BootstrapToken that is not empty. It never returns the password.
func signedToken(a demo.Credentials) string {
	for _, s := range []string{a.Token, a.DeviceToken, a.BootstrapToken} {
		if s != "" {
			return s
		}
	}
	return ""
}
