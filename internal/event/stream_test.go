package event

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// Audit events reach only authorized users, whatever topics they select.
func TestStreamHidesAudit(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	r := start(t, &Service{DB: d})
	standup := Subject{Kind: "standup", ID: "1", Name: "2026-11-16"}
	open := func(path string) map[string]*reading {
		list := map[string]*reading{}
		for _, role := range actor.Roles() {
			list[string(role)] = r.open(t, string(role), path, "")
			list[string(role)].want("0 hello")
		}
		return list
	}
	all, users, two := open("/events"), open("/events?topics=user"), open("/events?topics=standup,task")
	record(t, d, monday, Audit, "user.created", Subject{Kind: "user", ID: "u", Name: "Ada"}, nil)
	record(t, d, monday, Activity, "standup.opened", standup, nil)
	record(t, d, monday, Audit, "user.changed", Subject{Kind: "user", ID: "u", Name: "Ada"}, nil)
	record(t, d, monday, Activity, "task.changed", task1, nil)
	for role, s := range all {
		if role == "owner" || role == "admin" {
			s.want("1 user.created", "2 standup.opened", "3 user.changed", "4 task.changed")
			users[role].want("1 user.created", "3 user.changed")
		} else {
			s.want("2 standup.opened", "4 task.changed")
		}
		two[role].want("2 standup.opened", "4 task.changed")
	}
	r.Publish(State{Kind: "over", Topics: []string{TopicUser}, Data: struct{}{}})
	for _, s := range users {
		s.want(" over") // and nothing before it
	}
	r.open(t, "user", "/events", "0").want("0 hello", "2 standup.opened", "4 task.changed") // nor later
}

func TestStreamRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, &Service{DB: dbtest.New(t), Limits: Limits{Streams: 4, Each: 3}})
	for _, tt := range []struct {
		token, path, after string
		want               int
	}{
		{"user", "/events?topics=weather", "", 422},
		{"user", "/events?topics=task,weather", "", 422},
		{"user", "/events?topic=task", "", 422},
		{"user", "/events", "x", 422},
		{"user", "/events", "-1", 422},
		{"user", "/events", "9223372036854775808", 422},
		{"user", "/events?last_event_id=1.5", "", 422},
		{"nobody", "/events", "", 403},
	} {
		if got := r.open(t, tt.token, tt.path, tt.after).status; got != tt.want {
			t.Errorf("%s after %q: %d, want %d", tt.path, tt.after, got, tt.want)
		}
	}
	// The limit per user leaves room for other users.
	var mine []*reading
	for range 3 {
		mine = append(mine, r.open(t, "user", "/events", ""))
	}
	if got := r.open(t, "user", "/events", ""); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("the fourth of one user: %d", got.status)
	}
	r.open(t, "owner", "/events", "").want("0 hello")
	if got := r.open(t, "admin", "/events", "").status; got != http.StatusTooManyRequests {
		t.Errorf("the fifth of all: %d", got)
	}
	mine[0].leave()
	waitFor(t, "the place to be free", func() bool {
		s := r.open(t, "user", "/events", "")
		defer s.leave()
		return s.status == http.StatusOK
	})
}

