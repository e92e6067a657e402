package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

// stream is an open live stream.
type stream struct {
	t      *testing.T
	frames chan map[string]string // by the names of their lines
	leave  func()
}

// follow opens the live stream at path.
func (c caller) follow(path string) *stream {
	t := c.house.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) //nolint:bodyclose // leave closes it
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", path, res.StatusCode)
	}
	s, done := &stream{t: t, frames: make(chan map[string]string, 1000)}, make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.frames)
		frame := map[string]string{}
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			fmt.Fprintln(&c.house.seen, lines.Text())
			if lines.Text() == "" {
				if len(frame) == 0 {
					continue
				}
				s.frames <- frame
				frame = map[string]string{}
				continue
			}
			if name, value, ok := strings.Cut(lines.Text(), ": "); ok { // otherwise a comment
				frame[name] = value
			}
		}
	}()
	s.leave = sync.OnceFunc(func() { cancel(); _ = res.Body.Close(); <-done })
	t.Cleanup(s.leave)
	return s
}

// until reads frames up to one of the kind that contains the text.
func (s *stream) until(kind, text string) map[string]string {
	s.t.Helper()
	late := time.After(atMost)
	for {
		select {
		case f, ok := <-s.frames:
			if !ok {
				s.t.Fatalf("the stream ended before %s", kind)
			}
			if f["event"] == kind && strings.Contains(f["data"], text) {
				return f
			}
		case <-late:
			s.t.Fatalf("waited for %s for %s", kind, atMost)
		}
	}
}

// A dashboard receives the changes of other users on every replica and the state of the
// gateway, until its access ends.
func TestLive(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, nil)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		live := owner.follow("/api/v1/events")
		live.until("hello", `{"id":`)
		if f := live.until("agentrt.status", `"state":"connected"`); f["id"] != "" {
			t.Errorf("a state has the id %s", f["id"])
		}
		owner.post("/api/v1/tasks", map[string]string{"title": "Seen at once"}).want(http.StatusCreated)
		f := live.until("task.created", "TASK-1")
		if f["id"] == "" || strings.Contains(f["data"], "\n") {
			t.Errorf("it came as %v", f)
		}
		live.leave()
		owner.post("/api/v1/tasks", map[string]string{"title": "Missed"}).want(http.StatusCreated)
		live = owner.follow("/api/v1/events?last_event_id=" + f["id"])
		live.until("task.created", "TASK-2")

		// `wardroom user add` works like this while the service runs.
		cfg, _, err := h.raw.Check()
		if err != nil {
			t.Fatal(err)
		}
		beside, err := db.Open(t.Context(), cfg.DatabaseURL.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		defer beside.Close()
		accounts := &account.Service{DB: beside, Now: clock.Now, Cost: bcrypt.MinCost}
		made, err := accounts.Create(actor.With(t.Context(), actor.System), account.NewUser{Email: "u@example.com", Name: "U", Password: password, Role: actor.Admin})
		if err != nil {
			t.Fatal(err)
		}
		live.until("user.created", "u@example.com")

		theirs := s.login("u@example.com").follow("/api/v1/events")
		theirs.until("hello", "")
		owner.patch("/api/v1/users/"+made.ID, map[string]any{"active": false, "current_password": password}).want(http.StatusOK)
		theirs.until("end", "account_deactivated")
		if f, ok := <-theirs.frames; ok {
			t.Errorf("after the end, the stream had %v", f)
		}

		if err := h.runtime.Close(); err != nil {
			t.Fatal(err)
		}
		live.until("agentrt.status", `"state":"unreachable"`)
		began := time.Now()
		s.stop()
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("stopping with an open stream took %s", took)
		}
	})
}

// A dashboard needs no request to show a changed task: the event contains it, as GET returns it.
func TestTasksInEvents(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		s := newHouse(t, engine, nil).start()
		owner := s.login(ownerEmail)
		live := owner.follow("/api/v1/events?topics=task")
		position := live.until("hello", `{"id":`)["id"]
		const path = "/api/v1/tasks/TASK-1"
		owner.post("/api/v1/tasks", map[string]string{"title": "Order paper", "description": "A4"}).want(http.StatusCreated)
		check := func(l *stream, kind, text string) {
			t.Helper()
			frame := l.until(kind, text)
			var e struct{ Task json.RawMessage }
			if err := json.Unmarshal([]byte(frame["data"]), &e); err != nil {
				t.Fatal(err)
			}
			if want := bytes.TrimSpace(owner.get(path).want(http.StatusOK).body); !bytes.Equal(e.Task, want) {
				t.Errorf("%s has the task\n%s\nbut it is\n%s", kind, e.Task, want)
			}
		}
		check(live, "task.created", "TASK-1")
		owner.patch(path, map[string]string{"title": "Order more paper"}).want(http.StatusOK)
		check(live, "task.changed", "more paper")
		owner.post(path+"/comments", map[string]string{"body": "Ordered"}).want(http.StatusCreated)
		check(live, "task.commented", "TASK-1")

		late := owner.follow("/api/v1/events?topics=task&last_event_id=" + position)
		for _, kind := range []string{"task.created", "task.changed"} {
			if f := late.until(kind, "TASK-1"); strings.Contains(f["data"], `"task":`) {
				t.Errorf("%s is not the last event, but contains the task: %s", kind, f["data"])
			}
		}
		check(late, "task.commented", "TASK-1")

		owner.send(http.MethodDelete, path, nil).want(http.StatusNoContent)
		if f := live.until("task.deleted", "TASK-1"); strings.Contains(f["data"], `"task":`) {
			t.Errorf("the event about the deletion contains the task: %s", f["data"])
		}
	})
}

// A live stream ends when its token expires.
func TestLiveEndsWithTheToken(t *testing.T) {
	t.Parallel()
	s := newHouse(t, db.SQLite, func(r *config.Raw) { r.JWTExpiresIn = "10s" }).start()
	s.login(ownerEmail).follow("/api/v1/events").until("end", "token_invalid")
}
