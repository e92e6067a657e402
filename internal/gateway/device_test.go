package gateway_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// ours returns the device's key in these tests.
func ours() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, ours"))
}

// introduced is a connect request as a gateway reads it.
type introduced struct {
	Client struct{ ID, Mode, Platform, DeviceFamily string }
	Role   string
	Scopes []string
	Auth   struct{ Token, DeviceToken string }
	Device struct {
		ID, PublicKey, Signature, Nonce string
		SignedAt                        int64
	}
}

// verify checks a connect request as a gateway does.
func verify(t *testing.T, r req, challenge json.RawMessage) introduced {
	t.Helper()
	var p introduced
	var ch struct {
		Payload struct {
			Nonce string
			TS    int64
		}
	}
	if err := errors.Join(json.Unmarshal(r.Params, &p), json.Unmarshal(challenge, &ch)); err != nil {
		t.Error(err)
		return p
	}
	public, err := base64.RawURLEncoding.DecodeString(p.Device.PublicKey)
	if err != nil || len(public) != ed25519.PublicKeySize {
		t.Errorf("the public key is %q", p.Device.PublicKey)
		return p
	}
	if sum := sha256.Sum256(public); p.Device.ID != hex.EncodeToString(sum[:]) {
		t.Errorf("the device id is %s", p.Device.ID)
	}
	if p.Device.Nonce != ch.Payload.Nonce || p.Device.SignedAt != ch.Payload.TS {
		t.Errorf("it signed %s of %d, not the challenge", p.Device.Nonce, p.Device.SignedAt)
	}
	token := p.Auth.Token
	if token == "" {
		token = p.Auth.DeviceToken
	}
	text := fmt.Sprintf("v3|%s|%s|%s|%s|%s|%d|%s|%s|%s|%s", p.Device.ID, p.Client.ID, p.Client.Mode, p.Role, strings.Join(p.Scopes, ","),
		p.Device.SignedAt, token, p.Device.Nonce, strings.ToLower(p.Client.Platform), p.Client.DeviceFamily)
	signature, err := base64.RawURLEncoding.DecodeString(p.Device.Signature)
	if err != nil || !ed25519.Verify(public, []byte(text), signature) {
		t.Errorf("the signature %q does not fit %q", p.Device.Signature, text)
	}
	return p
}

// pairingStep is one recorded connect of a device.
type pairingStep struct {
	Request struct {
		Params struct {
			Auth struct{ Token, DeviceToken string }
		}
	}
	Response json.RawMessage
	Close    closing
}

func (s pairingStep) issued(t *testing.T) string {
	t.Helper()
	var r struct {
		Payload struct{ Auth struct{ DeviceToken string } }
	}
	if err := json.Unmarshal(s.Response, &r); err != nil || r.Payload.Auth.DeviceToken == "" {
		t.Fatalf("no device token: %v", err)
	}
	return r.Payload.Auth.DeviceToken
}

// paired returns a gateway that verifies every signature and answers the nth connection
// with the nth recorded step, and later ones with the last step.
func paired(t *testing.T, seen func(n int, p introduced), steps ...string) *replayer {
	t.Helper()
	all := recorded[map[string]pairingStep](t, "pairing.json")
	challenge := recorded[handshakes](t, "handshake.json").Challenge
	for _, name := range steps {
		if _, ok := all[name]; !ok {
			t.Fatalf("%q is not recorded", name)
		}
	}
	return replay(t, func(n int, p *peer) {
		step := all[steps[min(n, len(steps))-1]]
		p.send(challenge)
		r := p.expect("connect")
		seen(n, verify(t, r, challenge))
		p.answer(r, step.Response)
		if step.Close.Code != 0 {
			p.close(step.Close.Code, step.Close.Reason)
			return
		}
		if n < len(steps) {
			p.close(1012, "service restart")
			return
		}
		p.gone()
	})
}

func (g *replayer) asDevice() link.Options {
	opt := g.options()
	opt.DeviceKey = ours()
	opt.Backoff.Pairing = 2 * time.Millisecond
	return opt
}

const (
	stepUnpaired = "connect unpaired, token, read+write"
	stepApproved = "connect after approve"
	stepByDevice = "connect with deviceToken only"
	stepUpgrade  = "connect token, more scopes (upgrade pending)"
	stepUpgraded = "connect after upgrade approve"
	stepTooMuch  = "connect deviceToken, more scopes (admin)"
	stepRotated  = "old device token after rotate"
)

