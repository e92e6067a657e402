package faults

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// examined returns the doctor's findings for the given settings.
func examined(t *testing.T, o link.Options) link.Examination {
	t.Helper()
	c, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var told []link.Step
	found, err := c.Examine(t.Context(), func(s link.Step) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	checkExamination(t, found)
	data, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{o.Token, o.DeviceToken} {
		if secret != "" && strings.Contains(string(data), secret) {
			t.Errorf("the examination shows a secret: %s", data)
		}
	}
	if len(told) < len(found.Steps) {
		t.Errorf("%d steps were told of %d", len(told), len(found.Steps))
	}
	return found
}

// checkExamination checks what must hold for every examination: at most one failure, with a cause and
// a fix, and later checks are skipped.
func checkExamination(t *testing.T, found link.Examination) {
	t.Helper()
	if len(found.Steps) != len(link.Layers()) {
		t.Fatalf("%d layers", len(found.Steps))
	}
	failed := link.Layer("")
	for i, s := range found.Steps {
		if s.Layer != link.Layers()[i] {
			t.Errorf("layer %d is %s", i, s.Layer)
		}
		switch {
		case failed != "" && s.State != link.StepNotReached:
			t.Errorf("%s is %s behind the failure", s.Layer, s.State)
		case s.State == link.StepFailed:
			failed = s.Layer
		case failed == "" && s.State == link.StepNotReached && found.Configured:
			t.Errorf("%s was not reached, and nothing failed before", s.Layer)
		case (s.State == link.StepNotReached) != (s.Saw == ""):
			t.Errorf("%s is %s and says %q", s.Layer, s.State, s.Saw)
		}
	}
	switch f := found.Failure; {
	case f == nil && failed != "", f != nil && (f.Layer != failed || f.Cause == "" || f.Fix == ""):
		t.Errorf("failed at %q: %+v", failed, f)
	case found.Healthy != (f == nil && found.Configured):
		t.Errorf("healthy is %t with %+v", found.Healthy, f)
	}
}

// deviceKey returns the key pair of these tests.
func deviceKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed([]byte(strings.Repeat("d", 32))) }

// listener serves every connection to a new port with the given function.
func listener(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	return "ws://" + ln.Addr().String()
}

// closedPort returns an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "ws://" + ln.Addr().String()
}

// proxyWithoutUpgrades returns the address of a proxy that forwards requests but not upgrades.
func proxyWithoutUpgrades(t *testing.T, r *Runtime) string {
	t.Helper()
	to, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	via := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{Transport: via, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Header.Del("Upgrade")
		p.Out.Header.Del("Connection")
	}}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "http", "ws", 1)
}

// unresolved returns a transport whose resolver finds no name.
func unresolved() *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "gateway.invalid", IsNotFound: true}
	}}
}

// expired serves an expired certificate of a trusted authority.
func expired(t *testing.T, o *link.Options) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	leaf := s.Certificate()
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	o.URL, o.Roots = strings.Replace(s.URL, "https", "wss", 1), pool
	// Moving the clock forward makes the certificate expire.
	after := func() time.Time { return leaf.NotAfter.Add(time.Hour) }
	o.HTTP = &http.Transport{TLSClientConfig: &tls.Config{Time: after, MinVersion: tls.VersionTLS12}}
}

// doctorCase is a fault that prevents a connection, and what the doctor must report.
type doctorCase struct {
	secure bool // the gateway serves with TLS
	inject func(t *testing.T, r *Runtime, o *link.Options)
	layer  link.Layer
	cause  string
	fix    string
}

// fingerprints returns fingerprints that match no certificate.
func fingerprints(n byte) [][32]byte { return [][32]byte{{n}} }

