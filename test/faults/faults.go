// Package faults runs the demo runtime and makes it fail in the ways in which a gateway, its
// network and its agents can fail. Only tests import it. All faults can be changed while the
// runtime serves.
package faults

import (
	"context"
	"crypto/tls"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/gateway/demo"
)

// object is a JSON object.
type object = map[string]any

// Runtime is a demo runtime with faults. Its methods are safe for concurrent use.
type Runtime struct {
	*demo.Runtime
	ctx    context.Context // ends when the runtime closes
	cancel context.CancelFunc
	work   sync.WaitGroup
	clock  func() time.Time // without the offset set by Skew

	frozen     atomic.Pointer[freeze]
	heldAtPort atomic.Int32 // new connections that a silent port or a freeze holds

	mu          sync.Mutex // guards everything below; taken after the demo runtime's lock
	faults      faults
	clients     map[*demo.Conn]*connection
	token       string              // shared token
	certificate *tls.Certificate    // nil without TLS
	boots       int                 // restarts so far
	interrupted map[string]demo.Run // runs to resume, by session
	pairings    pairings
	runs        map[string]int  // started runs, by agent
	calls       map[string]int  // by method
	asAdmin     map[string]bool // ids of runs that clients with operator.admin asked for
	ownerRuns   []string        // those of them that started
}

// connection is what the faults know of a connection.
type connection struct {
	runtime  *Runtime
	conn     *demo.Conn
	admitted bool // its credentials were accepted
	ready    bool // it was sent hello-ok
	shared   bool // it authenticated with the shared token
	deviceID string
	scopes   []string
	seq      int // number of its last event
	shift    int // how far the numbers of its events are from those that the demo runtime gives them
	held     heldFrames
}

// faults holds the faults that are currently set. In maps keyed by agent, the entry with
// the empty id applies to all agents without an entry of their own. Maps keyed by method
// or event use the empty name in the same way.
type faults struct {
	delay  map[string]time.Duration
	silent map[string]bool
	fail   map[string]string
	answer map[string]func(demo.Question) string

	frames       frameFaults
	port         PortMode
	portReleased chan struct{} // closed when PortSilent ends; nil in other modes
	starting     bool
	withheld     []string                   // scopes
	removed      []string                   // methods
	protocol     int                        // replaces the default protocol version unless 0
	skew         time.Duration              // clock offset
	refused      func(scopes []string) bool // matches the scopes of refused clients; nil refuses none
	lockedUntil  time.Time
	resume       time.Duration // delay from a restart until interrupted turns resume; 0 means they don't
	refreshing   int           // calls of sessions.usage left to answer without numbers
	watch        func(Request) bool
	logins       func(demo.Login)
	jobsStopped  bool // due jobs don't run
}

func newFaults() faults {
	return faults{
		delay:  map[string]time.Duration{},
		silent: map[string]bool{},
		fail:   map[string]string{},
		answer: map[string]func(demo.Question) string{},
		frames: newFrameFaults(),
	}
}

// Start starts a demo runtime without faults. It serves clients until Close is called or ctx ends.
func Start(ctx context.Context, options demo.Options) (*Runtime, error) {
	return start(ctx, options, nil)
}

// StartTLS is like Start, but the runtime serves with a self-signed certificate that names
// no host; see Fingerprint.
func StartTLS(ctx context.Context, options demo.Options) (*Runtime, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	return start(ctx, options, certificate)
}

func start(ctx context.Context, options demo.Options, certificate *tls.Certificate) (*Runtime, error) {
	r := &Runtime{
		faults: newFaults(), clients: map[*demo.Conn]*connection{}, token: options.Token,
		certificate: certificate, interrupted: map[string]demo.Run{}, pairings: pairings{paired: map[string]*pairedDevice{}},
		runs: map[string]int{}, calls: map[string]int{}, asAdmin: map[string]bool{},
	}
	r.clock = options.Now
	if r.clock == nil {
		r.clock = time.Now
	}
	options.Now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.now()
	}
	options.Behavior = behavior{r}
	r.ctx, r.cancel = context.WithCancel(ctx)
	var err error
	if r.Runtime, err = demo.Start(ctx, options); err != nil {
		r.cancel()
		return nil, err
	}
	return r, nil
}

// now returns the gateway's time. The caller must hold r.mu.
func (r *Runtime) now() time.Time { return r.clock().Add(r.faults.skew) }

// Close ends the runtime as demo.Runtime.Close does.
func (r *Runtime) Close() error {
	r.cancel()
	err := r.Runtime.Close()
	r.work.Wait()
	return err
}

// URL returns the runtime's address, such as http://127.0.0.1:41234 (https with TLS).
func (r *Runtime) URL() string {
	url := r.Runtime.URL()
	if r.certificateDER() != nil {
		return strings.Replace(url, "http:", "https:", 1)
	}
	return url
}

// Heal turns off all faults and scripts, and sends the frames that they held back. It
// does not undo changes to the shared token, the paired devices or the certificate. Runs
// that have started continue.
func (r *Runtime) Heal() {
	r.Freeze(false)
	r.SetPort(PortNormal)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = newFaults()
	r.release((*connection).releaseSwapped, (*connection).releaseDelayed, (*connection).releaseReversed)
}

