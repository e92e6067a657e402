package link

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"wardroom/internal/gateway/wire"
)

// The key, the text and the signature are from a pairing that a gateway accepted.
func TestSignatureVector(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/device.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		SeedHex, PublicKey, DeviceID string
		Input                        struct {
			ClientID, ClientMode, Role, Token, Nonce, Platform string
			Scopes                                             []string
			SignedAt                                           wire.Number
		}
		V3 struct{ Payload, Signature string }
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	seed, err := hex.DecodeString(v.SeedHex)
	if err != nil {
		t.Fatal(err)
	}
	d := newDevice(ed25519.NewKeyFromSeed(seed))
	if d.id != v.DeviceID || d.public != v.PublicKey {
		t.Errorf("the device is %s with %s", d.id, d.public)
	}
	for name, a := range map[string]*auth{"a shared token": {Token: v.Input.Token}, "a device token": {DeviceToken: v.Input.Token}} {
		p := connectParams{
			Client: clientInfo{ID: v.Input.ClientID, Mode: v.Input.ClientMode, Platform: v.Input.Platform},
			Role:   v.Input.Role, Scopes: v.Input.Scopes, Auth: a,
		}
		proof := d.sign(p, challenge{v.Input.Nonce, v.Input.SignedAt})
		if got := signedText(p, proof); got != v.V3.Payload {
			t.Errorf("with %s we sign\n%s\nwant\n%s", name, got, v.V3.Payload)
		}
		if proof.Signature != v.V3.Signature {
			t.Errorf("with %s the signature is %s", name, proof.Signature)
		}
	}
}

// A challenge with other characters is rejected, so that a gateway cannot have other
// texts signed.
func TestChallengeIsHeldToItsShape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"nonce":"0c8577df-0e2f-4c60-ab7b-27e5e8c4deca","ts":1795161586853}`: true,
		`{"nonce":"a|linux|","ts":1}`:                                         false,
		`{"nonce":"a\nb","ts":1}`:                                             false,
		`{"nonce":"","ts":1}`:                                                 false,
		`{"nonce":"a"}`:                                                       false,
		`{"nonce":"a","ts":"1"}`:                                              true,
		`{"nonce":"a","ts":1.5}`:                                              true, // the signature has 1
		`{"nonce":"a","ts":"1|linux"}`:                                        false,
		`{"nonce":"a","ts":-1}`:                                               false,
		`{"nonce":"` + strings.Repeat("a", 201) + `","ts":1}`:                 false,
		`null`: false,
		``:     false,
	} {
		if _, ok := readChallenge(json.RawMessage(text)); ok != want {
			t.Errorf("%s: signed %t", text, ok)
		}
	}
}

// The credential with the fewest rights is tried first, and a rejected one only if it
// is the only one.
func TestWallet(t *testing.T) {
	t.Parallel()
	w := wallet{shared: "s", given: "g"}
	steps := []struct{ issued, want string }{{"", "g"}, {"i", "i"}, {"", "s"}, {"j", "j"}, {"", "s"}}
	for i, step := range steps {
		if step.issued != "" {
			w.issued = step.issued
		}
		cr := w.next()
		if cr.token != step.want {
			t.Fatalf("step %d: %s, want %s", i, cr.token, step.want)
		}
		if other := w.reject(cr); other != (cr.kind == deviceToken) {
			t.Errorf("step %d: after %s something else is left: %t", i, cr.token, other)
		}
	}
	alone := wallet{given: "g"}
	if alone.reject(alone.next()) || alone.next().token != "g" {
		t.Error("the only credential is put away")
	}
	if cr := (&wallet{}).next(); cr.auth() != nil || cr.kind != noCredential {
		t.Errorf("nothing is %+v", cr)
	}
}

// FuzzRefusal feeds arbitrary pairing errors. The result becomes a command that a
// person runs, so nothing else may get into it.
func FuzzRefusal(f *testing.F) {
	f.Add("NOT_PAIRED", "PAIRING_REQUIRED", "scope-upgrade", "abbfd6b6-16e1-40cb-bf5d-2133545256eb", "operator.admin", "pairing required")
	f.Add("NOT_PAIRED", "", "", "1; rm -rf ~", "x y", "\x1b[2J")
	f.Add("NOT_PAIRED", "", "", "--all", "", "")
	f.Add("NOT_PAIRED", "", "scope-upgrade", "1", "x; reboot", "")
	f.Add("INVALID_REQUEST", "AUTH_SCOPE_MISMATCH", "", "", "", "")
	f.Add("INVALID_REQUEST", "DEVICE_AUTH_\u202e", "", "", "", "")
	f.Fuzz(func(t *testing.T, code, detail, reason, request, scope, message string) {
		c := &Client{at: &endpoint{}, secrets: wire.NewSecrets(nil, "request-token-0123"), device: newDevice(ed25519.NewKeyFromSeed(make([]byte, 32)))}
		got := c.refusal(&WireError{Code: code, Message: message, Details: details{
			Code: detail, Reason: reason, RequestID: request, RequestedScopes: []string{scope}, ApprovedScopes: []string{scope, scope},
		}}, credential{sharedToken, "request-token-0123"})
		said := c.at.message(got)
		if got.state == "" || said == "" || strings.ContainsAny(said, "\x1b\n\x00\u202e") || strings.Contains(said, "request-token") {
			t.Errorf("%s: %q", got.state, said)
		}
		if got.pairing == nil {
			if strings.Contains(said, "devices approve") && !strings.Contains(message, "devices approve") {
				t.Errorf("a command without a request: %q", said)
			}
			return
		}
		p := got.pairing
		id, ok := strings.CutPrefix(p.Command, "openclaw devices approve ")
		if !ok || id != p.RequestID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || id == "" || id[0] == '-' || len(id) > 64 {
			t.Errorf("the command is %q", p.Command)
		}
		for _, s := range append(p.Scopes, p.ApprovedScopes...) {
			if strings.ContainsAny(s, " ;|\n\x1b`$\"'") {
				t.Errorf("the scope is %q", s)
			}
		}
	})
}
