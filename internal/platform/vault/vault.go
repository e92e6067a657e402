// Package vault keeps the few secrets of the service that have to be stored:
// whoever reads the database, or a backup of it, learns none of them.
//
// A secret is sealed with AES-256-GCM under a key that is derived from
// ENCRYPTION_KEY, or from a key file of this machine. What it is and whose goes
// into the seal, so that one that is put into another row does not open there.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The ways in which a vault does not open.
var (
	// ErrNoKey means that there is no key: none is set, and none may be made here.
	ErrNoKey = errors.New("there is no key to encrypt secrets with")
	// ErrOtherKey means that a secret was sealed with a key that is not among ours.
	ErrOtherKey = errors.New("the secret was encrypted with another key")
	// ErrBroken means that a sealed text is none, was changed, or was sealed for
	// another place than the one that it stands in.
	ErrBroken = errors.New("the encrypted secret is damaged, or does not belong where it stands")
)

// Shortest is how many bytes the text of a key must have at least.
const Shortest = 32

// version begins each sealed text. Another layout gets another one.
const version = "v1"

// Vault seals with one key and opens with any of several. It may be used by
// several goroutines. Nothing that prints it shows a key.
type Vault struct{ keys []key }

// key is one key, ready for use.
type key struct {
	id   string // says which key it is, and nothing else of it
	aead cipher.AEAD
}

// New returns a vault that seals with the key of the first text, and opens what
// was sealed with it or with one of the others. Each text is a secret of at
// least Shortest bytes that nobody can guess: it is taken as it is, whatever it
// is written in, and is not stretched as a password would have to be.
func New(text string, others ...string) (*Vault, error) {
	v := &Vault{}
	for _, t := range append([]string{text}, others...) {
		if len(t) < Shortest {
			return nil, fmt.Errorf("a key has %d bytes, and needs %d or more", len(t), Shortest)
		}
		k, err := derive(t)
		if err != nil {
			return nil, err
		}
		v.keys = append(v.keys, k)
	}
	return v, nil
}

// derive makes a key, and its name, of a text.
func derive(text string) (key, error) {
	secret, err := hkdf.Key(sha256.New, []byte(text), nil, "wardroom vault v1: key", 32)
	if err != nil {
		return key{}, fmt.Errorf("derive a key: %w", err)
	}
	name, err := hkdf.Key(sha256.New, []byte(text), nil, "wardroom vault v1: name", 8)
	if err != nil {
		return key{}, fmt.Errorf("derive the name of a key: %w", err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return key{}, fmt.Errorf("use a key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return key{id: hex.EncodeToString(name), aead: aead}, err
}

// String hides the keys.
func (v *Vault) String() string { return "[vault]" }

// Format hides the keys from every verb.
func (v *Vault) Format(f fmt.State, _ rune) { fmt.Fprint(f, v.String()) }

// KeyID names the key that seals: 16 hex digits, which are no secret.
func (v *Vault) KeyID() string { return v.keys[0].id }

// Seal encrypts a secret for a place, such as "pairing/device-key/3f…". The text
// is "v1.<id of the key>.<base64url of nonce and ciphertext>"; sealing the same
// again makes another one. A key is good for about four billion secrets, which
// is the bound of random nonces.
func (v *Vault) Seal(place string, secret []byte) string {
	k := v.keys[0]
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(secret)+k.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	sealed := k.aead.Seal(nonce, nonce, secret, bound(k.id, place))
	return version + "." + k.id + "." + base64.RawURLEncoding.EncodeToString(sealed)
}

// bound is what a seal covers beside the secret: its own head and its place.
func bound(keyID, place string) []byte { return []byte(version + "." + keyID + "." + place) }

// sealedShape is what a sealed text looks like.
var sealedShape = regexp.MustCompile(`^v1\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$`)

// KeyOf names the key that a text was sealed with; empty when it is no sealed
// text.
func KeyOf(sealed string) string {
	if m := sealedShape.FindStringSubmatch(sealed); m != nil {
		return m[1]
	}
	return ""
}

// Open decrypts a secret that was sealed for a place. It fails with ErrOtherKey
// when none of the keys is the one that sealed it, and with ErrBroken otherwise.
// No error quotes the text.
func (v *Vault) Open(place, sealed string) ([]byte, error) {
	m := sealedShape.FindStringSubmatch(sealed)
	if m == nil {
		return nil, ErrBroken
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(m[2])
	if err != nil {
		return nil, ErrBroken
	}
	for _, k := range v.keys {
		if k.id != m[1] {
			continue
		}
		n := k.aead.NonceSize()
		if len(data) < n {
			return nil, ErrBroken
		}
		secret, err := k.aead.Open(nil, data[:n], data[n:], bound(k.id, place))
		if err != nil {
			return nil, ErrBroken
		}
		return secret, nil
	}
	return nil, fmt.Errorf("%w: that has the id %s, and ours %s", ErrOtherKey, m[1], strings.Join(v.ids(), ", "))
}

// ids are the names of all keys, the one that seals first.
func (v *Vault) ids() []string {
	out := make([]string, len(v.keys))
	for i, k := range v.keys {
		out[i] = k.id
	}
	return out
}

// Renew returns the text anew, sealed with the first key, and whether that is
// another text: one that the first key sealed is returned as it is.
func (v *Vault) Renew(place, sealed string) (text string, changed bool, err error) {
	if KeyOf(sealed) == v.KeyID() {
		return sealed, false, nil
	}
	secret, err := v.Open(place, sealed)
	if err != nil {
		return "", false, err
	}
	return v.Seal(place, secret), true, nil
}
