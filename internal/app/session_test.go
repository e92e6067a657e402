package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"wardroom/internal/agent"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/internal/transcript"
	"wardroom/test/faults"
)

const cto = "agent:cto:main"

// ask starts a run of the CTO.
func (s *service) ask(runID, sessionKey, message string) {
	s.house.t.Helper()
	_, err := s.Gateway.Start(context.Background(), gateway.Question{RunID: runID, AgentID: "cto", SessionKey: sessionKey, Message: message})
	if err != nil {
		s.house.t.Fatal(err)
	}
}

// answered waits for the end of a run.
func (s *service) answered(runID string) {
	s.house.t.Helper()
	if a, err := s.Gateway.Wait(context.Background(), runID, atMost); err != nil || a.Outcome != gateway.Finished {
		s.house.t.Fatalf("%s: %+v, %v", runID, a, err)
	}
}

func (c caller) session(key string) session.Session {
	c.house.t.Helper()
	return decode[session.Session](c.get("/api/v1/agentrt/sessions/" + key).want(http.StatusOK))
}

func (c caller) presence(agentID string) agent.Presence {
	c.house.t.Helper()
	a := decode[agent.Agent](c.get("/api/v1/agents/" + agentID).want(http.StatusOK))
	if a.Presence == nil {
		c.house.t.Fatalf("%s has no presence", agentID)
	}
	return *a.Presence
}

