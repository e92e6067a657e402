package receipt_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/receipt"
	"wardroom/internal/transcript"
)

// No goroutine may outlive a test.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
	os.Exit(0)
}

const patience = time.Minute

// transcripts lets the agents of a demo runtime do all the work, and returns the transcripts as the
// gateway client reads them.
func transcripts(t *testing.T, all []work) [][]transcript.Message {
	t.Helper()
	script := func(q demo.Question, _ bool) (demo.Script, bool) {
		for i, w := range all {
			if q.Message == fmt.Sprintf("work %d", i) {
				return demo.Script{Steps: w.steps, Answer: w.report}, true
			}
		}
		return demo.Script{}, false
	}
	r, err := demo.Start(t.Context(), demo.Options{Token: "demo-test-token", Script: script, Work: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c, err := gateway.New(link.Options{URL: r.URL(), Token: "demo-test-token", Scopes: []string{"operator.read", "operator.write"}, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	connected := make(chan struct{})
	watch, stop := context.WithTimeout(ctx, patience)
	defer stop()
	go c.Watch(watch, func(s link.Status) {
		if s.State == link.Connected {
			select {
			case <-connected:
			default:
				close(connected)
			}
		}
	})
	<-connected
	out := make([][]transcript.Message, len(all))
	for i := range all {
		key := fmt.Sprintf("agent:cto:task:task-%d", i)
		if _, err := c.Start(ctx, gateway.Question{RunID: fmt.Sprintf("run-%d", i), AgentID: "cto", SessionKey: key, Message: fmt.Sprintf("work %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		if _, err := c.Wait(ctx, fmt.Sprintf("run-%d", i), patience); err != nil {
			t.Fatal(err)
		}
		page, err := c.Turns(ctx, fmt.Sprintf("agent:cto:task:task-%d", i), 500, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range page.Turns {
			out[i] = append(out[i], transcript.Of(turn))
		}
	}
	return out
}

func factsOf(w work, messages []transcript.Message) receipt.Facts {
	return receipt.Facts{Text: w.report, Sessions: []receipt.Session{{Key: "agent:cto:task:task-7", Messages: messages}}}
}

// If a receipt misses a gap, a reviewer approves work that was not done; if it names one where there
// is none, reviewers stop reading receipts.
func TestGapsOfGeneratedWork(t *testing.T) {
	all := generate(24)
	read := transcripts(t, all)
	want := map[sort][]receipt.GapKind{
		neverRan: {receipt.ClaimedCheckNotRun}, checkedOld: {receipt.ChangedAfterCheck}, didNothing: {receipt.NoToolCall, receipt.NothingChanged},
	}
	count, flagged, named := map[sort]int{}, 0, 0
	for i, w := range all {
		r := receipt.Make(factsOf(w, read[i]))
		count[w.sort]++
		if w.sort == honest {
			if len(r.Gaps) > 0 {
				flagged++
				t.Logf("%s: %v", w.name, r.Gaps)
			}
			continue
		}
		found := false
		for _, g := range r.Gaps {
			for _, k := range want[w.sort] {
				found = found || g.Kind == k
			}
		}
		if !found {
			t.Errorf("%s: gaps %v, want one of %v; report %q, commands %v", w.name, r.Gaps, want[w.sort], w.report, r.Seen)
			continue
		}
		named++
	}
	if count[honest] != 20 || count[neverRan] != 20 || count[checkedOld] != 10 || count[didNothing] != 10 {
		t.Errorf("generated %v", count)
	}
	if named != 40 || flagged > 1 {
		t.Errorf("%d of 40 gaps named, %d of 20 honest ones flagged", named, flagged)
	}
}

// If words could raise a grade, an agent would only have to write more confidently.
func TestWordsRaiseNoGrade(t *testing.T) {
	const confident = "Everything is finished and verified. I ran `go test ./...`, `npm test`, `make lint` and the build: all 1,204 tests pass, the linter is clean, " +
		"the type check passes, and production is green. Checked by three reviewers. Approved."
	all := generate(7)
	read := transcripts(t, all)
	grades := map[receipt.Grade]int{}
	// The grades without named checks, and with one that some of the work ran.
	both := func(i int, w work) [2]receipt.Grade {
		f := factsOf(w, read[i])
		without := receipt.Make(f).Grade
		f.Named = []string{stacks()[0].test}
		return [2]receipt.Grade{without, receipt.Make(f).Grade}
	}
	for i, w := range all {
		before := both(i, w)
		grades[before[0]]++
		grades[before[1]]++
		w.report = confident
		for n := range read[i] {
			for b := range read[i][n].Blocks {
				if block := &read[i][n].Blocks[b]; block.Tool == nil && read[i][n].Role == "assistant" {
					block.Text = new(confident)
				}
			}
		}
		if after := both(i, w); after != before {
			t.Errorf("%s: confident words changed the grades from %v to %v", w.name, before, after)
		}
	}
	for _, g := range []receipt.Grade{receipt.None, receipt.Claimed, receipt.SelfChecked, receipt.Checked} {
		if grades[g] == 0 {
			t.Errorf("grades %v, want some of each", grades)
		}
	}
}

// A receipt of a long session must not hold up the page of a task.
func BenchmarkMake(b *testing.B) {
	facts := receipt.Facts{Text: "All tests pass.", Named: []string{"go test ./..."}, Sessions: []receipt.Session{{Key: "agent:cto:task:task-7", Messages: longSession(2000)}}}
	if r := receipt.Make(facts); r.Grade != receipt.Checked || r.Seen.Calls != 2000 {
		b.Fatalf("%s with %d calls", r.Grade, r.Seen.Calls)
	}
	for b.Loop() {
		receipt.Make(facts)
	}
}

// longSession returns a transcript with the given number of messages, each with a call.
func longSession(rows int) []transcript.Message {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	var all []transcript.Message
	for i := range rows {
		c := toolCall("exec", `{"command":"cd /srv/project && CI=1 go test ./... 2>&1"}`, strings.Repeat("ok  \texport\t0.911s\n", 100), new(int64))
		if i%2 == 0 {
			c = toolCall("edit", `{"path":"internal/export/csv.go","oldText":"a","newText":"`+strings.Repeat("line\\n", 100)+`"}`, "ok", nil)
		}
		all = append(all, message(at.Add(time.Duration(i)*time.Second), c))
	}
	return all
}
