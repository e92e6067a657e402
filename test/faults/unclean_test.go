package faults

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
)

// Clients are tested with these values, so each switch must send what it says, and only then.
func TestTaint(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := admin(t, r)
	c.ok("agent", question("cto", "run-1", "hi"))
	c.wait("run-1")
	c.ok("agent", question("cto", "run-2", "hi again"))
	c.wait("run-2")
	id := must[string](t, c.ok("cron.add", job(nil)), "id")
	row := func(method, list string, kinds ...Unclean) object {
		t.Helper()
		r.Taint(kinds...)
		defer r.Taint()
		params := object{}
		switch method {
		case "chat.history":
			params["sessionKey"] = "agent:cto:test"
		case "cron.runs":
			params["scope"] = "all"
		}
		all := must[[]any](t, c.ok(method, params), list)
		if len(all) == 0 {
			t.Fatalf("no %s", list)
		}
		return as[object](all[len(all)-1])
	}
	at := dig[float64](row("sessions.list", "sessions"), "updatedAt")
	if got := dig[float64](row("sessions.list", "sessions", FractionalTimes), "updatedAt"); got != at+0.25 {
		t.Errorf("updated at %f, want %f and a quarter", got, at)
	}
	if got := dig[float64](row("sessions.list", "sessions", StuckInFuture), "updatedAt"); got != 4_070_908_800_000 {
		t.Errorf("updated at %f", got)
	}
	if got := dig[float64](row("sessions.list", "sessions", StuckInPast), "updatedAt"); got != 1_000_000_000_000 {
		t.Errorf("updated at %f", got)
	}
	was, cached := row("chat.history", "messages"), row("chat.history", "messages", DisagreeingParts)
	in, read := dig[float64](was, "usage", "input"), dig[float64](was, "usage", "cacheRead")
	if got := dig[float64](cached, "usage", "input"); read == 0 || got != in+read || dig[float64](cached, "usage", "totalTokens") != dig[float64](was, "usage", "totalTokens") {
		t.Errorf("input %f, was %f and %f cached", got, in, read)
	}
	if got := dig[float64](row("chat.history", "messages", NegativeCounts), "usage", "input"); got != -in {
		t.Errorf("input %f, want -%f", got, in)
	}
	r.Fail("cto", "402: no credits left")
	c.ok("cron.run", object{"id": id, "mode": "force"})
	eventually(t, "the run", func() bool { return len(must[[]any](t, c.ok("cron.runs", object{"scope": "all"}), "entries")) > 0 })
	run := row("cron.runs", "entries", FalseOK)
	if run["status"] != "ok" || run["completionStatus"] != "failed" || run["error"] != nil || run["usage"] != nil {
		t.Errorf("the run is %v", run)
	}
	r.HideJob(id, true)
	if all := must[[]any](t, c.ok("cron.list", object{"includeDisabled": true}), "jobs"); len(all) > 0 {
		t.Errorf("the list has %v", all)
	}
	c.ok("cron.get", object{"id": id})
	r.Heal()
	if row("cron.list", "jobs")["id"] != id || row("cron.runs", "entries")["status"] != "error" {
		t.Error("after Heal it is not as before")
	}
}

// Unclean values must not cost the client a row, and must be marked where they cannot be right.
func TestClientUnclean(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	c := connected(t, r)
	works(t, c, "run-1")
	works(t, c, "run-2")
	read := func(kinds ...Unclean) (gateway.Session, gateway.Usage, gateway.TranscriptUsage) {
		t.Helper()
		r.Taint(kinds...)
		defer r.Taint()
		list, err := c.ListSessions(t.Context(), 10)
		if err != nil || len(list.Rows) != 1 {
			t.Fatalf("sessions: %+v, %v", list, err)
		}
		page, err := c.Turns(t.Context(), "agent:cto:test", 10, 0)
		if err != nil || len(page.Turns) != 4 || page.Turns[3].Usage == nil {
			t.Fatalf("messages: %+v, %v", page, err)
		}
		used, err := c.Usage(t.Context())
		if err != nil || len(used.Transcripts) != 1 || used.At.IsZero() {
			t.Fatalf("usage: %+v, %v", used, err)
		}
		return list.Rows[0], *page.Turns[3].Usage, used.Transcripts[0]
	}
	s, u, all := read()
	for _, kind := range []Unclean{FractionalTimes, StuckInFuture, StuckInPast} {
		is, used, _ := read(kind)
		if d := is.UpdatedAt.Sub(s.UpdatedAt.Time); d < 0 || d > time.Millisecond || used.Estimated {
			t.Errorf("%s: updated at %s, want %s", kind, is.UpdatedAt, s.UpdatedAt)
		}
	}
	_, used, total := read(DisagreeingParts)
	if used.Input != u.Input || used.CacheRead != u.CacheRead || !used.Estimated || u.CacheRead == 0 {
		t.Errorf("cached tokens that are part of the input: %+v, want %+v", used, u)
	}
	if used.CostNanoUSD == nil || max(*used.CostNanoUSD-*u.CostNanoUSD, *u.CostNanoUSD-*used.CostNanoUSD) > 1000 {
		t.Errorf("cached tokens that are paid twice: %v, want %d", used.CostNanoUSD, *u.CostNanoUSD)
	}
	if m := total.Models[0]; m.Input != all.Models[0].Input || !m.Estimated || m.Pricing != gateway.PartlyPriced || m.CostNanoUSD > all.Models[0].CostNanoUSD+1000 {
		t.Errorf("in total: %+v, want %+v", m, all.Models[0])
	}
	_, used, total = read(NegativeCounts)
	if used.Input != 0 || used.Output != u.Output || used.CostNanoUSD == nil || *used.CostNanoUSD != *u.CostNanoUSD || !used.Estimated {
		t.Errorf("a negative count: %+v, want the cost of %+v", used, u)
	}
	if m := total.Models[0]; m.Input != 0 || m.CostNanoUSD != all.Models[0].CostNanoUSD || m.Pricing != gateway.PartlyPriced {
		t.Errorf("in total: %+v, want %+v", m, all.Models[0])
	}
	r.Fail("cto", "402: no credits left")
	r.Taint(FalseOK)
	if _, err := c.Start(t.Context(), gateway.Question{RunID: "run-3", AgentID: "cto", SessionKey: "agent:cto:test", Message: "hi"}); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Wait(t.Context(), "run-3", patience); err != nil || a.Outcome != gateway.Finished || a.Text != "" {
		t.Errorf("the gateway says %+v, %v", a, err)
	}
	if tr, err := c.Find(t.Context(), "agent:cto:test", "run-3"); err != nil || tr.Answer.Outcome != gateway.Failed || !strings.Contains(tr.Answer.Error, "no credits") {
		t.Errorf("the transcript says %+v, %v", tr, err)
	}
}