// said returns the texts of a message.
func said(m transcript.Message) string {
	var texts []string
	for _, b := range m.Blocks {
		if b.Type == "text" {
			texts = append(texts, *b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// links follows the Link headers and returns all pages.
func links[T any](c caller, path string) (pages [][]T) {
	c.house.t.Helper()
	for path != "" {
		a := c.get(path).want(http.StatusOK)
		pages = append(pages, decode[[]T](a))
		path, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	}
	return pages
}

// A run appears in the session list at once, with its cost after its end, and agents and
// sessions agree.
func TestSessionsFollowTheRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.get("/api/v1/agentrt/sessions").want(http.StatusOK)
	if p := owner.presence("cto"); p.State != agent.Idle || p.Since != nil || p.Age != nil || p.AsOf.IsZero() {
		t.Errorf("before anything: %+v", p)
	}

	done := make(chan struct{})
	var once sync.Once
	finish := func() { once.Do(func() { close(done) }) }
	t.Cleanup(finish)
	h.runtime.Answer("cto", func(demo.Question) string { <-done; return "Done." })
	s.ask("run-1", cto, "What is next?")
	waitFor(t, "the active agent", func() bool { p := owner.presence("cto"); return p.State == agent.Active && p.Since != nil })
	waitFor(t, "the run's ID", func() bool { return owner.session(cto).ActiveRunID != nil })
	got := owner.session(cto)
	if !got.Active || *got.ActiveRunID != "run-1" || got.AgentID != "cto" || *got.Kind != "main" || *got.Status != "running" || *got.Model != "demo/demo-1" || got.StartedAt == nil {
		t.Errorf("while it runs: %+v", got)
	}
	p := owner.presence("cto")
	if !strings.Contains(p.Reason, cto) || p.Age == nil || !p.Since.Equal(got.StartedAt.Time) {
		t.Errorf("while it runs: %+v, since %v, want %v", p, p.Since, got.StartedAt)
	}
	if p := owner.presence("cpo"); p.State != agent.Idle {
		t.Errorf("the others: %+v", p)
	}
	active := decode[[]session.Session](owner.get("/api/v1/agentrt/sessions?active=true&agent_id=cto").want(http.StatusOK))
	if len(active) != 1 || active[0].Key != cto {
		t.Errorf("active are %+v", active)
	}

	finish()
	s.answered("run-1")
	waitFor(t, "the end of the run", func() bool { g := owner.session(cto); return !g.Active && g.CostUSD != nil })
	got = owner.session(cto)
	if *got.Status != "done" || got.ActiveRunID != nil || got.Tokens == nil || got.Tokens.Input == 0 || got.Tokens.Output == 0 || *got.CostUSD <= 0 || !*got.CostComplete ||
		got.Context == nil || *got.ContextLimit == 0 || got.LastMessage == nil || *got.LastMessage != "Done." || got.UpdatedAt == nil {
		t.Errorf("at the end: %+v", got)
	}
	waitFor(t, "the idle agent", func() bool { return owner.presence("cto").State == agent.Idle })
	if p := owner.presence("cto"); p.Since == nil || p.Age == nil || p.Since.Before(got.StartedAt.Time) {
		t.Errorf("at the end: %+v", p)
	}
	owner.get("/api/v1/agents/nobody").wantProblem(http.StatusNotFound, "agent_not_found")
}

// While the gateway is offline, requests fail at once with the reason. Afterwards
// everything recovers without help.
func TestSessionsWhileTheGatewayIsAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto")
	s.ask("run-1", cto, "What is next?")
	s.answered("run-1")
	owner.session(cto)

	if err := h.runtime.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the loss of the connection", func() bool { return owner.status().State == link.Unreachable })
	for _, path := range []string{"", "/" + cto, "/" + cto + "/messages"} {
		a := owner.get("/api/v1/agentrt/sessions"+path).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")
		if a.header.Get("Retry-After") == "" || strings.Contains(string(a.body), "last_message") {
			t.Errorf("%s: Retry-After %q, %s", path, a.header.Get("Retry-After"), a.body)
		}
	}
	waitFor(t, "the reason of now, since the loss", func() bool { // a connection attempt in between changes the reason
		p, st := owner.presence("cto"), owner.status()
		return p.State == agent.Offline && p.Since != nil && p.Since.Equal(st.Since.Time) && p.Age != nil && strings.Contains(p.Reason, st.LastError)
	})

	back, err := faults.Start(context.Background(), demo.Options{Token: gatewayToken, Addr: strings.TrimPrefix(h.raw.GatewayURL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Close() })
	waitFor(t, "the gateway to be online", func() bool { return owner.get("/api/v1/agentrt/sessions").status == http.StatusOK })
	if p := owner.presence("cto"); p.State != agent.Idle {
		t.Errorf("online again: %+v", p)
	}
	owner.get("/api/v1/agentrt/sessions/"+cto).wantProblem(http.StatusNotFound, "session_not_found") // the new runtime does not have it
	s.ask("run-2", cto, "And now?")
	s.answered("run-2")
	waitFor(t, "the new session", func() bool { return owner.get("/api/v1/agentrt/sessions/"+cto).status == http.StatusOK })
}

// Without an address, the list says that no gateway is configured.
func TestSessionsWithoutAGateway(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, func(r *config.Raw) { r.GatewayURL, r.GatewayToken = "", "" })
	owner := h.start().login(ownerEmail)
	owner.hire("cto")
	owner.get("/api/v1/agentrt/sessions").wantProblem(http.StatusServiceUnavailable, "gateway_not_configured")
	if p := owner.presence("cto"); p.State != agent.Offline || !strings.Contains(p.Reason, "Settings → Gateway") {
		t.Errorf("got %+v", p)
	}
}

// Paging back through a conversation returns each message once, even while new ones
// arrive.
func TestMessagesInPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	h.runtime.Answer("cto", func(q demo.Question) string { return "Answer to " + q.Message })
	for i := range 9 {
		id := fmt.Sprint("run-", i)
		s.ask(id, cto, id)
		s.answered(id)
	}
	path := "/api/v1/agentrt/sessions/" + cto + "/messages?limit=4"
	first := owner.get(path).want(http.StatusOK)
	s.ask("run-9", cto, "run-9")
	s.answered("run-9")
	next, _, _ := strings.Cut(strings.TrimPrefix(first.header.Get("Link"), "<"), ">")
	pages := append([][]transcript.Message{decode[[]transcript.Message](first)}, links[transcript.Message](owner, next)...)
	slices.Reverse(pages)
	var texts []string
	for _, m := range slices.Concat(pages...) {
		texts = append(texts, said(m))
		if m.Role == "assistant" && (m.Tokens == nil || m.CostUSD == nil || m.RunID == nil || m.At == nil) {
			t.Errorf("an answer is %+v", m)
		}
	}
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprint("run-", i), fmt.Sprint("Answer to run-", i))
	}
	if !slices.Equal(texts, want) {
		t.Errorf("read %q, want %q", texts, want)
	}
	if newest := decode[[]transcript.Message](owner.get(path)); said(newest[len(newest)-1]) != "Answer to run-9" {
		t.Errorf("the newest is %+v", newest[len(newest)-1])
	}
	owner.get(path+"&cursor=1WyJhIl0").wantProblem(http.StatusUnprocessableEntity, "invalid_cursor")
	owner.get("/api/v1/agentrt/sessions/agent:cto:none/messages").wantProblem(http.StatusNotFound, "session_not_found")
}

