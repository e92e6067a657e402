package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

var (
	monday = time.Date(2026, time.November, 23, 9, 0, 0, 0, time.UTC)
	secret = []byte("not-a-secret-but-long-enough-for-a-test-of-tokens")
)

// signer returns a Service that can only issue and verify tokens.
func signer(now time.Time) *Service {
	return &Service{Now: func() time.Time { return now }, Secret: secret, TokenLife: time.Hour}
}

// TestTokenClaims checks the claims of tokens, which other programs read.
func TestTokenClaims(t *testing.T) {
	t.Parallel()
	s := signer(monday.Add(250 * time.Millisecond))
	token, expires, err := s.issue(User{ID: db.NewID(), Name: "Coo", Role: actor.Agent, AgentID: new("coo")}, db.NewID())
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	var head, body map[string]any
	for i, into := range []*map[string]any{&head, &body} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	if head["alg"] != "HS256" {
		t.Errorf("alg = %v", head["alg"])
	}
	want := []string{"agent_id", "exp", "iat", "iss", "jti", "name", "role", "sub"}
	if got := slices.Sorted(maps.Keys(body)); !slices.Equal(got, want) {
		t.Errorf("claims are %v, want %v", got, want)
	}
	if body["iss"] != "wardroom" || body["role"] != "agent" || body["agent_id"] != "coo" || body["name"] != "Coo" {
		t.Errorf("claims: %v", body)
	}
	if end := monday.Add(time.Hour); !expires.Equal(end) || body["exp"] != float64(end.Unix()) {
		t.Errorf("expires at %v, the claim says %v, want %v", expires, body["exp"], end)
	}
	other, _, err := s.issue(User{ID: db.NewID()}, db.NewID())
	if err != nil || other == token {
		t.Errorf("two tokens are the same (%v)", err)
	}
}

// TestTokenRefused checks that altered and foreign tokens are rejected.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := func() jwt.MapClaims {
		return jwt.MapClaims{"iss": issuer, "sub": "019abf00-0000-7000-8000-000000000001", "exp": monday.Add(time.Hour).Unix()}
	}
	sign := func(m jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		c := good()
		change(c)
		token, err := jwt.NewWithClaims(m, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	same := func(jwt.MapClaims) {}
	set := func(name string, v any) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c[name] = v } }
	drop := func(name string) func(jwt.MapClaims) { return func(c jwt.MapClaims) { delete(c, name) } }
	ours := func(change func(jwt.MapClaims)) string { return sign(jwt.SigningMethodHS256, secret, change) }
	plain := ours(same)
	tests := []struct {
		name, token string
		good        bool
	}{
		{"ours", plain, true},
		{"until its last millisecond", ours(set("exp", monday.Unix()+1)), true},
		{"expired this moment", ours(set("exp", monday.Unix())), false},
		{"expired by a second", ours(set("exp", monday.Unix()-1)), false},
		{"without exp", ours(drop("exp")), false},
		{"exp is null", ours(set("exp", nil)), false},
		{"exp is no number that fits", ours(set("exp", json.Number("1e400"))), false},
		{"from somebody else", ours(set("iss", "agentops")), false},
		{"from somebody almost us", ours(set("iss", "Wardroom")), false},
		{"from nobody", ours(drop("iss")), false},
		{"not yet good", ours(set("nbf", monday.Unix()+1)), false},
		{"of nobody", ours(drop("sub")), false},
		{"of what is no id", ours(set("sub", "a\x00b")), false},
		{"of an email", ours(set("sub", "ada@example.com")), false},
		{"alg none", sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, same), false},
		{"HS384", sign(jwt.SigningMethodHS384, secret, same), false},
		{"HS512", sign(jwt.SigningMethodHS512, secret, same), false},
		{"RS256", sign(jwt.SigningMethodRS256, rsaKey, same), false},
		{"another secret", sign(jwt.SigningMethodHS256, append([]byte("x"), secret...), same), false},
		{"no signature", plain[:strings.LastIndex(plain, ".")+1], false},
		{"two parts", plain[:strings.LastIndex(plain, ".")], false},
		{"four parts", plain + ".x", false},
		{"a blank", " " + plain, false},
		{"nothing", "", false},
		{"long nonsense", strings.Repeat(".", 60_000), false},
	}
	s := signer(monday)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is, err := s.verify(tt.token)
			switch {
			case tt.good && (err != nil || is.subject != good()["sub"]):
				t.Errorf("verify = %+v, %v", is, err)
			case !tt.good && (!errors.Is(err, ErrToken) || is != (cachedToken{})):
				t.Errorf("verify = %+v, %v; want %v", is, err, ErrToken)
			case !tt.good && tt.token != "" && strings.Contains(err.Error(), tt.token):
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
	last := signer(monday.Add(time.Second - time.Millisecond))
	if _, err := last.verify(ours(set("exp", monday.Unix()+1))); err != nil {
		t.Errorf("a millisecond before the end: %v", err)
	}
}

// TestNoSecret checks that a service without a secret accepts no tokens.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	s := signer(monday)
	forged, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "sub": db.NewID(), "exp": monday.Add(time.Hour).Unix(),
	}).SignedString([]byte{})
	if err != nil {
		t.Fatal(err)
	}
	s.Secret = nil
	if _, err := s.verify(forged); !errors.Is(err, errNoSecret) {
		t.Errorf("subject: %v", err)
	}
	if _, _, err := s.issue(User{}, db.NewID()); !errors.Is(err, errNoSecret) {
		t.Errorf("issue: %v", err)
	}
}

// FuzzToken checks that every accepted token has a valid signature.
func FuzzToken(f *testing.F) {
	s := signer(monday)
	good, _, err := s.issue(User{ID: "019abf00-0000-7000-8000-000000000001", Role: actor.User}, db.NewID())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJ3YXJkcm9vbSJ9.")
	f.Add(strings.Replace(good, ".", "..", 1))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		is, err := s.verify(token)
		if err != nil {
			if !errors.Is(err, ErrToken) || is != (cachedToken{}) {
				t.Fatalf("verify = %+v, %v", is, err)
			}
			return
		}
		signed, signature, _ := cutLast(token, ".")
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(signed))
		if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); signature != want {
			t.Fatalf("accepted a token that we did not sign: %q", token)
		}
	})
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
