package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"wardroom/internal/gateway/wire"
	"wardroom/internal/platform/clock"
)

// testClient returns a client that only decodes.
func testClient() *Client {
	return &Client{secrets: wire.NewSecrets(nil, "test-gateway-token-0123456789abcdef")}
}

// A runtime that stops advancing a session's time must not hide new messages, nor show a time that is not yet.
func TestUpdatedAtStuck(t *testing.T) {
	t.Parallel()
	c := testClient()
	read := func(text string) Session {
		s, ok := c.readSession(json.RawMessage(text))
		if !ok {
			t.Fatalf("unreadable: %s", text)
		}
		return s
	}
	const from = `{"key":"agent:cto:main","sessionId":"t","snapshotAt":1795161390000,`
	for row, want := range map[string]int64{
		`"updatedAt":1795161387199.5,"endedAt":1795161380000}`:                             1795161387199,
		`"updatedAt":4070908800000,"lastActivityAt":1795161387000}`:                        1795161387000,
		`"updatedAt":1000000000000,"lastActivityAt":1795161387000.7,"endedAt":1}`:          1795161387000,
		`"updatedAt":4070908800000,"startedAt":1795161300000,"endedAt":1795161380000}`:     1795161380000,
		`"updatedAt":1795161420000}`:                                                       1795161420000, // clocks differ a little
		`"updatedAt":4070908800000}`:                                                       clock.Time{}.UnixMilli(),
		`"updatedAt":1795161380000,"startedAt":1795161381000,"lastActivityAt":"nonsense"}`: 1795161381000,
	} {
		if got := read(from + row).UpdatedAt.UnixMilli(); got != want {
			t.Errorf("%s was updated at %d, want %d", row, got, want)
		}
	}
	base := `{"key":"agent:cto:main","sessionId":"t","updatedAt":4070908800000,"totalTokens":100,"lastMessagePreview":"one","label":"a"`
	was := read(base + `}`)
	for change, differs := range map[string]bool{
		`,"totalTokens":101}`: true, `,"lastMessagePreview":"two"}`: true, `,"sessionId":"u"}`: true, `,"endedAt":1795161380000}`: true,
		`,"lastActivityAt":1795161380000}`: true, `,"label":"b"}`: false, `,"status":"done"}`: false, `}`: false,
	} {
		if is := read(base + change); (is.Version() != was.Version()) != differs || is.Version() <= 0 {
			t.Errorf("%s: version %d, before %d", change, is.Version(), was.Version())
		}
	}
}

// A run that says ok although its session says why it failed is not shown as done.
func TestDoneWithError(t *testing.T) {
	t.Parallel()
	s, _ := testClient().readSession(json.RawMessage(`{"key":"agent:cto:main","status":"done","lastRunError":"LLM request failed."}`))
	if s.Status != "failed" {
		t.Errorf("it is %s", s.Status)
	}
}