// Session keys may contain colons and other special characters, and texts may contain
// anything.
func TestSessionsStrange(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	h.runtime.Answer("cto", func(demo.Question) string {
		return "<script>alert(1)</script> \x1b[2J\x00\u202e " + gatewayToken + strings.Repeat(" long", 9000)
	})
	for i, key := range []string{"agent:cto:openai-user:a/b?c=d&e", "agent:cto:50% ä #1", "agent:cto:a//b/../c", "agent:cto:+plus"} {
		id := fmt.Sprint("strange-", i)
		s.ask(id, key, "Hello")
		s.answered(id)
		escaped := url.PathEscape(key)
		for _, way := range []string{escaped, strings.ReplaceAll(escaped, ":", "%3A")} {
			if got := owner.session(way); got.Key != key {
				t.Errorf("%s is %q", way, got.Key)
			}
			got := decode[[]transcript.Message](owner.get("/api/v1/agentrt/sessions/" + way + "/messages?limit=1").want(http.StatusOK))
			if len(got) != 1 || !strings.HasPrefix(said(got[0]), "<script>alert(1)</script> [2J [token] long") || got[0].Blocks[0].Cut == 0 || len(said(got[0])) > 20_000 {
				t.Errorf("%s: %.200v", way, got)
			}
		}
	}
	waitFor(t, "the list", func() bool {
		return len(decode[[]session.Session](owner.get("/api/v1/agentrt/sessions?status=done"))) == 4
	})
	var keys []string
	for _, p := range links[session.Session](owner, "/api/v1/agentrt/sessions?limit=1&status=done") {
		for _, g := range p {
			keys = append(keys, g.Key)
			if strings.ContainsAny(*g.LastMessage, "\x1b\x00") {
				t.Errorf("%s: %q", g.Key, *g.LastMessage)
			}
		}
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 4 {
		t.Errorf("in pages: %q", keys)
	}
	one := func(key string) []session.Session {
		return decode[[]session.Session](owner.get("/api/v1/agentrt/sessions?active=true&key=" + url.QueryEscape(key)).want(http.StatusOK))
	}
	if got := one(keys[0]); len(got) != 1 || got[0].Key != keys[0] {
		t.Errorf("by its key, %s is %v", keys[0], got)
	}
	// The dashboard asks this way, because a browser logs each 404.
	if got := one("agent:cto:none"); len(got) != 0 {
		t.Errorf("a session that does not exist is %v", got)
	}
	owner.get("/api/v1/agentrt/sessions?active=perhaps").want(http.StatusUnprocessableEntity)
	owner.get("/api/v1/agentrt/sessions/" + strings.Repeat("k", 600)).want(http.StatusUnprocessableEntity)
	owner.get("/api/v1/agentrt/sessions/a%00b").wantProblem(http.StatusBadRequest, "invalid_url")
}
