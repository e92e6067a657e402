package mcp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"wardroom/internal/platform/db/dbtest"
)

// initialize is the first request of the runtime.
const initialize = `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"openclaw-bundle-mcp","version":"0.0.0"}},"jsonrpc":"2.0","id":0}`

// TestRuntimeRequests sends what the runtime sends, and wants answers that it accepts.
func TestRuntimeRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	for _, tt := range []struct {
		method, body string
		status       int
		want         string
	}{
		{http.MethodPost, initialize, http.StatusOK, `"protocolVersion":"2025-11-25"`},
		{http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted, ""},
		{http.MethodGet, "", http.StatusMethodNotAllowed, "method_not_allowed"},
		{http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusOK, `"name":"next_task"`},
		{http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`, http.StatusOK, "You are CTO"},
		{http.MethodDelete, "", http.StatusMethodNotAllowed, "method_not_allowed"},
		{http.MethodPost, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"whoami","arguments":{"x":"` + strings.Repeat("x", 1<<20) + `"}}}`, http.StatusRequestEntityTooLarge, ""},
	} {
		status, body, header := s.send(tt.method, tt.body, map[string]string{"Authorization": "Bearer cto", "MCP-Protocol-Version": runtimeVersion})
		if status != tt.status || !strings.Contains(body, tt.want) || header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s %.80s: %d %v %s; want %d with %s and no session", tt.method, tt.body, status, header, body, tt.status, tt.want)
		}
		if status == http.StatusOK && header.Get("Content-Type") != "application/json" {
			t.Errorf("%.80s: the content type is %s", tt.body, header.Get("Content-Type"))
		}
	}
}

// TestOnlyAgents wants only requests with an agent's key to reach the tools, and none from pages.
func TestOnlyAgents(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	for name, tt := range map[string]struct {
		headers map[string]string
		status  int
		code    string
	}{
		"no key":              {nil, http.StatusUnauthorized, "sign_in_required"},
		"a wrong key":         {map[string]string{"Authorization": "Bearer wrk_wrong"}, http.StatusUnauthorized, "token_invalid"},
		"the owner's key":     {map[string]string{"Authorization": "Bearer owner"}, http.StatusForbidden, "forbidden"},
		"a page":              {map[string]string{"Authorization": "Bearer cto", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden, "cross_origin"},
		"an old browser":      {map[string]string{"Authorization": "Bearer cto", "Origin": "https://evil.example"}, http.StatusForbidden, "cross_origin"},
		"a rebound name":      {map[string]string{"Authorization": "Bearer cto", "Host": "evil.example:3000"}, http.StatusForbidden, "host_unknown"},
		"the public name":     {map[string]string{"Authorization": "Bearer cto", "Host": "OPS.example.org"}, http.StatusOK, ""},
		"a name without dots": {map[string]string{"Authorization": "Bearer cto", "Host": "wardroom:3000"}, http.StatusOK, ""},
		"an IPv6 address":     {map[string]string{"Authorization": "Bearer cto", "Host": "[::1]"}, http.StatusOK, ""},
	} {
		status, body, _ := s.send(http.MethodPost, initialize, tt.headers)
		var problem struct{ Code string }
		if err := json.Unmarshal([]byte(body), &problem); err != nil || status != tt.status || problem.Code != tt.code {
			t.Errorf("%s: %d %s, %v; want %d %s", name, status, body, err, tt.status, tt.code)
		}
	}
}

// The newest version of the protocol works, too.
func TestNewestProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t, dbtest.New(t))
	s.connect("cto", "2026-07-28").call("whoami", nil, "You are CTO")
}

// A connection leaves nothing behind. It runs alone, so that the heap has nothing of other tests.
func TestConnectsLeaveTheHeapFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	s := newSite(t, dbtest.New(t))
	connect := func(n int) (heap uint64) {
		for range n {
			if status, body, _ := s.send(http.MethodPost, initialize, map[string]string{"Authorization": "Bearer cto"}); status != http.StatusOK {
				t.Fatal(status, body)
			}
		}
		http.DefaultClient.CloseIdleConnections()
		runtime.GC()
		runtime.GC() // what finalizers have freed
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := connect(1_000)
	const most = 1 << 20 // 105 bytes per connection
	if after := connect(10_000); after > before+most {
		t.Errorf("after 10,000 connections, the heap has grown from %d to %d bytes", before, after)
	} else {
		t.Logf("the heap has %d bytes, and %d after 10,000 connections", before, after)
	}
}

func (s *site) send(method, body string, headers map[string]string) (status int, text string, _ http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Host = headers["Host"]
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(got), res.Header
}
