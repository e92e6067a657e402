package demo

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Runtime is a running demo runtime. All methods may be called at any time and
// from anywhere.
type Runtime struct {
	options Options
	timing  timing
	addr    string            // fixed at the start, so that a restart comes back to it
	methods map[string]method // what a client may call

	ctx     context.Context // ends with the runtime
	cancel  context.CancelFunc
	unhook  func() bool    // stops listening to the context given to Start
	work    sync.WaitGroup // every goroutine that was started
	once    sync.Once
	waiting atomic.Int32 // who stand at the mute door

	mu       sync.Mutex // guards all below, and the fields of runs, sessions and boots
	boot     *boot      // nil while the port is closed
	closed   bool
	starting bool
	conns    map[*connection]struct{}
	sessions map[string]*session // by key; survives restarts, as on disk
	jobs     []*cronJob          // in the order in which they were made; these survive, too
	ran      []object            // runs of jobs that have ended, the newest last
	manual   int                 // how many were started by hand
	primed   map[string]int64    // by agent: when it last began a piece of work by itself
	faults   faults
	token    string // the shared one
	pairings pairings

	certificate *tls.Certificate // nil without TLS
	asked       map[string]int   // by agent
	calls       map[string]int   // by method
	owners      []string         // runs that were offered the owner tools
}

// boot is one life of the process: what a restart loses.
type boot struct {
	id       string
	since    time.Time
	server   *http.Server
	ctx      context.Context // ends when this life does
	cancel   context.CancelFunc
	draining bool
	runs     map[string]*run // by id, which is the idempotency key
	waiters  map[string][]*waiter
	presence int // version numbers in hello-ok and health events
	health   int
}

// Start listens and serves until Close, or until ctx ends.
func Start(ctx context.Context, options Options) (*Runtime, error) {
	return start(ctx, options, recorded)
}

func start(ctx context.Context, options Options, t timing) (*Runtime, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", options.Addr)
	if err != nil {
		return nil, fmt.Errorf("demo: listen: %w", err)
	}
	r := &Runtime{
		options: options, timing: t, addr: ln.Addr().String(),
		conns: map[*connection]struct{}{}, sessions: map[string]*session{}, primed: map[string]int64{},
		faults: newFaults(), token: options.Token, pairings: pairings{paired: map[string]*pairedDevice{}},
		asked: map[string]int{}, calls: map[string]int{},
	}
	if options.TLS {
		if r.certificate, err = newCertificate(); err != nil {
			_ = ln.Close()
			return nil, err
		}
	}
	r.methods = r.table()
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.mu.Lock()
	r.open(ln)
	r.unhook = context.AfterFunc(ctx, func() { _ = r.Close() })
	r.mu.Unlock()
	return r, nil
}

// URL is where the runtime listens, such as http://127.0.0.1:41234; https with TLS.
func (r *Runtime) URL() string {
	if r.options.TLS {
		return "https://" + r.addr
	}
	return "http://" + r.addr
}

// Close tells every client that the gateway stops, closes them with 1012, and
// waits until nothing of the runtime runs any more. It may be called twice.
func (r *Runtime) Close() error {
	r.once.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.unhook()
		r.mu.Unlock()
		r.shut(object{"reason": "gateway stopping"})
		r.cancel()
		r.work.Wait()
	})
	return nil
}

// clock is the gateway's clock, which a switch may put wrong. The lock is held.
func (r *Runtime) clock() time.Time { return r.options.Now().Add(r.faults.skew) }

// now is the time of stamps, in milliseconds since 1970 as on the wire. The
// lock is held.
func (r *Runtime) now() int64 { return r.clock().UnixMilli() }

// open begins a new life on ln. The lock is held.
func (r *Runtime) open(ln net.Listener) {
	b := &boot{
		id: uuid.NewString(), since: time.Now(),
		runs: map[string]*run{}, waiters: map[string][]*waiter{}, presence: 1, health: 1,
	}
	b.ctx, b.cancel = context.WithCancel(r.ctx)
	b.server = &http.Server{
		Handler:           r.handler(b),
		ReadHeaderTimeout: recorded.handshake,
		ConnContext:       withSocket,
	}
	r.boot = b
	r.resumeAll(b)
	r.wakeJobs()
	ln = r.secure(ln, b)
	r.work.Go(func() {
		if err := b.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			r.options.Log.Error("the demo runtime stopped serving", "err", err)
		}
	})
	r.work.Go(func() { r.beat(b) })
	r.work.Go(func() { r.ring(b) })
	r.options.Log.Debug("demo runtime open", "url", r.URL(), "boot_id", b.id)
}

// shut ends the present life: refuses new clients, ends what is queued, tells
// everyone why, and closes them. It says whether there was a life to end.
func (r *Runtime) shut(why object) bool {
	r.mu.Lock()
	b := r.boot
	if b == nil {
		r.mu.Unlock()
		return false
	}
	r.boot, b.draining = nil, true
	r.drain(b)
	conns := slices.Collect(maps.Keys(r.conns))
	for _, c := range conns {
		c.event("shutdown", why, nil)
		c.close(1012, "service restart")
		if r.faults.ice != nil {
			c.cut() // it would never get to the close
		}
	}
	r.mu.Unlock()
	_ = b.server.Close() // only ever the listener's error, and it is gone either way
	for _, c := range conns {
		<-c.done
	}
	b.cancel()
	return true
}

// reopen begins the next life on the old address. Someone may have taken the
// port meanwhile, so it is tried until it works or the runtime closes.
func (r *Runtime) reopen() {
	for {
		var config net.ListenConfig
		ln, err := config.Listen(r.ctx, "tcp", r.addr)
		if err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.closed || r.boot != nil {
				_ = ln.Close()
				return
			}
			r.open(ln)
			return
		}
		if sleep(r.ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

// beat sends the events that come by themselves.
func (r *Runtime) beat(b *boot) {
	tick, health := time.NewTicker(r.timing.tick), time.NewTicker(r.timing.health)
	defer tick.Stop()
	defer health.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-tick.C:
			r.mu.Lock()
			r.tell(audience{}, "tick", object{"ts": r.now()}, nil)
			r.mu.Unlock()
		case <-health.C:
			r.mu.Lock()
			b.health++
			r.tell(audience{}, "health", r.health(), object{"presence": b.presence, "health": b.health})
			r.mu.Unlock()
		}
	}
}

// audience says who gets an event. The zero value is everyone.
type audience struct {
	scope      string // needed to hear of it
	subscribed bool   // needs sessions.subscribe as well
}

// tell sends an event to everyone it is meant for. The lock is held.
func (r *Runtime) tell(to audience, name string, payload, stateVersion any) {
	for c := range r.conns {
		if !c.greeted || !c.may(to.scope) || to.subscribed && !c.subscribed {
			continue
		}
		c.event(name, payload, stateVersion)
	}
}

// connections are those that exist at this moment.
func (r *Runtime) connections() []*connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.conns))
}

// agent finds an agent by its id.
func (r *Runtime) agent(id string) (Agent, bool) {
	i := slices.IndexFunc(r.options.Agents, func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return r.options.Agents[i], true
}

// sleep waits for d and says whether ctx ended first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
