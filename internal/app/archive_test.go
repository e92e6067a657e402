package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/archive"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/platform/db"
	"wardroom/internal/search"
	"wardroom/internal/transcript"
)

func (c caller) archive(query string) []archive.Archived {
	c.house.t.Helper()
	return decode[[]archive.Archived](c.get("/api/v1/sessions?" + query).want(http.StatusOK))
}

// archived waits until a session is in the archive as ok wants it.
func (c caller) archived(key string, ok func(archive.Archived) bool) archive.Archived {
	c.house.t.Helper()
	var found archive.Archived
	waitFor(c.house.t, key+" in the archive", func() bool {
		for _, a := range c.archive("limit=500") {
			if a.Key == key && ok(a) {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// isWhole reports whether all of it is there, and why it was archived. What goes on
// is read while it does, so that all may be there before.
func isWhole(a archive.Archived) bool {
	return a.Coverage == archive.Whole && a.Ended != nil && a.Status != nil
}

// all is a conversation from its beginning, read in pages of that many.
func (c caller) all(path string, limit int) []transcript.Message {
	c.house.t.Helper()
	pages := links[transcript.Message](c, fmt.Sprint(path, "/messages?limit=", limit))
	slices.Reverse(pages)
	return slices.Concat(pages...)
}

func (h *house) recite(key string, lines ...demo.Line) {
	h.t.Helper()
	if err := h.runtime.AppendLines(key, lines...); err != nil {
		h.t.Fatal(err)
	}
}

// work is a conversation with tools in it.
func work(n int) []demo.Line {
	var lines []demo.Line
	for i := range n {
		call := fmt.Sprint("call-", i)
		lines = append(lines, demo.Line{Role: "user", Text: fmt.Sprint("Do number ", i)},
			demo.Line{Role: "assistant", Thinking: "How?", Text: "I look.", Call: call, Tool: "exec", Args: map[string]any{"command": fmt.Sprint("ls ", i)}},
			demo.Line{Role: "toolResult", Call: call, Tool: "exec", Text: fmt.Sprint("file ", i), Error: i%3 == 0},
			demo.Line{Role: "assistant", Text: fmt.Sprint("Number ", i, " is done.")})
	}
	return lines
}

// History outlives the runtime: what was said in a session is there, the same
// and once, after it went on, after it was deleted, and while nobody is there.
func TestArchive(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		const key = "agent:cto:notes"
		h.recite(key, work(30)...)
		a := owner.archived(key, isWhole)
		live := owner.all("/api/v1/agentrt/sessions/"+key, 7)
		if *a.Ended != archive.Rests || !a.Present || a.Messages != 90 || len(live) != 90 || a.AgentID != "cto" || *a.Status != "done" || a.BeganAt == nil || a.ArchivedAt == nil {
			t.Errorf("archived %+v; the runtime has %d messages", a, len(live))
		}
		for _, limit := range []int{500, 7, 1} {
			if diff := cmp.Diff(live, owner.all("/api/v1/sessions/"+a.ID, limit)); diff != "" {
				t.Fatalf("in pages of %d (-runtime +archive):\n%s", limit, diff)
			}
		}
		t.Run("what goes on is archived anew, in its place", func(t *testing.T) {
			h.recite(key, work(60)...)
			again := owner.archived(key, func(a archive.Archived) bool { return isWhole(a) && a.Messages == 270 })
			if again.ID != a.ID {
				t.Errorf("it is %s now", again.ID)
			}
			live = owner.all("/api/v1/agentrt/sessions/"+key, 100)
			if diff := cmp.Diff(live, owner.all("/api/v1/sessions/"+a.ID, 100)); diff != "" {
				t.Errorf("(-runtime +archive):\n%s", diff)
			}
		})
		t.Run("what was begun anew is another one", func(t *testing.T) {
			if err := h.runtime.Reset(key); err != nil {
				t.Fatal(err)
			}
			h.recite(key, demo.Line{Role: "user", Text: "Again from the beginning."})
			waitFor(t, "two of them", func() bool { return len(owner.keyed(key)) == 2 })
			old := owner.archived(key, func(is archive.Archived) bool { return is.ID == a.ID && !is.Present })
			if *old.Ended != archive.Reset || old.Coverage != archive.Whole || old.Messages != 270 {
				t.Errorf("the old one is %+v", old)
			}
		})
		t.Run("what is deleted stays, and is found", func(t *testing.T) {
			h.recite("agent:cto:plans", demo.Line{Role: "user", Text: "Consider the zeppelin."})
			owner.archived("agent:cto:plans", isWhole)
			if err := h.runtime.Delete("agent:cto:plans"); err != nil {
				t.Fatal(err)
			}
			b := owner.archived("agent:cto:plans", func(a archive.Archived) bool { return !a.Present })
			if *b.Ended != archive.Deleted || b.Coverage != archive.Whole || said(owner.all("/api/v1/sessions/"+b.ID, 10)[0]) != "Consider the zeppelin." {
				t.Errorf("deleted %+v", b)
			}
			for _, query := range []string{"q=zeppelin", "q=zeppelin&kind=session", "q=zepp&archived=true"} {
				found := decode[[]search.Result](owner.get("/api/v1/search?" + query).want(http.StatusOK))
				if len(found) != 1 || found[0].Kind != search.OfSession || *found[0].SessionID != b.ID || !strings.Contains(found[0].Snippet, "zeppelin") {
					t.Errorf("%s finds %+v", query, found)
				}
			}
			if got := owner.archive("q=" + url.QueryEscape(`zeppelin "the`)); len(got) != 1 || got[0].ID != b.ID {
				t.Errorf("the archive finds %+v", got)
			}
			if found := decode[[]search.Result](owner.get("/api/v1/search?q=zeppelin&kind=task,comment").want(http.StatusOK)); len(found) > 0 {
				t.Errorf("among the tasks it finds %+v", found)
			}
		})
		owner.wantAway(t, a.ID)
	})
}

// keyed are the sessions that had a key.
func (c caller) keyed(key string) []archive.Archived {
	return slices.DeleteFunc(c.archive("limit=500"), func(a archive.Archived) bool { return a.Key != key })
}

// wantAway closes the runtime and reads what is there all the same.
func (c caller) wantAway(t *testing.T, id string) {
	t.Helper()
	before := c.archive("last_known=true")
	_ = c.house.runtime.Close()
	waitFor(t, "the loss", func() bool {
		return c.get("/api/v1/agentrt/sessions").status == http.StatusServiceUnavailable
	})
	known := c.archive("last_known=true")
	if len(known) == 0 || len(known) != len(before) {
		t.Errorf("known are %+v, and were %+v", known, before)
	}
	for _, k := range known {
		if !k.Present || k.AsOf.IsZero() || k.Age < 0 {
			t.Errorf("known is %+v", k)
		}
	}
	if got := c.all("/api/v1/sessions/"+id, 100); len(got) != 270 {
		t.Errorf("%d messages", len(got))
	}
	c.get("/api/v1/sessions/nobody").wantProblem(http.StatusNotFound, "archived_session_not_found")
	c.get("/api/v1/sessions/nobody/messages").wantProblem(http.StatusNotFound, "archived_session_not_found")
	c.get("/api/v1/sessions/"+id+"/messages?cursor=1WyJhIl0").wantProblem(http.StatusUnprocessableEntity, "invalid_cursor")
}

// A secret that an agent read or wrote is in the runtime; in what we keep for
// years, and let everybody search, it is not.
func TestArchiveMasks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		const key, secret = "agent:cto:deploy", "ghp_a8Fk2Lm9Qp4Rt7Vx1Zb6Nc3Hd5Jg0Sw8"
		h.recite(key, demo.Line{Role: "user", Text: "Use " + secret + " please."},
			demo.Line{Role: "assistant", Thinking: "It is " + secret, Call: "c", Tool: "exec", Args: map[string]any{"env": map[string]string{"DB_PASSWORD": "kitten"}, "command": "curl -H 'Authorization: Bearer " + secret + "'"}},
			demo.Line{Role: "toolResult", Call: "c", Tool: "exec", Text: "postgres://app:geheim77@db/prod"}, demo.Line{Role: "assistant", Text: "Done with " + secret})
		a := owner.archived(key, isWhole)
		shown := string(owner.get("/api/v1/sessions/"+a.ID+"/messages").want(http.StatusOK).body) + string(owner.get("/api/v1/sessions").body)
		for _, text := range []string{secret, "kitten", "geheim77"} {
			if strings.Contains(shown, text) {
				t.Errorf("%s is shown", text)
			}
		}
		if n := strings.Count(shown, "[masked:"); n < 6 {
			t.Errorf("%d masks in %s", n, shown)
		}
		if found := owner.archive("q=" + secret); len(found) > 0 {
			t.Errorf("it is found by its secret: %+v", found)
		}
		var stored string
		if err := s.DB.QueryRow(t.Context(), `SELECT s.last_message || t.head || t.tail FROM archive_sessions s JOIN archive_texts t ON t.session_id = s.id WHERE s.id = ?`, a.ID).Scan(&stored); err != nil || strings.Contains(stored, secret) || strings.Contains(stored, "geheim77") {
			t.Errorf("stored is %q, %v", stored, err)
		}
	})
}

