package standup

import (
	"cmp"
	"context"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/plaintext"
)

// How requests wait for a meeting that goes on: to follow its transcript, or
// for its end.

// poll is how often a meeting is read for all who wait for it together.
const pollInterval = 150 * time.Millisecond

// comeBack is when whoever finds no place may try again.
const waitRetryAfter = 15 * time.Second

// Limits bound the requests of one process that wait for meetings. Zero fields
// get the defaults that are named beside them.
type Limits struct {
	Waiting int // open at once; 1,000
	Each    int // of one account; 20
}

// place takes a place for the caller in ctx to wait in, until leave is called.
// It answers ErrWaiting when there is none.
func (s *Service) acquireSlot(ctx context.Context) (leave func(), err error) {
	each := cmp.Or(s.Limits.Each, 20)
	leave, ok := s.places.Take(actor.From(ctx).ID, cmp.Or(s.Limits.Waiting, 1000), each)
	if !ok {
		return nil, ErrWaiting.With("Close some, or come back later. One account may have %d open.", each).After(waitRetryAfter)
	}
	return leave, nil
}

// lookout lets those of this process who wait for the same meeting read it
// together: however many they are, it is read once per poll.
type sharedReader struct {
	mu       sync.Mutex
	meetings map[string]*sharedRead // those that somebody waits for
}

// sight is a meeting as it was read last.
type sharedRead struct {
	users   int           // guarded by the lookout
	reading chan struct{} // holds one thing while somebody reads or looks; guards what follows
	at      time.Time     // when the reading began
	last    Standup
}

// follower is one who waits for a meeting.
type follower struct {
	*sharedRead
	id    string
	since time.Time
	leave func() // must be called
}

func (l *sharedReader) follow(id string) follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.meetings[id]
	if m == nil {
		m = &sharedRead{reading: make(chan struct{}, 1)}
		if l.meetings == nil {
			l.meetings = map[string]*sharedRead{}
		}
		l.meetings[id] = m
	}
	m.users++
	return follower{m, id, time.Now(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if m.users--; m.users == 0 {
			delete(l.meetings, id)
		}
	}}
}

// look is the meeting as it was at most one poll ago, and not before the
// follower came: what they did themselves they must see. read gets what was
// read last, or the zero Standup.
func (f follower) read(ctx context.Context, read func(context.Context, Standup) (Standup, error)) (Standup, error) {
	select {
	case f.reading <- struct{}{}:
		defer func() { <-f.reading }()
	case <-ctx.Done():
		return Standup{}, ctx.Err()
	}
	now := time.Now()
	if f.at.After(f.since) && now.Sub(f.at) < pollInterval {
		return f.last, nil
	}
	m, err := read(ctx, f.last)
	if err != nil {
		return Standup{}, err // of this reader perhaps, who has left; the next one reads anew
	}
	f.at, f.last = now, m
	return m, nil
}

// again reads a standup, and what was said only if it has moved on from last.
func (s *Service) rereadIfChanged(ctx context.Context, id string, last Standup) (Standup, error) {
	now, err := find(ctx, s.DB, id)
	if err != nil || last.ID != "" && now.Version == last.Version {
		return last, err
	}
	return s.Get(ctx, id)
}

// until waits for the meeting that f follows to be as good says, or for ctx to
// end or stop to be closed, and returns it as it was seen last.
func (s *Service) waitUntil(ctx context.Context, f follower, stop <-chan struct{}, good func(Standup) bool) (Standup, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		m, err := f.read(ctx, func(ctx context.Context, last Standup) (Standup, error) { return s.rereadIfChanged(ctx, f.id, last) })
		if err != nil || good(m) {
			return m, err
		}
		select {
		case <-tick.C:
		case <-stop:
			return m, nil
		case <-ctx.Done():
			return m, ctx.Err()
		}
	}
}

// AwaitEnd waits up to limit for the meeting to end, whichever replica holds
// it, or for stop to be closed, and returns the standup as it is then.
func (s *Service) AwaitEnd(ctx context.Context, id string, limit time.Duration, stop <-chan struct{}) (Standup, error) {
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f := s.sharedReader.follow(id)
	defer f.leave()
	m, err := s.waitUntil(short, f, stop, func(m Standup) bool { return m.Status != Running })
	if short.Err() != nil && ctx.Err() == nil { // the time is over, and the caller still there
		return s.Get(ctx, id)
	}
	return m, err
}

// goesOn reports whether something will still be said.
func (m Standup) inProgress() bool { return m.Status == Running && m.Phase != Opened }

// write says the transcript from its beginning to the end of the meeting,
// unless the reader leaves or stop is closed before.
func (s *Service) streamTranscript(ctx context.Context, m Standup, stop <-chan struct{}, say func(string) error) {
	f := s.sharedReader.follow(m.ID)
	defer f.leave()
	text := plaintext.Line(m.Title) + "\n\n"
	for said := 0; ; text = "" {
		for _, l := range m.Transcript[min(said, len(m.Transcript)):] {
			text += l.plainText(m.Timezone)
		}
		said = len(m.Transcript)
		if say(text) != nil || !m.inProgress() {
			return // the reader left, or has it all
		}
		seen := m.Version
		var err error
		m, err = s.waitUntil(ctx, f, stop, func(now Standup) bool { return now.Version != seen })
		if err != nil || m.Version == seen {
			return // it was deleted under the reader, or nobody waits any more
		}
	}
}