// networkCases returns the faults below the gateway's handshake.
func networkCases() map[string]doctorCase {
	front := func(d PortMode) func(*testing.T, *Runtime, *link.Options) {
		return func(_ *testing.T, r *Runtime, _ *link.Options) { r.SetPort(d) }
	}
	mute := func(_ *testing.T, r *Runtime, o *link.Options) { r.SetPort(PortSilent); o.Timeout = shortTimeout }
	address := func(at func(t *testing.T) string) func(*testing.T, *Runtime, *link.Options) {
		return func(t *testing.T, _ *Runtime, o *link.Options) { o.URL = at(t) }
	}
	says := func(text string) func(*testing.T) string {
		return func(t *testing.T) string {
			return listener(t, func(c net.Conn) {
				_, _ = c.Write([]byte(text)) // the client may be gone
				_, _ = c.Read(make([]byte, 4096))
			})
		}
	}
	return map[string]doctorCase{
		"a name that does not exist": {
			inject: func(_ *testing.T, _ *Runtime, o *link.Options) {
				o.URL, o.HTTP = "ws://gateway.invalid:18789", unresolved()
			},
			layer: link.LayerDNS, cause: "Could not resolve the name gateway.invalid", fix: "AGENTRT_GATEWAY_URL",
		},
		"nothing listens":                       {inject: address(closedPort), layer: link.LayerTCP, cause: "connection refused", fix: "Start the gateway"},
		"the port of something else":            {inject: address(says("SSH-2.0-OpenSSH_9.9\r\n")), layer: link.LayerHTTP, cause: "does not speak HTTP", fix: "correct the port"},
		"the port of another web server":        {inject: front(PortWebPage), layer: link.LayerUpgrade, cause: "answered HTTP 200 instead of opening a WebSocket", fix: "AGENTRT_GATEWAY_URL"},
		"ws:// to a gateway with TLS":           {secure: true, inject: func(_ *testing.T, r *Runtime, o *link.Options) { o.URL = strings.Replace(r.URL(), "https", "ws", 1) }, layer: link.LayerTLS, cause: "requires TLS", fix: "AGENTRT_GATEWAY_URL=wss://127."},
		"wss:// to a gateway without TLS":       {inject: func(_ *testing.T, r *Runtime, o *link.Options) { o.URL = strings.Replace(r.URL(), "http", "wss", 1) }, layer: link.LayerTLS, cause: "does not speak TLS", fix: "Use ws://"},
		"a certificate that nobody vouches for": {secure: true, layer: link.LayerTLS, cause: "is not trusted", fix: "set AGENTRT_GATEWAY_TLS_PIN="},
		"another certificate than the pinned one": {
			secure: true, inject: func(_ *testing.T, _ *Runtime, o *link.Options) { o.Pins = fingerprints(7) },
			layer: link.LayerTLS, cause: "does not match AGENTRT_GATEWAY_TLS_PIN", fix: "Compare the fingerprint",
		},
		"an expired certificate":               {inject: func(t *testing.T, _ *Runtime, o *link.Options) { expired(t, o) }, layer: link.LayerTLS, cause: "it is valid only from", fix: "AGENTRT_GATEWAY_TLS_PIN="},
		"a gateway that is starting":           {inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Starting(true) }, layer: link.LayerHTTP, cause: "is starting", fix: "Wait"},
		"a proxy that knows no upgrades":       {inject: func(t *testing.T, r *Runtime, o *link.Options) { o.URL = proxyWithoutUpgrades(t, r) }, layer: link.LayerUpgrade, cause: "instead of opening a WebSocket", fix: "supports WebSockets"},
		"a proxy whose gateway is away":        {inject: front(PortBadGateway), layer: link.LayerHTTP, cause: "the gateway behind it is unavailable (HTTP 502)", fix: "Start the gateway"},
		"a proxy that cannot take more":        {inject: front(PortUnavailable), layer: link.LayerHTTP, cause: "HTTP 503", fix: "Wait"},
		"a redirect":                           {inject: front(PortRedirect), layer: link.LayerHTTP, cause: "redirects", fix: "to the gateway's own address"},
		"a proxy that the gateway distrusts":   {inject: front(PortProxyRefused), layer: link.LayerHTTP, cause: "rejected the proxy", fix: "gateway.trustedProxies"},
		"a listener that says nothing":         {inject: mute, layer: link.LayerHTTP, cause: "did not answer within 3s", fix: "load of the gateway's host"},
		"a listener that says nothing to TLS":  {secure: true, inject: mute, layer: link.LayerTLS, cause: "did not answer within 3s", fix: "load of the gateway's host"},
		"somebody who hangs up":                {inject: front(PortReset), layer: link.LayerHTTP, cause: "closed the connection", fix: "gateway.trustedProxies"},
		"a gateway that takes and is frozen":   {inject: func(_ *testing.T, r *Runtime, o *link.Options) { r.Freeze(true); o.Timeout = shortTimeout }, layer: link.LayerHTTP, cause: "did not answer within", fix: "load of the gateway's host"},
		"an upgrade that is torn in its midst": {inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Tear("connect.challenge", true) }, layer: link.LayerChallenge, cause: "closed the connection: it did not start the handshake", fix: "its log"},
	}
}