// Two replicas, one of which dies in the middle, and a runtime that restarts:
// each session is archived once, whole, and the long one from where it stood.
func TestArchiveByReplicas(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.Postgres, nil)
	const many, rows = 20, 4000
	long := make([]demo.Line, rows)
	for i := range long {
		long[i] = demo.Line{Role: "user", Text: fmt.Sprint("Line ", i)}
	}
	one := h.start().connected()
	h.recite("agent:cto:long", long...)
	for i := range many {
		h.recite(fmt.Sprint("agent:cpo:s", i), work(3)...)
	}
	owner := one.login(ownerEmail)
	waitFor(t, "the long one to be begun", func() bool {
		var n int64
		err := one.DB.QueryRow(t.Context(), `SELECT COALESCE(MAX(messages), 0) FROM archive_sessions`).Scan(&n)
		return err == nil && n > 100
	})
	two := h.start().connected()
	one.crash()
	h.runtime.Restart(100 * time.Millisecond)
	owner = owner.at(two)
	a := owner.archived("agent:cto:long", isWhole)
	if a.Messages != rows {
		t.Errorf("%d messages, want %d", a.Messages, rows)
	}
	waitFor(t, "the others", func() bool {
		return len(slices.DeleteFunc(owner.archive("agent_id=cpo"), func(a archive.Archived) bool { return !isWhole(a) })) == many
	})
	third := h.start().connected()
	third.house.recite("agent:cpo:s0", work(1)...)
	owner.archived("agent:cpo:s0", func(a archive.Archived) bool { return a.Messages == 12 && isWhole(a) })
	for i, m := range owner.all("/api/v1/sessions/"+a.ID, 500) {
		if said(m) != fmt.Sprint("Line ", i) || *m.Seq != int64(i+1) {
			t.Fatalf("message %d is %+v", i, m)
		}
	}
	var n, double int
	err := two.DB.QueryRow(context.Background(), `SELECT COUNT(*), COUNT(*) - COUNT(DISTINCT session_key) FROM archive_sessions`).Scan(&n, &double)
	if err != nil || n != many+1 || double != 0 {
		t.Errorf("%d rows, %d twice, %v", n, double, err)
	}
}

