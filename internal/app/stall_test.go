package app_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/agent"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
)

// A stalled run is raised in the inbox once, even with two replicas, and resolved when
// the run ends.
func TestStalledRun(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second // long enough for a busy machine to report the run first
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, func(r *config.Raw) { r.StalledAfter = limit.String() })
		s := h.start().connected()
		replicas := []*service{s}
		if engine == db.Postgres {
			replicas = append(replicas, h.start().connected())
		}
		owner := s.login(ownerEmail)
		watched := owner.follow("/api/v1/events?topics=session")
		watched.until("hello", "")
		word := make(chan struct{})
		say := sync.OnceFunc(func() { close(word) })
		t.Cleanup(say) // the runtime waits for its agents when it closes
		h.runtime.Answer("cto", func(demo.Question) string { <-word; return "Done." })
		s.ask("run-1", cto, "Are you there?")
		var silent []string // when the run became silent, as each replica reports it
		for _, r := range replicas {
			c := owner.at(r)
			var got session.Session
			waitFor(t, "the session to be stalled", func() bool { got = c.session(cto); return got.Stalled })
			if !got.Active || got.SilentSince == nil || time.Since(got.SilentSince.Time) < limit {
				t.Fatalf("stalled: %+v", got)
			}
			silent = append(silent, got.SilentSince.UTC().Format("15:04:05"))
			if p := c.presence("cto"); p.State != agent.Active || !p.Stalled || p.Silent == nil || !strings.Contains(p.Reason, "without activity since") {
				t.Errorf("the agent: %+v", p)
			}
		}
		watched.until("session.changed", `"stalled":true`)
		var items []inbox.Item
		waitFor(t, "the inbox", func() bool { items = owner.inboxOf(inbox.RunStalled, "open"); return len(items) == 1 })
		since := owner.session(cto).SilentSince
		said := func(second string) bool { return strings.Contains(items[0].Detail, second) }
		if items[0].Count != 1 || items[0].Subject.ID != cto || !slices.ContainsFunc(silent, said) {
			t.Errorf("the inbox has %+v", items[0])
		}
		// Neither a broken connection nor a restart resets the time or raises a second
		// item.
		h.runtime.Drop()
		if engine == db.SQLite {
			s.stop()
			s = h.start()
			owner = owner.at(s)
		}
		s.connected()
		var after session.Session
		waitFor(t, "the session to be stalled", func() bool {
			a := owner.get("/api/v1/agentrt/sessions/" + cto)
			if a.status != http.StatusOK {
				return false // it has just noticed the broken connection
			}
			after = decode[session.Session](a)
			return after.Stalled
		})
		if again := after.SilentSince; again.After(since.Add(time.Second)) {
			t.Errorf("silent since %v, and after a reconnect since %v", since, again)
		}
		say()
		waitFor(t, "the resolved item", func() bool { return len(owner.inboxOf(inbox.RunStalled, "resolved")) == 1 })
		if i := owner.inboxOf(inbox.RunStalled, "resolved")[0]; i.Count != 1 || !strings.HasPrefix(i.Resolution.Note, "The run ") {
			t.Errorf("at the end: count %d, %+v", i.Count, i.Resolution)
		}
		waitFor(t, "the idle session", func() bool {
			a := owner.get("/api/v1/agentrt/sessions/" + cto)
			return a.status == http.StatusOK && !decode[session.Session](a).Stalled
		})
		if got := owner.session(cto); got.SilentSince != nil {
			t.Errorf("at the end: %+v", got)
		}
	})
}
