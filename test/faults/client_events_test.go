package faults

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

// Tests of how the gateway client handles events, texts and delays. The helpers are in
// client_test.go.

// A client must notice that the first events of a connection are missing.
func TestClientFirstEventsLost(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.LoseEvents("", true)
	c := connected(t, r)
	events, stop := c.Events(100)
	defer stop()
	ticks(r, 2)
	r.LoseEvents("", false)
	ticks(r, 1)
	for e := range events {
		if e.Name == link.EventGap && e.Resync {
			return
		}
		if e.Seq > 0 {
			t.Fatalf("%s %d comes first, and nobody hears of those before it", e.Name, e.Seq)
		}
	}
}

// Agents' names and texts reach screens and terminals, so control characters must be
// removed, while emoji stay intact.
func TestClientTextsAreClean(t *testing.T) {
	t.Parallel()
	const engineer = "👩\u200d💻"
	r := open(t, demo.Options{Agents: []demo.Agent{{ID: "cto", Name: "Ada " + engineer, Emoji: engineer, Model: "stub/stub-1"}}})
	r.Answer("cto", func(demo.Question) string { return "one " + engineer + "\n\x1b[2Jtwo\u202e\u2028three\a\x7f\tend" })
	c := connected(t, r)
	if agents, err := c.Agents(t.Context()); err != nil || agents[0].Name != "Ada "+engineer || agents[0].Emoji != engineer {
		t.Errorf("emoji in names: %+v, %v", agents, err)
	}
	if _, err := c.Start(t.Context(), gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"}); err != nil {
		t.Fatal(err)
	}
	const want = "one " + engineer + "\n[2Jtwo\nthree\tend"
	if a, err := c.Wait(t.Context(), "run-1", patience); err != nil || a.Text != want {
		t.Errorf("answer %+q, %v, want %+q", a.Text, err, want)
	}
	if found, err := c.Find(t.Context(), "agent:cto:test", "run-1"); err != nil || found.Answer.Text != want {
		t.Errorf("found %+q, %v, want %+q", found.Answer.Text, err, want)
	}
	page, err := c.Turns(t.Context(), "agent:cto:test", 10, 0)
	if err != nil || len(page.Turns) != 2 || page.Turns[1].Blocks[0].Text != want {
		t.Errorf("messages %+v, %v, want %+q", page, err, want)
	}
	r.Garble(ControlCharacters)
	agents, err := c.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{agents[0].Name, agents[0].IdentityName, agents[0].Emoji} {
		if strings.ContainsAny(text, "\x00\a\b\x1b\x7f\u0085\u200b\u202e\u2028\ufeff\n") {
			t.Errorf("steers a terminal: %+q", text)
		}
	}
}

// A client respects Retry-After, up to a limit.
func TestClientRetryAfter(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.SetPort(PortUnavailable) // Retry-After: 7
	for name, c := range map[string]struct{ most, from, to time.Duration }{
		"honoured": {30 * time.Second, 5 * time.Second, 9 * time.Second},
		"bounded":  {time.Second, 500 * time.Millisecond, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			client := impatient(t, r, func(o *link.Options) { o.Backoff.Max = c.most })
			var s link.Status
			eventually(t, "the next attempt is due", func() bool {
				s = client.Status()
				return s.RetryAt != nil
			})
			if in := time.Until(s.RetryAt.Time); in < c.from || in > c.to {
				t.Errorf("comes back in %s, want %s to %s", in, c.from, c.to)
			}
		})
	}
}

// A gateway's self-signed certificate has no host names, so the error must not suggest
// using another name.
func TestClientCertificateWithoutNames(t *testing.T) {
	t.Parallel()
	r := openTLS(t)
	s := in(t, impatient(t, r), link.Untrusted)
	for _, want := range []string{"contains no names", "AGENTRT_GATEWAY_TLS_PIN=" + s.Certificate.Fingerprint} {
		if !strings.Contains(s.LastError, want) {
			t.Errorf("says %q, want %q in it", s.LastError, want)
		}
	}
	if strings.Contains(s.LastError, "valid for") || strings.Contains(s.LastError, "not for this name") {
		t.Errorf("says %q of a certificate without names", s.LastError)
	}
}

// A client that is locked out because of other clients must not report its token as wrong.
func TestClientLockedOut(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.LockOut(time.Minute)
	s := in(t, impatient(t, r), link.Unauthorized)
	for _, want := range []string{"all clients at the address", "may be correct"} {
		if !strings.Contains(s.LastError, want) {
			t.Errorf("says %q, want %q in it", s.LastError, want)
		}
	}
}

// After a restart the gateway resumes an interrupted turn. A question that arrives in
// between never reaches the agent, so the answer of the resumed turn belongs to the first
// question.
func TestClientResumedTurn(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.Silence("cto", true)
	c := connected(t, r)
	q := gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "first"}
	if _, err := c.Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	r.Silence("cto", false)
	gate := make(chan struct{})
	r.Answer("cto", func(q demo.Question) string {
		<-gate
		return "answer to " + q.Message
	})
	r.Resume(5 * time.Second) // the client asks before the turn resumes
	made := c.Connections()
	r.Restart(0)
	eventually(t, "the next connection", func() bool { return c.Connections() > made })
	q.RunID, q.Message = "run-2", "second"
	if s, err := c.Start(t.Context(), q); err != nil || s.Answer != nil {
		t.Fatalf("asked in between: %+v, %v", s, err)
	}
	a, err := c.Wait(t.Context(), "run-2", patience)
	if err != nil || a.Outcome != gateway.Failed || !a.Overtaken || a.NotBegun {
		t.Errorf("overtaken: %+v, %v", a, err)
	}
	if s, err := c.Start(t.Context(), q); err != nil || s.Answer == nil || !s.Answer.Overtaken {
		t.Errorf("the same run id again: %+v, %v", s, err)
	}
	found, err := c.Find(t.Context(), q.SessionKey, "run-1")
	if err != nil || found.Answered || !found.Other || found.Resumed == "" {
		t.Errorf("while the turn goes on: %+v, %v", found, err)
	}
	close(gate)
	eventually(t, "the resumed turn answers", func() bool {
		found, err = c.Find(t.Context(), q.SessionKey, "run-1")
		return err == nil && found.Answered
	})
	if found.Answer.Text != "answer to first" || found.Answer.RunID != "run-1" || found.Other {
		t.Errorf("found %+v", found)
	}
	if other, err := c.Find(t.Context(), q.SessionKey, "run-2"); err != nil || other.Asked || other.Answered {
		t.Errorf("the question that was overtaken: %+v, %v", other, err)
	}
	if n := r.Asked("cto"); n != 2 {
		t.Errorf("the agent had %d turns, want the interrupted one and the resumed one", n)
	}
}
