package trouble

import (
	"context"
	"strings"
	"testing"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// workspaces is a runtime with one agent, whose MEMORY.md is a text.
type workspaces struct {
	Runtime // the rest is not used

	memory string
	err    error
	reads  int
}

func (w *workspaces) Agents(context.Context) ([]gateway.Agent, error) {
	return []gateway.Agent{{ID: "cto", Name: "CTO"}}, w.err
}

func (w *workspaces) FileLimits(context.Context) (gateway.FileLimits, error) {
	return gateway.FileLimits{Default: 100}, nil
}

func (w *workspaces) AgentFiles(context.Context, string) ([]gateway.AgentFile, error) {
	return []gateway.AgentFile{{Name: "MEMORY.md", Bytes: int64(len(w.memory))}}, nil
}

func (w *workspaces) AgentFileLength(context.Context, string, string) (int64, error) {
	w.reads++
	return int64(len([]rune(w.memory))), nil
}

// An agent must not forget the end of its memory unnoticed, and nobody is told twice.
func TestAgentFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, is := newWorld(t, d), &workspaces{}
		s := &Checks{DB: d, Runtime: is, Now: w.clock, Inbox: w.box}
		check := func(name, memory string, want ...string) {
			t.Helper()
			is.memory = memory
			w.move(time.Minute)
			for range 2 {
				if err := s.CheckFiles(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wantItems(t, d, name, want...)
		}
		check("short", strings.Repeat("a", 89))
		check("as many bytes, but fewer characters", strings.Repeat("漢", 40))
		check("at 90%", strings.Repeat("a", 90), "CTO's MEMORY.md is at 90% of its limit, medium, open, 1")
		is.err = link.ErrUnreachable
		check("an outage resolves nothing", "", "CTO's MEMORY.md is at 90% of its limit, medium, open, 1")
		is.err = nil
		check("shorter", "a", "CTO's MEMORY.md is at 90% of its limit, medium, resolved, 1")
		check("long again", strings.Repeat("a", 95), "CTO's MEMORY.md is at 95% of its limit, medium, open, 2")
		w.person(inbox.AgentFile, inbox.Resolved)
		check("a person has resolved it", strings.Repeat("a", 96), "CTO's MEMORY.md is at 95% of its limit, medium, resolved, 2")
		reads := is.reads
		check("too long", strings.Repeat("a", 301), "CTO's MEMORY.md is too long, high, open, 3")
		if is.reads != reads {
			t.Error("a file that is certainly too long was read")
		}
	})
}
