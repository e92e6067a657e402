package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// The connect request has exactly the properties that the gateway allows, and no Origin
// or X-Forwarded header.
func TestHandshake(t *testing.T) {
	t.Parallel()
	introduced := make(chan req, 1)
	g := replay(t, func(_ int, p *peer) {
		introduced <- p.greet("boot-1")
		p.gone()
	})
	c := g.connected(t)

	var got, want map[string]any
	if err := json.Unmarshal((<-introduced).Params, &got); err != nil {
		t.Fatal(err)
	}
	var was struct{ Params map[string]any }
	if err := json.Unmarshal(recorded[handshakes](t, "handshake.json").Connect, &was); err != nil {
		t.Fatal(err)
	}
	want = was.Params
	want["scopes"] = []any{"operator.read", "operator.write"}
	want["caps"] = []any{}
	want["userAgent"] = "wardroom/1.2.3"
	want["client"] = map[string]any{
		"id": "gateway-client", "mode": "backend", "platform": "linux",
		"version": "1.2.3", "displayName": "Wardroom",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the introduction (-recorded +sent):\n%s", diff)
	}
	g.mu.Lock()
	header := g.header
	g.mu.Unlock()
	for name := range header {
		if name == "Origin" || strings.HasPrefix(name, "X-Forwarded") || name == "Authorization" {
			t.Errorf("the upgrade has the header %s", name)
		}
	}

	s := c.Status()
	if s.State != link.Connected || s.LastError != "" || s.GatewayVersion != "2026.9.6" || s.Protocol != 4 ||
		s.BootID != "boot-1" || s.ConnectedAt == nil || s.RetryAt != nil || s.LatencyMS == nil || *s.LatencyMS <= 0 {
		t.Errorf("status = %+v", s)
	}
	if want := strings.Replace(g.URL, "http", "ws", 1) + "/"; s.URL != want {
		t.Errorf("url = %q, want %q", s.URL, want)
	}
	if !slices.Equal(s.ScopesGranted, s.ScopesAsked) || len(s.MissingScopes) != 0 {
		t.Errorf("scopes = %v, granted %v, missing %v", s.ScopesAsked, s.ScopesGranted, s.MissingScopes)
	}
}

// Each recorded rejection leads to the state that tells the operator what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		state link.State
		err   error
		says  string
	}{
		"wrong token, no device":    {link.Unauthorized, link.ErrUnauthorized, "AGENTRT_GATEWAY_TOKEN"},
		"wrong token, device":       {link.Unauthorized, link.ErrUnauthorized, "AGENTRT_GATEWAY_TOKEN"},
		"no auth at all, no device": {link.Unpaired, link.ErrUnpaired, "gateway's host"},
		"no auth, device":           {link.Unauthorized, link.ErrUnauthorized, "AGENTRT_GATEWAY_TOKEN"},
		"bad protocol 1..3":         {link.Unreachable, link.ErrUnreachable, "protocol 4"},
		"bad signature":             {link.Unauthorized, link.ErrUnauthorized, "could not verify the device's signature"},
		"stale signedAt":            {link.Unauthorized, link.ErrUnauthorized, "clock"},
		"wrong nonce":               {link.Unauthorized, link.ErrUnauthorized, "challenge of another connection"},
		"wrong device id":           {link.Unauthorized, link.ErrUnauthorized, "AGENTRT_DEVICE_ID"},
		"unknown client id":         {link.Unreachable, link.ErrUnreachable, "/client/id"},
		"bad role":                  {link.Unreachable, link.ErrUnreachable, "invalid role"},
		"gateway starting":          {link.Unreachable, link.ErrUnreachable, "starting"},
		"Origin header":             {link.Unreachable, link.ErrUnreachable, "proxy in between adds it"},
		"unpaired device":           {link.Unpaired, link.ErrUnpaired, "AGENTRT_DEVICE_PRIVATE_KEY"},
		"scope upgrade":             {link.Unpaired, link.ErrUnpaired, "AGENTRT_DEVICE_PRIVATE_KEY"},
		"device token, more scopes": {link.MissingScopes, link.ErrMissingScope, "AGENTRT_GATEWAY_SCOPES"},
		"bad device token":          {link.Unauthorized, link.ErrUnauthorized, "token"},
	}
	all := recorded[handshakes](t, "handshake.json")
	for name := range all.Refused {
		if _, ok := cases[name]; !ok {
			t.Errorf("%q is recorded and not tested", name)
		}
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			refused, ok := all.Refused[name]
			if !ok {
				t.Fatal("not recorded")
			}
			g := replay(t, func(_ int, p *peer) {
				p.send(all.Challenge)
				p.answer(p.expect("connect"), refused.Response)
				p.close(refused.Close.Code, refused.Close.Reason)
			})
			c := client(t, g.options())
			s := untilState(t, c, want.state)
			if !strings.Contains(s.LastError, want.says) {
				t.Errorf("it says %q, want something about %q", s.LastError, want.says)
			}
			if _, err := c.Agents(t.Context()); !errors.Is(err, want.err) {
				t.Errorf("Agents: %v, want %v", err, want.err)
			}
			noToken(t, g, c)
		})
	}
}