// A stream ends when its caller loses access or changes roles.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	admin := actor.Actor{ID: "boss", Name: "Boss", Role: actor.Admin}
	about := Subject{Kind: "user", ID: "boss", Name: "Boss"}
	secret := Subject{Kind: "user", ID: "u", Name: "Ada"}
	t.Run("at the event of their demotion, and shows nothing after it", func(t *testing.T) {
		r := start(t, &Service{DB: d, Limits: Limits{Beat: time.Hour}})
		r.is("boss", admin)
		s := r.open(t, "boss", "/events", "")
		s.next()
		ctx := actor.With(t.Context(), actor.System)
		var renamed int64
		err := d.Tx(ctx, func(tx *db.Tx) error {
			for _, about := range []Subject{secret, about, secret} { // renaming the account does not end the stream
				if err := Record(ctx, tx, monday, Audit, "user.changed", about, nil); err != nil {
					return err
				}
			}
			at, err := readRange(ctx, tx)
			renamed = at.last
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := renamed - 2; i <= renamed; i++ {
			s.want(fmt.Sprint(i, " user.changed"))
		}
		r.is("boss", actor.Actor{ID: "boss", Name: "Boss", Role: actor.User})
		err = d.Tx(ctx, func(tx *db.Tx) error {
			for _, about := range []Subject{secret, about, secret} {
				if err := Record(ctx, tx, monday, Audit, "user.changed", about, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.want(fmt.Sprint(renamed+1, " user.changed"))
		s.wantEnd("role_changed")
	})
	t.Run("at a beat after their deactivation", func(t *testing.T) {
		r := start(t, &Service{DB: d, Limits: Limits{Beat: 20 * time.Millisecond}})
		s := r.open(t, "user", "/events", "")
		s.next()
		r.mu.Lock()
		r.refused["user"] = errDeactivated
		r.mu.Unlock()
		for {
			g, ok := s.next()
			if !ok {
				t.Fatal("it ended without a word")
			}
			if g.kind == "end" {
				if !strings.Contains(g.data, "account_deactivated") {
					t.Errorf("it ended with %s", g.data)
				}
				break
			}
		}
		waitFor(t, "the stream to be gone", func() bool { return r.streams() == 0 })
	})
	t.Run("when their token does, to the moment", func(t *testing.T) {
		r := start(t, &Service{DB: d, Limits: Limits{Beat: time.Hour}}) // no periodic check
		expires := time.Now().Add(5 * time.Second)
		r.is("short", actor.Actor{ID: "short", Role: actor.User, Expires: expires})
		s := r.open(t, "short", "/events?topics=gateway", "")
		s.next()
		s.wantEnd("token_invalid")
		if late := time.Since(expires); late < 0 || late > 5*time.Second {
			t.Errorf("it ended %s after the token", late)
		}
	})
	t.Run("when the service stops", func(t *testing.T) {
		r := start(t, &Service{DB: d})
		s := r.open(t, "user", "/events", "")
		s.next()
		began := time.Now()
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("the stop took %s", took)
		}
		for g := range s.frames {
			if g.kind != "end" {
				t.Errorf("after the stop came %s", g)
			}
		}
	})
}

// A stalled client is dropped and does not delay others.
func TestStreamDropsSlowReaders(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	r := start(t, &Service{DB: d, Limits: Limits{Buffer: 8}})
	quick := r.open(t, "user", "/events", "")
	quick.want("0 hello")
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.addr, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4096)
	}
	if _, err := io.WriteString(c, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer user\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "both streams", func() bool { return r.streams() == 2 })
	large := strings.Repeat("x", 256<<10)
	for i := 1; r.streams() == 2; i++ {
		if i > 400 {
			t.Fatal("100 MB lie in wait for somebody who reads nothing")
		}
		record(t, d, monday, Activity, "task.changed", task1, large)
		quick.want(fmt.Sprint(i, " task.changed"))
	}
	record(t, d, monday, Activity, "task.over", task1, nil)
	if g, ok := quick.next(); !ok || g.kind != "task.over" {
		t.Errorf("the quick one got %s, %t", g, ok)
	}
}

// A client of a quiet topic can resume from the position frames after many
// other events.
func TestStreamPosition(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	r := start(t, &Service{DB: d, Limits: Limits{Beat: 20 * time.Millisecond}})
	s := r.open(t, "user", "/events?topics=standup", "")
	s.want("0 hello")
	for range 3 {
		record(t, d, monday, Activity, "task.changed", task1, nil)
	}
	for g := (got{}); g.id != "3"; {
		var ok bool
		if g, ok = s.next(); !ok || g.kind != "position" || g.data != `{"id":`+g.id+`}` {
			t.Fatalf("got %s %s, %t", g, g.data, ok)
		}
	}
	r.open(t, "user", "/events?topics=standup", "3").want("3 hello", "3 position")
}

// A client must notice a lost network by what no longer comes, although nothing happens.
func TestStreamPulse(t *testing.T) {
	t.Parallel()
	r := start(t, &Service{DB: dbtest.New(t), Limits: Limits{Beat: time.Hour, Pulse: 10 * time.Millisecond}})
	s := r.open(t, "user", "/events", "")
	s.want("0 hello")
	waitFor(t, "three pulses", func() bool { return s.pulses.Load() >= 3 })
}

// States reach current and new streams and do not change their position.
func TestStreamStates(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	state := func(text string) State {
		return State{Kind: "agentrt.status", Topics: []string{TopicGateway}, Data: map[string]string{"state": text}}
	}
	var log bytes.Buffer
	r := start(t, &Service{
		DB: d, Log: slog.New(slog.NewTextHandler(&log, nil)), Current: func() []State { return []State{state("connecting")} },
	})
	record(t, d, monday, Activity, "task.changed", task1, nil)
	s, tasks := r.open(t, "agent", "/events", "0"), r.open(t, "agent", "/events?topics=task", "")
	if g := s.want("0 hello", "1 task.changed", " agentrt.status"); g.data != `{"state":"connecting"}` {
		t.Errorf("told %s", g.data)
	}
	tasks.want("1 hello")
	waitFor(t, "both streams", func() bool { return r.streams() == 2 })
	r.Publish(state("connected"))
	record(t, d, monday, Activity, "task.changed", task1, nil)
	if g := s.want(" agentrt.status"); g.data != `{"state":"connected"}` {
		t.Errorf("told %s", g.data)
	}
	s.want("2 task.changed")
	tasks.want("2 task.changed")
	r.Publish(state("connected"), State{Kind: "x", Data: make(chan int)})
	if !strings.Contains(log.String(), "could not publish live updates") {
		t.Errorf("what JSON cannot say was told: %s", log.String())
	}
}

// Events of other processes arrive as quickly as those of this one.
func TestStreamOfOthers(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			url := dbtest.URL(t, engine)
			d := dbtest.Open(t, url)
			other, err := db.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			replicas := []*replica{start(t, &Service{DB: d})}
			if engine == db.Postgres {
				replicas = append(replicas, start(t, &Service{DB: other}))
			}
			var readers []*reading
			for _, r := range replicas {
				s := r.open(t, "user", "/events", "")
				s.want("0 hello")
				readers = append(readers, s)
			}
			// The first events may be recorded before the notifications are set
			// up.
			var late []time.Duration
			for i := range 40 {
				record(t, other, monday, Activity, "task.changed", task1, nil)
				at := time.Now()
				for _, s := range readers {
					g := s.want(fmt.Sprint(i+1, " task.changed"))
					late = append(late, g.at.Sub(at))
				}
			}
			slices.Sort(late)
			t.Logf("half within %s, nine of ten within %s, all within %s", late[len(late)/2], late[len(late)*9/10], late[len(late)-1])
			// Faster than half the poll interval means that a notification woke
			// the tail.
			if half := late[len(late)/2]; half > pollInterval/2 {
				t.Errorf("half of the events took longer than %s", half)
			}
		})
	}
}