// handshakeCases returns the faults in the gateway's handshake and above it.
func handshakeCases() map[string]doctorCase {
	as := func(r *Runtime, o *link.Options) { r.RequirePairing(true); o.DeviceKey = deviceKey() }
	return map[string]doctorCase{
		"a wrong token": {
			inject: func(_ *testing.T, _ *Runtime, o *link.Options) { o.Token = "another-token-of-some-length" },
			layer:  link.LayerAuth, cause: "rejected the shared token", fix: "gateway.auth.token",
		},
		"no token": {
			inject: func(_ *testing.T, _ *Runtime, o *link.Options) { o.Token = "" },
			layer:  link.LayerAuth, cause: "requires a token, but none is set", fix: "Set AGENTRT_GATEWAY_TOKEN",
		},
		"a lock-out": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.LockOut(time.Minute) },
			layer:  link.LayerAuth, cause: "locked out this address", fix: "other clients at this address",
		},
		"a device that is not approved": {
			inject: func(_ *testing.T, r *Runtime, o *link.Options) { as(r, o) },
			layer:  link.LayerPairing, cause: "is waiting for approval", fix: "openclaw devices approve ",
		},
		"no device where one is wanted": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.RequirePairing(true) },
			layer:  link.LayerPairing, cause: "only paired devices", fix: "AGENTRT_DEVICE_PRIVATE_KEY",
		},
		"a device that is approved for less": {inject: func(t *testing.T, r *Runtime, o *link.Options) {
			as(r, o)
			pair(t, r, *o)
			o.Scopes = append(o.Scopes, scopeAdmin)
		}, layer: link.LayerPairing, cause: "is approved for operator.read, operator.write and requests", fix: "openclaw devices approve "},
		"a scope that is withheld": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Withhold(scopeWrite) },
			layer:  link.LayerScopes, cause: "granted operator.read, but not operator.write. Needed for: sending questions to agents", fix: "AGENTRT_GATEWAY_SCOPES=operator.read",
		},
		"a newer protocol": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.SetProtocol(5) },
			layer:  link.LayerProtocol, cause: "uses protocol 5, but Wardroom needs 4", fix: "update Wardroom",
		},
		"an older protocol": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.SetProtocol(3) },
			layer:  link.LayerProtocol, cause: "uses protocol 3, but Wardroom needs 4", fix: "update the gateway",
		},
		"a handshake that is not answered": {
			inject: func(_ *testing.T, r *Runtime, o *link.Options) { r.Hang("connect", true); o.Timeout = shortTimeout },
			layer:  link.LayerAuth, cause: "did not complete the handshake within 3s", fix: "AGENTRT_GATEWAY_TIMEOUT_MS",
		},
		"a gateway that answers late": {
			inject: func(_ *testing.T, r *Runtime, o *link.Options) {
				r.Lag("agents.list", time.Minute)
				o.Timeout = shortTimeout
			},
			layer: link.LayerMethods, cause: "did not answer a simple request within 3s", fix: "load of the gateway's host",
		},
		"a missing method": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.RemoveMethods("cron.run", "sessions.describe") },
			layer:  link.LayerMethods, cause: "does not have sessions.describe, cron.run", fix: "Update the gateway",
		},
		"a greeting that makes no sense": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Garble(WrongTypes) },
			layer:  link.LayerProtocol, cause: "could not read the gateway's hello-ok", fix: "whichever is older",
		},
		"a connection that breaks with the first answer": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Tear("agents.list", true) },
			layer:  link.LayerMethods, cause: "The connection was lost before the gateway answered", fix: "gateway's log",
		},
		"silence where events should be": {
			inject: func(_ *testing.T, r *Runtime, _ *link.Options) { r.MuteEvents(true) },
			layer:  link.LayerEvents, cause: "sent no event within", fix: "Restart the gateway",
		},
	}
}

