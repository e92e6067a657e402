package session

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db/dbtest"
	"wardroom/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtime is a fake gateway controlled by the test.
type runtime struct {
	mu       sync.Mutex
	conn     int // 0 while disconnected
	rows     []gateway.Session
	listErr  error
	noEvents error         // result of SubscribeSessions
	slow     time.Duration // duration of ListSessions
	calls    map[string]int
	events   chan link.Event
	page     gateway.TurnPage
	slowPage time.Duration // duration of Turns
	begun    chan struct{}
	once     sync.Once
	carried  map[string]gateway.SessionChange // changes in events by payload
}

// begin lets the mirror read. Before it the test prepares the runtime.
func (r *runtime) begin() { r.once.Do(func() { close(r.begun) }) }

func (r *runtime) called(name string) {
	if r.calls == nil {
		r.calls = map[string]int{}
	}
	r.calls[name]++
}

func (r *runtime) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[name]
}

// change changes the runtime and sends an event unless name is empty.
func (r *runtime) change(name string, do func()) {
	r.mu.Lock()
	do()
	r.mu.Unlock()
	if name != "" {
		r.events <- link.Event{Name: name, Resync: name == link.EventConnected, At: time.Now()}
	}
}

func (r *runtime) Connection() (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == 0 {
		return nil, link.ErrUnreachable.With("Nothing listens.")
	}
	return r.conn, nil
}

func (r *runtime) Events(int) (<-chan link.Event, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != 0 {
		r.events <- link.Event{Name: link.EventConnected, Resync: true, At: time.Now()}
	}
	return r.events, func() {}
}

// push sends an event about a session.
func (r *runtime) push(c gateway.SessionChange) {
	r.mu.Lock()
	if r.carried == nil {
		r.carried = map[string]gateway.SessionChange{}
	}
	id := strconv.Itoa(len(r.carried))
	r.carried[id] = c
	r.mu.Unlock()
	r.events <- link.Event{Name: "sessions.changed", Payload: json.RawMessage(id), At: time.Now()}
}

// Content returns the content of an event as the gateway client does, except that only runs and the
// changes of push change sessions.
func (r *runtime) Content(e link.Event) gateway.Content {
	c, err := gateway.New(link.Options{})
	if err != nil {
		panic(err)
	}
	is := c.Content(e)
	switch e.Name {
	case "agent":
	case "sessions.changed":
		r.mu.Lock()
		defer r.mu.Unlock()
		change := r.carried[string(e.Payload)]
		is.Change = &change
	default:
		is.Change = nil
	}
	return is
}

func (r *runtime) SubscribeSessions(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called("subscribe")
	return r.noEvents
}

func (r *runtime) ListSessions(ctx context.Context, _ int) (gateway.Sessions, error) {
	r.mu.Lock()
	r.called("list")
	rows, err, slow := slices.Clone(r.rows), r.listErr, r.slow
	r.mu.Unlock()
	mirror.Sleep(ctx, slow)
	return gateway.Sessions{Rows: rows}, errors.Join(err, ctx.Err())
}

func (r *runtime) Session(_ context.Context, key string) (gateway.Session, bool, error) {
	r.mu.Lock()
	r.called("describe")
	slow := r.slowPage
	r.mu.Unlock()
	time.Sleep(slow) // in the time of the bubble
	return gateway.Session{Key: key}, strings.HasSuffix(key, "archived"), nil
}

func (r *runtime) Turns(ctx context.Context, _ string, _ int, _ int64) (gateway.TurnPage, error) {
	r.mu.Lock()
	r.called("turns")
	page, slow := r.page, r.slowPage
	r.mu.Unlock()
	select {
	case <-time.After(slow):
		return page, nil
	case <-ctx.Done():
		return gateway.TurnPage{}, ctx.Err()
	}
}

func (r *runtime) TurnsBefore(context.Context, string, int, int64, int64, int64) (gateway.TurnPage, error) {
	return r.page, nil
}

var began = clock.At(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // the start of the clock in synctest

// sessionAt returns an idle session that changed the given seconds after began.
func sessionAt(key string, seconds int) gateway.Session {
	at := clock.At(began.Add(time.Duration(seconds) * time.Second))
	return gateway.Session{Key: "agent:cto:" + key, ID: "t", AgentID: "cto", Status: "done", UpdatedAt: at, StartedAt: began, EndedAt: at}
}

// follow runs a service with the events of its runtime until ctx ends.
func follow(ctx context.Context, s *Service, r mirror.Runtime) error {
	f := mirror.Follower{Runtime: r, Readers: []func(mirror.Event){s.Receive}}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { _ = f.Run(ctx) })
	return s.Run(ctx)
}

// onChange returns live events with a stream that passes changed and removed sessions to fn. It must be called in a
// synctest bubble.
func onChange(t *testing.T, fn func(changed []Session, gone []string)) *event.Service {
	t.Helper()
	events := &event.Service{DB: dbtest.New(t)}
	stream, err := events.Open(t.Context(), event.StreamOptions{
		After: -1, Topics: []string{event.TopicSession},
		Caller: func(context.Context) (actor.Actor, error) { return actor.System, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		stream.Run(ctx, func(frames []byte) error {
			var changed []Session
			var gone []string
			for frame := range strings.SplitSeq(string(frames), "\n\n") {
				kind, data, _ := strings.Cut(strings.TrimPrefix(frame, "event: "), "\ndata: ")
				var is Session
				if strings.HasPrefix(kind, "session.") && json.Unmarshal([]byte(data), &is) != nil {
					t.Errorf("told %s", frame)
				}
				switch kind {
				case "session.changed":
					changed = append(changed, is)
				case "session.gone":
					gone = append(gone, is.Key)
				}
			}
			if len(changed)+len(gone) > 0 {
				fn(changed, gone)
			}
			return nil
		})
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	synctest.Wait() // until the stream has joined
	return events
}

// newMirror returns a service with an empty ledger in the database of the events.
func newMirror(r Runtime, patience time.Duration, events *event.Service) *Service {
	return &Service{
		Runtime: r, Log: slog.New(slog.DiscardHandler), Now: clock.Now, Patience: patience, Events: events,
		Lists: &mirror.Sessions{},
		DB:    events.DB, Usage: &usage.Service{DB: events.DB}, Inbox: &inbox.Service{DB: events.DB, Now: clock.Now},
	}
}

// mirrored runs fn with a mirror of a runtime with one session, in a synctest bubble.
func mirrored(t *testing.T, fn func(t *testing.T, s *Service, r *runtime)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &runtime{conn: 1, rows: []gateway.Session{sessionAt("main", 1)}, events: make(chan link.Event, 5000), begun: make(chan struct{})}
		s := newMirror(r, 15*time.Second, &event.Service{DB: dbtest.New(t)})
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			<-r.begun
			if err := follow(ctx, s, r); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		defer running.Wait()
		defer cancel()
		defer r.begin()
		fn(t, s, r)
	})
}

// list returns the sessions that clients see.
func list(t *testing.T, s *Service) []Session {
	t.Helper()
	if r, ok := s.Runtime.(*runtime); ok {
		r.begin()
	}
	rows, _, err := s.List(t.Context(), Filter{}, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
