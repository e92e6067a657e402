package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// turns returns the turns for one response of chat.history.
func turns(t *testing.T, rows []any) []gateway.Turn {
	t.Helper()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("chat.history"), page(t, rows))
		p.gone()
	})
	got, err := g.connected(t).Turns(within(t), "agent:cto:main", 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	return got.Turns
}

func says(text string) []gateway.Block { return []gateway.Block{{Kind: gateway.TextBlock, Text: text}} }

// Turns returns who said what, which tools were called with which results, and the
// cost.
func TestTurns(t *testing.T) {
	t.Parallel()
	rows := recorded[map[string][]any](t, "rows.json")
	t.Run("a tool and its result are one, as recorded", func(t *testing.T) {
		got := turns(t, rows["idem-tool-1"])
		want := []gateway.Turn{
			{ID: "767c8120-0587-4611-a21f-0d7f1835f485", Seq: 31, Role: "user", SentAs: "idem-tool-1", At: at(1795161828433), Blocks: says(`[[tool:ls {"path":"."}]] please`)},
			{
				ID: "83d6a7c7-4df1-4433-84d1-42b464832ba8", Seq: 32, Role: "assistant", RunID: "idem-tool-1", At: at(1795161835150),
				Blocks: []gateway.Block{{Kind: gateway.ToolBlock, Tool: &gateway.ToolCall{ID: "call_1795161835173", Name: "ls", Status: gateway.ToolDone, Arguments: `{"path":"."}`, Result: "(empty directory)", EndedAt: at(1795161835309)}}},
				Reason: "toolUse", Usage: spent(9824, 3, 29_517_000),
			},
			{
				ID: "25c7c52d-8e58-446c-9fc2-11cafe4165a1", Seq: 34, Role: "assistant", RunID: "idem-tool-1", At: at(1795161835325),
				Blocks: says("stub answer to: "), Reason: "stop", Usage: spent(9829, 4, 29_547_000),
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a run that failed, as recorded", func(t *testing.T) {
		got := turns(t, rows["idem-err-1"])[1]
		if !got.Failed || !strings.Contains(got.Error, "request format rejected") || len(got.Blocks) > 0 || got.Usage != nil {
			t.Errorf("%+v", got)
		}
		if got := turns(t, rows["idem-slow-2"])[1]; got.Error != "request timed out" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("what another agent said is said to this one", func(t *testing.T) {
		if got := turns(t, rows["from another agent"]); len(got) == 0 || got[0].Role != "user" || got[0].Origin != "sessions_send" || got[0].From != "agent:coo:main" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a sender whose key cannot be one is none", func(t *testing.T) {
		for _, key := range []string{strings.Repeat("k", 5000), "agent:\x00:main", ""} {
			row := with(t, rows["from another agent"][0], "provenance.sourceSessionKey", key)
			if got := turns(t, []any{row}); len(got) != 1 || got[0].From != "" || got[0].Origin != "sessions_send" {
				t.Errorf("%.20q: %+v", key, got)
			}
		}
	})
	t.Run("a tool that a tool called, as recorded", func(t *testing.T) {
		got := turns(t, []any{sessionsRecorded(t).NestedTool})
		if len(got) != 1 || len(got[0].Blocks) != 1 {
			t.Fatalf("%+v", got)
		}
		call := got[0].Blocks[0].Tool
		if call.Name != "sessions_spawn" || call.Status != gateway.ToolDone || !strings.Contains(call.Result, `"status": "accepted"`) || !json.Valid([]byte(call.Arguments)) {
			t.Errorf("%+v", call)
		}
	})
	t.Run("calls without a result, failed ones, and results without a call", func(t *testing.T) {
		tool := rows["idem-tool-1"]
		got := turns(t, []any{tool[1]})
		if len(got) != 1 || got[0].Blocks[0].Tool.Status != gateway.ToolPending {
			t.Errorf("without a result: %+v", got)
		}
		got = turns(t, []any{tool[1], with(t, tool[2], "isError", true)})
		if len(got) != 1 || got[0].Blocks[0].Tool.Status != gateway.ToolFailed {
			t.Errorf("failed: %+v", got)
		}
		got = turns(t, []any{tool[2]})
		if len(got) != 1 || got[0].Role != "tool" || *got[0].Blocks[0].Tool != (gateway.ToolCall{ID: "call_1795161835173", Name: "ls", Status: gateway.ToolDone, Result: "(empty directory)", EndedAt: at(1795161835309)}) {
			t.Errorf("without its call: %+v", got)
		}
	})
	t.Run("an amount of nothing for something is no price", func(t *testing.T) {
		row := with(t, rows["idem-tool-1"][3], "usage.cost.total", json.Number("0"))
		if got := turns(t, []any{row}); got[0].Usage == nil || got[0].Usage.CostNanoUSD != nil || got[0].Usage.Input != 9829 {
			t.Errorf("%+v", got[0].Usage)
		}
	})
}

// A message that waits for a working agent must not be lost from view.
func TestPendingMessages(t *testing.T) {
	t.Parallel()
	item := func(id, state string) map[string]any {
		return map[string]any{"id": "p-" + id, "runId": id, "acceptedAt": 1795161828433, "state": state, "message": map[string]any{
			"role": "user", "content": "Text of " + id + "\u202e", "timestamp": 1, "__openclaw": map[string]any{"id": "pending-input:p-" + id},
		}}
	}
	read := func(pending any, offset int64) []gateway.Pending {
		g := replay(t, func(_ int, p *peer) {
			p.greet("boot-1")
			p.answer(p.expect("chat.history"), with(t, page(t, nil), "payload.pendingInputs", pending))
			p.gone()
		})
		got, err := g.connected(t).Turns(within(t), "agent:cto:main", 100, offset)
		if err != nil {
			t.Fatal(err)
		}
		return got.Pending
	}
	list := map[string]any{"items": []any{7, item("one", "queued"), item("two", "cancelled"), item("three", "interrupted")}, "total": 3}
	want := []gateway.Pending{}
	for i, id := range []string{"one", "two", "three"} {
		want = append(want, gateway.Pending{
			Turn:    gateway.Turn{ID: "p-" + id, Role: "user", SentAs: id, At: at(1795161828433), Blocks: says("Text of " + id)},
			Dropped: i > 0,
		})
	}
	if diff := cmp.Diff(want, read(list, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, strange := range []any{nil, 7, "x", []any{}, map[string]any{"items": 7}, map[string]any{"items": []any{map[string]any{"message": 7}}}} {
		if got := read(strange, 0); len(got) > 0 {
			t.Errorf("%v: %+v", strange, got)
		}
	}
	if got := read(list, 10); len(got) > 0 {
		t.Errorf("on an older page: %+v", got)
	}
}

// An agent's texts must not contain control characters or hidden text, use up the
// memory, or break the conversation.
func TestTurnsStrange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 20_001)
	got := turns(t, []any{
		7, nil, "text",
		map[string]any{"role": 7, "content": 7, "timestamp": "now", "usage": "much", "__openclaw": []int{}},
		map[string]any{"role": "assistant", "content": "a\r\nb\tc\x1b[31m\u0007\u202ed\u0000" + token},
		map[string]any{"role": "assistant", "content": long},
		map[string]any{"role": "assistant", "content": []any{7, map[string]any{"type": "text", "text": "seen"}, map[string]any{"type": "thinking", "thinking": "hidden"}, map[string]any{"type": 7}}},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "toolCall", "name": "x\x1b", "arguments": map[string]any{"a": strings.Repeat("y", 9000)}}}},
	})
	texts := make([]string, len(got))
	for i, g := range got {
		for _, b := range g.Blocks {
			if b.Kind == gateway.TextBlock {
				texts[i] += b.Text
			}
		}
	}
	if want := []string{"", "a\nb\tc[31md[token]", long[:40_000], "seen", ""}; !slices.Equal(texts, want) {
		t.Errorf("%.200q", texts)
	}
	if got[1].Blocks[0].Cut != 0 || got[2].Blocks[0].Cut != 1 {
		t.Error("what was longer does not say so, or what was not does")
	}
	if got[3].Blocks[1] != (gateway.Block{Kind: gateway.ThinkingBlock, Text: "hidden"}) {
		t.Errorf("%+v", got[3].Blocks)
	}
	if call := got[4].Blocks[0].Tool; call.Name != "x" || len(call.Arguments) != 4000 || call.ArgumentsCut != 5008 {
		t.Errorf("%+v", call)
	}
}

// A missing session has no messages; a rejection is an error.
func TestTurnsNoSession(t *testing.T) {
	t.Parallel()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("chat.history"), refused(t, "Session not found: agent:cto:x"))
		p.answer(p.expect("chat.history"), refused(t, "invalid chat.history params"))
		p.gone()
	})
	c := g.connected(t)
	if got, err := c.Turns(within(t), "agent:cto:x", 10, 0); err != nil || len(got.Turns) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Turns(within(t), "agent:cto:x", 10, 0); !errors.Is(err, link.ErrRefused) {
		t.Error(err)
	}
}