// A recorded pairing: an unpaired device, its approval, and the next connection with
// the issued token. Nothing else has to be done in Wardroom.
func TestPairing(t *testing.T) {
	t.Parallel()
	approve := make(chan struct{})
	used := make(chan introduced, 100)
	all := recorded[map[string]pairingStep](t, "pairing.json")
	challenge := recorded[handshakes](t, "handshake.json").Challenge
	connects := 0
	g := replay(t, func(_ int, p *peer) {
		p.send(challenge)
		r := p.expect("connect")
		in := verify(t, r, challenge)
		select {
		case <-approve:
		default:
			p.answer(r, all[stepUnpaired].Response)
			p.close(all[stepUnpaired].Close.Code, all[stepUnpaired].Close.Reason)
			return
		}
		used <- in
		if connects++; connects == 1 {
			p.answer(r, all[stepApproved].Response)
			p.close(1012, "service restart")
			return
		}
		p.answer(r, all[stepByDevice].Response)
		p.gone()
	})
	c := client(t, g.asDevice())
	s := untilState(t, c, link.Unpaired)
	const command = "openclaw devices approve 2f105041-bcf7-4e68-9f8e-4bedb19ad04d"
	if s.Pairing == nil || s.Pairing.Command != command || s.Pairing.RequestID != command[25:] ||
		strings.Join(s.Pairing.Scopes, " ") != "operator.read operator.write" || !strings.Contains(s.LastError, command) || s.DeviceID == "" {
		t.Errorf("unpaired, the status is %+v, pairing %+v", s, s.Pairing)
	}
	if _, err := c.Agents(within(t)); !errors.Is(err, link.ErrUnpaired) || !strings.Contains(fault.Of(err).Detail, command) {
		t.Errorf("Agents: %v", err)
	}
	close(approve)
	s = until(t, c, "the second connection", func(s link.Status) bool {
		return s.State == link.Connected && s.Auth == "device_token"
	})
	if s.Pairing != nil || len(s.MissingScopes) != 0 {
		t.Errorf("paired, the status is %+v", s)
	}
	if first, second := <-used, <-used; first.Auth.Token != token || second.Auth.Token != "" || second.Auth.DeviceToken != all[stepApproved].issued(t) {
		t.Errorf("it showed %+v, then %+v", first.Auth, second.Auth)
	}
}

// A device token is enough, and is tried before the shared token.
func TestDeviceTokenComesFirst(t *testing.T) {
	t.Parallel()
	const given = "device-token-0123456789"
	for name, shared := range map[string]string{"alone": "", "beside a shared token": token} {
		t.Run(name, func(t *testing.T) {
			used := make(chan introduced, 10)
			g := paired(t, func(_ int, p introduced) { used <- p }, stepByDevice)
			opt := g.asDevice()
			opt.Token, opt.DeviceToken = shared, given
			c := client(t, opt)
			await(t, c)
			if p := <-used; p.Auth.DeviceToken != given || p.Auth.Token != "" {
				t.Errorf("it showed %+v", p.Auth)
			}
			if s := c.Status(); s.Auth != "device_token" {
				t.Errorf("auth = %s", s.Auth)
			}
		})
	}
}

// If a device token is rejected, the client uses the shared token and logs a warning.
func TestRefusedDeviceTokenFallsBack(t *testing.T) {
	t.Parallel()
	const given = "device-token-0123456789"
	for _, refused := range []string{stepRotated, stepTooMuch} {
		t.Run(refused, func(t *testing.T) {
			used := make(chan introduced, 10)
			g := paired(t, func(_ int, p introduced) { used <- p }, refused, stepApproved)
			opt := g.asDevice()
			opt.DeviceToken = given
			opt.Backoff = link.Backoff{Min: time.Hour, Max: time.Hour, Quick: time.Millisecond}
			await(t, client(t, opt))
			if first, second := <-used, <-used; first.Auth.DeviceToken != given || second.Auth.Token != token || second.Auth.DeviceToken != "" {
				t.Errorf("it showed %+v, then %+v", first.Auth, second.Auth)
			}
			if log := g.logged(); !strings.Contains(log, "refused the device token") {
				t.Errorf("the log is silent: %s", log)
			}
		})
	}
	t.Run("without a shared token", func(t *testing.T) {
		g := paired(t, func(int, introduced) {}, stepRotated)
		opt := g.asDevice()
		opt.Token, opt.DeviceToken = "", given
		c := client(t, opt)
		if s := untilState(t, c, link.Unauthorized); !strings.Contains(s.LastError, "AGENTRT_DEVICE_TOKEN") {
			t.Errorf("it says %q", s.LastError)
		}
	})
}