// Whatever is deleted before anybody read it was there all the same; and what
// sub-agents said goes when it is old, while the ledger keeps what they cost.
func TestArchiveOfSubAgents(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		s.ask("run-1", cto, "What is next?")
		s.answered("run-1")
		key, _, err := h.runtime.Spawn(cto, "helper", "Look it up.")
		if err != nil {
			t.Fatal(err)
		}
		a := owner.archived(key, isWhole)
		if *a.Ended != archive.Finished || *a.Kind != "subagent" || *a.Label != "helper" || *a.ParentKey != cto {
			t.Errorf("archived %+v", a)
		}
		h.runtime.Silence("cto", true)
		lost, _, err := h.runtime.Spawn(cto, "lost", "Look it up.")
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "it to be seen", func() bool { return owner.get("/api/v1/agentrt/sessions/"+lost).status == http.StatusOK })
		if err := h.runtime.Delete(lost); err != nil {
			t.Fatal(err)
		}
		b := owner.archived(lost, func(a archive.Archived) bool { return !a.Present })
		if b.Coverage != archive.None || *b.Ended != archive.Deleted || *b.Label != "lost" || len(owner.all("/api/v1/sessions/"+b.ID, 10)) > 0 {
			t.Errorf("deleted before it was read: %+v", b)
		}
		waitFor(t, "what it cost", func() bool { a = owner.archived(key, isWhole); return a.CostUSD != nil })

		month := time.Now().Add(40 * 24 * time.Hour)
		n, oldest, err := s.Archive.CountOld(t.Context(), month)
		if err != nil || n != 2 || oldest.IsZero() {
			t.Errorf("%d would go, %s, %v", n, oldest, err)
		}
		err = s.DB.Tx(t.Context(), func(tx *db.Tx) (err error) { n, err = s.Archive.PurgeOld(t.Context(), tx, month, 10); return err })
		if err != nil || n != 2 {
			t.Errorf("%d went, %v", n, err)
		}
		if left := owner.archive("kind=subagent"); len(left) > 0 {
			t.Errorf("there are %+v", left)
		}
		owner.get("/api/v1/sessions/"+b.ID).wantProblem(http.StatusNotFound, "archived_session_not_found")
		// The runtime has the one still: it is not archived again unless it goes on.
		s.ask("run-3", "agent:cto:x", "Hello")
		if known := owner.archive("last_known=true&kind=subagent"); len(known) != 1 || known[0].Messages != 0 || known[0].CostUSD == nil {
			t.Errorf("known are %+v", known)
		}
		if n, _, err := s.Archive.CountOld(t.Context(), month); err != nil || n != 0 {
			t.Errorf("%d would go again, %v", n, err)
		}
		if err := h.runtime.Delete(key); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "it to be forgotten", func() bool { return len(owner.archive("last_known=true&kind=subagent")) == 0 })
		if left := owner.archive("kind=subagent"); len(left) > 0 {
			t.Errorf("it came back: %+v", left)
		}
	})
}

// A message of two megabytes is cut, says by how much, and keeps nobody from the
// rest.
func TestArchiveOfAHugeMessage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	const size, key = 2_000_000, "agent:cto:huge"
	h.recite(key, demo.Line{Role: "user", Text: "How much?"}, demo.Line{Role: "assistant", Text: strings.Repeat("much ", size/5)}, demo.Line{Role: "user", Text: "Thanks."})
	a := owner.archived(key, isWhole)
	for _, path := range []string{"/api/v1/agentrt/sessions/" + key, "/api/v1/sessions/" + a.ID} {
		got := owner.all(path, 10)
		if len(got) != 3 || got[1].Blocks[0].Cut < 20_000 || len(*got[1].Blocks[0].Text) != 20_000 || said(got[2]) != "Thanks." {
			t.Errorf("%s has %d messages", path, len(got))
		}
	}
}