// Without a token the gateway asks for a device; the status must name the missing token
// instead.
func TestNoToken(t *testing.T) {
	t.Parallel()
	all := recorded[handshakes](t, "handshake.json")
	g := replay(t, func(_ int, p *peer) {
		p.send(all.Challenge)
		r := p.expect("connect")
		if strings.Contains(string(r.Params), `"auth"`) {
			t.Errorf("it sent %s", r.Params)
		}
		p.answer(r, all.Refused["no auth at all, no device"].Response)
	})
	opt := g.options()
	opt.Token = ""
	if s := untilState(t, client(t, opt), link.Unauthorized); !strings.Contains(s.LastError, "none is set") {
		t.Errorf("it says %q", s.LastError)
	}
}

// A gateway may close the connection without an error; then the close code must be
// enough.
func TestCloseBeforeHello(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code   int
		reason string
		state  link.State
		says   string
	}{
		{1008, "unauthorized: gateway token mismatch (provide gateway auth token)", link.Unauthorized, "AGENTRT_GATEWAY_TOKEN"},
		{1008, "device identity required", link.Unpaired, "paired devices"},
		{1008, "pairing required: device is not approved yet (requestId: 1)", link.Unpaired, "paired devices"},
		{1008, "device signature expired", link.Unauthorized, "clock"},
		{1008, "origin not allowed (open the Control UI)", link.Unreachable, "Origin header"},
		{1008, "slow consumer", link.Unreachable, "slow consumer"},
		{1012, "service restart", link.Unreachable, "restarting"},
		{1002, "protocol mismatch", link.Unreachable, "protocol 4"},
		{1013, "gateway starting", link.Unreachable, "restarting"},
		{1009, "", link.Unreachable, "code 1009"},
		{1000, "", link.Unreachable, "code 1000"},
		{4001, "", link.Unreachable, "access settings"},
	} {
		t.Run(fmt.Sprint(test.code, test.reason), func(t *testing.T) {
			g := replay(t, func(_ int, p *peer) {
				p.send(recorded[handshakes](t, "handshake.json").Challenge)
				p.expect("connect")
				p.close(test.code, test.reason)
			})
			c := client(t, g.options())
			if s := untilState(t, c, test.state); !strings.Contains(s.LastError, test.says) {
				t.Errorf("it says %q, want something about %q", s.LastError, test.says)
			}
			noToken(t, g, c)
		})
	}
}

