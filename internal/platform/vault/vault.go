// Package vault encrypts the few secrets that Wardroom stores, so that a reader of
// the database or a backup cannot see them.
//
// A secret is encrypted with AES-256-GCM under a key derived from ENCRYPTION_KEY or
// from a key file. Its purpose and owner are authenticated too, so a secret that is
// copied to another row cannot be decrypted there.
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

// Errors that callers of this package can check for.
var (
	// ErrNoKey means that no encryption key is configured and Wardroom has no file to create one in.
	ErrNoKey = errors.New("no encryption key is configured")
	// ErrOtherKey means that the secret was encrypted with a key that is not configured.
	ErrOtherKey = errors.New("the secret was encrypted with another key")
	// ErrBroken means that the encrypted text is malformed, was changed, or was
	// encrypted for another purpose or owner.
	ErrBroken = errors.New("the encrypted secret is damaged or was copied from another place")
)

// Shortest is the minimum length, in bytes, of a text from which a key can be derived.
const Shortest = 32

// version is the first part of every encrypted text, so that the format can change.
const version = "v1"

// Vault encrypts with one key and decrypts with any of several. It is safe for
// concurrent use. Printing a Vault does not reveal its keys.
type Vault struct{ keys []key }

// key is a derived key.
type key struct {
	id   string // identifies the key without revealing it
	aead cipher.AEAD
}

// New returns a vault that encrypts with a key derived from a secret text. It decrypts with that
// key and with the keys derived from any other secrets. Each secret must be random and have at
// least Shortest bytes, because it is not stretched like a password.
func New(text string, others ...string) (*Vault, error) {
	v := &Vault{}
	for _, t := range append([]string{text}, others...) {
		if len(t) < Shortest {
			return nil, fmt.Errorf("the key has %d bytes, but needs at least %d", len(t), Shortest)
		}
		k, err := derive(t)
		if err != nil {
			return nil, err
		}
		v.keys = append(v.keys, k)
	}
	return v, nil
}

// derive derives a key and the key's ID from text.
func derive(text string) (key, error) {
	secret, err := hkdf.Key(sha256.New, []byte(text), nil, "wardroom vault v1: key", 32)
	if err != nil {
		return key{}, fmt.Errorf("derive a key: %w", err)
	}
	name, err := hkdf.Key(sha256.New, []byte(text), nil, "wardroom vault v1: name", 8)
	if err != nil {
		return key{}, fmt.Errorf("derive the ID of a key: %w", err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return key{}, fmt.Errorf("create the cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return key{id: hex.EncodeToString(name), aead: aead}, err
}

// String hides the keys.
func (v *Vault) String() string { return "[vault]" }

// Format hides the keys from all formatting verbs.
func (v *Vault) Format(f fmt.State, _ rune) { fmt.Fprint(f, v.String()) }

// KeyID returns the ID of the encryption key. It consists of 16 hex digits and is not
// secret.
func (v *Vault) KeyID() string { return v.keys[0].id }

// Seal encrypts a secret and binds it to its place, a name for the secret's purpose and owner such
// as "pairing/device-key/3f…". Open needs the same place. The result is "v1.<key ID>.<base64url of
// nonce and ciphertext>" and differs on every call. With random nonces, one key can encrypt about
// four billion secrets.
func (v *Vault) Seal(place string, secret []byte) string {
	k := v.keys[0]
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(secret)+k.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails
	sealed := k.aead.Seal(nonce, nonce, secret, bound(k.id, place))
	return version + "." + k.id + "." + base64.RawURLEncoding.EncodeToString(sealed)
}

// bound returns the additional authenticated data for a secret: the format version,
// the key's ID, and the secret's purpose and owner (place).
func bound(keyID, place string) []byte { return []byte(version + "." + keyID + "." + place) }

// sealedShape matches text that Wardroom has encrypted.
var sealedShape = regexp.MustCompile(`^v1\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$`)

// KeyOf returns the ID of the key that a text was encrypted with, or "" if the text is not
// encrypted.
func KeyOf(sealed string) string {
	if m := sealedShape.FindStringSubmatch(sealed); m != nil {
		return m[1]
	}
	return ""
}

// Open decrypts a secret that Seal encrypted for the same purpose and owner (place).
// It returns ErrOtherKey if the secret was encrypted with a key that v does not have,
// and ErrBroken if it cannot be decrypted for another reason. The errors never quote
// the secret or the encrypted text.
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
	return nil, fmt.Errorf("%w: it has the ID %s, and the configured keys have %s", ErrOtherKey, m[1],
		strings.Join(v.ids(), ", "))
}

// ids returns the IDs of all keys, starting with the encryption key.
func (v *Vault) ids() []string {
	out := make([]string, len(v.keys))
	for i, k := range v.keys {
		out[i] = k.id
	}
	return out
}

// Renew re-encrypts an encrypted secret with v's encryption key and reports whether the
// encrypted text changed. A text that already uses that key is returned unchanged.
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
