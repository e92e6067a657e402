package session

import (
	"context"
	"sync"
)

// pageOf identifies a page of a conversation.
type pageOf struct {
	key    string
	limit  int
	before older // the zero value means the newest page
}

// sharedReads combines concurrent reads for the same key, so that, for example, 500 browsers that
// reconnect at once cause two reads instead of 500. Each caller gets the result of a read that
// started after the call, so the result is never older than the call. The zero value is ready to
// use.
type sharedReads[K comparable, V any] struct {
	mu    sync.Mutex
	reads map[K]*inFlight[V]
}

// inFlight holds the reads for one key. At most one is in progress, and at most one waits to start
// after it.
type inFlight[V any] struct{ going, waiting *reading[V] }

// reading is one read that one or more callers wait for. Once the channel done is closed, the
// result is available and must not be changed.
type reading[V any] struct {
	done  chan struct{}
	value V
	err   error
	left  bool // the caller that performed it was canceled; the others read again
}

// read returns the result of fn, or of a concurrent call for the same key.
func (s *sharedReads[K, V]) read(ctx context.Context, of K, fn func() (V, error)) (V, error) {
	var zero V
	for {
		r, mine, before := s.join(of)
		if mine {
			s.perform(ctx, of, r, before, fn)
			return r.value, r.err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return zero, context.Cause(ctx)
		}
		if !r.left {
			return r.value, r.err
		}
	}
}

// join returns the reading whose result the caller must use. If mine is false, another caller
// performs it. If mine is true, the caller must perform it, after waiting for the previous reading
// (before), if any, to end.
func (s *sharedReads[K, V]) join(of K) (r *reading[V], mine bool, before *reading[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.reads[of]
	switch {
	case t == nil:
		r = &reading[V]{done: make(chan struct{})}
		if s.reads == nil {
			s.reads = map[K]*inFlight[V]{}
		}
		s.reads[of] = &inFlight[V]{going: r}
		return r, true, nil
	case t.waiting != nil:
		return t.waiting, false, nil
	}
	t.waiting = &reading[V]{done: make(chan struct{})}
	return t.waiting, true, t.going
}

// perform waits for the previous reading, if any, to end. It then calls fn and gives the result to
// all callers that wait for r.
func (s *sharedReads[K, V]) perform(ctx context.Context, of K, r, before *reading[V], fn func() (V, error)) {
	r.left = true // until fn has returned
	defer close(r.done)
	defer s.end(of, r)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			r.err = context.Cause(ctx)
			return
		}
		s.promote(of, r)
	}
	r.value, r.err = fn()
	r.left = ctx.Err() != nil
}

// promote marks a waiting reading as in progress. Callers that arrive later wait for the next
// reading.
func (s *sharedReads[K, V]) promote(of K, r *reading[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.reads[of]
	t.going, t.waiting = r, nil
}

func (s *sharedReads[K, V]) end(of K, r *reading[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.reads[of]
	if t.going == r {
		t.going = nil
	}
	if t.waiting == r {
		t.waiting = nil
	}
	if t.going == nil && t.waiting == nil {
		delete(s.reads, of)
	}
}
