package gateway

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

// secrets takes our tokens and our private key out of whatever leaves this
// package. A nil one knows none.
type secrets struct {
	fixed []needle
	now   atomic.Pointer[[]needle] // all of them, the longest first: one may begin like another

	adding sync.Mutex // guards what follows: both connections may learn of a token
	keys   [][]needle // of the devices that we became, the latest last
	added  []needle   // those that the gateway gave us
}

// needle is one form of one secret.
type needle struct {
	text  []byte
	frame bool // long enough to be taken out of whole frames
}

// maskable is how long a token must be to be taken out of whole frames. A
// shorter one could be part of the frame's own vocabulary; it is still taken
// out of every error.
const maskable = 16

// masked stands where a secret was.
const masked = "[token]"

// addedForms is how many forms of tokens that the gateway gave us are
// remembered. It may give another one each time we connect, and only the
// latest are of use to anybody.
const addedForms = 24

func newSecrets(key ed25519.PrivateKey, tokens ...string) *secrets {
	s := &secrets{}
	for _, form := range keyForms(key) {
		s.fixed = append(s.fixed, needle{[]byte(form), true})
	}
	for _, token := range tokens {
		s.fixed = append(s.fixed, needles(token)...)
	}
	s.publish()
	return s
}

// needles are the forms of a token: as it is, in JSON, and in an address.
func needles(token string) []needle {
	quoted, err := json.Marshal(token)
	if err != nil || token == "" {
		return nil
	}
	var out []needle
	for _, form := range []string{token, string(quoted[1 : len(quoted)-1]), url.QueryEscape(token), url.PathEscape(token)} {
		if !slices.ContainsFunc(out, func(n needle) bool { return string(n.text) == form }) {
			out = append(out, needle{[]byte(form), len(token) >= maskable})
		}
	}
	return out
}

// keyForms are the ways in which a private key is usually written, the longest first.
func keyForms(key ed25519.PrivateKey) []string {
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

// add makes a token that the gateway gave us a secret. Only one goroutine adds.
func (s *secrets) add(token string) {
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

// keysKept is how many device keys are remembered beside that of the settings.
// The latest one is in use, and the one before was a moment ago.
const keysKept = 4

// addKey makes the key of a device that we become a secret.
func (s *secrets) addKey(key ed25519.PrivateKey) {
	s.adding.Lock()
	defer s.adding.Unlock()
	var forms []needle
	for _, form := range keyForms(key) {
		forms = append(forms, needle{[]byte(form), true})
	}
	known := func(k []needle) bool { return len(forms) > 0 && bytes.Equal(k[0].text, forms[0].text) }
	if len(forms) == 0 || slices.ContainsFunc(s.keys, known) {
		return
	}
	s.keys = append(s.keys, forms)
	s.keys = slices.Clone(s.keys[max(0, len(s.keys)-keysKept):])
	s.publish()
}

func (s *secrets) publish() {
	all := slices.Concat(slices.Concat(s.fixed, s.added), slices.Concat(s.keys...))
	slices.SortStableFunc(all, func(a, b needle) int { return len(b.text) - len(a.text) })
	s.now.Store(&all)
}

func (s *secrets) all() []needle {
	if s == nil {
		return nil
	}
	return *s.now.Load()
}

// frame returns data without the secrets. An agent may have read one from a
// file and repeat it in its answer.
func (s *secrets) frame(data []byte) []byte {
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

// Texts of the gateway leave this package through words (names, ids and errors: one
// line) or said (what an agent said: any number of lines). Both remove what
// plaintext removes. They look for the secrets before and after, because what is
// removed may have stood between two pieces of one.

// words returns a text of the gateway on one line of bounded length.
func (s *secrets) words(text string) string { return s.bounded(text, 400) }

func (s *secrets) bounded(text string, most int) string {
	return plaintext.Cut(s.masked(plaintext.Line(s.masked(text))), most, "…")
}

// said is what an agent said, in several lines and however long it is.
func (s *secrets) said(text string) string { return s.masked(plaintext.Lines(s.masked(text))) }

// text is said for at most that many characters. cut says that it was longer.
func (s *secrets) text(text string, most int) (clean string, cut bool) {
	text = s.said(text)
	n := 0
	for i := range text {
		if n == most {
			return text[:i], true
		}
		n++
	}
	return text, false
}

// bound is said for at most that many characters, and how many more there were.
func (s *secrets) bound(text string, most int) (clean string, cut int64) {
	clean = s.said(text)
	n, end := 0, len(clean)
	for i := range clean {
		if n == most {
			end = i
		}
		n++
	}
	return clean[:end], int64(max(n-most, 0))
}

// usage is u with names that are fit to be shown.
func (s *secrets) usage(u *Usage) *Usage {
	if u == nil {
		return nil
	}
	clean := *u
	clean.Provider, clean.Model, clean.SessionID = s.words(u.Provider), s.words(u.Model), s.words(u.SessionID)
	return &clean
}

// ownKeyMasked stands for a key of ours, as in the archive.
const ownKeyMasked = "[masked:wardroom_key]"

// ownKey is the form of the keys that this service gives to agents, also of one
// that is still being said. Who runs in a shell may print theirs.
var ownKey = regexp.MustCompile(`wrk_[a-z2-7]{8,}`)

// masked is a text without the secrets.
func (s *secrets) masked(text string) string {
	if strings.Contains(text, "wrk_") {
		text = ownKey.ReplaceAllString(text, ownKeyMasked)
	}
	for _, n := range s.all() {
		text = strings.ReplaceAll(text, string(n.text), masked)
	}
	return text
}
