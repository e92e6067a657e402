package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/clock"
)

// recordings contains recorded sessions of a gateway, with the breakdown of one session.
type recordings struct {
	List, Running, Subagent, Usage, Describe, Subscribe exchange

	NestedTool json.RawMessage `json:"nested tool"`
	Events     []struct {
		Event   string
		Payload json.RawMessage
	}
}

func sessionsRecorded(t *testing.T) recordings {
	t.Helper()
	return recorded[recordings](t, "sessions.json")
}

// refused returns a recorded error with another message.
func refused(t *testing.T, message string) map[string]any {
	t.Helper()
	return with(t, recorded[map[string]json.RawMessage](t, "errors.json")["unknown method"], "error.message", message)
}

func at(ms int64) clock.Time { return clock.At(time.UnixMilli(ms)) }

// listed returns the result of listing the given pages, and the sent params.
func listed(t *testing.T, most int, pages ...any) (gateway.Sessions, []string) {
	t.Helper()
	asked := make(chan string, len(pages))
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for _, page := range pages {
			r := p.expect("sessions.list")
			asked <- string(r.Params)
			p.answer(r, page)
		}
		p.gone()
	})
	list, err := g.connected(t).ListSessions(within(t), most)
	if err != nil {
		t.Fatal(err)
	}
	var params []string
	for len(asked) > 0 {
		params = append(params, <-asked)
	}
	return list, params
}

// Each filter for a kind of session finds them: the gateway calls most of them custom.
func TestKindsOfSessions(t *testing.T) {
	t.Parallel()
	row := func(key, class string) map[string]any {
		return map[string]any{"key": key, "classification": class, "kind": "direct"}
	}
	wants := map[string]map[string]any{
		"main":      row("agent:cto:main", "custom"),
		"task":      row("agent:cto:task:task-7", "custom"),
		"standup":   row("agent:cto:standup:2026-11-20:team-x", "direct"),
		"dashboard": row("agent:cto:dashboard:62a4b898", ""),
		"cron":      row("agent:cto:cron:1:run:2", "cron"),
		"subagent":  row("agent:cto:subagent:1", "subagent"),
		"heartbeat": row("agent:cto:main:heartbeat", "heartbeat"),
		"custom":    row("agent:cto:task", "custom"),
		"direct":    row("cto:task:task-7", "direct"),
	}
	for want, r := range wants {
		list, _ := listed(t, 10, map[string]any{"type": "res", "ok": true, "payload": map[string]any{"sessions": []any{r}}})
		if len(list.Rows) != 1 || list.Rows[0].Kind != want {
			t.Errorf("%s: %+v", want, list.Rows)
		}
	}
}

