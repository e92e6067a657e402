package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// ErrStreams means that too many streams are open, either for the user or in total.
var ErrStreams = fault.New(fault.Throttled, "too_many_streams", "Too many live streams are open.")

// Limits restricts the streams of one process. Zero fields get the defaults given below.
type Limits struct {
	Streams int           // open streams in total; 1,000
	Each    int           // open streams per user; 20
	Buffer  int           // batches that a stream may fall behind before it is dropped; 64
	Resume  int64         // events that a resumed stream can catch up on; 10,000
	Read    time.Duration // timeout of reading one batch from the database; 10 s
	Beat    time.Duration // interval of position frames and of checking the caller's access; 15 s
	Pulse   time.Duration // interval of comments, by whose absence a client notices a lost network; 2 s
}

func (l Limits) withDefaults() Limits {
	or := func(n *int, fallback int) {
		if *n == 0 {
			*n = fallback
		}
	}
	or(&l.Streams, 1000)
	or(&l.Each, 20)
	or(&l.Buffer, 64)
	if l.Resume == 0 {
		l.Resume = 10_000
	}
	if l.Read == 0 {
		l.Read = 10 * time.Second
	}
	if l.Beat == 0 {
		l.Beat = 15 * time.Second
	}
	if l.Pulse == 0 {
		l.Pulse = 2 * time.Second
	}
	return l
}

// StreamOptions selects what a stream receives.
type StreamOptions struct {
	// Caller authenticates the caller again. It fails if they no longer have
	// access.
	Caller func(context.Context) (actor.Actor, error)
	Topics []string // empty means all
	After  int64    // continue after this ID; if negative, begin now
	// Sessions are the keys of the runtime sessions whose messages the stream receives.
	Sessions []string
}

// Stream is a client's subscription to the log. It counts toward the limits on open streams until
// Run returns.
type Stream struct {
	s       *Service
	limits  Limits
	leave   func() // releases the place in the limits
	opt     StreamOptions
	who     actor.Actor
	seen    time.Time // when the caller was last checked
	pos     int64     // everything up to this ID was sent or filtered out
	reset   bool      // the client has missed events
	pending []byte
	send    func([]byte) error
}

// withLowerCase returns the session keys both as given and in lower case, because the runtime
// lower-cases the keys that Wardroom creates, such as agent:cto:task:TASK-12.
func withLowerCase(keys []string) []string {
	all := slices.Clone(keys)
	for _, key := range keys {
		if small := strings.ToLower(key); !slices.Contains(all, small) {
			all = append(all, small)
		}
	}
	return all
}