// pair approves the device of o.
func pair(t *testing.T, r *Runtime, o link.Options) {
	t.Helper()
	c := impatient(t, r, func(mine *link.Options) { mine.DeviceKey = o.DeviceKey })
	in(t, c, link.Unpaired)
	for _, p := range r.Pending() {
		if !r.Approve(p.ID) {
			t.Fatal("not approved")
		}
	}
	in(t, c, link.Connected)
}

// The doctor must name the failing layer and a fix. A wrong layer sends the user to the
// wrong host.
func TestDoctorFindsTheFault(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]doctorCase{networkCases(), handshakeCases()} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := ticking(t, test.secure)
				o := link.Options{URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite}, Timeout: 5 * time.Second}
				if test.inject != nil {
					test.inject(t, r, &o)
				}
				found := examined(t, o)
				f := found.Failure
				if f == nil {
					t.Fatalf("it finds nothing: %+v", found.Steps)
				}
				if f.Layer != test.layer || !strings.Contains(f.Cause, test.cause) || !strings.Contains(f.Fix, test.fix) {
					t.Errorf("it fails at %s: %s\nfix: %s\nwant %s: %s\nfix: %s", f.Layer, f.Cause, f.Fix, test.layer, test.cause, test.fix)
				}
				if strings.Contains(f.Fix, "AGENTRT_") && !strings.Contains(f.Fix, "restart") || strings.Contains(f.Fix, "/api/") {
					t.Errorf("nobody who looks at a dashboard finds out where to do that: %s", f.Fix)
				}
			})
		}
	}
}

// net/http words an error differently depending on whether the server speaks before or
// after the request is written. A few attempts produce either.
func TestDoctorKnowsWhoSpeaksFirst(t *testing.T) {
	t.Parallel()
	r := ticking(t, false)
	o := link.Options{URL: r.URL(), Token: token, Timeout: 5 * time.Second}
	networkCases()["the port of something else"].inject(t, r, &o)
	for range 100 {
		if f := examined(t, o).Failure; f == nil || f.Layer != link.LayerHTTP || !strings.Contains(f.Cause, "does not speak HTTP") {
			t.Fatalf("it finds %+v", f)
		}
	}
}

