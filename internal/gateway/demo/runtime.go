package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Runtime is a running demo runtime. Its methods are safe for concurrent use.
type Runtime struct {
	options Options
	addr    string            // fixed at start, so that a restart listens on the same address
	methods map[string]method // methods that clients can call

	ctx          context.Context // ends when the runtime closes
	cancel       context.CancelFunc
	stopWatching func() bool    // detaches from the context passed to Start
	work         sync.WaitGroup // all goroutines of the runtime
	once         sync.Once

	mu         sync.Mutex // guards everything below, and the fields of runs, sessions and boots
	boot       *boot      // nil while the port is closed
	closed     bool
	conns      map[*Conn]struct{}
	sessions   map[string]*session  // by key; kept across restarts, as on disk
	config     object               // replaced by each patch; kept across restarts
	jobs       []*cronJob           // in order of creation; kept across restarts
	jobHistory []object             // ended runs of jobs, newest last
	manual     int                  // number of runs started by hand
	servers    map[string][]string  // MCP servers, by agent
	loginEnds  map[string]time.Time // ends of agents' logins, by agent; others have a key without an end
	asked      []*asked             // approvals and questions; approvals are kept across restarts
	files      map[string]string    // contents of the agents' files; by agent and name
	lastWorkAt map[string]int64     // when each agent last started a scenario; by agent
}

// boot is the state of one simulated gateway process. A restart discards it.
type boot struct {
	id       string
	since    time.Time
	server   *http.Server
	ctx      context.Context // ends with this boot
	cancel   context.CancelFunc
	draining bool
	runs     map[string]*run // by id, which is the idempotency key
	waiters  map[string][]*waiter
}

// Start starts a runtime that serves clients until Close is called or ctx ends.
func Start(ctx context.Context, options Options) (*Runtime, error) {
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
		options: options, addr: ln.Addr().String(),
		conns: map[*Conn]struct{}{}, sessions: map[string]*session{}, lastWorkAt: map[string]int64{},
		files: map[string]string{}, config: initialConfig(options.Agents),
	}
	r.methods = r.methodTable()
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.Boot(ln)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopWatching = context.AfterFunc(ctx, func() { _ = r.Close() })
	return r, nil
}

// URL returns the runtime's address, such as http://127.0.0.1:41234.
func (r *Runtime) URL() string { return "http://" + r.addr }

// Close sends every client a shutdown event, closes all connections with close code 1012,
// and waits for the runtime's goroutines to end. It may be called more than once.
func (r *Runtime) Close() error {
	r.once.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.stopWatching()
		r.mu.Unlock()
		r.Stop(object{"reason": "gateway stopping"})
		r.cancel()
		r.work.Wait()
	})
	return nil
}

// now returns the gateway's time in Unix milliseconds, the format used in frames.
func (r *Runtime) now() int64 { return r.options.Now().UnixMilli() }

// Boot starts a simulated gateway process, which serves clients on the listener ln. If the
// runtime is closed or a process is running, Boot closes ln instead.
func (r *Runtime) Boot(ln net.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.boot != nil {
		_ = ln.Close()
		return
	}
	b := &boot{
		id: uuid.NewString(), since: time.Now(),
		runs: map[string]*run{}, waiters: map[string][]*waiter{},
	}
	b.ctx, b.cancel = context.WithCancel(r.ctx)
	b.server = &http.Server{
		Handler:           r.handler(b),
		ReadHeaderTimeout: realTiming.Handshake,
		ConnContext:       withSocket,
	}
	r.boot = b
	r.skipMissedJobs()
	ln = r.options.Behavior.Listen(b.server, ln)
	r.work.Go(func() {
		if err := b.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			r.options.Log.Error("the demo runtime stopped serving", "err", err)
		}
	})
	r.work.Go(func() { r.emitPeriodic(b) })
	r.work.Go(func() { r.runScheduler(b) })
	r.options.Log.Debug("demo runtime listening", "url", r.URL(), "boot_id", b.id)
}

// Stop stops the simulated gateway process. It refuses new clients, ends queued runs, sends all clients a shutdown
// event with why as its payload, and closes their connections. It returns the runs that it interrupted, and whether a
// process was running.
func (r *Runtime) Stop(why map[string]any) (interrupted []Run, running bool) {
	r.mu.Lock()
	b := r.boot
	if b == nil {
		r.mu.Unlock()
		return nil, false
	}
	r.boot, b.draining = nil, true
	interrupted = r.drain(b)
	r.loseAsked()
	conns := slices.Collect(maps.Keys(r.conns))
	for _, c := range conns {
		c.Event("shutdown", why)
		c.Close(1012, "service restart")
	}
	r.mu.Unlock()
	_ = b.server.Close() // Close returns only the listener's error, and the listener is closed either way
	for _, c := range conns {
		<-c.Done()
	}
	b.cancel()
	return interrupted, true
}

// emitPeriodic sends tick and health events at regular intervals until b.ctx ends.
func (r *Runtime) emitPeriodic(b *boot) {
	tick, health := time.NewTicker(r.options.Timing.Tick), time.NewTicker(r.options.Timing.Health)
	defer tick.Stop()
	defer health.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-tick.C:
			r.mu.Lock()
			r.broadcast(audience{}, "tick", object{"ts": r.now()})
			r.mu.Unlock()
		case <-health.C:
			r.mu.Lock()
			r.broadcast(audience{}, "health", object{"ok": true, "ts": r.now()})
			r.mu.Unlock()
		}
	}
}

// audience selects the clients that receive an event. The zero value selects all clients.
type audience struct {
	scope      string // scope the client must hold; empty means none
	subscribed bool   // the client must have called sessions.subscribe
	capable    string // capability that the client must have announced; empty means none
}

// broadcast sends an event to every client in the audience. The caller must hold r.mu.
func (r *Runtime) broadcast(to audience, name string, payload any) {
	for c := range r.conns {
		if to.has(c) {
			c.Event(name, payload)
		}
	}
}

// has reports whether a client is in the audience. The caller must hold the runtime's lock.
func (to audience) has(c *Conn) bool {
	return c.helloSent.Load() && c.hasScope(to.scope) && (c.subscribed || !to.subscribed) &&
		(to.capable == "" || slices.Contains(c.caps, to.capable))
}

// agent returns the agent with the given id.
func (r *Runtime) agent(id string) (Agent, bool) {
	i := slices.IndexFunc(r.options.Agents, func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return r.options.Agents[i], true
}

// sleep waits for the duration d. If ctx ends first, it returns ctx's error.
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