// An answer that says ok and contains only an error must fail the dispatch or standup that waits for it.
func TestOKThatFailed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Answer{
		`{"status":"ok","result":{"payloads":[{"text":"No credits.","isError":true}]}}`:                                                        {Outcome: Failed, Error: "No credits."},
		`{"status":"ok","result":{"payloads":[{"text":"No credits.","isError":true}],"meta":{"finalAssistantVisibleText":"No credits."}}}`:     {Outcome: Failed, Error: "No credits."},
		`{"status":"ok","result":{"payloads":[],"meta":{"error":{"message":"Overloaded."}}}}`:                                                  {Outcome: Failed, Error: "Overloaded."},
		`{"status":"ok","result":{"payloads":[],"meta":{"error":"Overloaded."}}}`:                                                              {Outcome: Failed, Error: "Overloaded."},
		`{"status":"ok","result":{"payloads":[],"meta":{"stopReason":"error","error":7}}}`:                                                     {Outcome: Failed},
		`{"status":"ok","result":{"payloads":[{"text":"A tool failed.","isError":true},{"text":"Done."}],"meta":{"stopReason":"stop"}}}`:       {Outcome: Finished, Text: "Done."},
		`{"status":"ok","result":{"payloads":[{"text":"A tool failed.","isError":true}],"meta":{"finalAssistantVisibleText":"Done anyway."}}}`: {Outcome: Finished, Text: "Done anyway."},
		`{"status":"ok","result":{"payloads":[]}}`:                                                                                             {Outcome: Finished},
	} {
		if got, ok := readOutcome(json.RawMessage(text)); !ok || got != want {
			t.Errorf("%s\nis   %+v\nwant %+v", text, got, want)
		}
	}
	for text, want := range map[string]Answer{
		`{"status":"ok","error":"LLM request failed.","terminalReply":{"disposition":"visible","text":"LLM request failed."}}`: {Outcome: Failed, Error: "LLM request failed."},
		`{"status":"ok","stopReason":"error","endedAt":1}`:                                                                     {Outcome: Failed},
		`{"status":"ok","stopReason":"stop","terminalReply":{"disposition":"visible","text":"Done."}}`:                         {Outcome: Finished, Text: "Done."},
	} {
		if got, err := readWait(json.RawMessage(text)); err != nil || got != want {
			t.Errorf("%s\nis   %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

// A run without one of its times, or with a fraction in them, must not be lost: its slot would be missed.
func TestJobRunTimes(t *testing.T) {
	t.Parallel()
	c := testClient()
	for row, want := range map[string][2]int64{
		`"runAtMs":1795161820629.4,"ts":1795161826232.6,"durationMs":5603.2`: {1795161820629, 1795161826232},
		`"ts":1795161826232,"durationMs":5603.9`:                             {1795161820629, 1795161826232},
		`"runAtMs":1795161820629,"durationMs":5603`:                          {1795161820629, 1795161826232},
		`"ts":1795161826232,"durationMs":-5`:                                 {1795161826232, 1795161826232},
		`"ts":1795161826232,"durationMs":1e18`:                               {1795161826232 - longestRun.Milliseconds(), 1795161826232},
	} {
		r, ok := c.readJobRun(json.RawMessage(`{"jobId":"j","action":"finished","status":"ok",` + row + `}`))
		if got := [2]int64{r.RanAt.UnixMilli(), r.EndedAt.UnixMilli()}; !ok || got != want {
			t.Errorf("%s ran at %v, want %v", row, got, want)
		}
	}
	r, _ := c.readJobRun(json.RawMessage(`{"jobId":"j","action":"finished","status":"ok","completionStatus":"failed","error":"No credits.","ts":1795161826232}`))
	if r.Status != "error" || r.Error != "No credits." || r.Undelivered {
		t.Errorf("ok, not delivered, no tokens and an error: %+v", r)
	}
}

// FuzzAnswers feeds arbitrary answers to every reader. No client may show a date before
// 2000 or after 2100 or a negative count, and no cost may be lost without a mark.
func FuzzAnswers(f *testing.F) {
	for _, name := range []string{"sessions", "rows", "cron", "history", "agent", "agents", "both", "wait"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		for _, payload := range payloadsIn(data) {
			f.Add(payload)
		}
	}
	f.Add([]byte(`{"sessions":[{"key":"a","sessionId":"t","updatedAt":1e300,"startedAt":-1,"usage":{"input":-5,"output":2,"cacheRead":9,"totalTokens":3,"totalCost":0.5,"modelUsage":[{"totals":{"input":1,"output":2,"totalCost":1}}]}}]}`))
	f.Add([]byte(`{"jobs":[{"id":"j","schedule":{"kind":"at","at":"1970-01-01T00:00:00Z","everyMs":-7.5},"state":{"nextRunAtMs":"9e15"}}],"entries":[{"jobId":"j","action":"finished","ts":1,"runAtMs":4e12,"durationMs":1e300}]}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","timestamp":5.5,"usage":{"input":"-1","totalTokens":1e400,"cost":{"total":"0.25"}}}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		readEverything(t, payload)
		c := testClient()
		var all struct {
			usageList
			Jobs     []json.RawMessage
			Entries  []json.RawMessage
			Messages []json.RawMessage
		}
		if json.Unmarshal(payload, &all) != nil {
			return
		}
		used := c.readUsage(all.usageList)
		sound(t, reflect.ValueOf(used))
		for _, raw := range all.Sessions {
			s, facts, _ := c.readRow(raw)
			sound(t, reflect.ValueOf(s))
			if facts.stamp < 0 || s.Version() <= 0 {
				t.Errorf("stamp %d, version %d of %s", facts.stamp, s.Version(), raw)
			}
			keepsTotals(t, used, raw)
		}
		for _, raw := range all.Jobs {
			j, _ := c.readJob(raw)
			sound(t, reflect.ValueOf(j))
			if at, err := time.Parse(time.RFC3339, j.Schedule.At); err == nil {
				sound(t, reflect.ValueOf(clock.At(at)))
			}
		}
		for _, raw := range all.Entries {
			if r, ok := c.readJobRun(raw); ok {
				sound(t, reflect.ValueOf(r))
				if r.RanAt.IsZero() || r.EndedAt.IsZero() {
					t.Errorf("a run without a time: %s", raw)
				}
			}
		}
		for _, raw := range all.Messages {
			var m row
			if json.Unmarshal(raw, &m) == nil {
				turn := c.turnOf(m, "")
				sound(t, reflect.ValueOf(turn))
				keepsCost(t, turn.Usage, m.Usage)
			}
		}
	})
}

// sound checks every time and every number in a value.
func sound(t *testing.T, v reflect.Value) {
	t.Helper()
	if at, ok := reflect.TypeAssert[clock.Time](v); ok {
		if !at.IsZero() && (at.Year() < 2000 || at.Year() >= 2100) {
			t.Errorf("a date of %s", at)
		}
		return
	}
	switch v.Kind() {
	case reflect.Int64, reflect.Int:
		if v.Int() < 0 {
			t.Errorf("%s is %d", v.Type(), v.Int())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			sound(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				sound(t, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			sound(t, v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			sound(t, v.MapIndex(k))
		}
	default:
	}
}

// dollars returns an amount in nano-dollars, or 0 if it is not plausible.
func dollars(n wire.Number, most int64) int64 {
	nanos, err := n.Nanos()
	if err != nil || nanos > most {
		return 0
	}
	return nanos
}

// keepsCost checks that the cost of a message is kept, or marked as unknown or estimated.
func keepsCost(t *testing.T, is *Usage, raw json.RawMessage) {
	t.Helper()
	var w *struct{ Cost json.RawMessage }
	var price wireCosts
	if json.Unmarshal(raw, &w) != nil || w == nil || json.Unmarshal(w.Cost, &price) != nil {
		return
	}
	said := dollars(price.Total, wire.MostNanos)
	switch {
	case said == 0:
	case is == nil:
		t.Errorf("the cost of %s is lost", raw)
	case is.CostNanoUSD != nil && !is.Estimated && *is.CostNanoUSD != said:
		t.Errorf("%s costs %d, unmarked", raw, *is.CostNanoUSD)
	}
}

// keepsTotals checks that the cost of each model in a session is kept, or marked as incomplete or unknown.
func keepsTotals(t *testing.T, used SessionUsage, raw json.RawMessage) {
	t.Helper()
	var row struct{ Usage usageDetail }
	if json.Unmarshal(raw, &row) != nil || len(used.Transcripts) != 1 {
		return
	}
	for i, is := range used.Transcripts[0].Models {
		said := dollars(row.Usage.Models[i].Totals.TotalCost, wire.MostNanosAll)
		if said > 0 && is.Pricing == Priced && is.CostNanoUSD != said {
			t.Errorf("%s costs %d, unmarked", raw, is.CostNanoUSD)
		}
	}
}
