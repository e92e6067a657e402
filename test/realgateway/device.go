//go:build journey

package realgateway

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Device is an identity that can be paired with a gateway.
type Device struct {
	ID         string // SHA-256 of the public key, in lowercase hexadecimal
	PublicKey  string // 32 bytes in base64url without padding
	PrivateKey string // the seed, in the same encoding

	key ed25519.PrivateKey
}

// Settings returns the settings that make the service use this device.
func (d *Device) Settings() map[string]string {
	return map[string]string{
		"AGENTRT_DEVICE_ID":          d.ID,
		"AGENTRT_DEVICE_PUBLIC_KEY":  d.PublicKey,
		"AGENTRT_DEVICE_PRIVATE_KEY": d.PrivateKey,
	}
}

// NewDevice returns a new device that no gateway knows.
func NewDevice(t testing.TB) *Device {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	sum := sha256.Sum256(public)
	return &Device{
		ID:         hex.EncodeToString(sum[:]),
		PublicKey:  base64.RawURLEncoding.EncodeToString(public),
		PrivateKey: base64.RawURLEncoding.EncodeToString(private.Seed()),
		key:        private,
	}
}

// sign returns a signature that proves that the client has the device's private key.
func (d *Device) sign(scopes []string, token, nonce string, at int64) map[string]any {
	said := fmt.Sprintf("v3|%s|gateway-client|backend|operator|%s|%d|%s|%s|linux|",
		d.ID, strings.Join(scopes, ","), at, token, nonce)
	return map[string]any{
		"id": d.ID, "publicKey": d.PublicKey, "nonce": nonce, "signedAt": at,
		"signature": base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.key, []byte(said))),
	}
}

// Token returns the device's own token. With it, the approved device can connect without
// the shared token. The gateway sends the token to the device each time it connects with
// the shared token.
func (d *Device) Token(t *testing.T, proxy *Proxy, gateway *Gateway) string {
	t.Helper()
	_, answer := dial(t, proxy.http, proxy.URL, gateway.Token, d)
	var hello struct {
		Auth struct {
			DeviceToken string `json:"deviceToken"`
		} `json:"auth"`
	}
	if err := json.Unmarshal(answer.Payload, &hello); err != nil || hello.Auth.DeviceToken == "" {
		t.Fatalf("the gateway gave the device no token: %v, %s%s", err, answer.Error, answer.Payload)
	}
	return hello.Auth.DeviceToken
}
