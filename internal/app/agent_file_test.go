package app_test

import (
	"strings"
	"testing"

	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
)

// People must learn that an agent's memory is almost full before the runtime cuts it off.
func TestAgentFileItem(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		defer s.stop()
		owner := s.login(ownerEmail)
		h.runtime.SetFile("cto", "MEMORY.md", strings.Repeat("a", 19_000))
		check := func(state string) []inbox.Item {
			t.Helper()
			if err := s.Checks.CheckFiles(t.Context()); err != nil {
				t.Fatal(err)
			}
			return owner.inboxOf(inbox.AgentFile, state)
		}
		if open := check("open"); len(open) != 1 || open[0].Title != "CTO's MEMORY.md is at 95% of its limit" || open[0].Subject.ID != "cto" {
			t.Errorf("the inbox has %+v", open)
		}
		h.runtime.SetFile("cto", "MEMORY.md", "short")
		if ended := check("resolved"); len(ended) != 1 {
			t.Errorf("resolved are %+v", ended)
		}
	})
}
