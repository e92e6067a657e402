package event

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

// patience is for a slow machine; nothing waits for it when all is well.
const patience = 20 * time.Second

// replica is one running process of the service: the log behind the real API
// on a real socket.
type replica struct {
	*Service
	addr string
	stop func() error

	mu      sync.Mutex
	people  map[string]actor.Actor // by token; other tokens are the name of their role
	refused map[string]error
}

func (r *replica) authenticate(_ context.Context, token string) (actor.Actor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	who, ok := r.people[token]
	if !ok {
		who = actor.Actor{ID: token, Name: token, Role: actor.Role(token)}
	}
	if !who.Expires.IsZero() && !r.now().Before(who.Expires) {
		return actor.Actor{}, errExpired
	}
	return who, r.refused[token]
}

var (
	errExpired     = fault.New(fault.Unauthenticated, "token_invalid", "The token is not good.")
	errDeactivated = fault.New(fault.Forbidden, "account_deactivated", "The account is deactivated.")
)

// is makes token somebody's.
func (r *replica) is(token string, who actor.Actor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.people[token] = who
}

// start runs s until the test ends or it is stopped.
func start(t testing.TB, s *Service) *replica {
	t.Helper()
	r := &replica{Service: s, people: map[string]actor.Actor{}, refused: map[string]error{}}
	api := web.New(web.Options{Title: "Log", Version: "test", Authenticate: r.authenticate})
	s.Mount(api)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, ln, api.Handler(), slog.New(slog.DiscardHandler), patience) }()
	r.addr = "http://" + ln.Addr().String()
	r.stop = sync.OnceValue(func() error { cancel(); running.Wait(); return <-served })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// got is a frame as a reader sees it.
type got struct {
	id, kind, data string
	at             time.Time
}

func (g got) String() string { return g.id + " " + g.kind }

// reading is one open stream.
type reading struct {
	t      testing.TB
	res    *http.Response
	frames chan got // closed at the end of the stream
	leave  func()
}

// open reads path as whoever the token is.
func (r *replica) open(t testing.TB, token, path, after string) *reading {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.addr+web.Prefix+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &reading{t: t, res: res, frames: make(chan got, 10_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.frames)
		scanFrames(bufio.NewReader(res.Body), func(g got) { s.frames <- g })
	}()
	s.leave = sync.OnceFunc(func() { cancel(); _ = res.Body.Close(); <-done })
	t.Cleanup(s.leave)
	return s
}

// scanFrames reads frames until r ends.
func scanFrames(r *bufio.Reader, yield func(got)) {
	var g got
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "id":
			g.id = value
		case "event":
			g.kind = value
		case "data":
			g.data = value
		case "":
			g.at = time.Now()
			yield(g)
			g = got{}
		}
	}
}

// next is the next frame; ok is false at the end of the stream.
func (s *reading) next() (g got, ok bool) {
	s.t.Helper()
	select {
	case g, ok = <-s.frames:
		return g, ok
	case <-time.After(patience):
		s.t.Fatalf("nothing came for %s", patience)
		return g, false
	}
}

// want reads frames and compares ids and kinds, such as "3 task.changed".
func (s *reading) want(frames ...string) (last got) {
	s.t.Helper()
	for _, want := range frames {
		g, ok := s.next()
		if !ok || g.String() != want {
			s.t.Fatalf("got %q (%t), want %q", g, ok, want)
		}
		last = g
	}
	return last
}

// wantEnd reads the last frame.
func (s *reading) wantEnd(code string) {
	s.t.Helper()
	last := s.want(" end")
	if !strings.Contains(last.data, `"code":"`+code+`"`) {
		s.t.Errorf("it ended with %s, want %s", last.data, code)
	}
	if g, ok := s.next(); ok {
		s.t.Errorf("after the end came %s", g)
	}
}

