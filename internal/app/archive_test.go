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

// archived waits until a session is in the archive and ok accepts it.
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

// isWhole reports whether the session is archived completely. It checks the reason too,
// because all messages may be there while the session is still in use.
func isWhole(a archive.Archived) bool {
	return a.Coverage == archive.Whole && a.Ended != nil && a.Status != nil
}

// all reads a whole conversation in pages of limit messages.
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

// work returns a conversation with tool calls.
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

// The archive keeps each message once and unchanged: while the session continues, after
// it is deleted in the runtime, and while the runtime is offline.
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
		t.Run("a continued session is archived again in the same place", func(t *testing.T) {
			h.recite(key, work(60)...)
			again := owner.archived(key, func(now archive.Archived) bool {
				return isWhole(now) && now.Messages == 270 && now.LastAt.After(a.LastAt.Time)
			})
			if again.ID != a.ID {
				t.Errorf("it is %s now", again.ID)
			}
			live = owner.all("/api/v1/agentrt/sessions/"+key, 100)
			if diff := cmp.Diff(live, owner.all("/api/v1/sessions/"+a.ID, 100)); diff != "" {
				t.Errorf("(-runtime +archive):\n%s", diff)
			}
		})
		t.Run("a reset session is archived as another one", func(t *testing.T) {
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
		t.Run("a deleted session stays and can be found", func(t *testing.T) {
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

// keyed returns the archived sessions with a key.
func (c caller) keyed(key string) []archive.Archived {
	return slices.DeleteFunc(c.archive("limit=500"), func(a archive.Archived) bool { return a.Key != key })
}

// wantAway stops the runtime and checks that the archive can still be read.
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
			t.Errorf("the session is %+v", k)
		}
	}
	if got := c.all("/api/v1/sessions/"+id, 100); len(got) != 270 {
		t.Errorf("%d messages", len(got))
	}
	c.get("/api/v1/sessions/nobody").wantProblem(http.StatusNotFound, "archived_session_not_found")
	c.get("/api/v1/sessions/nobody/messages").wantProblem(http.StatusNotFound, "archived_session_not_found")
	c.get("/api/v1/sessions/"+id+"/messages?cursor=1WyJhIl0").wantProblem(http.StatusUnprocessableEntity, "invalid_cursor")
}

// Secrets that an agent read or wrote are redacted in the archive, which is kept for
// years and can be searched by everyone.
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
				t.Errorf("%s contains a secret", text)
			}
		}
		if n := strings.Count(shown, "[masked:"); n < 6 {
			t.Errorf("%d redactions in %s", n, shown)
		}
		if found := owner.archive("q=" + secret); len(found) > 0 {
			t.Errorf("searching for the secret finds it: %+v", found)
		}
		var stored string
		if err := s.DB.QueryRow(t.Context(), `SELECT s.last_message || t.head || t.tail FROM archive_sessions s JOIN archive_texts t ON t.session_id = s.id WHERE s.id = ?`, a.ID).Scan(&stored); err != nil || strings.Contains(stored, secret) || strings.Contains(stored, "geheim77") {
			t.Errorf("the stored text is %q, %v", stored, err)
		}
	})
}

