package faults

import (
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
)

// An answer that is too long for the gateway's history must be read whole, even after
// interruptions. Otherwise it is lost and the agent repeats the work.
func TestLongAnswersAreFoundWhole(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"of 5,000 characters":           "Yesterday: " + strings.Repeat("word ", 1_000) + "end.",
		"of 140 KiB":                    "Yesterday: " + strings.Repeat("word ", 28_700) + "end.",
		"of 190,000 characters, 3 each": "Yesterday: " + strings.Repeat("出荷。", 63_000) + "end.",
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, demo.Options{})
			r.Answer("cto", func(demo.Question) string { return text })
			ask := gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "How is it going?", Limit: time.Minute}
			want := func(how, got string, cut bool) {
				t.Helper()
				if got != text || cut {
					t.Errorf("%s: %d of %d bytes, cut %t, that end with %.40q", how, len(got), len(text), cut, got[max(0, len(got)-40):])
				}
			}

			asker := connected(t, r)
			if _, err := asker.Start(t.Context(), ask); err != nil {
				t.Fatal(err)
			}
			a, err := asker.Wait(t.Context(), ask.RunID, patience)
			if err != nil {
				t.Fatal(err)
			}
			want("who asked", a.Text, a.Cut)

			// After a restart of the service, another process asks the same.
			next := connected(t, r)
			found, err := next.Find(t.Context(), ask.SessionKey, ask.RunID)
			if err != nil || !found.Answered {
				t.Fatalf("not found: %+v, %v", found, err)
			}
			want("found", found.Answer.Text, found.Answer.Cut)
			if u := found.Answer.Usage; u == nil || u.Output == 0 {
				t.Errorf("found without what it used: %+v", u)
			}
			if a, err = next.Wait(t.Context(), ask.RunID, patience); err != nil {
				t.Fatal(err)
			}
			want("waited for", a.Text, a.Cut)

			r.Restart(20 * time.Millisecond)
			in(t, next, link.Connected)
			eventually(t, "the history", func() bool {
				found, err = next.Find(t.Context(), ask.SessionKey, ask.RunID)
				return err == nil
			})
			want("found after a restart", found.Answer.Text, found.Answer.Cut)
			if n := r.Asked("cto"); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// A gateway without chat.message.get truncates long answers; everything else works.
func TestLongAnswersOfAnOlderGateway(t *testing.T) {
	t.Parallel()
	r := open(t, demo.Options{})
	r.RemoveMethods("chat.message.get")
	r.Answer("cto", func(demo.Question) string { return strings.Repeat("word ", 28_700) })
	c := connected(t, r)
	ask := gateway.Question{RunID: "run-1", AgentID: "cto", SessionKey: "agent:cto:test", Message: "How is it going?", Limit: time.Minute}
	if _, err := c.Start(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(t.Context(), ask.RunID, patience); err != nil {
		t.Fatal(err)
	}
	if found, err := c.Find(t.Context(), ask.SessionKey, ask.RunID); err != nil || found.Answered || !found.Asked {
		t.Errorf("found %+v, %v", found, err)
	}
}
