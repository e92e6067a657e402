package faults

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

const otherToken = "the-token-of-another-gateway-0123"

// unconfigured returns a running client without a gateway.
func unconfigured(t *testing.T, change ...func(*link.Options)) *gateway.Client {
	t.Helper()
	r := open(t, demo.Options{}) // only for its address, which is removed below
	none := func(o *link.Options) { o.URL, o.Token = "", "" }
	return impatient(t, r, append(change, none)...)
}

// moveTo changes the client's gateway.
func moveTo(t *testing.T, c *gateway.Client, url, token string) {
	t.Helper()
	if err := c.SetEndpoint(link.Endpoint{URL: url, Token: token, URLEditable: true, TokenEditable: true}); err != nil {
		t.Fatal(err)
	}
}

// isAt reports whether an address is the gateway's. The client replaces http by ws.
func isAt(url string, r *Runtime) bool {
	_, address, _ := strings.Cut(r.URL(), "://")
	return strings.Contains(url, "//"+address+"/")
}

// People connect, move and remove a gateway while the service runs.
func TestClientSetEndpoint(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*link.Options){"one connection": func(*link.Options) {}, "two connections": withAdmin} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := open(t, demo.Options{}), open(t, demo.Options{})
			second.ChangeToken(otherToken)
			c := unconfigured(t, change)
			in(t, c, link.NotConfigured)
			if _, err := c.Agents(t.Context()); !errors.Is(err, link.ErrNotConfigured) {
				t.Errorf("without a gateway: %v", err)
			}
			moveTo(t, c, first.URL(), token)
			eventually(t, "the first gateway", func() bool { return c.Status().State == link.Connected })
			works(t, c, "run-1")

			moveTo(t, c, second.URL(), otherToken)
			eventually(t, "the second gateway", func() bool {
				s := c.Status()
				return s.State == link.Connected && isAt(s.URL, second) && first.Connections() == 0 && second.Connections() == len(s.Connections)
			})
			works(t, c, "run-2")
			if n := first.Calls("agent"); n != 1 {
				t.Errorf("the first gateway got %d runs", n)
			}

			moveTo(t, c, second.URL(), "a-wrong-token-0123456789")
			refused := in(t, c, link.Unauthorized)
			if !strings.Contains(refused.LastError, "Settings → Gateway") || strings.Contains(refused.LastError, "AGENTRT_") {
				t.Errorf("the error sends people to the environment: %q", refused.LastError)
			}
			moveTo(t, c, second.URL(), otherToken)
			eventually(t, "the right token", func() bool { return c.Status().State == link.Connected })

			moveTo(t, c, "", "")
			in(t, c, link.NotConfigured)
			eventually(t, "the end of all connections", func() bool { return second.Connections() == 0 })
			if s := c.Status(); s.URL != "" || len(s.Connections) != 0 || s.GatewayVersion != "" || s.LastSeenAt != nil {
				t.Errorf("the status still shows the gateway: %+v", s)
			}
		})
	}
}

// An address that does not answer must not delay the next one until it times out.
func TestClientLeavesADeadAddress(t *testing.T) {
	t.Parallel()
	dead, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	c := unconfigured(t, func(o *link.Options) { o.Timeout = time.Hour })
	moveTo(t, c, "ws://"+dead.Addr().String(), "")
	peer, err := dead.Accept() // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	r := open(t, demo.Options{})
	moveTo(t, c, r.URL(), token)
	in(t, c, link.Connected)
}

// A token that a gateway issued, or that was entered for it, must not reach another one.
func TestClientTokensStayWithTheirGateway(t *testing.T) {
	t.Parallel()
	first, second := open(t, demo.Options{}), open(t, demo.Options{})
	first.RequirePairing(true)
	c, _ := clientWithEvents(t, first)
	c.SetIdentity(link.Identity{Key: keyOf(1)})
	eventually(t, "it asks", func() bool { return len(first.Pending()) == 1 })
	first.Approve(first.Pending()[0].ID)
	device := connectedAs(t, c, keyOf(1)).DeviceID
	issued := first.DeviceToken(device)

	sent := make(chan string, 100)
	second.WatchLogins(func(in demo.Login) {
		said, _ := json.Marshal(in)
		sent <- string(said)
	})
	second.ChangeToken(otherToken)
	moveTo(t, c, second.URL(), otherToken)
	eventually(t, "the second gateway", func() bool {
		s := c.Status()
		return s.State == link.Connected && isAt(s.URL, second)
	})
	// The stored identity arrives with the token of the first gateway.
	c.SetIdentity(link.Identity{Key: keyOf(1), Token: issued, Gateway: first.URL()})
	second.Drop()
	eventually(t, "another login", func() bool { return len(sent) > 1 && c.Status().State == link.Connected })
	for len(sent) > 0 {
		if said := <-sent; strings.Contains(said, issued) || strings.Contains(said, token) || !strings.Contains(said, otherToken) {
			t.Errorf("the second gateway was sent %s", said)
		}
	}
}

// A test of other settings must not change the connection, nor send them a stored token.
func TestExamineAs(t *testing.T) {
	t.Parallel()
	first, second := open(t, demo.Options{}), open(t, demo.Options{})
	second.ChangeToken(otherToken)
	c := connected(t, first)
	made, was := c.Connections(), c.Status()
	found, err := c.ExamineAs(t.Context(), link.Endpoint{URL: second.URL(), Token: otherToken})
	if err != nil || !found.Healthy || !isAt(found.URL, second) {
		t.Errorf("found %+v, %v", found, err)
	}
	found, err = c.ExamineAs(t.Context(), link.Endpoint{URL: second.URL(), URLEditable: true, TokenEditable: true})
	if err != nil || found.Healthy || found.Failure == nil || found.Failure.Layer != link.LayerAuth || strings.Contains(found.Failure.Fix, "AGENTRT_") {
		t.Errorf("without a token: %+v, %v", found.Failure, err)
	}
	if _, err := c.ExamineAs(t.Context(), link.Endpoint{URL: "gopher://x"}); err == nil {
		t.Error("it examined an invalid address")
	}
	if now := c.Status(); c.Connections() != made || now.URL != was.URL || now.State != link.Connected {
		t.Errorf("the connection changed: %+v", now)
	}
}

// An agent may quote a token that was entered in the dashboard, also after it was replaced.
func TestClientRedactsFormerTokens(t *testing.T) {
	t.Parallel()
	first, second := open(t, demo.Options{}), open(t, demo.Options{})
	second.ChangeToken(otherToken)
	second.Answer("cto", func(demo.Question) string { return "The tokens are " + token + " and " + otherToken })
	c := unconfigured(t)
	moveTo(t, c, first.URL(), token)
	in(t, c, link.Connected)
	moveTo(t, c, second.URL(), otherToken)
	eventually(t, "the second gateway", func() bool {
		s := c.Status()
		return s.State == link.Connected && isAt(s.URL, second)
	})
	if _, err := c.Start(t.Context(), gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"}); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Wait(t.Context(), "run-1", patience); err != nil || a.Text != "The tokens are [token] and [token]" {
		t.Errorf("answer: %q, %v", a.Text, err)
	}
}