// Whatever answers at the address, the status describes it and the client does not
// hang.
func TestNotAGateway(t *testing.T) {
	t.Parallel()
	html := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<h1>router</h1> "+token) }
	h := recorded[handshakes](t, "handshake.json")
	silent := func(frames ...any) func(*testing.T) string {
		return func(t *testing.T) string {
			return replay(t, func(_ int, p *peer) {
				for _, f := range frames {
					p.send(f)
				}
				p.gone()
			}).URL
		}
	}
	for name, test := range map[string]struct {
		url  func(t *testing.T) string
		says string
		via  *http.Transport
		want link.State // default: unreachable
	}{
		"a web page":        {url: serve(html), says: "answered HTTP 200"},
		"a redirect":        {url: serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login?"+token, http.StatusFound) }), says: "redirects"},
		"a busy proxy":      {url: serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }), says: "starting or stopping"},
		"a certificate":     {url: serveTLS(html, "https"), says: "not trusted", want: link.Untrusted},
		"TLS without wss":   {url: serveTLS(html, "http"), says: "requires TLS. Use wss://"},
		"wss without TLS":   {url: func(t *testing.T) string { return strings.Replace(serve(html)(t), "http", "wss", 1) }, says: "does not speak TLS"},
		"nobody":            {url: unused, says: "correct AGENTRT_GATEWAY_URL. Change settings in Wardroom's environment or .env file, then restart it."},
		"an unknown name":   {url: func(*testing.T) string { return "ws://gateway.invalid" }, says: "Could not resolve", via: failing(&net.DNSError{Err: "no such host", Name: "gateway.invalid"})},
		"a broken network":  {url: func(*testing.T) string { return "ws://gateway.invalid" }, says: "network is down " + "[token]", via: failing(errors.New("network is down " + token))},
		"no challenge":      {url: silent(), says: "did not start the handshake", want: link.Slow},
		"no hello":          {url: silent(h.Challenge), says: "did not complete the handshake", want: link.Slow},
		"a mute listener":   {url: mute, says: "accepted the connection but did not answer within", want: link.Slow},
		"TLS to a mute one": {url: func(t *testing.T) string { return strings.Replace(mute(t), "ws", "wss", 1) }, says: "accepted the connection but did not answer within", want: link.Slow},
		"a new protocol":    {url: greeting(with(t, h.Hello, "payload.protocol", 5)), says: "uses protocol 5"},
		"another greeting":  {url: greeting(with(t, h.Hello, "payload.type", "hello-again")), says: "could not read the gateway's hello-ok"},
		"a hanging up host": {url: hangUp, says: "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &replayer{t: t}
			g.Server = &httptest.Server{URL: test.url(t)}
			opt := g.options()
			opt.HTTP = test.via
			if test.want == link.Slow {
				opt.Timeout = shortTimeout
			}
			c := client(t, opt)
			if test.want == "" {
				test.want = link.Unreachable
			}
			s := untilState(t, c, test.want)
			if !strings.Contains(s.LastError, test.says) {
				t.Errorf("it says %q, want something about %q", s.LastError, test.says)
			}
			noToken(t, g, c)
		})
	}
}

// A trusted certificate works; the error for a wrong name lists the certificate's
// names.
func TestTLS(t *testing.T) {
	t.Parallel()
	g := newReplayer(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.gone()
	})
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.StartTLS()
	opt := g.options()
	trusting, ok := g.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the test server's client has no transport")
	}
	opt.HTTP = trusting
	await(t, client(t, opt))

	opt.HTTP = opt.HTTP.Clone()
	opt.HTTP.TLSClientConfig.ServerName = "gateway.example.org"
	s := untilState(t, client(t, opt), link.Untrusted)
	if !strings.Contains(s.LastError, "not for this name") || !strings.Contains(s.LastError, "example.com") {
		t.Errorf("it says %q", s.LastError)
	}
}

func serve(h http.HandlerFunc) func(*testing.T) string {
	return func(t *testing.T) string {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		return srv.URL
	}
}

func serveTLS(h http.HandlerFunc, scheme string) func(*testing.T) string {
	return func(t *testing.T) string {
		srv := httptest.NewUnstartedServer(h)
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return strings.Replace(srv.URL, "https", scheme, 1)
	}
}

func greeting(hello map[string]any) func(*testing.T) string {
	return func(t *testing.T) string {
		return replay(t, func(_ int, p *peer) {
			p.send(recorded[handshakes](t, "handshake.json").Challenge)
			p.answer(p.expect("connect"), hello)
			p.gone()
		}).URL
	}
}

func failing(err error) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
}

// unused returns an address with no listener.
func unused(t *testing.T) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "ws://" + l.Addr().String()
}

// mute returns an address that accepts connections and never sends anything.
func mute(t *testing.T) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "ws://" + l.Addr().String()
}

// hangUp returns an address that accepts connections and closes them without an answer.
func hangUp(t *testing.T) string {
	return serve(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})(t)
}

