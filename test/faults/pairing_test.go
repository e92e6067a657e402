package faults

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway/demo"
)

// machine is a client with a device key.
type machine struct {
	t    *testing.T
	r    *Runtime
	key  ed25519.PrivateKey
	mode string
}

func newMachine(t *testing.T, r *Runtime) *machine {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t: t, r: r, key: key, mode: "backend"}
}

func (m *machine) public() []byte { return m.key.Public().(ed25519.PublicKey) } //nolint:errcheck // it is one

func (m *machine) id() string {
	sum := sha256.Sum256(m.public())
	return hex.EncodeToString(sum[:])
}

// connect signs the challenge and connects. change may modify the request after it was
// signed.
func (m *machine) connect(auth object, scopes []string, change func(object)) *client {
	m.t.Helper()
	c := dial(m.t, m.r, nil)
	challenge := must[object](m.t, c.event("connect.challenge"), "payload")
	nonce, ts := must[string](m.t, challenge, "nonce"), int64(must[float64](m.t, challenge, "ts"))
	secret := dig[string](auth, "token")
	if secret == "" {
		secret = dig[string](auth, "deviceToken")
	}
	payload := fmt.Sprintf("v3|%s|gateway-client|%s|operator|%s|%d|%s|%s|linux|", m.id(), m.mode, strings.Join(scopes, ","), ts, secret, nonce)
	b64 := base64.RawURLEncoding
	p := hello(func(p object) {
		p["scopes"], p["auth"] = scopes, auth
		must[object](m.t, p, "client")["mode"] = m.mode
		must[object](m.t, p, "client")["platform"] = " Linux"
		p["device"] = object{
			"id": m.id(), "publicKey": b64.EncodeToString(m.public()), "signedAt": ts, "nonce": nonce,
			"signature": b64.EncodeToString(ed25519.Sign(m.key, []byte(payload))),
		}
	})
	if change != nil {
		change(p)
	}
	c.answer(c.ask("connect", p), 0)
	return c
}

// first returns the answer to the connect.
func (c *client) first() object { return c.named("r1")[0] }

// refused compares a refusal with the recorded one.
func (m *machine) refused(c *client, recorded string) object {
	m.t.Helper()
	want := recording(m.t, "devices.json", recorded)
	got := must[object](m.t, c.first(), "error")
	m.sameBut(recorded, want["error"], got, "requestId", "deviceId")
	code, reason := c.closed()
	wantReason, _, _ := strings.Cut(must[string](m.t, want, "close", "reason"), "requestId: ") // every request has its own id
	if code != 1008 || !strings.HasPrefix(reason, wantReason) {
		m.t.Errorf("%s: closed with %d %q, want %q", recorded, code, reason, wantReason)
	}
	return got
}

// sameBut compares errors, ignoring some of the details.
func (m *machine) sameBut(what string, want, got any, except ...string) {
	m.t.Helper()
	clean := func(v any) any {
		o := maps.Clone(as[object](v))
		if d, ok := o["details"].(object); ok {
			o["details"] = without(d, except...)
		}
		return o
	}
	if diff := cmp.Diff(clean(want), clean(got)); diff != "" {
		m.t.Errorf("%s (-recorded +got):\n%s", what, diff)
	}
}

var (
	read      = []string{scopeRead}
	readWrite = []string{scopeRead, scopeWrite}
	all       = []string{scopeAdmin, scopeRead, scopeWrite}
	shared    = object{"token": token}
)

