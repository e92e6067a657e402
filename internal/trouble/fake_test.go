package trouble

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var night = time.Date(2026, 11, 16, 3, 0, 0, 0, time.UTC)

// every is the interval of checks on the test clock.
const every = 30 * time.Second

// secret is an error message of the gateway.
const secret = "token=hunter2"

// world is an inbox, a manual clock and any number of processes.
type world struct {
	t   *testing.T
	d   *db.DB
	box *inbox.Service
	all []*process

	mu  sync.Mutex
	now time.Time
}

// process is a process with its gateway connection.
type process struct {
	*Service
	w *world

	mu sync.Mutex
	is link.Status
}

func newWorld(t *testing.T, d *db.DB) *world {
	w := &world{t: t, d: d, now: night}
	w.box = &inbox.Service{DB: d, Now: w.clock}
	return w
}

// starts starts a process whose connection is in the given state.
func (w *world) starts(state link.State) *process {
	p := &process{w: w}
	p.Service = &Service{
		DB: w.d, Gateway: p, Log: slog.New(slog.DiscardHandler), Now: w.clock, Every: time.Millisecond, Inbox: w.box,
	}
	w.all = append(w.all, p)
	p.turns(state)
	return p
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// passes advances the clock; every process checks at each interval.
func (w *world) passes(d time.Duration) {
	w.t.Helper()
	for end := w.clock().Add(d); w.clock().Before(end); {
		w.move(min(every, end.Sub(w.clock())))
		for _, p := range w.all {
			if err := p.Check(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// turns sets the connection's state and reports it.
func (p *process) turns(state link.State) {
	p.mu.Lock()
	p.is = link.Status{State: state, LastError: secret, ConnectedAt: p.is.ConnectedAt, DeviceID: p.is.DeviceID}
	p.mu.Unlock()
	p.Observe(p.Status())
}

// shows changes other parts of the connection's status without reporting them.
func (p *process) shows(change func(*link.Status)) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.is)
	return p
}

func (p *process) Status() link.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.is
}

func (p *process) Watch(ctx context.Context, tell func(link.Status)) {
	tell(p.Status())
	<-ctx.Done()
}

// person brings the items of a kind into a state, as a user would.
func (w *world) person(kind inbox.Kind, state inbox.State) {
	w.t.Helper()
	ctx := actor.With(w.t.Context(), actor.Actor{ID: "ada", Name: "Ada", Role: actor.Owner})
	f := inbox.Filter{States: inbox.States(), Kinds: []inbox.Kind{kind}}
	part, err := w.box.List(ctx, f, page.Want{Query: page.Query{Limit: 10}})
	for _, i := range part.Rows {
		_, err = w.box.Reopen(ctx, i.ID, nil)
		switch {
		case err != nil:
		case state == inbox.Acked:
			_, err = w.box.Ack(ctx, i.ID, nil)
		case state == inbox.Snoozed:
			_, err = w.box.Snooze(ctx, i.ID, w.clock().AddDate(0, 0, 1), nil)
		case state == inbox.Resolved:
			_, err = w.box.Resolve(ctx, i.ID, "by hand", nil)
		}
	}
	if err != nil || len(part.Rows) == 0 {
		w.t.Fatalf("%d items, %v", len(part.Rows), err)
	}
}

// wantItems compares the items of the inbox, such as "The gateway is too slow, high, open, 1".
func wantItems(t *testing.T, d *db.DB, when any, want ...string) {
	t.Helper()
	rows, err := d.Query(t.Context(), `
		SELECT title || ', ' || severity || ', ' || state || ', ' || count FROM inbox_items ORDER BY title`)
	got, err := db.All(rows, err, func(r db.Row) (line string, err error) { return line, r.Scan(&line) })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%v: %v (-want +got):\n%s", when, err, diff)
	}
}

// items returns the inbox items, such as "gateway_trouble open x1".
func (w *world) items() string {
	w.t.Helper()
	rows, err := w.d.Query(w.t.Context(), `SELECT kind || ' ' || state || ' x' || count FROM inbox_items ORDER BY kind`)
	all, err := db.All(rows, err, func(r db.Row) (text string, err error) { return text, r.Scan(&text) })
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

func (w *world) want(items string) {
	w.t.Helper()
	if got := w.items(); got != items {
		w.t.Errorf("after %s the inbox has %q, want %q", w.clock().Sub(night), got, items)
	}
}
