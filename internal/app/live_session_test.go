package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/event"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/test/faults"
)

// sessionsSeen is a list of sessions kept up to date as docs/live.md describes.
type sessionsSeen struct {
	caller
	*stream
	rows  map[string]session.Session
	lists int // number of times the list was read
}

// see opens a stream about sessions.
func (c caller) see() *sessionsSeen {
	return &sessionsSeen{caller: c, stream: c.follow("/api/v1/events?topics=session")}
}

// until follows the stream until ok accepts the rows.
func (s *sessionsSeen) until(what string, ok func(map[string]session.Session) bool) {
	t := s.house.t
	t.Helper()
	for late := time.After(atMost); !ok(s.rows); {
		select {
		case f, open := <-s.frames:
			if !open {
				t.Fatalf("the stream ended before %s", what)
			}
			s.apply(t, f)
		case <-late:
			t.Fatalf("waited for %s for %s; the rows are %+v", what, atMost, s.rows)
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
		t.Errorf("unexpected frame about sessions: %v", f)
	}
}

// A dashboard sees runs start and end without polling, and sees nothing stale while the
// gateway is offline.
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
		t.Errorf("the list was read %d times while the gateway was connected, want once", seen.lists)
	}
	if d := diffSessions(seen.rows, owner); d != "" {
		t.Errorf("the list differs from the stream (-stream +list):\n%s", d)
	}

	h.runtime.Restart(10 * time.Second) // long enough for a busy machine to check
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
	waitFor(t, "the gateway to be back", func() bool { return owner.status().State == link.Connected })
	if d := diffSessions(nil, owner); d != "" {
		t.Errorf("a removed session is in the list: %s", d)
	}
}

// diffSessions compares the rows with the current list, except for their times.
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

// watcher is a live stream without a network connection.
func (s *service) watcher(ctx context.Context, user string, send func(frames []byte) error) (run func()) {
	s.house.t.Helper()
	who := actor.Actor{ID: user, Name: user, Role: actor.User}
	ask := event.StreamOptions{Topics: []string{event.TopicSession}, After: -1, Caller: func(context.Context) (actor.Actor, error) { return who, nil }}
	stream, err := s.Events.Open(actor.With(ctx, who), ask)
	if err != nil {
		s.house.t.Fatal(err)
	}
	return func() { stream.Run(ctx, send) }
}

// Dashboards must not cost the gateway anything: 500 dashboards, each with the list and a
// stream, cause as many requests as one.
func TestDashboardsCostTheGatewayNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	var mu sync.Mutex
	calls := map[string]int{}
	h.runtime.Watch(func(r faults.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		calls[r.Method]++
		return true
	})
	watch := func(dashboards int) map[string]int {
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		defer watching.Wait()
		defer cancel()
		var told atomic.Int64 // dashboards that received the end
		key := fmt.Sprintf("agent:cto:of-%d", dashboards)
		for i := range dashboards {
			sawEnd := sync.OnceFunc(func() { told.Add(1) })
			watching.Go(s.watcher(ctx, fmt.Sprintf("user-%d", i/10), func(frames []byte) error {
				for frame := range bytes.SplitSeq(frames, []byte("\n\n")) {
					if bytes.Contains(frame, []byte(key)) && bytes.Contains(frame, []byte(`"last_message":"Told.`)) {
						sawEnd()
					}
				}
				return nil
			}))
		}
		mu.Lock()
		clear(calls)
		mu.Unlock()
		h.runtime.Answer("cto", func(demo.Question) string { return "Told." })
		run := fmt.Sprint("run-of-", dashboards)
		s.ask(run, key, "What is next?")
		for range dashboards {
			owner.get("/api/v1/agentrt/sessions").want(http.StatusOK)
		}
		s.answered(run)
		waitFor(t, "the end on every dashboard", func() bool { return told.Load() == int64(dashboards) })
		waitFor(t, "the cost", func() bool { return owner.session(key).CostUSD != nil })
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(calls)
	}
	one, many := watch(1), watch(500)
	t.Logf("one dashboard: %v; five hundred: %v", one, many)
	for method, n := range many {
		// Readings happen at a fixed pace, so that there are some more on a slow machine.
		if n > 50 {
			t.Errorf("%s was called %d times with one dashboard and %d times with five hundred", method, one[method], n)
		}
	}
}

