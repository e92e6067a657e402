package gateway_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
)

// found returns the result of Find for one page of history.
func found(t *testing.T, runID string, response any) gateway.Trace {
	t.Helper()
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		p.answer(p.expect("chat.history"), response)
		p.gone()
	})
	trace, err := g.connected(t).Find(within(t), "agent:cto:main", runID)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// page returns a recorded page with other rows.
func page(t *testing.T, rows []any) map[string]any {
	t.Helper()
	h := with(t, recorded[exchange](t, "history.json").Response, "payload.messages", rows)
	return with(t, h, "payload.hasMore", false)
}

// After a restart of the gateway, only the history shows whether an agent was asked and
// has answered. A wrong reading would ask twice or use half an answer.
func TestFind(t *testing.T) {
	t.Parallel()
	h := recorded[exchange](t, "history.json")
	rows := recorded[map[string][]any](t, "rows.json")
	t.Run("answered, as recorded", func(t *testing.T) {
		want := gateway.Trace{Asked: true, Answered: true, Answer: gateway.Answer{
			RunID: "idem-standup-1", Outcome: gateway.Finished, Text: report, Usage: spent(9318, 24, 28_314_000),
			EndedAt: at(1795161590125).Time,
		}}
		if diff := cmp.Diff(want, found(t, "idem-standup-1", with(t, h.Response, "payload.hasMore", false))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("never asked", func(t *testing.T) {
		want := gateway.Trace{Answer: gateway.Answer{RunID: "another"}}
		if diff := cmp.Diff(want, found(t, "another", with(t, h.Response, "payload.hasMore", false))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("several model calls, the last visible text, the sum of the cost", func(t *testing.T) {
		const run = "spawn-1795162487574"
		got := found(t, run, page(t, rows[run]))
		if !got.Asked || !got.Answered || got.Answer.Outcome != gateway.Finished || !strings.HasPrefix(got.Answer.Text, "tool said:") {
			t.Errorf("trace = %+v", got)
		}
		if diff := cmp.Diff(spent(7072+7455, 25+103, 21_591_000+23_910_000), got.Answer.Usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	})
}

// The rows of a failed run are never taken for its answer.
func TestFindWithoutAnswer(t *testing.T) {
	t.Parallel()
	rows := recorded[map[string][]any](t, "rows.json")
	t.Run("died in the middle of its work", func(t *testing.T) {
		const run = "spawn-1795162487574"
		got := found(t, run, page(t, rows[run][:2]))
		if !got.Asked || got.Answered || got.Active || got.Answer.Outcome != "" || got.Answer.Text != "" {
			t.Errorf("trace = %+v", got)
		}
	})
	t.Run("a model call without a count leaves the sum unknown", func(t *testing.T) {
		run := slices.Clone(rows["idem-tool-1"])
		run[1] = with(t, run[1], "usage", nil)
		got := found(t, "idem-tool-1", page(t, run))
		if !got.Answered || got.Answer.Usage != nil {
			t.Errorf("trace = %+v", got)
		}
	})
	t.Run("asked, and nothing since", func(t *testing.T) {
		got := found(t, "idem-slow-1", page(t, rows["idem-slow-1"]))
		if !got.Asked || got.Answered || got.Active || got.Answer.Outcome != "" {
			t.Errorf("trace = %+v", got)
		}
	})
	t.Run("failed", func(t *testing.T) {
		got := found(t, "idem-err-1", page(t, rows["idem-err-1"]))
		if !got.Asked || got.Answered || got.Answer.Outcome != gateway.Failed || got.Answer.Text != "" || !strings.Contains(got.Answer.Error, "HTTP 400") {
			t.Errorf("trace = %+v", got)
		}
	})
	t.Run("timed out", func(t *testing.T) {
		got := found(t, "idem-slow-2", page(t, rows["idem-slow-2"]))
		if !got.Asked || got.Answered || got.Answer.Outcome != gateway.TimedOut || got.Answer.Error != "request timed out" {
			t.Errorf("trace = %+v", got)
		}
	})
	t.Run("what another agent said is no answer", func(t *testing.T) {
		theirs := with(t, rows["from another agent"][0], "__openclaw.runId", "run-1")
		if got := found(t, "run-1", page(t, []any{theirs})); got.Answered || got.Asked {
			t.Errorf("trace = %+v", got)
		}
	})
}

// A run that is in progress or queued must not be started again.
func TestFindActive(t *testing.T) {
	t.Parallel()
	rows := recorded[map[string][]any](t, "rows.json")
	for name, busy := range map[string]map[string]any{
		"named among the active":     {"sessionInfo": map[string]any{"hasActiveRun": true, "activeRunIds": []any{"idem-slow-1"}}},
		"in flight":                  {"inFlightRun": map[string]any{"runId": "idem-slow-1", "text": "so far"}},
		"waiting for its turn":       {"pendingInputs": map[string]any{"items": []any{map[string]any{"runId": "idem-slow-1"}}, "total": 1}},
		"a run that has no name":     {"sessionInfo": map[string]any{"hasActiveRun": true, "activeRunIds": nil}},
		"another run, named":         {"sessionInfo": map[string]any{"hasActiveRun": true, "activeRunIds": []any{"other"}}},
		"another run in the waiting": {"pendingInputs": map[string]any{"items": []any{map[string]any{"runId": "idem-slow-12"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			response := page(t, rows["idem-slow-1"])
			for key, v := range busy {
				response = with(t, response, "payload."+key, v)
			}
			got := found(t, "idem-slow-1", response)
			want := !strings.HasPrefix(name, "another")
			if got.Active != want || (got.Answer.Outcome == gateway.Running) != want {
				t.Errorf("trace = %+v, want active %t", got, want)
			}
		})
	}
}

// A long conversation is read backwards until the question is found, and no further.
func TestFindPages(t *testing.T) {
	t.Parallel()
	rows := recorded[map[string][]any](t, "rows.json")
	h := recorded[exchange](t, "history.json").Response
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		r := p.expect("chat.history")
		if got := string(r.Params); got != `{"sessionKey":"agent:cpo:q","limit":200,"maxChars":500000}` {
			t.Errorf("params = %s", got)
		}
		newer := with(t, h, "payload.messages", rows["idem-err-1"][1:])
		p.answer(r, with(t, newer, "payload.nextOffset", 200))
		r = p.expect("chat.history")
		if !strings.Contains(string(r.Params), `"offset":200`) {
			t.Errorf("params = %s", r.Params)
		}
		older := with(t, h, "payload.messages", rows["idem-err-1"][:1])
		p.answer(r, with(t, older, "payload.nextOffset", 400))
		p.gone()
	})
	got, err := g.connected(t).Find(within(t), "agent:cpo:q", "idem-err-1")
	if err != nil || !got.Asked || got.Answer.Outcome != gateway.Failed {
		t.Errorf("Find: %+v, %v", got, err)
	}
}

// A missing session is not an error, because the first question creates it. Any other
// rejection is.
func TestFindNoSession(t *testing.T) {
	t.Parallel()
	refusal := recorded[map[string]json.RawMessage](t, "errors.json")["unknown method"]
	for message, missing := range map[string]bool{
		"Session not found: agent:cto:standup:x": true,
		"No session found: agent:cto:standup:x":  true,
		"invalid chat.history params":            false,
	} {
		g := replay(t, func(_ int, p *peer) {
			p.greet("boot-1")
			p.answer(p.expect("chat.history"), with(t, refusal, "error.message", message))
			p.gone()
		})
		got, err := g.connected(t).Find(within(t), "agent:cto:standup:x", "q-1")
		if missing && (err != nil || got != gateway.Trace{Answer: gateway.Answer{RunID: "q-1"}}) {
			t.Errorf("%s: %+v, %v", message, got, err)
		}
		if !missing && !errors.Is(err, link.ErrRefused) {
			t.Errorf("%s: %v", message, err)
		}
	}
}