// The recorded sequence: not approved, approved, device token, more scopes, rotated token,
// removed.
func TestPairing(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	guard := dial(t, r, nil)
	guard.ok("connect", hello(func(p object) { p["scopes"] = []string{scopePairing} }))
	r.RequirePairing(true)
	m := newMachine(t, r)
	got := m.refused(m.connect(shared, readWrite, nil), "connect unpaired, token, read+write")
	m.refused(m.connect(shared, readWrite, nil), "connect unpaired, token, read+write")
	request := must[string](t, got, "details", "requestId")
	pending := r.Pending()
	want := []PairingRequest{{
		ID: request, DeviceID: m.id(), PublicKey: base64.RawURLEncoding.EncodeToString(m.public()), Name: "test", Scopes: readWrite,
	}}
	if len(pending) != 1 || pending[0].At.IsZero() {
		t.Fatalf("pending: %+v", pending)
	}
	pending[0].At = time.Time{}
	if diff := cmp.Diff(want, pending); diff != "" {
		t.Errorf("pending:\n%s", diff)
	}
	sameShape(t, "requested", recording(t, "devices.json", "device.pair.requested"), guard.event("device.pair.requested"))
	if r.Approve("nope") || !r.Approve(request) || r.Approve(request) || len(r.Pending()) != 0 {
		t.Error("Approve accepted a wrong request, refused the right one, or accepted it twice")
	}
	sameShape(t, "resolved", recording(t, "devices.json", "device.pair.resolved"), guard.event("device.pair.resolved"))

	auth := must[object](t, m.connect(shared, readWrite, nil).first(), "payload", "auth")
	sameShape(t, "auth", recording(t, "devices.json", "connect after approve")["auth"], auth)
	own := must[string](t, auth, "deviceToken")
	for place, recorded := range map[string]string{"deviceToken": "connect with deviceToken only", "token": "connect with device token in auth.token"} {
		auth = must[object](t, m.connect(object{place: own}, readWrite, nil).first(), "payload", "auth")
		sameShape(t, place, recording(t, "devices.json", recorded)["auth"], auth)
		if auth["method"] != "device-token" || auth["deviceToken"] != own {
			t.Errorf("with %s: %v", place, auth)
		}
	}
	m.connect(object{"deviceToken": own}, read, nil).ok("agents.list", object{})
	m.refused(m.connect(object{"deviceToken": own}, all, nil), "connect deviceToken, more scopes (admin)")
	m.refused(m.connect(object{"deviceToken": "nope"}, readWrite, nil), "connect bad deviceToken")

	got = m.refused(m.connect(shared, all, nil), "connect token, more scopes (upgrade pending)")
	if !r.Pending()[0].Upgrade || !r.Approve(must[string](t, got, "details", "requestId")) {
		t.Error("no upgrade waits")
	}
	m.refused(m.connect(object{"deviceToken": own}, read, nil), "old device token after rotate")
	auth = must[object](t, m.connect(shared, all, nil).first(), "payload", "auth")
	own = must[string](t, auth, "deviceToken")
	if !r.RotateToken(m.id()) || r.RotateToken("nope") {
		t.Error("RotateToken accepted a wrong device or refused the right one")
	}
	m.refused(m.connect(object{"deviceToken": own}, readWrite, nil), "old device token after rotate")
	last := m.connect(shared, all, nil)
	if !r.Remove(m.id()) || r.Remove(m.id()) {
		t.Error("Remove refused the device or accepted it twice")
	}
	if code, _ := last.closed(); code != 4001 {
		t.Errorf("removed, it was closed with %d", code)
	}
	m.refused(m.connect(shared, readWrite, nil), "connect unpaired, token, read+write")
	r.RequirePairing(false)
	m.connect(shared, readWrite, nil).ok("agents.list", object{})
}

// Each kind of invalid device has its own code, with and without pairing.
func TestDeviceRefusals(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	m := newMachine(t, r)
	device := func(k string, v any) func(object) {
		return func(p object) { must[object](t, p, "device")[k] = v }
	}
	stale := func(by time.Duration) func(object) {
		return func(p object) {
			d := must[object](t, p, "device")
			d["signedAt"] = as[int64](d["signedAt"]) + by.Milliseconds()
		}
	}
	for _, c := range []struct {
		recorded string
		auth     object
		change   func(object)
	}{
		{"bad signature", shared, device("signature", "AAAA")},
		{"bad signature", shared, device("signature", "no base64!")},
		{"bad signature", shared, func(p object) { p["scopes"] = all }},
		{"bad signature", shared, stale(time.Second)},
		{"stale signedAt", shared, stale(-130 * time.Second)},
		{"stale signedAt", shared, stale(130 * time.Second)},
		{"wrong nonce", shared, device("nonce", "nope")},
		{"wrong device id", shared, device("id", "abc")},
		{"wrong token, device", object{"token": "wrong"}, nil},
		{"no auth, device", object{}, nil},
	} {
		for _, paired := range []bool{false, true} {
			r.RequirePairing(paired)
			m.refused(m.connect(c.auth, readWrite, c.change), c.recorded)
		}
	}
	c := m.connect(shared, readWrite, device("publicKey", "AAAA"))
	if code := dig[string](c.first(), "error", "details", "code"); code != "DEVICE_AUTH_PUBLIC_KEY_INVALID" {
		t.Errorf("half a key is refused with %q", code)
	}
}

// The signed payload must match the real gateway's byte for byte.
func TestSignature(t *testing.T) {
	t.Parallel()
	var v struct {
		PublicKey, DeviceID string
		Input               struct {
			ClientID, ClientMode, Role, Token, Nonce, Platform, DeviceFamily string
			Scopes                                                           []string
			SignedAt                                                         int64
		}
		V3, V2 struct{ Payload, Signature string }
	}
	if err := json.Unmarshal(recordings(t, "devices.json")["signature"], &v); err != nil {
		t.Fatal(err)
	}
	in := v.Input
	d := demo.Device{ID: v.DeviceID, PublicKey: v.PublicKey, Nonce: in.Nonce, SignedAt: in.SignedAt}
	login := demo.Login{
		Role: in.Role, Scopes: in.Scopes, Device: &d, Nonce: in.Nonce, Auth: demo.Credentials{Token: in.Token},
		Client: demo.Client{ID: in.ClientID, Mode: in.ClientMode, Platform: in.Platform, DeviceFamily: in.DeviceFamily},
	}
	if diff := cmp.Diff([]string{v.V3.Payload, v.V2.Payload}, signedPayloads(login)); diff != "" {
		t.Errorf("payloads (-recorded +got):\n%s", diff)
	}
	for _, signature := range []string{v.V3.Signature, v.V2.Signature, v.V3.Signature[1:]} {
		d.Signature = signature
		f := verifyDevice(login, time.UnixMilli(in.SignedAt).Add(119*time.Second))
		if good := slices.Contains([]string{v.V3.Signature, v.V2.Signature}, signature); (f == nil) != good {
			t.Errorf("signature %s: %v", signature, f)
		}
	}
}
