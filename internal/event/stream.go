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

// ErrStreams means that there are too many open streams, of this user or in all.
var ErrStreams = fault.New(fault.Throttled, "too_many_streams", "Too many live streams are open.")

// Limits bound the streams of one process. Zero fields get the defaults that
// are named beside them.
type Limits struct {
	Streams int           // open at once; 1,000
	Each    int           // of one user; 20
	Buffer  int           // portions that a stream may fall behind before it is dropped; 64
	Resume  int64         // events that are sent again to one that comes back; 10,000
	Read    time.Duration // how long the database may take for one portion, which it finds by its key; 10 s
	Beat    time.Duration // how often a stream says where it stands and the caller is looked at anew; 15 s
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
	return l
}

// Ask says what a stream is to be.
type Ask struct {
	// Caller finds out anew who asks, and fails when they may not (any more).
	Caller func(context.Context) (actor.Actor, error)
	Topics []string // empty is all
	After  int64    // go on after this id; negative begins now
	// Sessions are the keys of the runtime's sessions of which every message is wanted.
	Sessions []string
}

// Stream is one reader's way through the log. It holds a place until it is run.
type Stream struct {
	s       *Service
	limits  Limits
	leave   func() // gives the place back
	ask     Ask
	who     actor.Actor
	seen    time.Time // when the caller was looked at
	pos     int64     // everything up to this id was sent or left out
	reset   bool      // the reader has missed something
	pending []byte
	send    func([]byte) error
}

// eitherWay are keys of sessions as they were given, and as the runtime writes
// those that we have made, such as agent:cto:task:TASK-12: small.
func eitherWay(keys []string) []string {
	all := slices.Clone(keys)
	for _, key := range keys {
		if small := strings.ToLower(key); !slices.Contains(all, small) {
			all = append(all, small)
		}
	}
	return all
}

// Open prepares a stream for the caller in ctx. Run must be called then, once.
// It answers ErrStreams when there is no place.
func (s *Service) Open(ctx context.Context, ask Ask) (_ *Stream, err error) {
	limits, user := s.Limits.withDefaults(), actor.From(ctx).ID
	leave, ok := s.hub().places.Acquire(user, limits.Streams, limits.Each)
	if !ok {
		return nil, ErrStreams.With("Close some, or come back later. One account may have %d open.", limits.Each).After(limits.Beat)
	}
	if len(ask.Sessions) > 0 {
		ask.Sessions = eitherWay(ask.Sessions)
		place, unfollow := leave, s.hub().follow(ask.Sessions)
		leave = func() { unfollow(); place() }
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	at, err := standing(ctx, s.DB)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	// Who lost a right before this point would not be told by an event after it.
	who, err := ask.Caller(ctx)
	if err != nil {
		return nil, err
	}
	t := &Stream{s: s, limits: limits, leave: leave, ask: ask, who: who, seen: s.now(), pos: ask.After}
	if ask.After < 0 || ask.After < at.purged || ask.After > at.last || at.last-ask.After > limits.Resume {
		t.pos, t.reset = at.last, ask.After >= 0
	}
	return t, nil
}

// end is why a stream ends, for its reader: the code of the failure that a new
// request would meet, or one of our own.
type end struct{ code, text string }

func (e end) Error() string { return e.code }

// Ends of streams that are no failures.
var (
	endBehind = end{"behind", "You read too slowly, or we start anew. Come back with Last-Event-ID."}
	endRole   = end{"role_changed", "Your role has changed. Come back with Last-Event-ID."}
	// The code is that of the problem that a new request would meet.
	endAway = end{"database_unavailable", "The database cannot be used at the moment. Come back with Last-Event-ID in a few seconds."}
)

// Run sends frames until ctx ends, the reader is gone, too slow, or may not
// read any more. Of that it is told in a last frame, "end".
func (t *Stream) Run(ctx context.Context, send func(frames []byte) error) {
	defer t.leave()
	t.send = send
	err := t.run(ctx)
	if ctx.Err() != nil || errors.Is(err, errUnsent) {
		return // the reader has left, or the service is ending
	}
	reason := t.reason(ctx, err)
	if text, err := encode(0, "end", map[string]string{"code": reason.code, "detail": reason.text}); err == nil {
		_ = send(text) // they may be gone
	}
}

// reason is what the reader is told of the error that ended its stream. The log
// is told of what is ours to mend; a database that is away, which meets every
// stream at once, has its own line there.
func (t *Stream) reason(ctx context.Context, err error) end {
	reason := end{"internal", "Something went wrong on our side. Come back with Last-Event-ID."}
	if f := fault.Of(err); f != nil {
		return end{f.Code, f.Title}
	}
	if errors.As(err, &reason) {
		return reason
	}
	if t.s.away(err) {
		return endAway
	}
	t.s.log().ErrorContext(ctx, "a live stream broke off", "err", err)
	return reason
}

// errUnsent marks that the reader did not take what was sent.
var errUnsent = errors.New("the reader is gone or stuck")

func (t *Stream) run(ctx context.Context) error {
	first := "hello"
	if t.reset {
		first = "reset"
	}
	t.pending = append(append(t.pending, "retry: 2000\n"...), note(first, t.pos)...)
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.catchUp(ctx, math.MaxInt64); err != nil {
		return err
	}
	feed, from := t.s.hub().join(t.pos, t.limits.Buffer)
	defer t.s.hub().part(feed)
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

// catchUp reads and sends what the log has up to an id.
func (t *Stream) catchUp(ctx context.Context, upTo int64) error {
	for t.pos < upTo {
		events, err := t.s.portion(ctx, t.pos)
		if errors.Is(err, errForgotten) {
			return endBehind // and the reader is told when it comes back
		}
		if err != nil {
			return fmt.Errorf("catch up with the log: %w", err)
		}
		batch, err := frames(events)
		if err != nil {
			return err
		}
		if err := t.pass(ctx, batch); err != nil {
			return err
		}
		if len(events) < portion {
			return nil
		}
	}
	return nil
}

// follow sends what the hub hands out.
func (t *Stream) follow(ctx context.Context, f *feed) error {
	beat := time.NewTicker(t.limits.Beat)
	defer beat.Stop()
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
		case <-beat.C:
			if err := t.again(ctx); err != nil {
				return err
			}
			t.pending = append(t.pending, note("position", t.pos)...)
			if err := t.flush(); err != nil {
				return err
			}
		case <-expired.C:
			if err := t.again(ctx); err != nil {
				return err
			}
			expired.Reset(max(t.left(), 10*time.Millisecond)) // the two clocks differ
		}
	}
}

