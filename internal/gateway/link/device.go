package link

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"wardroom/internal/gateway/wire"
)

// device holds the key pair that identifies Wardroom to a gateway that requires pairing.
type device struct {
	key    ed25519.PrivateKey
	id     string // SHA-256 of the public key, in hex
	public string // base64url without padding
}

// newDevice returns the device with the given private key, or nil if the key is missing
// or invalid.
func newDevice(key ed25519.PrivateKey) *device {
	if len(key) != ed25519.PrivateKeySize {
		return nil
	}
	public := key[ed25519.SeedSize:]
	sum := sha256.Sum256(public)
	return &device{key: key, id: hex.EncodeToString(sum[:]), public: base64.RawURLEncoding.EncodeToString(public)}
}

// deviceProof proves for one connection that Wardroom has the private key.
type deviceProof struct {
	ID        string `json:"id"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
	SignedAt  int64  `json:"signedAt"` // the time of the challenge, so that Wardroom's clock does not matter
	Nonce     string `json:"nonce"`
}

// challenge contains the values that the gateway asks the device to sign.
type challenge struct {
	Nonce string      `json:"nonce"`
	TS    wire.Number `json:"ts"` // Unix milliseconds, by the gateway's clock
}

// nonceShape restricts the characters in a nonce. In the signed text, fields are
// separated by vertical bars, so a nonce that contains one could forge other fields. The
// length is checked separately, because a counted repetition makes the compiled
// expression large.
var nonceShape = regexp.MustCompile(`^[A-Za-z0-9._:+/=-]+$`)

const maxNonce = 200

// readChallenge reads the gateway's challenge. It returns false if the challenge cannot
// be signed.
func readChallenge(payload json.RawMessage) (challenge, bool) {
	var ch challenge
	if json.Unmarshal(payload, &ch) != nil || len(ch.Nonce) > maxNonce || !nonceShape.MatchString(ch.Nonce) {
		return challenge{}, false
	}
	at, ok := ch.TS.Whole()
	return ch, ok && at > 0
}

// sign returns the device's proof for the connect parameters p. All of p except the proof
// must already be set.
func (d *device) sign(p connectParams, ch challenge) *deviceProof {
	at, _ := ch.TS.Whole()
	proof := &deviceProof{ID: d.id, PublicKey: d.public, SignedAt: at, Nonce: ch.Nonce}
	proof.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.key, []byte(signedText(p, proof))))
	return proof
}

// signedText returns the text that the signature covers, in version 3 of the gateway's
// format. It includes the token, so that the proof is valid only with that token.
func signedText(p connectParams, proof *deviceProof) string {
	token := ""
	if p.Auth != nil {
		token = p.Auth.Token + p.Auth.DeviceToken // only one of them is set
	}
	const family = "" // the client.deviceFamily field, which Wardroom does not send
	return strings.Join([]string{
		"v3", proof.ID, p.Client.ID, p.Client.Mode, p.Role, strings.Join(p.Scopes, ","),
		strconv.FormatInt(proof.SignedAt, 10), token, proof.Nonce,
		strings.ToLower(strings.TrimSpace(p.Client.Platform)), family,
	}, "|")
}

// Kinds of credentials, as Status shows them.
const (
	noCredential = "none"
	sharedToken  = "token"
	deviceToken  = "device_token"
)

// credential is the token, if any, with which a connection attempt authenticates.
type credential struct {
	kind  string
	token string
}

func (cr credential) auth() *auth {
	switch cr.kind {
	case sharedToken:
		return &auth{Token: cr.token}
	case deviceToken:
		return &auth{DeviceToken: cr.token}
	}
	return nil
}

// wallet holds the client's credentials and selects the next one to try. Only Run's goroutine uses
// it.
type wallet struct {
	shared  string
	given   string // device token from the settings
	issued  string // device token from the last hello-ok, or the stored one
	refused bool   // the gateway has rejected the given token
}

// next returns the credential with the fewest rights that the gateway has not rejected.
// If the only credentials are rejected device tokens, next returns one of them.
func (w *wallet) next() credential {
	switch {
	case w.issued != "":
		return credential{deviceToken, w.issued}
	case w.given != "" && !w.refused:
		return credential{deviceToken, w.given}
	case w.shared != "":
		return credential{sharedToken, w.shared}
	case w.given != "":
		return credential{deviceToken, w.given}
	}
	return credential{kind: noCredential}
}

// reject marks a device token as rejected. It reports whether next now returns a
// different credential.
func (w *wallet) reject(cr credential) bool {
	if cr.kind != deviceToken {
		return false
	}
	if cr.token == w.issued && w.hasOther() {
		w.issued = ""
	}
	if cr.token == w.given {
		w.refused = true
	}
	return w.next() != cr
}

// hasOther reports whether the client has a credential that it can use instead of the
// device token that the gateway issued.
func (w *wallet) hasOther() bool { return w.shared != "" || w.given != "" && !w.refused }

// shareWallet copies the device and the credentials to fields that other goroutines can
// read.
func (c *Client) shareWallet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sharedWallet, c.sharedDevice = c.wallet, c.device
}

// isToken reports whether t is a valid token. A token consists of 1 to 1,000 visible
// ASCII characters.
func isToken(t string) bool {
	return t != "" && len(t) <= 1000 && !strings.ContainsFunc(t, func(r rune) bool { return r < '!' || r > '~' })
}

// keepToken stores the device token that the gateway sent in hello-ok, so that the next
// connection can use it.
func (c *Client) keepToken(raw []byte, cr credential) {
	var f struct {
		Payload struct {
			Auth struct {
				DeviceToken string `json:"deviceToken"`
			} `json:"auth"`
		} `json:"payload"`
	}
	if c.device == nil || json.Unmarshal(raw, &f) != nil {
		return
	}
	switch t := f.Payload.Auth.DeviceToken; {
	case isToken(t):
		c.secrets.Add(t)
		c.wallet.issued = t
		c.emitDeviceEvent(DeviceEvent{DeviceID: c.device.id, Kind: TokenIssued, Token: t})
	case t == "" && cr.kind != deviceToken:
		c.emitDeviceEvent(DeviceEvent{DeviceID: c.device.id, Kind: AcceptedLocally})
	}
}