// transcript serves pages as the gateway does: the offset counts from the newest row.
type transcript struct{ rows []any }

func (s *transcript) say(t *testing.T, role string, more ...any) {
	t.Helper()
	row := map[string]any{"role": role, "content": fmt.Sprint("row ", len(s.rows)+1), "__openclaw": map[string]any{"seq": len(s.rows) + 1, "id": fmt.Sprint(len(s.rows) + 1)}}
	for i := 0; i < len(more); i += 2 {
		name, ok := more[i].(string)
		if !ok {
			t.Fatal("a name is no text")
		}
		row[name] = more[i+1]
	}
	s.rows = append(s.rows, row)
}

func (s *transcript) page(t *testing.T, r req) map[string]any {
	t.Helper()
	var p struct{ Limit, Offset int }
	if err := json.Unmarshal(r.Params, &p); err != nil {
		t.Error(err)
	}
	to := max(len(s.rows)-p.Offset, 0)
	from := max(to-p.Limit, 0)
	h := page(t, s.rows[from:to])
	h = with(t, h, "payload.totalMessages", len(s.rows))
	if from > 0 {
		h = with(t, h, "payload.hasMore", true)
		h = with(t, h, "payload.nextOffset", len(s.rows)-from)
	}
	return h
}

// Scrolling back while the agent writes returns every row once, and each result with
// its call, wherever the pages begin.
func TestTurnsBefore(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 7; limit++ {
		t.Run(fmt.Sprint("pages of ", limit), func(t *testing.T) { scrollBack(t, limit, 3) })
	}
	t.Run("while the agent talks faster than anybody can read", func(t *testing.T) { scrollBack(t, 3, 1) })
}