// If an issued token is rejected later, the shared token brings a new one.
func TestIssuedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	used := make(chan introduced, 10)
	g := paired(t, func(_ int, p introduced) { used <- p }, stepApproved, stepRotated, stepUpgraded, stepByDevice, stepByDevice)
	c := client(t, g.asDevice())
	until(t, c, "the fifth connection", func(s link.Status) bool { return s.State == link.Connected && g.dials() == 5 })
	all := recorded[map[string]pairingStep](t, "pairing.json")
	want := []string{token, all[stepApproved].issued(t), token, all[stepUpgraded].issued(t), all[stepByDevice].issued(t)}
	for i, w := range want {
		if p := <-used; p.Auth.Token+p.Auth.DeviceToken != w {
			t.Errorf("connection %d: it showed %+v, want %s", i+1, p.Auth, w)
		}
	}
}

// More scopes need another approval; the status shows what is already approved.
func TestScopeUpgrade(t *testing.T) {
	t.Parallel()
	g := paired(t, func(int, introduced) {}, stepUpgrade)
	opt := g.asDevice()
	opt.Scopes = []string{"operator.admin", "operator.read", "operator.write"}
	s := untilState(t, client(t, opt), link.Unpaired)
	if p := s.Pairing; p == nil || p.Command != "openclaw devices approve abbfd6b6-16e1-40cb-bf5d-2133545256eb" ||
		strings.Join(p.Scopes, " ") != "operator.admin operator.read operator.write" || strings.Join(p.ApprovedScopes, " ") != "operator.read operator.write" {
		t.Errorf("pairing = %+v", p)
	}
	if !strings.Contains(s.LastError, "is approved for operator.read, operator.write and requests operator.admin") {
		t.Errorf("it says %q", s.LastError)
	}
}

// A request's id becomes part of a command that a person runs.
func TestHostileRequestIDs(t *testing.T) {
	t.Parallel()
	all := recorded[map[string]pairingStep](t, "pairing.json")
	h := recorded[handshakes](t, "handshake.json")
	for _, id := range []string{"1; rm -rf ~", "--all", "$(reboot)", "a b", "a\nb", "ä", strings.Repeat("a", 65), ""} {
		// If the gateway only closes the connection, the id is in the close reason.
		g := replay(t, func(_ int, p *peer) {
			p.send(h.Challenge)
			r := p.expect("connect")
			p.answer(r, with(t, all[stepUnpaired].Response, "error.details.requestId", id))
		})
		s := untilState(t, client(t, g.asDevice()), link.Unpaired)
		if s.Pairing != nil || strings.Contains(s.LastError, "approve") && !strings.Contains(s.LastError, "not approved") || id != "" && strings.Contains(s.LastError, id) {
			t.Errorf("%q: %q, %+v", id, s.LastError, s.Pairing)
		}
	}
	// When the gateway only hangs up, the id is in the reason.
	g := replay(t, func(_ int, p *peer) {
		p.send(h.Challenge)
		p.expect("connect")
		p.close(all[stepUnpaired].Close.Code, all[stepUnpaired].Close.Reason)
	})
	if s := untilState(t, client(t, g.asDevice()), link.Unpaired); s.Pairing == nil || s.Pairing.RequestID != "2f105041-bcf7-4e68-9f8e-4bedb19ad04d" {
		t.Errorf("from the close: %+v", s)
	}
}

