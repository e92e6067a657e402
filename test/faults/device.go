package faults

import (
	"cmp"
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
	if ed25519.Verify(key, []byte(signedPayload(in)), signature) {
		return nil
	}
	return deviceRefused("device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID", "device-signature")
}

// signedPayload returns what a client's device must have signed, in version 3 of the format. Wardroom's platform is in
// lowercase and has no spaces, and it names no device family.
func signedPayload(in demo.Login) string {
	d, client := in.Device, in.Client
	return strings.Join([]string{
		"v3", d.ID, client.ID, client.Mode, in.Role, strings.Join(in.Scopes, ","),
		strconv.FormatInt(d.SignedAt, 10), cmp.Or(in.Auth.Token, in.Auth.DeviceToken), d.Nonce, client.Platform, "",
	}, "|")
}

// deviceRefused returns the failure for a device whose proof is invalid.
func deviceRefused(message, code, reason string) *demo.Failure {
	return &demo.Failure{Code: "INVALID_REQUEST", Message: message, Details: object{"code": code, "reason": reason}}
}
