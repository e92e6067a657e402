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

// Runtime is a running demo runtime. Its methods are safe for concurrent use.
type Runtime struct {
	options Options
	timing  timing
	addr    string            // fixed at start, so that a restart listens on the same address
	methods map[string]method // methods that clients can call

	ctx          context.Context // ends when the runtime closes
	cancel       context.CancelFunc
	stopWatching func() bool    // detaches from the context passed to Start
	work         sync.WaitGroup // all goroutines of the runtime
	once         sync.Once
	heldAtPort   atomic.Int32 // connections and requests waiting on a silent or frozen port

	mu         sync.Mutex // guards everything below, and the fields of runs, sessions and boots
	boot       *boot      // nil while the port is closed
	closed     bool
	starting   bool
	conns      map[*connection]struct{}
	sessions   map[string]*session // by key; kept across restarts, as on disk
	jobs       []*cronJob          // in order of creation; kept across restarts
	jobHistory []object            // ended runs of jobs, newest last
	manual     int                 // number of runs started by hand
	lastWorkAt map[string]int64    // when each agent last started a scenario; by agent
	faults     faults
	token      string // shared token
	pairings   pairings

	certificate *tls.Certificate // nil without TLS
	runsStarted map[string]int   // by agent
	calls       map[string]int   // by method
	adminRuns   []string         // ids of the runs that were offered the owner tools
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
	presence int // version counters in hello-ok and health events
	health   int
}

// Start starts a runtime that serves clients until Close is called or ctx ends.
func Start(ctx context.Context, options Options) (*Runtime, error) {
	return start(ctx, options, realTiming)
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
		conns: map[*connection]struct{}{}, sessions: map[string]*session{}, lastWorkAt: map[string]int64{},
		faults: newFaults(), token: options.Token, pairings: pairings{paired: map[string]*pairedDevice{}},
		runsStarted: map[string]int{}, calls: map[string]int{},
	}
	if options.TLS {
		if r.certificate, err = newCertificate(); err != nil {
			_ = ln.Close()
			return nil, err
		}
	}
	r.methods = r.methodTable()
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.mu.Lock()
	r.startBoot(ln)
	r.stopWatching = context.AfterFunc(ctx, func() { _ = r.Close() })
	r.mu.Unlock()
	return r, nil
}

// URL returns the runtime's address, such as http://127.0.0.1:41234 (https with TLS).
func (r *Runtime) URL() string {
	if r.options.TLS {
		return "https://" + r.addr
	}
	return "http://" + r.addr
}

// Close sends every client a shutdown event, closes all connections with close code 1012,
// and waits for the runtime's goroutines to end. It may be called more than once.
func (r *Runtime) Close() error {
	r.once.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.stopWatching()
		r.mu.Unlock()
		r.stopBoot(object{"reason": "gateway stopping"})
		r.cancel()
		r.work.Wait()
	})
	return nil
}

// clock returns the gateway's time, including the offset set by Skew. The caller must hold
// r.mu.
func (r *Runtime) clock() time.Time { return r.options.Now().Add(r.faults.skew) }

// now returns the gateway's time in Unix milliseconds, the format used in frames. The
// caller must hold r.mu.
func (r *Runtime) now() int64 { return r.clock().UnixMilli() }

// startBoot starts a simulated gateway process, which serves clients on the listener ln.
// The caller must hold r.mu.
func (r *Runtime) startBoot(ln net.Listener) {
	b := &boot{
		id: uuid.NewString(), since: time.Now(),
		runs: map[string]*run{}, waiters: map[string][]*waiter{}, presence: 1, health: 1,
	}
	b.ctx, b.cancel = context.WithCancel(r.ctx)
	b.server = &http.Server{
		Handler:           r.handler(b),
		ReadHeaderTimeout: realTiming.handshake,
		ConnContext:       withSocket,
	}
	r.boot = b
	r.resumeAll(b)
	r.skipMissedJobs()
	ln = r.wrapTLS(ln, b)
	r.work.Go(func() {
		if err := b.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			r.options.Log.Error("the demo runtime stopped serving", "err", err)
		}
	})
	r.work.Go(func() { r.emitPeriodic(b) })
	r.work.Go(func() { r.runScheduler(b) })
	r.options.Log.Debug("demo runtime listening", "url", r.URL(), "boot_id", b.id)
}

// stopBoot stops the simulated gateway process. It refuses new clients, ends queued runs, sends all clients a
// shutdown event with why as its payload, and closes their connections. It reports whether a process was running.
func (r *Runtime) stopBoot(why object) bool {
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
		if r.faults.frozen != nil {
			c.cut() // a frozen connection would never send the close frame
		}
	}
	r.mu.Unlock()
	_ = b.server.Close() // Close returns only the listener's error, and the listener is closed either way
	for _, c := range conns {
		<-c.done
	}
	b.cancel()
	return true
}

// reopen starts the simulated gateway again, on the same address as before. It retries
// until the port is free or the runtime closes.
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
			r.startBoot(ln)
			return
		}
		if sleep(r.ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

// emitPeriodic sends tick and health events at regular intervals until b.ctx ends.
func (r *Runtime) emitPeriodic(b *boot) {
	tick, health := time.NewTicker(r.timing.tick), time.NewTicker(r.timing.health)
	defer tick.Stop()
	defer health.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-tick.C:
			r.mu.Lock()
			r.broadcast(audience{}, "tick", object{"ts": r.now()}, nil)
			r.mu.Unlock()
		case <-health.C:
			r.mu.Lock()
			b.health++
			r.broadcast(audience{}, "health", r.health(), object{"presence": b.presence, "health": b.health})
			r.mu.Unlock()
		}
	}
}

// audience selects the clients that receive an event. The zero value selects all clients.
type audience struct {
	scope      string // scope the client must hold; empty means none
	subscribed bool   // the client must have called sessions.subscribe
}

// broadcast sends an event to every client in the audience. The caller must hold r.mu.
func (r *Runtime) broadcast(to audience, name string, payload, stateVersion any) {
	for c := range r.conns {
		if !c.helloSent || !c.hasScope(to.scope) || to.subscribed && !c.subscribed {
			continue
		}
		c.event(name, payload, stateVersion)
	}
}

// connections returns the current connections.
func (r *Runtime) connections() []*connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.conns))
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