// Sessions are read as the gateway sends them, in each recorded form.
func TestListSessions(t *testing.T) {
	t.Parallel()
	r := sessionsRecorded(t)
	t.Run("as recorded", func(t *testing.T) {
		got, asked := listed(t, 5000, r.List.Response)
		if len(got.Rows) != 4 || got.Left != 0 {
			t.Fatalf("%d rows, %d left", len(got.Rows), got.Left)
		}
		want := gateway.Session{
			Key: "agent:coo:main", ID: "18fda8af-405d-457e-8b05-25faafd11cdb", AgentID: "coo", Kind: "main", Label: "main", Status: "done",
			Model: "stub/stub-1", Context: 10206, ContextLimit: 200_000,
			StartedAt: at(1795161521148), EndedAt: at(1795161521689), ActiveAt: at(1795161521607), UpdatedAt: at(1795161521691),
			LastMessage: got.Rows[1].LastMessage,
		}
		if diff := cmp.Diff(want, got.Rows[1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !strings.HasPrefix(want.LastMessage, "[Inter-session message] sourceSession=agent:cmo:main") {
			t.Errorf("the last message is %q", want.LastMessage)
		}
		if diff := cmp.Diff([]string{`{"limit":200,"includeLastMessage":true}`}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
	t.Run("while a run is going", func(t *testing.T) {
		got, _ := listed(t, 5000, r.Running.Response)
		run, rest := got.Rows[0], got.Rows[1]
		if !run.Active || run.Status != "running" || run.StartedAt != at(1795161592514) || !run.EndedAt.IsZero() || run.Context != 0 {
			t.Errorf("running = %+v", run)
		}
		if rest.Active || rest.Status != "done" || rest.Context != 8110 {
			t.Errorf("at rest = %+v", rest)
		}
	})
	t.Run("made by another session", func(t *testing.T) {
		got, _ := listed(t, 5000, r.Subagent.Response)
		for _, s := range got.Rows {
			if sub := strings.Contains(s.Key, ":subagent:"); sub != (s.Kind == "subagent") || sub != (s.ParentKey == "agent:cto:spawn") {
				t.Errorf("%s is of kind %q with the parent %q", s.Key, s.Kind, s.ParentKey)
			}
		}
	})
}

// answerOf returns a page with these rows.
func answerOf(t *testing.T, total int, next any, rows ...any) map[string]any {
	t.Helper()
	list := with(t, sessionsRecorded(t).List.Response, "payload.sessions", rows)
	list = with(t, list, "payload.totalCount", total)
	list = with(t, list, "payload.nextOffset", next)
	return with(t, list, "payload.hasMore", next != nil)
}

func rowOf(n int) map[string]any {
	return map[string]any{"key": fmt.Sprintf("agent:cto:%d", n), "updatedAt": 1795161500000 - n}
}

// The list misses no session, repeats none, and ends.
func TestListSessionsPages(t *testing.T) {
	t.Parallel()
	keys := func(list gateway.Sessions) (keys []string) {
		for _, s := range list.Rows {
			keys = append(keys, strings.TrimPrefix(s.Key, "agent:cto:"))
		}
		return keys
	}
	t.Run("every page, each session once, as it was last", func(t *testing.T) {
		again := with(t, rowOf(2), "status", "running")
		got, asked := listed(t, 5000, answerOf(t, 3, 2, rowOf(1), rowOf(2)), answerOf(t, 4, nil, again, rowOf(3)))
		if diff := cmp.Diff([]string{"1", "2", "3"}, keys(got)); diff != "" || got.Left != 0 {
			t.Errorf("%d left, (-want +got):\n%s", got.Left, diff)
		}
		if got.Rows[1].Status != "running" {
			t.Errorf("the second is %+v, want it as on the second page", got.Rows[1])
		}
		if len(asked) != 2 || !strings.Contains(asked[1], `"offset":2`) {
			t.Errorf("asked %q", asked)
		}
	})
	t.Run("no more than asked for, and how many are left", func(t *testing.T) {
		got, asked := listed(t, 2, answerOf(t, 9, 2, rowOf(1), rowOf(2)))
		if len(got.Rows) != 2 || got.Left != 7 || !strings.Contains(asked[0], `"limit":2`) {
			t.Errorf("%d rows, %d left, asked %q", len(got.Rows), got.Left, asked)
		}
	})
	t.Run("a gateway that goes round in circles", func(t *testing.T) {
		got, _ := listed(t, 5000, answerOf(t, 9, 2, rowOf(1), rowOf(2)), answerOf(t, 9, 2, rowOf(3)))
		if len(got.Rows) != 3 {
			t.Errorf("%d rows, want 3", len(got.Rows))
		}
	})
}

// Hostile names and unknown fields must neither reach a terminal nor break the list.
func TestListSessionsStrange(t *testing.T) {
	t.Parallel()
	got, _ := listed(t, 5000, answerOf(t, 9, nil,
		"no row", 7, nil, map[string]any{}, map[string]any{"key": "agent:cto:\x1b[2J"}, map[string]any{"key": strings.Repeat("k", 600)},
		map[string]any{"key": "agent:cto:bare"},
		map[string]any{
			"key": "agent:cto:odd", "status": 7, "label": []int{1}, "hasActiveRun": "yes", "activeRunIds": "run", "totalTokens": 5, "totalTokensFresh": false,
			"contextTokens": -5, "startedAt": "today", "updatedAt": 9e300, "endedAt": int64(9e17), "modelProvider": "p", "new member": map[string]any{},
		},
		map[string]any{
			"key": "agent:cto:hostile", "label": "a\x1b]0;b\x07\u202ec\nd", "lastMessagePreview": strings.Repeat("x", 5000),
			"status": "running", "activeRunIds": []string{"r\x00un"}, "hasActiveRun": true,
		},
	))
	want := []gateway.Session{
		{Key: "agent:cto:bare", AgentID: "cto"},
		{Key: "agent:cto:odd", AgentID: "cto"},
		{Key: "agent:cto:hostile", AgentID: "cto", Label: "a]0;bc d", Status: "running", Active: true, RunID: "run", LastMessage: strings.Repeat("x", 399) + "…"},
	}
	if diff := cmp.Diff(want, got.Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Session distinguishes a missing session from a failure.
func TestSession(t *testing.T) {
	t.Parallel()
	r := sessionsRecorded(t)
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for _, answer := range []any{
			r.Describe.Response, with(t, r.Describe.Response, "payload.session", nil),
			refused(t, "Session not found: agent:cto:x"), refused(t, "invalid sessions.describe params"),
		} {
			p.answer(p.expect("sessions.describe"), answer)
		}
		p.gone()
	})
	c := g.connected(t)
	s, ok, err := c.Session(within(t), "agent:cto:main")
	if err != nil || !ok || s.Key != "agent:cto:main" || s.Context != 9318 || s.Active {
		t.Errorf("recorded: %+v, %v, %v", s, ok, err)
	}
	for _, what := range []string{"null", "refused as unknown"} {
		if s, ok, err := c.Session(within(t), "agent:cto:x"); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", what, s, ok, err)
		}
	}
	if _, _, err := c.Session(within(t), "agent:cto:x"); !errors.Is(err, link.ErrRefused) {
		t.Errorf("refused: %v", err)
	}
}

// modelTotals returns the totals of the last model of each session, by its key.
func modelTotals(u gateway.SessionUsage) map[string]gateway.Totals {
	all := map[string]gateway.Totals{}
	for _, used := range u.Transcripts {
		for _, m := range used.Models {
			all[used.SessionKey] = m.Totals
		}
	}
	return all
}

// Amounts are exact, and missing counts or prices are not read as zero.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := sessionsRecorded(t)
	read := func(t *testing.T, response any) gateway.SessionUsage {
		t.Helper()
		g := replay(t, func(_ int, p *peer) {
			p.greet("boot-1")
			req := p.expect("sessions.usage")
			if got := string(req.Params); got != `{"agentScope":"all","range":"all","mode":"utc","limit":1000}` {
				t.Errorf("asked %s", got)
			}
			p.answer(req, response)
			p.gone()
		})
		u, err := g.connected(t).Usage(within(t))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	t.Run("as recorded", func(t *testing.T) {
		u := read(t, r.Usage.Response)
		want := gateway.Totals{Input: 159302, Output: 712, CostNanoUSD: 488_586_000, Pricing: gateway.Priced} // sent as 0.48858600000000013
		got := modelTotals(u)
		if !u.Fresh || len(u.Transcripts) != 8 || got["agent:cto:main"] != want {
			t.Errorf("fresh %v, %d transcripts, %+v, want %+v", u.Fresh, len(u.Transcripts), got["agent:cto:main"], want)
		}
		if at := u.At.UnixMilli(); at != 1795161806516 {
			t.Errorf("counted at %d", at)
		}
	})
	t.Run("still counting", func(t *testing.T) {
		if u := read(t, with(t, r.Usage.Response, "payload.cacheStatus.status", "refreshing")); u.Fresh {
			t.Error("it passes for fresh")
		}
		if u := read(t, with(t, r.Usage.Response, "payload.cacheStatus", nil)); u.Fresh {
			t.Error("without a status it passes for fresh")
		}
		// The response of a gateway without sessions.
		empty := with(t, with(t, r.Usage.Response, "payload.cacheStatus", nil), "payload.sessions", []any{})
		if u := read(t, empty); !u.Fresh || len(u.Transcripts) != 0 {
			t.Errorf("nothing to count: %+v", u)
		}
	})
	t.Run("without a time", func(t *testing.T) {
		if u := read(t, with(t, r.Usage.Response, "payload.updatedAt", "now")); !u.Fresh || !u.At.IsZero() {
			t.Errorf("fresh %v, counted at %v", u.Fresh, u.At)
		}
	})
	// Usage is counted by transcript and model, including deleted sessions.
	t.Run("by transcript and model", func(t *testing.T) {
		model := func(model, members string) string {
			return `{"provider":"p","model":"` + model + `","totals":{` + members + `}}`
		}
		row := func(id, models string) json.RawMessage {
			return json.RawMessage(`{"key":"agent:cto:cron:j:run:` + id + `","sessionId":"` + id + `","usage":{"input":9,"output":9,"lastActivity":1795161714635,"modelUsage":[` + models + `]}}`)
		}
		u := read(t, with(t, r.Usage.Response, "payload.sessions", []any{
			row("two", model("a", `"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":15,"totalCost":1e-9,"missingCostEntries":0`)+","+
				model("b", `"input":1,"output":0,"totalTokens":1,"totalCost":0,"missingCostEntries":1`)),
			row("half", model("a", `"input":1,"output":2`)+`,{"provider":"p","model":"b"}`),
			row("", model("a", `"input":1,"output":2`)),
		}))
		want := []gateway.TranscriptUsage{{
			SessionKey: "agent:cto:cron:j", SessionID: "two", AgentID: "cto", LastAt: clock.At(time.UnixMilli(1795161714635)),
			Models: []gateway.ModelTotals{
				{Provider: "p", Model: "a", Totals: gateway.Totals{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CostNanoUSD: 1, Pricing: gateway.Priced}, Other: 5},
				{Provider: "p", Model: "b", Totals: gateway.Totals{Input: 1}},
			},
		}}
		if diff := cmp.Diff(want, u.Transcripts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("rows of all kinds", func(t *testing.T) {
		usage := func(key string, members string) json.RawMessage {
			return json.RawMessage(`{"key":"` + key + `","sessionId":"t","usage":{"modelUsage":[{"totals":{` + members + `}}]}}`)
		}
		u := read(t, with(t, r.Usage.Response, "payload.sessions", []any{
			7,
			map[string]any{"key": "null", "usage": nil},
			usage("empty", ""), usage("negative", `"input":-1,"output":1`), usage("text", `"input":"1","output":1`),
			usage("some", `"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalCost":1e-9,"missingCostEntries":2`),
			usage("none", `"input":1,"output":2,"totalCost":0,"missingCostEntries":2`),
			usage("unsaid", `"input":1,"output":2,"totalCost":0`),
			usage("free", `"input":1,"output":2,"totalCost":0,"missingCostEntries":0`),
			usage("nothing", `"input":0,"output":0,"totalCost":0,"missingCostEntries":0`),
			usage("absurd", `"input":1,"output":2,"totalCost":1e40,"missingCostEntries":0`),
			usage("too dear", `"input":1,"output":2,"totalCost":1000001,"missingCostEntries":0`),
			usage("too many", `"input":1,"output":1000000000001`),
			usage("too many read", `"input":1,"output":2,"cacheRead":9223372036854775807`),
			usage("more than 64 bits", `"input":1,"output":2,"cacheWrite":1e30`),
		}))
		want := map[string]gateway.Totals{
			"some": {Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CostNanoUSD: 1, Pricing: gateway.PartlyPriced},
			"none": {Input: 1, Output: 2}, "unsaid": {Input: 1, Output: 2}, "absurd": {Input: 1, Output: 2}, "too dear": {Input: 1, Output: 2},
			"free": {Input: 1, Output: 2}, "nothing": {Pricing: gateway.Priced}, "negative": {Output: 1}, "text": {Input: 1, Output: 1},
		}
		if diff := cmp.Diff(want, modelTotals(u)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Without the subscription the gateway does not report changes outside of runs.
func TestSubscribeSessions(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("sessions.subscribe"), sessionsRecorded(t).Subscribe.Response)
		p.gone()
	})
	c := g.connected(t)
	if err := c.SubscribeSessions(within(t)); err != nil {
		t.Error(err)
	}
}

// Connection distinguishes connections.
func TestConnection(t *testing.T) {
	t.Parallel()
	again := make(chan struct{})
	g := replay(t, func(n int, p *peer) {
		p.greet(fmt.Sprint("boot-", n))
		if n == 1 {
			<-again
			return
		}
		p.gone()
	})
	c := g.connected(t)
	one, err := c.Connection()
	if same, err2 := c.Connection(); err != nil || err2 != nil || one != same {
		t.Errorf("%v, %v, %v", one, err, err2)
	}
	close(again)
	until(t, c, "the second connection", func(s link.Status) bool { return s.BootID == "boot-2" && s.State == link.Connected })
	if two, err := c.Connection(); err != nil || two == one {
		t.Errorf("the second connection is %v, %v", two, err)
	}
	none, err := gateway.New(link.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := none.Connection(); id != nil || !errors.Is(err, link.ErrNotConfigured) {
		t.Errorf("without a gateway: %v, %v", id, err)
	}
}