// Open prepares a stream for the user in ctx. Call Run on it exactly once. Open returns ErrStreams
// if too many streams are open.
func (s *Service) Open(ctx context.Context, opt StreamOptions) (_ *Stream, err error) {
	limits, user := s.Limits.withDefaults(), actor.From(ctx).ID
	leave, ok := s.hub().places.Acquire(user, limits.Streams, limits.Each)
	if !ok {
		return nil, ErrStreams.With("Close some streams or try again later. An account can have at most %d streams open.",
			limits.Each).After(limits.Beat)
	}
	if len(opt.Sessions) > 0 {
		opt.Sessions = withLowerCase(opt.Sessions)
		place, unfollow := leave, s.hub().follow(opt.Sessions)
		leave = func() { unfollow(); place() }
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	at, err := readRange(ctx, s.DB)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	// Check the caller after reading the log's position: no event on this stream would report that
	// access was lost before that position.
	who, err := opt.Caller(ctx)
	if err != nil {
		return nil, err
	}
	t := &Stream{s: s, limits: limits, leave: leave, opt: opt, who: who, seen: s.now(), pos: opt.After}
	if opt.After < 0 || opt.After < at.purged || opt.After > at.last || at.last-opt.After > limits.Resume {
		t.pos, t.reset = at.last, opt.After >= 0
	}
	return t, nil
}

// end is the reason why a stream ends, as sent to the client. Its code is the code of the error
// that a new request would get, or one of the codes below.
type end struct{ code, text string }

func (e end) Error() string { return e.code }

// Reasons other than errors for ending a stream.
var (
	endBehind = end{"behind", "The stream fell behind or Wardroom is restarting. Reconnect with Last-Event-ID."}
	endRole   = end{"role_changed", "Your role has changed. Reconnect with Last-Event-ID."}
	// The code is that of the error that a new request would get.
	endAway = end{"database_unavailable", "The database is unavailable. Reconnect with Last-Event-ID in a few seconds."}
)

// Run sends frames until ctx ends, the client disconnects or falls behind, or the caller loses
// access. Unless the client has disconnected or ctx has ended, it then sends an "end" frame with
// the reason.
func (t *Stream) Run(ctx context.Context, send func(frames []byte) error) {
	defer t.leave()
	t.send = send
	err := t.run(ctx)
	if ctx.Err() != nil || errors.Is(err, errUnsent) {
		return // the client has disconnected, or the service is stopping
	}
	reason := t.reason(ctx, err)
	if text, err := encode(0, "end", map[string]string{"code": reason.code, "detail": reason.text}); err == nil {
		_ = send(text) // the client may have disconnected
	}
}

// reason returns the end frame for an error. It logs internal errors, except for an unavailable
// database, which is logged once for all streams.
func (t *Stream) reason(ctx context.Context, err error) end {
	reason := end{"internal", "Wardroom had an internal error. Reconnect with Last-Event-ID."}
	if f := fault.Of(err); f != nil {
		return end{f.Code, f.Title}
	}
	if errors.As(err, &reason) {
		return reason
	}
	if t.s.away(err) {
		return endAway
	}
	t.s.log().ErrorContext(ctx, "event stream failed", "err", err)
	return reason
}

// errUnsent means that the client did not accept a frame.
var errUnsent = errors.New("the client is disconnected or stuck")

func (t *Stream) run(ctx context.Context) error {
	first := "hello"
	if t.reset {
		first = "reset"
	}
	t.pending = append(append(t.pending, "retry: 2000\n"...), positionFrame(first, t.pos)...)
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.catchUp(ctx, math.MaxInt64); err != nil {
		return err
	}
	feed, from := t.s.hub().join(t.pos, t.limits.Buffer)
	defer t.s.hub().leave(feed)
	if err := t.catchUp(ctx, from); err != nil {
		return err
	}
	if t.s.Current != nil { // after join, so that no change is missed
		for _, state := range t.s.Current() {
			f, err := state.frame()
			if err != nil {
				return err
			}
			if err := t.pass(ctx, []frame{f}); err != nil {
				return err
			}
		}
	}
	return t.follow(ctx, feed)
}

// catchUp reads the events after the stream's position, up to the given ID, from the log and sends them.
func (t *Stream) catchUp(ctx context.Context, upTo int64) error {
	for t.pos < upTo {
		batch, err := t.s.readBatch(ctx, t.pos)
		if errors.Is(err, errPurged) {
			return endBehind // the client gets a reset when it reconnects
		}
		if err != nil {
			return fmt.Errorf("catch up with the log: %w", err)
		}
		if err := t.pass(ctx, batch); err != nil {
			return err
		}
		if len(batch) < batchSize {
			return nil
		}
	}
	return nil
}

// follow sends the frames that the hub delivers.
func (t *Stream) follow(ctx context.Context, f *feed) error {
	beat := time.NewTicker(t.limits.Beat)
	defer beat.Stop()
	pulse := time.NewTicker(t.limits.Pulse)
	defer pulse.Stop()
	expired := time.NewTimer(t.left())
	defer expired.Stop()
	for {
		select {
		case <-f.gone:
			return endBehind
		default:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.gone:
			return endBehind
		case batch := <-f.batches:
			if err := t.passAll(ctx, f, batch); err != nil {
				return err
			}
		case <-pulse.C:
			t.pending = append(t.pending, ":\n\n"...)
			if err := t.flush(); err != nil {
				return err
			}
		case <-beat.C:
			if err := t.recheck(ctx); err != nil {
				return err
			}
			t.pending = append(t.pending, positionFrame("position", t.pos)...)
			if err := t.flush(); err != nil {
				return err
			}
		case <-expired.C:
			if err := t.recheck(ctx); err != nil {
				return err
			}
			expired.Reset(max(t.left(), 10*time.Millisecond)) // the two clocks differ
		}
	}
}

// left returns the remaining lifetime of the caller's token.
func (t *Stream) left() time.Duration {
	if t.who.Expires.IsZero() {
		return math.MaxInt64
	}
	return t.who.Expires.Sub(t.s.now())
}

// recheck authenticates the caller again. It ends the stream if the caller's role has changed,
// because the new role may see a different set of events.
func (t *Stream) recheck(ctx context.Context) error {
	who, err := t.opt.Caller(ctx)
	if err != nil {
		return err
	}
	if who.Role != t.who.Role {
		return endRole
	}
	t.who.Expires, t.seen = who.Expires, t.s.now()
	return nil
}

// passAll is like pass, but also sends the frames of the batches that are waiting in the
// queue.
func (t *Stream) passAll(ctx context.Context, f *feed, batch []frame) error {
	for range t.limits.Buffer { // bounded, so that the beat gets its turn
		if err := t.gather(ctx, batch); err != nil {
			return err
		}
		select {
		case batch = <-f.batches:
		default:
			return t.flush()
		}
	}
	return t.pass(ctx, batch)
}

// pass sends a batch of frames. It leaves out frames that the client has not selected, may not see,
// or has already received.
func (t *Stream) pass(ctx context.Context, batch []frame) error {
	if err := t.gather(ctx, batch); err != nil {
		return err
	}
	return t.flush()
}

// gather is like pass, but leaves the last frames in the buffer instead of
// sending them.
func (t *Stream) gather(ctx context.Context, batch []frame) error {
	if t.left() <= 0 || t.s.now().Sub(t.seen) > 2*t.limits.Beat { // if batches follow each other without a pause
		if err := t.recheck(ctx); err != nil {
			return err
		}
	}
	for _, f := range batch {
		if f.id > 0 && f.id <= t.pos {
			continue
		}
		if f.class == Audit && f.topics[0] == TopicUser && f.about == t.who.ID {
			// The event may revoke the caller's access to this event and to later ones.
			if err := t.flush(); err != nil {
				return err
			}
			if err := t.recheck(ctx); err != nil {
				return err
			}
		}
		t.pos = max(t.pos, f.id)
		if t.wants(f) {
			t.pending = append(t.pending, f.text...)
		}
		if len(t.pending) > mostPending { // bounds the memory per stream
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Stream) wants(f frame) bool {
	if f.class == Audit && !t.who.Role.May(actor.ReadAudit) {
		return false
	}
	for _, topic := range f.topics {
		if p, ok := guarded[topic]; ok && !t.who.Role.May(p) {
			return false
		}
	}
	if f.only != "" && !slices.Contains(t.opt.Sessions, f.only) {
		return false
	}
	return len(t.opt.Topics) == 0 || slices.ContainsFunc(f.topics, func(topic string) bool {
		return slices.Contains(t.opt.Topics, topic)
	})
}

// mostPending limits the size of the buffered frames, in bytes. When they exceed it, they
// are sent. A buffer whose capacity has grown beyond this size is not reused.
const mostPending = 64 << 10

// flush sends the buffered frames.
func (t *Stream) flush() error {
	if len(t.pending) == 0 {
		return nil
	}
	err := t.send(t.pending)
	if t.pending = t.pending[:0]; cap(t.pending) > mostPending {
		t.pending = nil // do not keep an unusually large buffer
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsent, err)
	}
	return nil
}