// A dashboard that stops reading while 50 agents work is disconnected with a notice,
// delays no other client, and is complete after it reconnects.
func TestStalledDashboardComesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	for i := range 50 {
		s.ask(fmt.Sprint("run-", i), fmt.Sprintf("agent:cto:busy-%d", i), "Go on.")
	}
	for i := range 50 {
		s.answered(fmt.Sprint("run-", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	asleep, frames, ended := make(chan struct{}), make(chan string, 1000), make(chan struct{})
	run := s.watcher(ctx, "sleeper", func(b []byte) error {
		if bytes.Contains(b, []byte("event: session.")) {
			<-asleep
		}
		frames <- string(b)
		return nil
	})
	go func() { defer close(ended); run() }()
	t.Cleanup(func() { cancel(); <-ended })
	wake := sync.OnceFunc(func() { close(asleep) })
	t.Cleanup(wake)
	var portions atomic.Int64 // also sent to the stalled client
	awake := s.watcher(ctx, "awake", func(b []byte) error {
		if bytes.Contains(b, []byte("event: session.")) {
			portions.Add(1)
		}
		return nil
	})
	go awake()
	quick := owner.see()
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for n := 0; ; n++ {
			for i := range 50 {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
				}
				if err := h.runtime.Label(fmt.Sprintf("agent:cto:busy-%d", i), fmt.Sprint("label ", n)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	const enough = 80 // a stream may fall 64 batches behind
	for late := time.After(time.Minute); portions.Load() < enough; {
		select {
		case f := <-quick.frames:
			quick.apply(t, f)
		case <-late:
			t.Errorf("there were %d batches in a minute", portions.Load())
			cancel()
			portions.Store(enough)
		}
	}
	close(stop)
	working.Wait()
	wake()
	<-ended
	close(frames)
	var last string
	for f := range frames {
		last = f
	}
	if !strings.Contains(last, "event: end") || !strings.Contains(last, `"code":"behind"`) {
		t.Errorf("the last frames of the stalled client are %q", last)
	}
	for i := range 50 {
		if err := h.runtime.Label(fmt.Sprintf("agent:cto:busy-%d", i), "the last"); err != nil {
			t.Error(err)
		}
	}
	all := func(rows map[string]session.Session) bool {
		for _, r := range rows {
			if r.Label == nil || *r.Label != "the last" {
				return false
			}
		}
		return len(rows) == 50
	}
	quick.until("the last labels, by who was quick", all)
	owner.see().until("the last labels, by who came back", all)
}

// With repeated, reordered, huge, missing and late frames, the list and the stream
// finally match the runtime.
func TestSessionsThroughDisorder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	const sessions = 8
	key := func(i int) string { return fmt.Sprintf("agent:cto:wild-%d", i%sessions) }
	for i := range sessions {
		s.ask(fmt.Sprint("run-", i), key(i), "Go on.")
		s.answered(fmt.Sprint("run-", i))
	}
	seen := owner.see()
	label := func(i int, text string) {
		if err := h.runtime.Label(key(i), text); err != nil {
			t.Error(err)
		}
	}
	n := 0
	for name, fault := range map[string]func(){
		"swapped":  func() { h.runtime.SwapEvents(true) },
		"repeated": func() { h.runtime.Repeat("", 2) },
		"lost":     func() { h.runtime.LoseEvents("sessions.changed", true) },
		"late":     func() { h.runtime.Lag("sessions.list", 300*time.Millisecond) },
		"reversed": func() { h.runtime.Reverse("sessions.list", 2) },
		"huge":     func() { h.runtime.Bloat("sessions.changed", 25<<20) },
		"strange":  func() { h.runtime.Garble(faults.ExtraMembers, faults.UnknownEvent, faults.StrayAnswer) },
	} {
		fault()
		for range 12 {
			n++
			label(n, fmt.Sprint(name, " ", n))
		}
		if name == "huge" {
			waitFor(t, "the huge frames", func() bool {
				return owner.get("/api/v1/agentrt/sessions").status == http.StatusOK
			})
		}
		h.runtime.Heal()
		label(n, fmt.Sprint("healed ", n)) // its number shows what was lost
		s.alike(owner, name)
	}
	for i := range sessions {
		label(i, "over")
	}
	seen.until("the end", func(rows map[string]session.Session) bool {
		over := 0
		for _, r := range rows {
			if r.Label != nil && *r.Label == "over" {
				over++
			}
		}
		return over == sessions
	})
}

// alike waits until the service's list matches the runtime's.
func (s *service) alike(c caller, after string) {
	s.house.t.Helper()
	var diff string
	defer func() {
		if s.house.t.Failed() {
			s.house.t.Logf("after %s (-runtime +service):\n%s", after, diff)
		}
	}()
	waitFor(s.house.t, "the right list after "+after, func() bool {
		list, err := s.Gateway.ListSessions(context.Background(), 100)
		if err != nil {
			return false
		}
		want, got := map[string]string{}, map[string]string{}
		for _, r := range list.Rows {
			want[r.Key] = fmt.Sprint(r.Label, r.Status, r.Active, r.UpdatedAt, r.LastMessage)
		}
		a := c.get("/api/v1/agentrt/sessions?limit=200")
		if a.status != http.StatusOK {
			return false
		}
		for _, r := range decode[[]session.Session](a) {
			if r.Label != nil { // none before the service has seen the first
				got[r.Key] = fmt.Sprint(*r.Label, *r.Status, r.Active, *r.UpdatedAt, *r.LastMessage)
			}
		}
		diff = cmp.Diff(want, got)
		return diff == ""
	})
}
