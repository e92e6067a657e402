package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
)

// sessionsSeen is the list of sessions as somebody keeps it who does what
// docs/live.md says.
type sessionsSeen struct {
	caller
	*stream
	rows  map[string]session.Session
	lists int // how often the list was read
}

// see opens a stream about sessions.
func (c caller) see() *sessionsSeen {
	return &sessionsSeen{caller: c, stream: c.follow("/api/v1/events?topics=session")}
}

// until follows the stream until the rows are as wanted.
func (s *sessionsSeen) until(what string, ok func(map[string]session.Session) bool) {
	t := s.house.t
	t.Helper()
	for late := time.After(20 * time.Second); !ok(s.rows); {
		select {
		case f, open := <-s.frames:
			if !open {
				t.Fatalf("the stream ended before %s", what)
			}
			s.apply(t, f)
		case <-late:
			t.Fatalf("waited for %s for 20 s; the rows are %+v", what, s.rows)
		}
	}
}

func (s *sessionsSeen) apply(t *testing.T, f map[string]string) {
	t.Helper()
	var row session.Session
	switch f["event"] {
	case "agentrt.status":
		s.lists++
		s.rows = map[string]session.Session{}
		if a := s.get("/api/v1/agentrt/sessions?limit=200"); a.status == http.StatusOK {
			for _, r := range decode[[]session.Session](a) {
				s.rows[r.Key] = r
			}
		}
	case "session.changed", "session.gone":
		if f["id"] != "" {
			t.Errorf("a state has the id %s", f["id"])
		}
		if err := json.Unmarshal([]byte(f["data"]), &row); err != nil {
			t.Fatal(err)
		}
		if f["event"] == "session.gone" {
			delete(s.rows, row.Key)
		} else if was, ok := s.rows[row.Key]; !ok || !row.AsOf.Before(was.AsOf.Time) {
			s.rows[row.Key] = row
		}
	case "hello", "position":
	default:
		t.Errorf("about sessions came %v", f)
	}
}

// Who watches the monitor sees runs begin and end without asking again, and
// sees nothing old while the gateway is away.
func TestLiveSessions(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	s.ask("run-0", "agent:cto:before", "Before anybody looks")
	s.answered("run-0")
	seen := owner.see()
	seen.until("what was before", func(rows map[string]session.Session) bool {
		return rows["agent:cto:before"].CostUSD != nil
	})

	done := make(chan struct{})
	finish := sync.OnceFunc(func() { close(done) })
	t.Cleanup(finish)
	h.runtime.Answer("cto", func(demo.Question) string { <-done; return "Done." })
	s.ask("run-1", cto, "What is next?")
	seen.until("the run", func(rows map[string]session.Session) bool { return rows[cto].Active })
	finish()
	seen.until("its end and cost", func(rows map[string]session.Session) bool { return !rows[cto].Active && rows[cto].CostUSD != nil })
	if seen.lists != 1 {
		t.Errorf("the list was read %d times while the gateway was there, want once", seen.lists)
	}
	if d := diffSessions(seen.rows, owner); d != "" {
		t.Errorf("the list says other than the stream (-stream +list):\n%s", d)
	}

	h.runtime.Restart(100 * time.Millisecond)
	seen.until("the loss", func(rows map[string]session.Session) bool { return len(rows) == 0 })
	seen.until("the return", func(rows map[string]session.Session) bool { return len(rows) == 2 })

	// Another runtime at the same address has other sessions.
	if err := h.runtime.Close(); err != nil {
		t.Fatal(err)
	}
	seen.until("the end", func(rows map[string]session.Session) bool { return len(rows) == 0 })
	watched := owner.follow("/api/v1/events?topics=session")
	h.reopen()
	watched.until("session.gone", fmt.Sprintf(`"key":%q`, cto))
	waitFor(t, "the gateway to be back", func() bool { return owner.status().State == gateway.Connected })
	if d := diffSessions(nil, owner); d != "" {
		t.Errorf("what is gone is in the list: %s", d)
	}
}

// diffSessions compares what somebody has seen with the list as it is now, but
// for when that was.
func diffSessions(seen map[string]session.Session, c caller) string {
	now, was := map[string]session.Session{}, map[string]session.Session{}
	for _, r := range decode[[]session.Session](c.get("/api/v1/agentrt/sessions?limit=200").want(http.StatusOK)) {
		r.AsOf = clock.Time{}
		now[r.Key] = r
	}
	for key, r := range seen {
		r.AsOf = clock.Time{}
		was[key] = r
	}
	return cmp.Diff(was, now)
}
