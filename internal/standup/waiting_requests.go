package standup

import (
	"cmp"
	"context"
	"sync"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/plaintext"
)

// This file holds requests open while a standup runs: to stream its transcript
// or to wait for its end.

// pollInterval is the interval at which a standup is read on behalf of all requests that
// wait for it.
const pollInterval = 150 * time.Millisecond

// waitRetryAfter is the Retry-After value for requests that are rejected because too many others
// already wait for a standup.
const waitRetryAfter = 15 * time.Second

// Limits sets how many requests may wait for standups in this process at the same time.
// If a field is zero, its default applies.
type Limits struct {
	Waiting int // open requests in total; default 1,000
	Each    int // open requests per account; default 20
}

// acquireSlot reserves a slot for a waiting request. The slot counts toward the limit of the
// caller's account. Calling leave releases it. If no slot is free, acquireSlot fails with
// ErrWaiting.
func (s *Service) acquireSlot(ctx context.Context) (leave func(), err error) {
	each := cmp.Or(s.Limits.Each, 20)
	leave, ok := s.places.Acquire(actor.From(ctx).ID, cmp.Or(s.Limits.Waiting, 1000), each)
	if !ok {
		return nil, ErrWaiting.With(
			"Cancel some of these requests or try again later. An account can have at most %d of them open.", each,
		).After(waitRetryAfter)
	}
	return leave, nil
}

// sharedReader shares database reads among the requests in this process that wait for the
// same standup. Each standup is read at most once per pollInterval.
type sharedReader struct {
	mu       sync.Mutex
	meetings map[string]*sharedRead // standups with waiting requests
}

// sharedRead contains the most recently read state of a standup.
type sharedRead struct {
	users   int           // guarded by sharedReader.mu
	reading chan struct{} // a semaphore of one; guards the fields below
	at      time.Time     // when the last read began
	last    Standup
}

// follower is a request that streams a standup's transcript or waits for its end.
type follower struct {
	*sharedRead
	id    string
	since time.Time
	leave func() // must be called once
}

// follow registers a follower for a standup. The caller must call the follower's leave function.
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

// read returns a state of the standup that is at most pollInterval old. The state was
// read after the follower registered, so that clients see their own changes. To read a
// newer state, it calls the given function with the previous one, which is at first the
// zero Standup.
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
		return Standup{}, err // possibly only this request's context ended; the next follower reads again
	}
	f.at, f.last = now, m
	return m, nil
}

// rereadIfChanged returns last if the standup's version has not changed since last was read.
// Otherwise it reads the complete standup again.
func (s *Service) rereadIfChanged(ctx context.Context, id string, last Standup) (Standup, error) {
	now, err := find(ctx, s.DB, id)
	if err != nil || last.ID != "" && now.Version == last.Version {
		return last, err
	}
	return s.Get(ctx, id)
}

// waitUntil waits until good returns true for the standup that f follows, until ctx ends, or until
// stop is closed. It returns the standup as last read.
func (s *Service) waitUntil(
	ctx context.Context, f follower, stop <-chan struct{}, good func(Standup) bool,
) (Standup, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		m, err := f.read(ctx, func(ctx context.Context, last Standup) (Standup, error) {
			return s.rereadIfChanged(ctx, f.id, last)
		})
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

// AwaitEnd waits for a standup to end, regardless of which replica runs it. It stops
// waiting after the time limit, or when stop is closed. It returns the standup's current
// state.
func (s *Service) AwaitEnd(ctx context.Context, id string, limit time.Duration, stop <-chan struct{}) (Standup, error) {
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f := s.sharedReader.follow(id)
	defer f.leave()
	m, err := s.waitUntil(short, f, stop, func(m Standup) bool { return m.Status != Running })
	if short.Err() != nil && ctx.Err() == nil { // the limit has passed, and the caller still waits
		return s.Get(ctx, id)
	}
	return m, err
}

// inProgress reports whether the standup has started and not yet ended, so that its transcript can
// still grow.
func (m Standup) inProgress() bool { return m.Status == Running && m.Phase != Opened }

// streamTranscript calls say with the existing transcript and then with new entries as
// they are added, until the standup ends. It stops early if say returns an error or stop
// is closed.
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
			return // the client left, or has the complete transcript
		}
		seen := m.Version
		var err error
		m, err = s.waitUntil(ctx, f, stop, func(now Standup) bool { return now.Version != seen })
		if err != nil || m.Version == seen {
			return // the standup was deleted, or the request has ended
		}
	}
}