// problem is what an answer that is no stream says.
func (s *reading) problem() string {
	var p struct{ Code string }
	var text strings.Builder
	for g := range s.frames {
		text.WriteString(g.data)
	}
	_ = json.Unmarshal([]byte(text.String()), &p)
	return fmt.Sprint(s.res.StatusCode)
}

// waitFor waits for a condition.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s for %s", what, patience)
		}
	}
}

func (r *replica) streams() int {
	r.hub().mu.Lock()
	defer r.hub().mu.Unlock()
	return len(r.hub().streams)
}

// Whoever watches must see what the list shows, in the order in which it
// happened, all of it, however many write at once.
func TestStreamOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const writers, each = 16, 8
		r := start(t, &Service{DB: d})
		readers := []*reading{r.open(t, "owner", "/events", ""), r.open(t, "admin", "/events", "")}
		for _, s := range readers {
			if g := s.want("0 hello"); g.data != `{"id":0}` {
				t.Errorf("hello says %s", g.data)
			}
		}
		undone := errors.New("undone")
		ctx := actor.With(t.Context(), ada)
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for i := range each {
					err := d.Tx(ctx, func(tx *db.Tx) error {
						if err := Record(ctx, tx, monday, Activity, "task.changed", task1, map[string]string{"why": "<b>\n— 出荷"}); err != nil {
							return err
						}
						if i%4 == 3 {
							return undone
						}
						return Record(ctx, tx, monday, Audit, "task.watched", task1, nil)
					})
					if err != nil && !errors.Is(err, undone) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		shown := map[string]json.RawMessage{}
		for i := range writers * each * 3 / 2 {
			for _, s := range readers {
				g, ok := s.next()
				if !ok || g.id != strconv.Itoa(i+1) {
					t.Fatalf("got %s (%t), want the event %d", g, ok, i+1)
				}
				if g.kind == "task.changed" {
					shown[g.id] = json.RawMessage(g.data)
				}
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.addr+web.Prefix+"/activity?limit=500", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer user")
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var list []json.RawMessage
		if err := json.NewDecoder(res.Body).Decode(&list); err != nil || len(list) != len(shown) {
			t.Fatalf("the list has %d events and the stream %d; %v", len(list), len(shown), err)
		}
		for _, e := range list {
			var at struct{ ID int64 }
			if err := json.Unmarshal(e, &at); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(e), string(shown[strconv.FormatInt(at.ID, 10)])); d != "" {
				t.Fatalf("the list shows it otherwise (-list +stream):\n%s", d)
			}
		}
	})
}

// A dashboard on a train loses its connection all the time. It must neither
// lose an event nor see one twice, wherever the line breaks.
func TestStreamResume(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const drops = 1000
		s := &Service{DB: d}
		ctx, cancel := context.WithCancel(actor.With(context.Background(), ada))
		var background sync.WaitGroup
		background.Go(func() { _ = s.Run(ctx) })
		background.Go(func() {
			for ctx.Err() == nil {
				_ = d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, monday, Activity, "task.changed", task1, nil) })
			}
		})
		defer background.Wait()
		defer cancel()
		broken := errors.New("the line broke")
		caller := func(context.Context) (actor.Actor, error) { return ada, nil }
		last := int64(0)
		for drop := range drops {
			stream, err := s.Open(ctx, Ask{Caller: caller, After: last})
			if err != nil {
				t.Fatal(err)
			}
			line, cut := context.WithTimeout(ctx, patience)
			left := rand.IntN(8) // frames until it breaks
			stream.Run(line, func(frames []byte) error {
				scanFrames(bufio.NewReader(strings.NewReader(string(frames))), func(g got) {
					if left--; left < 0 || t.Failed() {
						return
					}
					switch id, _ := strconv.ParseInt(g.id, 10, 64); {
					case g.kind == "hello" && id == last:
					case g.kind == "task.changed" && id == last+1:
						last = id
					default:
						t.Errorf("drop %d: after %d came %s", drop, last, g)
					}
				})
				if left < 0 {
					return broken
				}
				return nil
			})
			cut()
			if t.Failed() {
				return
			}
		}
		if last < drops {
			t.Errorf("%d events in %d streams: they stood still", last, drops)
		}
	})
}