// With two replicas, one of which dies, and a restarting runtime, each session is
// archived once and completely. The archive of a long session continues where it stopped.
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
	waitFor(t, "the archive of the long session to start", func() bool {
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
	waitFor(t, "the other sessions", func() bool {
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

// A session that was deleted before it was read is still listed. Old messages of
// sub-agents are deleted, while the ledger keeps their cost.
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
		waitFor(t, "the session", func() bool { return owner.get("/api/v1/agentrt/sessions/"+lost).status == http.StatusOK })
		if err := h.runtime.Delete(lost); err != nil {
			t.Fatal(err)
		}
		b := owner.archived(lost, func(a archive.Archived) bool { return !a.Present })
		if b.Coverage != archive.None || *b.Ended != archive.Deleted || *b.Label != "lost" || len(owner.all("/api/v1/sessions/"+b.ID, 10)) > 0 {
			t.Errorf("a session deleted before it was read: %+v", b)
		}
		waitFor(t, "the cost", func() bool { a = owner.archived(key, isWhole); return a.CostUSD != nil })

		month := time.Now().Add(40 * 24 * time.Hour)
		n, oldest, err := s.Archive.CountOld(t.Context(), month)
		if err != nil || n != 2 || oldest.IsZero() {
			t.Errorf("%d would be deleted, %s, %v", n, oldest, err)
		}
		err = s.DB.Tx(t.Context(), func(tx *db.Tx) (err error) { n, err = s.Archive.PurgeOld(t.Context(), tx, month, 10); return err })
		if err != nil || n != 2 {
			t.Errorf("%d were deleted, %v", n, err)
		}
		if left := owner.archive("kind=subagent"); len(left) > 0 {
			t.Errorf("left are %+v", left)
		}
		owner.get("/api/v1/sessions/"+b.ID).wantProblem(http.StatusNotFound, "archived_session_not_found")
		// The runtime still has the other session. It is not archived again until it
		// continues.
		s.ask("run-3", "agent:cto:x", "Hello")
		if known := owner.archive("last_known=true&kind=subagent"); len(known) != 1 || known[0].Messages != 0 || known[0].CostUSD == nil {
			t.Errorf("known are %+v", known)
		}
		if n, _, err := s.Archive.CountOld(t.Context(), month); err != nil || n != 0 {
			t.Errorf("%d would be deleted again, %v", n, err)
		}
		if err := h.runtime.Delete(key); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "its removal", func() bool { return len(owner.archive("last_known=true&kind=subagent")) == 0 })
		if left := owner.archive("kind=subagent"); len(left) > 0 {
			t.Errorf("it was archived again: %+v", left)
		}
	})
}

// A message of 2 MB is truncated and reports by how much. The rest of the session is
// archived.
func TestArchiveOfAHugeMessage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs much memory")
	}
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

// Secrets that agents write on the board, in reports, and in answers are stored nowhere.
func TestAgentsWordsAreMasked(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	const secret = "hunter2-of-the-database"
	said := "I ran `sshpass -p " + secret + " ssh root@db`."
	for _, id := range []string{"cto", "cpo", "coo"} {
		h.runtime.Answer(id, func(q demo.Question) string {
			if strings.Contains(q.Message, "You lead") {
				return `{"summary":"` + said + `","resolutions":[],"escalations":[],"action_items":[]}`
			}
			return "Yesterday: " + said + "\nToday: b\nBlockers: none"
		})
	}
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("coo", "cto", "cpo")
	cto := s.login("cto@example.com")
	task := decode[struct{ Key string }](cto.post("/api/v1/tasks", map[string]any{"title": "Try " + said, "description": said}).want(http.StatusCreated)).Key
	at := "/api/v1/tasks/" + task
	comment := decode[struct{ ID string }](cto.post(at+"/comments", map[string]any{"body": said}).want(http.StatusCreated)).ID
	cto.patch(at+"/comments/"+comment, map[string]any{"body": "Again: " + said}).want(http.StatusOK)
	for _, report := range []map[string]any{{"kind": "ack", "text": said}, {"kind": "progress", "text": said}, {"kind": "blocker", "text": said}, {"kind": "done", "text": said}} {
		cto.post(at+"/reports", report).want(http.StatusOK)
	}
	cto.patch(at, map[string]any{"description": "Again: " + said, "blocked": map[string]any{"reason": said}}).want(http.StatusOK)
	m := owner.open()
	cto.send(http.MethodPut, "/api/v1/standups/"+m.ID+"/reports/cto", map[string]any{"text": "## Today\n" + said})
	owner.hold(m.ID)
	owner.dispatch(owner.handed("cpo", "Look").Key)
	waitFor(t, "the dispatch to end", func() bool {
		return strings.Contains(string(owner.get("/api/v1/activity?subject_kind=task").body), "task.dispatch_ended")
	})
	owner.patch(at, map[string]any{"title": "Kept: " + secret}).want(http.StatusOK) // a person's own words stay
	s.stop()
	stored := h.build().DB
	for _, table := range tables(t, stored) {
		if strings.HasPrefix(table, "search_index_") || strings.HasPrefix(table, "task_grams_") {
			continue // SQLite's own indexes are not text
		}
		if text := string(dump(t, stored, table)); strings.Contains(text, "sshpass -p "+secret) {
			at := strings.Index(text, "sshpass -p "+secret)
			t.Errorf("%s stores it: %s", table, text[max(at-300, 0):min(at+100, len(text))])
		}
	}
}