// With fewer scopes than requested, the status says so and the rest works.
func TestFewerScopes(t *testing.T) {
	t.Parallel()
	agents := recorded[exchange](t, "agents.json")
	forbidden := recorded[map[string]json.RawMessage](t, "errors.json")["missing scope"]
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1", "operator.write")
		p.answer(p.expect("agents.list"), agents.Response)
		p.answer(p.expect("chat.abort"), with(p.t, forbidden, "error.details.missingScope", "operator.admin"))
		p.answer(p.expect("chat.abort"), with(p.t, forbidden, "error.details.missingScope", "operator.questions"))
		p.gone()
	})
	opt := g.options()
	opt.Scopes = []string{"operator.read", "operator.admin"}
	c := client(t, opt)
	await(t, c)
	s := c.Status()
	if s.State != link.MissingScopes || !strings.Contains(s.LastError, "operator.admin") {
		t.Errorf("status = %s, %q", s.State, s.LastError)
	}
	// Write includes read, so only admin is missing.
	if want := []string{"operator.admin"}; !slices.Equal(s.MissingScopes, want) {
		t.Errorf("missing = %q, want %q", s.MissingScopes, want)
	}
	if _, err := c.Agents(within(t)); err != nil {
		t.Errorf("what the granted scopes cover fails: %v", err)
	}
	_, asked := c.Stop(within(t), "agent:cto:main", "run-1")
	_, never := c.Stop(within(t), "agent:cto:main", "run-1")
	for err, says := range map[error]string{asked: "did not grant", never: "Add it to AGENTRT_GATEWAY_SCOPES"} {
		f := fault.Of(err)
		if !errors.Is(err, link.ErrMissingScope) || !strings.Contains(f.Detail, says) || f.Kind != fault.Forbidden {
			t.Errorf("Stop: %v, want a missing scope that says %q", err, says)
		}
	}
	if scope := fault.Of(never).Facts["missing_scope"]; scope != "operator.questions" {
		t.Errorf("the fault names %v", scope)
	}
}

// noToken checks that nothing which left the package contains the token.
func noToken(t *testing.T, g *replayer, c *gateway.Client) {
	t.Helper()
	status, err := json.Marshal(c.Status())
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"the status": string(status), "the log": g.logged()}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, agents := c.Agents(ctx)
	_, start := c.Start(ctx, gateway.Question{RunID: "r", AgentID: "cto", Message: "hi"})
	_, wait := c.Wait(ctx, "r", 0)
	_, find := c.Find(ctx, "agent:cto:main", "r")
	_, await := c.Await(ctx)
	for name, err := range map[string]error{"Agents": agents, "Start": start, "Wait": wait, "Find": find, "Await": await} {
		if err == nil {
			t.Errorf("%s does not fail", name)
			continue
		}
		said[name] = fmt.Sprintf("%v %+v", err, fault.Of(err))
	}
	for where, text := range said {
		if strings.Contains(text, token) || strings.Contains(text, token[:12]) {
			t.Errorf("%s shows the token: %s", where, text)
		}
	}
}

// No run is started on a connection that was granted operator.admin without requesting
// it, because it would give the agent the owner tools.
func TestUnaskedAdmin(t *testing.T) {
	t.Parallel()
	for name, scopes := range map[string][]string{
		"one connection":  {"operator.read", "operator.write"},
		"two connections": {"operator.read", "operator.write", "operator.admin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := replay(t, func(_ int, p *peer) {
				p.greet("boot-1", "operator.read", "operator.write", "operator.admin")
				p.gone()
			})
			opt := g.options()
			opt.Scopes = scopes
			c := client(t, opt)
			refused := func(err error) bool {
				f := fault.Of(err)
				return f != nil && strings.Contains(f.Detail, "did not request it")
			}
			var start error
			for late := time.Now().Add(patience); !refused(start) && time.Now().Before(late); <-time.After(time.Millisecond) {
				_, start = c.Start(t.Context(), gateway.Question{RunID: "r", AgentID: "cto", Message: "hi"})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, await := c.Await(ctx); !refused(start) || !refused(await) {
				t.Errorf("Start: %v\nAwait: %v", start, await)
			}
		})
	}
}
