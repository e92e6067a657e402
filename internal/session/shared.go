package session

import (
	"context"
	"sync"
)

// pageOf names a part of a conversation that somebody asks for.
type pageOf struct {
	key    string
	limit  int
	before older // the zero value is the newest part
}

// shared lets those who ask for the same at once share the readings, so that five
// hundred browsers which come back after a break cost the gateway two and not
// five hundred. Whoever asks gets one that began after that: nobody is shown less
// than was there when they asked. The zero value is ready to use.
type shared[K comparable, V any] struct {
	mu    sync.Mutex
	under map[K]*turns[V]
}

// turns are the readings of one thing: at most one that is going, and one that
// waits for its end.
type turns[V any] struct{ going, waiting *reading[V] }

// reading is one for everybody who has joined it. What it brought is there when
// done is closed, and is not changed by anybody.
type reading[V any] struct {
	done  chan struct{}
	value V
	err   error
	left  bool // who read it went away: the others read anew
}

// read is what fn reads, or that of somebody who asked at the same time.
func (s *shared[K, V]) read(ctx context.Context, of K, fn func() (V, error)) (V, error) {
	var zero V
	for {
		r, mine, before := s.join(of)
		if mine {
			s.lead(ctx, of, r, before, fn)
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

// join is the reading to wait for, and whether the caller is to make it, after
// the end of another one if there is one.
func (s *shared[K, V]) join(of K) (r *reading[V], mine bool, before *reading[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.under[of]
	switch {
	case t == nil:
		r = &reading[V]{done: make(chan struct{})}
		if s.under == nil {
			s.under = map[K]*turns[V]{}
		}
		s.under[of] = &turns[V]{going: r}
		return r, true, nil
	case t.waiting != nil:
		return t.waiting, false, nil
	}
	t.waiting = &reading[V]{done: make(chan struct{})}
	return t.waiting, true, t.going
}

// lead makes a reading for everybody who has joined it.
func (s *shared[K, V]) lead(ctx context.Context, of K, r, before *reading[V], fn func() (V, error)) {
	r.left = true // until it has been made
	defer close(r.done)
	defer s.end(of, r)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			r.err = context.Cause(ctx)
			return
		}
		s.begin(of, r)
	}
	r.value, r.err = fn()
	r.left = ctx.Err() != nil
}

// begin has those who come from now on wait for the next one.
func (s *shared[K, V]) begin(of K, r *reading[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.under[of]
	t.going, t.waiting = r, nil
}

func (s *shared[K, V]) end(of K, r *reading[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.under[of]
	if t.going == r {
		t.going = nil
	}
	if t.waiting == r {
		t.waiting = nil
	}
	if t.going == nil && t.waiting == nil {
		delete(s.under, of)
	}
}