// left is how long the caller's token still counts.
func (t *Stream) left() time.Duration {
	if t.who.Expires.IsZero() {
		return math.MaxInt64
	}
	return t.who.Expires.Sub(t.s.now())
}

// again looks at the caller anew. Who has another role now begins anew, because
// what they were to see has changed.
func (t *Stream) again(ctx context.Context) error {
	who, err := t.ask.Caller(ctx)
	if err != nil {
		return err
	}
	if who.Role != t.who.Role {
		return endRole
	}
	t.who.Expires, t.seen = who.Expires, t.s.now()
	return nil
}

// passAll is pass for a batch and for those that came meanwhile: however many
// there are, they are sent at once.
func (t *Stream) passAll(ctx context.Context, f *feed, batch []frame) error {
	for range t.limits.Buffer { // then the beat has its turn
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

// pass sends those of a batch that the reader wants, may see and does not have.
func (t *Stream) pass(ctx context.Context, batch []frame) error {
	if err := t.gather(ctx, batch); err != nil {
		return err
	}
	return t.flush()
}

// gather is pass without sending the rest.
func (t *Stream) gather(ctx context.Context, batch []frame) error {
	if t.left() <= 0 || t.s.now().Sub(t.seen) > 2*t.limits.Beat { // when there is no rest between portions
		if err := t.again(ctx); err != nil {
			return err
		}
	}
	for _, f := range batch {
		if f.id > 0 && f.id <= t.pos {
			continue
		}
		if f.class == Audit && f.topics[0] == TopicUser && f.about == t.who.ID {
			// It may take the right to see what follows, and itself.
			if err := t.flush(); err != nil {
				return err
			}
			if err := t.again(ctx); err != nil {
				return err
			}
		}
		t.pos = max(t.pos, f.id)
		if t.wants(f) {
			t.pending = append(t.pending, f.text...)
		}
		if len(t.pending) > mostPending { // however many change at once, streams take little room
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
	if f.only != "" && !slices.Contains(t.ask.Sessions, f.only) {
		return false
	}
	return len(t.ask.Topics) == 0 || slices.ContainsFunc(f.topics, func(topic string) bool { return slices.Contains(t.ask.Topics, topic) })
}

// mostPending is how many bytes are gathered before they are sent, and how much
// room is kept afterwards.
const mostPending = 64 << 10

// flush sends what is pending.
func (t *Stream) flush() error {
	if len(t.pending) == 0 {
		return nil
	}
	err := t.send(t.pending)
	if t.pending = t.pending[:0]; cap(t.pending) > mostPending {
		t.pending = nil // one large portion is no reason to keep the room
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsent, err)
	}
	return nil
}