// A lockout is respected: an earlier attempt would prolong it.
func TestRateLimitIsRespected(t *testing.T) {
	t.Parallel()
	h := recorded[handshakes](t, "handshake.json")
	refused := h.Refused["wrong token, no device"].Response
	for name, path := range map[string]string{"in the error": "error.retryAfterMs", "in its details": "error.details.retryAfterMs"} {
		g := replay(t, func(_ int, p *peer) {
			p.send(h.Challenge)
			frame := with(t, refused, "error.details.code", "AUTH_RATE_LIMITED")
			p.answer(p.expect("connect"), with(t, frame, path, 300_000))
		})
		s := until(t, client(t, g.options()), "the pause", func(s link.Status) bool { return s.RetryAt != nil })
		if left := time.Until(s.RetryAt.Time); s.State != link.Unauthorized || left < 4*time.Minute || !strings.Contains(s.LastError, "5m0s") {
			t.Errorf("%s: %s, again in %s: %q", name, s.State, left, s.LastError)
		}
	}
}

// Whatever a gateway sends, no secret leaves the package: no token, issued or
// configured, and no encoding of the key.
func TestSecretsOfADevice(t *testing.T) {
	t.Parallel()
	const given = "given-device-token-0123456789"
	all := recorded[map[string]pairingStep](t, "pairing.json")
	h := recorded[handshakes](t, "handshake.json")
	issued := all[stepApproved].issued(t)
	key := ours()
	leaks := map[string]string{"the shared token": token, "the device token": given, "the issued token": issued}
	for name, b := range map[string][]byte{"the seed": key.Seed(), "the key": key} {
		leaks[name+" in hex"] = hex.EncodeToString(b)
		leaks[name+" in HEX"] = strings.ToUpper(hex.EncodeToString(b))
		leaks[name+" in base64"] = base64.StdEncoding.EncodeToString(b)
		leaks[name+" in base64url"] = base64.RawURLEncoding.EncodeToString(b)
	}
	leaks["the key as PKCS #8"] = base64.StdEncoding.EncodeToString(append([]byte("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"), key.Seed()...))
	errs := recorded[map[string]json.RawMessage](t, "errors.json")
	for name, leak := range leaks {
		t.Run(name, func(t *testing.T) {
			g := replay(t, func(n int, p *peer) {
				p.send(h.Challenge)
				r := p.expect("connect")
				switch n {
				case 1:
					p.answer(r, with(t, all[stepRotated].Response, "error.message", "no "+leak))
				case 2:
					p.answer(r, with(t, all[stepApproved].Response, "payload.server.version", leak))
					p.answer(p.expect("agents.list"), with(t, errs["unknown method"], "error.message", "no "+leak))
					p.expect("agents.list")
					p.close(1000, leak[:min(len(leak), 100)])
				default:
					p.answer(r, with(t, h.Refused["bad role"].Response, "error.message", "invalid "+leak+" "+url(leak)))
				}
			})
			opt := g.asDevice()
			opt.DeviceToken = given
			opt.Backoff = link.Backoff{Min: time.Millisecond, Max: time.Hour, Quick: time.Millisecond}
			c := client(t, opt)
			await(t, c)
			said := &bytes.Buffer{}
			fmt.Fprintf(said, "%+v\n", c.Status())
			for range 2 {
				_, err := c.Agents(within(t))
				fmt.Fprintf(said, "%v %+v\n", err, fault.Of(err))
			}
			until(t, c, "the refusal", func(s link.Status) bool { return strings.Contains(s.LastError, "connect request") })
			status, err := json.Marshal(c.Status())
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Agents(within(t))
			fmt.Fprintf(said, "%s\n%v\n%s", status, err, g.logged())
			if !strings.Contains(said.String(), "[token]") {
				t.Errorf("the leak never came: %s", said)
			}
			for what, secret := range leaks {
				if strings.Contains(said.String(), strings.TrimRight(secret, "=")) {
					t.Errorf("%s is in: %s", what, said)
				}
			}
		})
	}
}

func url(s string) string { return strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(s) }

// New rejects options that can never work.
func TestNewRefusesHalfADevice(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]link.Options{
		"a token without a key": {URL: "ws://gateway.test", DeviceToken: "device-token-0123"},
		"a short key":           {URL: "ws://gateway.test", DeviceKey: ours()[:32]},
		"a pin without TLS":     {URL: "ws://gateway.test", Pins: [][32]byte{{1}}},
	} {
		if _, err := gateway.New(opt); err == nil || strings.Contains(err.Error(), "device-token-0123") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
