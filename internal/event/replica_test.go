package event

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/web"
)

// patience is the timeout for slow machines.
const patience = time.Minute

// replica is a running process: the log behind the real API on a real socket.
type replica struct {
	*Service
	addr string
	stop func() error

	mu      sync.Mutex
	people  map[string]actor.Actor // by token; other tokens are role names
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

// is assigns a token to an account.
func (r *replica) is(token string, who actor.Actor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.people[token] = who
}

// start runs s until the test ends or stops it.
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

// got is a frame as the client receives it.
type got struct {
	id, kind, data string
	at             time.Time
}

func (g got) String() string { return g.id + " " + g.kind }

// reading is an open stream.
type reading struct {
	t      testing.TB
	status int
	header http.Header
	frames chan got // closed when the stream ends
	pulses atomic.Int64
	leave  func()
}

// open opens a stream with a token.
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
	res, err := transport.RoundTrip(req) //nolint:bodyclose // leave closes it
	if err != nil {
		t.Fatal(err)
	}
	s := &reading{t: t, status: res.StatusCode, header: res.Header, frames: make(chan got, 10_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.frames)
		scanFrames(bufio.NewReader(res.Body), func(g got) {
			if g.kind == "pulse" {
				s.pulses.Add(1)
			} else {
				s.frames <- g
			}
		})
	}()
	s.leave = sync.OnceFunc(func() { cancel(); _ = res.Body.Close(); <-done })
	t.Cleanup(s.leave)
	return s
}

// scanFrames parses frames until r ends. A comment is a frame of the kind pulse.
func scanFrames(r *bufio.Reader, yield func(got)) {
	var g got
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case ":":
			g.kind = "pulse"
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

// next returns the next frame; ok is false at the end of the stream.
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

// want reads frames and compares their IDs and kinds, such as "3 task.changed".
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

// wantEnd reads the end frame and compares its code.
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