// scrollBack reads a transcript to which a row is added after every grows-th page.
func scrollBack(t *testing.T, limit, grows int) {
	t.Helper()
	s := &transcript{}
	for i := range 6 {
		call := fmt.Sprint("call-", i)
		s.say(t, "user")
		s.say(t, "assistant", "content", []any{map[string]any{"type": "toolCall", "id": call, "name": "ls"}})
		s.say(t, "toolResult", "toolCallId", call, "toolName", "ls")
		s.say(t, "assistant")
	}
	before := len(s.rows)
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		for n := 0; ; n++ {
			r := p.expect("chat.history")
			p.answer(r, s.page(t, r))
			if n%grows == 0 {
				s.say(t, "assistant") // the transcript grows
			}
		}
	})
	c := g.connected(t)
	p, err := c.Turns(within(t), "agent:cto:main", limit, 0)
	var seen []int64
	for pages := 0; ; pages++ {
		if pages > 100 {
			t.Fatalf("it does not end; read %v", seen)
		}
		if err != nil {
			t.Fatal(err)
		}
		var seqs []int64
		for _, turn := range p.Turns {
			seqs = append(seqs, turn.Seq)
			if limit > 1 && (turn.Role == "tool" || len(turn.Blocks) > 0 && turn.Blocks[0].Tool != nil && turn.Blocks[0].Tool.Status != gateway.ToolDone) {
				t.Errorf("the result of a call was torn off: %+v", turn)
			}
		}
		if len(seqs) == 0 && grows > 1 {
			t.Errorf("an empty page before %v", seen)
		}
		seen = slices.Concat(seqs, seen)
		if p.Older == 0 {
			break
		}
		p, err = c.TurnsBefore(within(t), "agent:cto:main", limit, p.Older, p.Total, seen[0])
	}
	var want []int64
	for seq := range int64(before) {
		if (seq+1)%4 != 3 || limit == 1 { // results are merged into their calls
			want = append(want, seq+1)
		}
	}
	if !slices.Equal(seen, want) {
		t.Errorf("read %v, want %v", seen, want)
	}
}