// Events arrive even if notifications are lost.
func TestStreamWithoutWaking(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := start(t, &Service{DB: d})
		s := r.open(t, "user", "/events", "")
		s.want("0 hello")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `UPDATE event_counter SET last = 1`); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `
				INSERT INTO events (id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data)
				VALUES (1, ?, 'activity', 'task.changed', 'ada', 'Ada', 'task', '1', 'TASK-1', '{}')`, monday)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.want("1 task.changed")
	})
}

// When the database restarts, all streams end with database_unavailable, and
// the outage is logged once.
func TestStreamWithoutDatabase(t *testing.T) {
	t.Parallel()
	for err, logged := range map[error]int{io.EOF: 1, context.DeadlineExceeded: 0} {
		t.Run(err.Error(), func(t *testing.T) {
			var log bytes.Buffer
			r := start(t, &Service{
				DB: dbtest.New(t), Limits: Limits{Beat: 20 * time.Millisecond}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			r.DB.LogOutages(r.Log)
			s := r.open(t, "user", "/events", "")
			s.want("0 hello")
			r.mu.Lock()
			r.refused["user"] = fmt.Errorf("look up a token's user: %w", err)
			r.mu.Unlock()
			var last got
			for g, ok := s.next(); ok; g, ok = s.next() {
				last = g
			}
			if last.kind != "end" || !strings.Contains(last.data, `"code":"database_unavailable"`) {
				t.Errorf("it ended with %s %s", last, last.data)
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			if strings.Count(log.String(), "\n") != logged || strings.Count(log.String(), "database unavailable") != logged {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

// A dead database connection blocks the tail only until its timeout.
func TestTailDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.URL(t, db.Postgres))
	var reads atomic.Int64
	d.Observe(func(query string, _ []any) {
		if strings.Contains(query, "event_counter") {
			reads.Add(1)
		}
	})
	r := start(t, &Service{DB: d, Limits: Limits{Read: 500 * time.Millisecond}})
	s := r.open(t, "user", "/events", "")
	s.want("0 hello")
	waitFor(t, "the stream to join", func() bool { return r.streams() == 1 })
	err := d.Tx(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.Exec(t.Context(), `LOCK TABLE event_counter IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		before := reads.Load()
		waitFor(t, "the tail to read again", func() bool {
			_, err := tx.Exec(t.Context(), `SELECT 1`) // PostgreSQL ends an idle transaction
			r.hub().wake()
			return err != nil || reads.Load() >= before+2
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	record(t, d, monday, Activity, "task.changed", task1, nil)
	s.want("1 task.changed")
}
