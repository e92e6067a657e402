package gateway

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// device is who we are to a gateway that asks for more than a token.
type device struct {
	key    ed25519.PrivateKey
	id     string // SHA-256 of the public key, in hex
	public string // base64url without padding
}

// newDevice returns nil when there is no key.
func newDevice(key ed25519.PrivateKey) *device {
	if len(key) != ed25519.PrivateKeySize {
		return nil
	}
	public := key[ed25519.SeedSize:]
	sum := sha256.Sum256(public)
	return &device{key: key, id: hex.EncodeToString(sum[:]), public: base64.RawURLEncoding.EncodeToString(public)}
}

// deviceProof shows that we hold the private key, for this connection alone.
type deviceProof struct {
	ID        string `json:"id"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
	SignedAt  int64  `json:"signedAt"` // the challenge's own time, so that our clock does not matter
	Nonce     string `json:"nonce"`
}

// challenge is what the gateway wants to see signed.
type challenge struct {
	Nonce string `json:"nonce"`
	TS    number `json:"ts"` // Unix milliseconds, by the gateway's clock
}

// nonceShape keeps a gateway from choosing what else we sign: the signed text is
// made of fields with bars between them. Its length is checked apart, because a
// counted repetition is compiled into as many copies.
var nonceShape = regexp.MustCompile(`^[A-Za-z0-9._:+/=-]+$`)

const maxNonce = 200

// readChallenge reads the challenge; false when it cannot be signed.
func readChallenge(payload json.RawMessage) (challenge, bool) {
	var ch challenge
	if json.Unmarshal(payload, &ch) != nil || len(ch.Nonce) > maxNonce || !nonceShape.MatchString(ch.Nonce) {
		return challenge{}, false
	}
	at, ok := ch.TS.whole()
	return ch, ok && at > 0
}

// sign proves our identity for an introduction that is complete but for it.
func (d *device) sign(p connectParams, ch challenge) *deviceProof {
	at, _ := ch.TS.whole()
	proof := &deviceProof{ID: d.id, PublicKey: d.public, SignedAt: at, Nonce: ch.Nonce}
	proof.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.key, []byte(signedText(p, proof))))
	return proof
}

// signedText is what the signature covers, in the gateway's third layout. The
// token is in it, so that a proof cannot be used with another one.
func signedText(p connectParams, proof *deviceProof) string {
	token := ""
	if p.Auth != nil {
		token = p.Auth.Token + p.Auth.DeviceToken // only one of them is set
	}
	const family = "" // we send no client.deviceFamily
	return strings.Join([]string{
		"v3", proof.ID, p.Client.ID, p.Client.Mode, p.Role, strings.Join(p.Scopes, ","),
		strconv.FormatInt(proof.SignedAt, 10), token, proof.Nonce, strings.ToLower(strings.TrimSpace(p.Client.Platform)), family,
	}, "|")
}

// The names of the credentials, as the status shows them.
const (
	noCredential = "none"
	sharedToken  = "token"
	deviceToken  = "device_token"
)

// credential is what one attempt to connect is made with.
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

// wallet holds the credentials and knows which one is next. The goroutine of
// Run alone uses it.
type wallet struct {
	shared  string
	given   string // the device's token from the settings
	issued  string // the device's token from the last hello-ok, or as it was kept from an earlier one
	refused bool   // the gateway knows nothing of the given one any more
}

// next is the narrowest credential that has not been refused. A device token
// that was refused is still shown when there is nothing else.
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

// drop puts a device token that was refused away, and says whether there is
// something else to try.
func (w *wallet) drop(cr credential) bool {
	if cr.kind != deviceToken {
		return false
	}
	if cr.token == w.issued && w.spare() {
		w.issued = ""
	}
	if cr.token == w.given {
		w.refused = true
	}
	return w.next() != cr
}

// spare says whether there is anything else to show than a device token that the
// gateway gave us.
func (w *wallet) spare() bool { return w.shared != "" || w.given != "" && !w.refused }

// showWallet keeps a copy for examinations, which other goroutines begin.
func (c *Client) showWallet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown, c.is = c.wallet, c.device
}

// isToken reports whether t may be a token from the gateway: 1 to 1,000 visible
// characters of ASCII.
func isToken(t string) bool {
	return t != "" && len(t) <= 1000 && !strings.ContainsFunc(t, func(r rune) bool { return r < '!' || r > '~' })
}

// keep takes the device token that a hello-ok brought, for the next connection.
func (c *Client) keep(raw []byte, cr credential) {
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
		c.secrets.add(t)
		c.wallet.issued = t
		c.tell(DeviceNews{DeviceID: c.device.id, Kind: TokenIssued, Token: t})
	case t == "" && cr.kind != deviceToken:
		c.tell(DeviceNews{DeviceID: c.device.id, Kind: LetInAsLocal})
	}
}