// set stores the value v for an agent, or deletes the agent's setting if off is true.
func set[V any](m map[string]V, agentID string, v V, off bool) {
	if off {
		delete(m, agentID)
		return
	}
	m[agentID] = v
}

// setting returns an agent's own setting, or the setting for all agents if it has none.
func setting[V any](m map[string]V, agentID string) V {
	if v, ok := m[agentID]; ok {
		return v
	}
	return m[""]
}

// change changes the faults.
func (r *Runtime) change(how func(*faults)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how(&r.faults)
}

// Delay makes an agent think for the duration d in addition to Options.Pace. It applies
// from the agent's next run onward. Zero turns the fault off. An empty agentID means all
// agents without a setting of their own.
func (r *Runtime) Delay(agentID string, d time.Duration) {
	r.change(func(f *faults) { set(f.delay, agentID, d, d == 0) })
}

// Silence makes an agent's future runs start but never answer: only a timeout, an abort
// or a restart ends them. Turning the fault off does not affect runs that have already
// started.
func (r *Runtime) Silence(agentID string, on bool) {
	r.change(func(f *faults) { set(f.silent, agentID, on, !on) })
}

// Fail makes an agent's runs fail as if the model provider had refused the request. The given
// reason becomes the runs' error text. An empty reason turns the fault off.
func (r *Runtime) Fail(agentID, reason string) {
	r.change(func(f *faults) { set(f.fail, agentID, reason, reason == "") })
}

// Answer makes an agent answer every question with the text that script returns. A nil script
// turns this off. The script may return an empty answer but must not block forever. No lock is
// held while the script runs.
func (r *Runtime) Answer(agentID string, script func(demo.Question) string) {
	r.change(func(f *faults) { set(f.answer, agentID, script, script == nil) })
}

// StopJobs stops the job scheduler: jobs that come due are skipped, and no event is sent.
// Jobs can still be started manually.
func (r *Runtime) StopJobs(on bool) { r.change(func(f *faults) { f.jobsStopped = on }) }

// Starting turns the simulation of a starting gateway on or off. While it is on, /startupz and
// /readyz respond with status 503, and connect requests are refused with a retryable error.
func (r *Runtime) Starting(on bool) { r.change(func(f *faults) { f.starting = on }) }

// Refreshing simulates a gateway that has not read its files yet: the next calls to sessions.usage
// return zero totals, and null usage for every session. The calls parameter is the number of
// affected calls; 0 turns the fault off.
func (r *Runtime) Refreshing(calls int) { r.change(func(f *faults) { f.refreshing = max(0, calls) }) }

// Asked returns the number of an agent's runs that have started. With a real gateway,
// each of them would call a model. An empty agentID means all agents.
func (r *Runtime) Asked(agentID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if agentID != "" {
		return r.runs[agentID]
	}
	sum := 0
	for _, n := range r.runs {
		sum += n
	}
	return sum
}

// Calls returns the number of times that a method was called. Refused calls count too,
// and so do connect requests.
func (r *Runtime) Calls(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

// Connections returns the number of connected clients that have completed the handshake.
func (r *Runtime) Connections() int {
	return len(r.connected(func(c *connection) bool { return c.ready }))
}

// connected returns the connected clients that match, or all if match is nil.
func (r *Runtime) connected(match func(*connection) bool) []*connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*connection
	for conn, c := range r.clients {
		select {
		case <-conn.Done():
			c.held.clear()
			delete(r.clients, conn)
			continue
		default:
		}
		if match == nil || match(c) {
			list = append(list, c)
		}
	}
	return list
}

// connection returns what is known of a connection. The caller must hold r.mu.
func (r *Runtime) connection(conn *demo.Conn) *connection {
	c := r.clients[conn]
	if c == nil {
		c = &connection{runtime: r, conn: conn}
		r.clients[conn] = c
	}
	return c
}

// behavior applies the faults to the demo runtime.
type behavior struct{ r *Runtime }

// Protocol returns the protocol version set with SetProtocol.
func (b behavior) Protocol() int {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	if v := b.r.faults.protocol; v > 0 {
		return v
	}
	return demo.Standard{}.Protocol()
}

// Turn returns how an agent's next run behaves.
func (b behavior) Turn(q demo.Question) demo.Turn {
	r := b.r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[q.AgentID]++
	if r.asAdmin[q.RunID] {
		r.ownerRuns = append(r.ownerRuns, q.RunID)
	}
	delete(r.interrupted, q.SessionKey) // no other run starts in a session that is held
	turn := demo.Turn{
		Delay:  setting(r.faults.delay, q.AgentID),
		Silent: setting(r.faults.silent, q.AgentID),
		Fail:   setting(r.faults.fail, q.AgentID),
		Answer: setting(r.faults.answer, q.AgentID),
	}
	if q.Message == heartbeatText {
		turn.Answer = func(demo.Question) string { return heartbeatAnswer }
	}
	return turn
}

// JobsRun reports whether StopJobs is off.
func (b behavior) JobsRun() bool {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	return !b.r.faults.jobsStopped
}

// UsageFresh counts down the calls set with Refreshing.
func (b behavior) UsageFresh() bool {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	fresh := b.r.faults.refreshing == 0
	b.r.faults.refreshing = max(0, b.r.faults.refreshing-1)
	return fresh
}