// The doctor must not report faults in a working gateway.
func TestDoctorPassesHealthyConnections(t *testing.T) {
	t.Parallel()
	fingerprint := func(r *Runtime) [][32]byte {
		var sum [32]byte
		for i := range sum {
			sum[i] = unhex(r.Fingerprint()[2*i])<<4 | unhex(r.Fingerprint()[2*i+1])
		}
		return [][32]byte{sum}
	}
	for name, test := range map[string]struct {
		secure bool // the gateway serves with TLS
		change func(t *testing.T, r *Runtime, o *link.Options)
		warns  string
	}{
		"a gateway on this host":              {},
		"a gateway with a pinned certificate": {secure: true, change: func(_ *testing.T, r *Runtime, o *link.Options) { o.Pins = fingerprint(r) }},
		"a certificate that is not checked":   {secure: true, change: func(_ *testing.T, _ *Runtime, o *link.Options) { o.InsecureTLS = true }, warns: "AGENTRT_GATEWAY_INSECURE_TLS"},
		"a paired device": {change: func(t *testing.T, r *Runtime, o *link.Options) {
			r.RequirePairing(true)
			o.DeviceKey = deviceKey()
			pair(t, r, *o)
		}},
		"a device's token that was replaced, and a shared one": {change: func(t *testing.T, r *Runtime, o *link.Options) {
			r.RequirePairing(true)
			o.DeviceKey = deviceKey()
			pair(t, r, *o)
			o.DeviceToken = "a-device-token-of-another-day"
		}, warns: "rejected the device token"},
		"a clock that is ahead":  {change: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Skew(10 * time.Minute) }, warns: "10m0s ahead of this host's. The connection works"},
		"a clock that is behind": {change: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Skew(-3 * time.Hour) }, warns: "3h0m0s behind this host's"},
		"a clock that is wrong, and a device": {change: func(t *testing.T, r *Runtime, o *link.Options) {
			r.Skew(-time.Hour)
			r.RequirePairing(true)
			o.DeviceKey = deviceKey()
			pair(t, r, *o)
		}, warns: "1h0m0s behind"},
		"unknown members and events":  {change: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Garble(ExtraMembers, UnknownEvent, StrayAnswer) }},
		"missing members":             {change: func(_ *testing.T, r *Runtime, _ *link.Options) { r.Garble(MissingMembers) }},
		"no more scopes than to read": {change: func(_ *testing.T, _ *Runtime, o *link.Options) { o.Scopes = []string{scopeRead} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ticking(t, test.secure)
			o := link.Options{URL: r.URL(), Token: token, Scopes: []string{scopeRead, scopeWrite}, Timeout: 5 * time.Second}
			if test.change != nil {
				test.change(t, r, &o)
			}
			found := examined(t, o)
			if !found.Healthy {
				t.Fatalf("it finds %+v", found.Failure)
			}
			var warned []string
			for _, w := range found.Warnings {
				warned = append(warned, w.Cause)
				if w.Fix == "" {
					t.Errorf("no fix for %q", w.Cause)
				}
			}
			if got := strings.Join(warned, "\n"); (test.warns == "") != (got == "") || !strings.Contains(got, test.warns) {
				t.Errorf("it warns %q, want %q", got, test.warns)
			}
		})
	}
}

func unhex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// Without a gateway the doctor reports nothing and makes no connection.
func TestDoctorWithoutGateway(t *testing.T) {
	t.Parallel()
	found := examined(t, link.Options{})
	if found.Configured || found.Healthy || found.Failure != nil {
		t.Errorf("found %+v", found)
	}
}

// Twenty concurrent examinations share one run, and the service's connection is not
// affected.
func TestDoctorIsSharedAndDisturbsNobody(t *testing.T) {
	t.Parallel()
	r := ticking(t, false)
	c := connected(t, r)
	made := c.Connections()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			found, err := c.Examine(t.Context(), nil)
			if err != nil || !found.Healthy {
				t.Errorf("found %+v, %v", found.Failure, err)
			}
		})
	}
	all.Wait()
	if n := r.Calls("connect"); n != 2 {
		t.Errorf("the gateway was connected with %d times, want 2: the service and one examination", n)
	}
	if s := c.Status(); c.Connections() != made || s.State != link.Connected || s.Failures != 0 {
		t.Errorf("the service's connection: %+v", s)
	}
	works(t, c, "run-1")
	eventually(t, "only the service is connected", func() bool { return r.Connections() == 1 })
}

// A caller that goes away must not prevent the next one from getting an answer.
func TestDoctorWhoLeaves(t *testing.T) {
	t.Parallel()
	r := ticking(t, false)
	r.SetPort(PortSilent)
	c, err := gateway.New(link.Options{URL: r.URL(), Token: token, Scopes: []string{scopeRead}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.Examine(ctx, nil)
		left <- err
	}()
	eventually(t, "it is being examined", func() bool { return r.heldAtPort.Load() > 0 })
	hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Examine(hurried, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits for their turn: %v", err)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	r.Heal()
	if found, err := c.Examine(t.Context(), nil); err != nil || !found.Healthy {
		t.Errorf("who came after: %+v, %v", found.Failure, err)
	}
}