// A reader that cannot be told all it missed must know it, or it shows what
// is no longer so.
func TestStreamReset(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for range 10 {
			record(t, d, monday, Activity, "task.changed", task1, nil)
		}
		r := start(t, &Service{DB: d, Limits: Limits{Resume: 6}})
		r.open(t, "user", "/events", "8").want("8 hello", "9 task.changed", "10 task.changed")
		r.open(t, "user", "/events?last_event_id=9", "").want("9 hello", "10 task.changed")
		r.open(t, "user", "/events?last_event_id=1", "9").want("9 hello", "10 task.changed")
		r.open(t, "user", "/events", "4").want("4 hello", "5 task.changed")
		r.open(t, "user", "/events", "10").want("10 hello")
		r.open(t, "user", "/events", "").want("10 hello")
		tooMany, beyond := r.open(t, "user", "/events", "3"), r.open(t, "user", "/events", "11")
		tooMany.want("10 reset")
		beyond.want("10 reset")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `DELETE FROM events WHERE id IN (2, 7)`); err != nil {
				return err
			}
			return errors.Join(Forgot(t.Context(), tx, 7), Forgot(t.Context(), tx, 2)) // it does not go back
		})
		if err != nil {
			t.Fatal(err)
		}
		forgotten := r.open(t, "user", "/events", "6")
		forgotten.want("10 reset")
		r.open(t, "user", "/events", "7").want("7 hello", "8 task.changed")
		record(t, d, monday, Activity, "task.changed", task1, nil)
		for _, s := range []*reading{tooMany, beyond, forgotten} {
			s.want("11 task.changed")
		}
	})
}

// What guards the accounts reaches nobody else, also not by a topic.
func TestStreamHidesAudit(t *testing.T) {
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
	if err := r.Tell(State{Kind: "over", Topic: TopicUser, Data: struct{}{}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range users {
		s.want(" over") // and nothing in front of it
	}
	r.open(t, "user", "/events", "0").want("0 hello", "2 standup.opened", "4 task.changed") // nor afterwards
}

func TestStreamRefuses(t *testing.T) {
	r := start(t, &Service{DB: dbtest.New(t), Limits: Limits{Streams: 4, Each: 3}})
	for _, tt := range []struct{ token, path, after, want string }{
		{"user", "/events?topics=weather", "", "422"},
		{"user", "/events?topics=task,weather", "", "422"},
		{"user", "/events?topic=task", "", "422"},
		{"user", "/events", "x", "422"},
		{"user", "/events", "-1", "422"},
		{"user", "/events", "9223372036854775808", "422"},
		{"user", "/events?last_event_id=1.5", "", "422"},
		{"nobody", "/events", "", "403"},
	} {
		if got := r.open(t, tt.token, tt.path, tt.after).problem(); got != tt.want {
			t.Errorf("%s after %q: %s, want %s", tt.path, tt.after, got, tt.want)
		}
	}
	// A page in a loop must leave room for the others.
	var mine []*reading
	for range 3 {
		mine = append(mine, r.open(t, "user", "/events", ""))
	}
	if got := r.open(t, "user", "/events", ""); got.res.StatusCode != http.StatusTooManyRequests || got.res.Header.Get("Retry-After") == "" {
		t.Errorf("the fourth of one user: %d", got.res.StatusCode)
	}
	r.open(t, "owner", "/events", "").want("0 hello")
	if got := r.open(t, "admin", "/events", "").problem(); got != "429" {
		t.Errorf("the fifth of all: %s", got)
	}
	mine[0].leave()
	waitFor(t, "the place to be free", func() bool {
		s := r.open(t, "user", "/events", "")
		defer s.leave()
		return s.res.StatusCode == http.StatusOK
	})
}

// Whoever lost a right must not go on reading on a line that was opened before.
func TestStreamEnds(t *testing.T) {
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
			for _, about := range []Subject{secret, about, secret} { // that the own account is renamed ends nothing
				if err := Record(ctx, tx, monday, Audit, "user.changed", about, nil); err != nil {
					return err
				}
			}
			at, err := standing(ctx, tx)
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
		r := start(t, &Service{DB: d})
		expires := time.Now().Add(700 * time.Millisecond)
		r.is("short", actor.Actor{ID: "short", Role: actor.User, Expires: expires})
		s := r.open(t, "short", "/events?topics=gateway", "")
		s.next()
		s.wantEnd("token_invalid")
		if late := time.Since(expires); late < 0 || late > 500*time.Millisecond {
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
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the stop took %s", took)
		}
		for g := range s.frames {
			if g.kind != "end" {
				t.Errorf("after the stop came %s", g)
			}
		}
	})
}

