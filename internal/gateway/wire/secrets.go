package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"wardroom/internal/platform/plaintext"
)

// Secrets redacts tokens and private keys in everything that the gateway packages return or
// log. A nil *Secrets redacts only Wardroom's API keys.
type Secrets struct {
	fixed []needle
	now   atomic.Pointer[[]needle] // all needles, longest first because one may be a prefix of another

	adding sync.Mutex // guards the fields below, because both connections may add tokens
	keys   [][]needle // of the devices used most recently, the latest last
	shared [][]needle // of the shared tokens used most recently, the latest last
	added  []needle   // tokens that the gateway issued
}

// needle is one of the forms in which a secret can appear in text.
type needle struct {
	text  []byte
	frame bool // long enough to be redacted across an entire frame
}

// maskable is the minimum length at which a token is redacted across an entire frame. A
// shorter token could match the frame's own keywords, so it is redacted only in text values.
const maskable = 16

// masked is the text that replaces a secret.
const masked = "[token]"

// addedForms limits how many forms of tokens issued by the gateway are kept for
// redaction. The gateway may issue a new token for each connection, but only the latest
// ones are valid.
const addedForms = 24

// NewSecrets returns a redactor of a device's private key, which may be nil, and of tokens.
func NewSecrets(key ed25519.PrivateKey, tokens ...string) *Secrets {
	s := &Secrets{}
	for _, form := range keyEncodings(key) {
		s.fixed = append(s.fixed, needle{[]byte(form), true})
	}
	for _, token := range tokens {
		s.fixed = append(s.fixed, needles(token)...)
	}
	s.publish()
	return s
}

// needles returns the forms in which a token can appear in text: plain, in JSON, and in a
// URL.
func needles(token string) []needle {
	quoted, err := json.Marshal(token)
	if err != nil || token == "" {
		return nil
	}
	var out []needle
	for _, form := range []string{
		token, string(quoted[1 : len(quoted)-1]), url.QueryEscape(token), url.PathEscape(token),
	} {
		if !slices.ContainsFunc(out, func(n needle) bool { return string(n.text) == form }) {
			out = append(out, needle{[]byte(form), len(token) >= maskable})
		}
	}
	return out
}

// keyEncodings returns the common text encodings of a private key, longest first.
func keyEncodings(key ed25519.PrivateKey) []string {
	if len(key) != ed25519.PrivateKeySize {
		return nil
	}
	var forms []string
	if der, err := x509.MarshalPKCS8PrivateKey(key); err == nil {
		forms = append(forms, base64.RawStdEncoding.EncodeToString(der), base64.RawURLEncoding.EncodeToString(der))
	}
	for _, part := range [][]byte{key, key.Seed()} {
		forms = append(forms, base64.RawStdEncoding.EncodeToString(part), base64.RawURLEncoding.EncodeToString(part))
	}
	plain := hex.EncodeToString(key.Seed())
	return append(forms, plain, strings.ToUpper(plain))
}

// Add registers a token that the gateway issued, so that it is redacted.
func (s *Secrets) Add(token string) {
	s.adding.Lock()
	defer s.adding.Unlock()
	all := *s.now.Load()
	for _, n := range needles(token) {
		if !slices.ContainsFunc(all, func(known needle) bool { return bytes.Equal(known.text, n.text) }) {
			s.added = append(s.added, n)
		}
	}
	s.added = slices.Clone(s.added[max(0, len(s.added)-addedForms):])
	s.publish()
}

// kept limits how many device keys and how many shared tokens are kept for redaction.
// The newest ones are kept.
const kept = 4

// AddKey registers the private key of a new device, so that it is redacted.
func (s *Secrets) AddKey(key ed25519.PrivateKey) {
	s.adding.Lock()
	defer s.adding.Unlock()
	var forms []needle
	for _, form := range keyEncodings(key) {
		forms = append(forms, needle{[]byte(form), true})
	}
	s.keys = keep(s.keys, forms)
	s.publish()
}

// AddShared registers a shared token, so that it is redacted.
func (s *Secrets) AddShared(token string) {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.shared = keep(s.shared, needles(token))
	s.publish()
}

// keep returns list with the forms of a secret added, without its oldest entries. Forms that it has are not added
// again.
func keep(list [][]needle, forms []needle) [][]needle {
	known := func(k []needle) bool { return bytes.Equal(k[0].text, forms[0].text) }
	if len(forms) == 0 || slices.ContainsFunc(list, known) {
		return list
	}
	list = append(list, forms)
	return slices.Clone(list[max(0, len(list)-kept):])
}

func (s *Secrets) publish() {
	all := slices.Concat(s.fixed, s.added, slices.Concat(s.keys...), slices.Concat(s.shared...))
	slices.SortStableFunc(all, func(a, b needle) int { return len(b.text) - len(a.text) })
	s.now.Store(&all)
}

func (s *Secrets) all() []needle {
	if s == nil {
		return nil
	}
	return *s.now.Load()
}

// Frame returns a frame's data with the secrets redacted. A frame can contain a secret
// if, for example, an agent's answer quotes one from a file.
func (s *Secrets) Frame(data []byte) []byte {
	if bytes.Contains(data, []byte("wrk_")) {
		data = ownKey.ReplaceAll(data, []byte(ownKeyMasked))
	}
	for _, n := range s.all() {
		if n.frame && bytes.Contains(data, n.text) {
			data = bytes.ReplaceAll(data, n.text, []byte(masked))
		}
	}
	return data
}

// Texts from the gateway leave its packages through Line (names, ids and errors) or
// Lines (messages). Both clean the text with plaintext, and redact before and
// after that, because a removed character may have split a secret in two.

// Line returns a text on a single line. Secrets are redacted, and the text is truncated
// to 400 characters.
func (s *Secrets) Line(text string) string { return s.Bounded(text, 400) }

// Bounded is like Line, but truncates the text to the given number of characters.
func (s *Secrets) Bounded(text string, most int) string {
	return plaintext.Cut(s.redact(plaintext.Line(s.redact(text))), most, "…")
}

// Lines returns a text with secrets redacted. It keeps line breaks and does not
// truncate the text.
func (s *Secrets) Lines(text string) string { return s.redact(plaintext.Lines(s.redact(text))) }

// Text is like Lines, but truncates the text to the given number of characters and reports
// whether it was longer.
func (s *Secrets) Text(text string, most int) (clean string, cut bool) {
	text = s.Lines(text)
	n := 0
	for i := range text {
		if n == most {
			return text[:i], true
		}
		n++
	}
	return text, false
}

// Bound is like Lines, but truncates the text to the given number of characters and returns how
// many characters it removed.
func (s *Secrets) Bound(text string, most int) (clean string, cut int64) {
	clean = s.Lines(text)
	n, end := 0, len(clean)
	for i := range clean {
		if n == most {
			end = i
		}
		n++
	}
	return clean[:end], int64(max(n-most, 0))
}

// ownKeyMasked is the text that replaces a Wardroom API key. The archive uses the same
// text.
const ownKeyMasked = "[masked:wardroom_key]"

// ownKey matches the API keys that Wardroom gives to agents, even if only the beginning
// of a key is present. An agent with a shell may print its key.
var ownKey = regexp.MustCompile(`wrk_[a-z2-7]{8,}`)

// redact replaces all secrets in a text and returns the result.
func (s *Secrets) redact(text string) string {
	if strings.Contains(text, "wrk_") {
		text = ownKey.ReplaceAllString(text, ownKeyMasked)
	}
	for _, n := range s.all() {
		text = strings.ReplaceAll(text, string(n.text), masked)
	}
	return text
}