// One laptop that went to sleep must not hold up the others, nor our memory.
func TestStreamDropsSlowReaders(t *testing.T) {
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

// A reader of one quiet topic must be able to come back after the others have
// moved on by more than the log remembers.
func TestStreamPosition(t *testing.T) {
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

// States are told to those who are there and to those who come, and leave the
// reader's place in the log alone.
func TestStreamStates(t *testing.T) {
	d := dbtest.New(t)
	state := func(text string) State {
		return State{Kind: "agentrt.status", Topic: TopicGateway, Data: map[string]string{"state": text}}
	}
	r := start(t, &Service{DB: d, Current: func() []State { return []State{state("connecting")} }})
	record(t, d, monday, Activity, "task.changed", task1, nil)
	s, tasks := r.open(t, "agent", "/events", "0"), r.open(t, "agent", "/events?topics=task", "")
	if g := s.want("0 hello", "1 task.changed", " agentrt.status"); g.data != `{"state":"connecting"}` {
		t.Errorf("told %s", g.data)
	}
	tasks.want("1 hello")
	waitFor(t, "both streams", func() bool { return r.streams() == 2 })
	if err := r.Tell(state("connected")); err != nil {
		t.Fatal(err)
	}
	record(t, d, monday, Activity, "task.changed", task1, nil)
	if g := s.want(" agentrt.status"); g.data != `{"state":"connected"}` {
		t.Errorf("told %s", g.data)
	}
	s.want("2 task.changed")
	tasks.want("2 task.changed")
	if err := r.Tell(State{Kind: "x", Data: make(chan int)}); err == nil {
		t.Error("what JSON cannot say was told")
	}
}

// Another replica's work, or that of a command beside the service, must show
// as soon as our own.
func TestStreamOfOthers(t *testing.T) {
	for _, engine := range []db.Engine{db.SQLite, db.Postgres} {
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
			// The first events may come before anybody listens.
			var late []time.Duration
			for i := range 40 {
				at := time.Now()
				record(t, other, monday, Activity, "task.changed", task1, nil)
				for _, s := range readers {
					g := s.want(fmt.Sprint(i+1, " task.changed"))
					late = append(late, g.at.Sub(at))
				}
			}
			slices.Sort(late)
			t.Logf("half within %s, nine of ten within %s, all within %s", late[len(late)/2], late[len(late)*9/10], late[len(late)-1])
			if half := late[len(late)/2]; half > 100*time.Millisecond {
				t.Errorf("half of the events took longer than %s", half)
			}
		})
	}
}

// What wakes can be lost; the rows cannot.
func TestStreamWithoutWaking(t *testing.T) {
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

// BenchmarkRecord is the price of a place in the log, with 16 writers.
func BenchmarkRecord(b *testing.B) {
	for _, engine := range []db.Engine{db.SQLite, db.Postgres} {
		b.Run(engine.String(), func(b *testing.B) {
			d := dbtest.Open(b, dbtest.URL(b, engine))
			ctx := actor.With(b.Context(), ada)
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					err := d.Tx(ctx, func(tx *db.Tx) error { return Record(ctx, tx, monday, Activity, "task.changed", task1, nil) })
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
