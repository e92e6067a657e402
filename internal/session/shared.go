package session

import (
	"context"
	"sync"

	"wardroom/internal/gateway"
)

// pageOf names a part of a conversation that somebody asks for.
type pageOf struct {
	key    string
	limit  int
	before older // the zero value is the newest part
}

// sharedPages lets those who ask for the same part at once share the readings, so
// that five hundred browsers which come back after a break cost the gateway two
// and not five hundred. Whoever asks gets one that began after that: nobody is
// shown less than was there when they asked. The zero value is ready to use.
type sharedPages struct {
	mu    sync.Mutex
	under map[pageOf]*turns
}

// turns are the readings of one part: at most one that is going, and one that
// waits for its end.
type turns struct{ going, waiting *sharedPage }

// sharedPage is a reading. What it brought is there when done is closed, and is
// not changed by anybody.
type sharedPage struct {
	done chan struct{}
	page gateway.TurnPage
	err  error
	left bool // who read it went away: the others read anew
}

// read is a page by fn, or by that of somebody who asked at the same time.
func (s *sharedPages) read(ctx context.Context, of pageOf, fn func() (gateway.TurnPage, error)) (gateway.TurnPage, error) {
	for {
		r, mine, before := s.join(of)
		if mine {
			s.lead(ctx, of, r, before, fn)
			return r.page, r.err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return gateway.TurnPage{}, context.Cause(ctx)
		}
		if !r.left {
			return r.page, r.err
		}
	}
}

// join is the reading to wait for, and whether the caller is to make it, after
// the end of another one if there is one.
func (s *sharedPages) join(of pageOf) (r *sharedPage, mine bool, before *sharedPage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.under[of]
	switch {
	case t == nil:
		r = &sharedPage{done: make(chan struct{})}
		if s.under == nil {
			s.under = map[pageOf]*turns{}
		}
		s.under[of] = &turns{going: r}
		return r, true, nil
	case t.waiting != nil:
		return t.waiting, false, nil
	}
	t.waiting = &sharedPage{done: make(chan struct{})}
	return t.waiting, true, t.going
}

// lead makes a reading for everybody who has joined it.
func (s *sharedPages) lead(ctx context.Context, of pageOf, r, before *sharedPage, fn func() (gateway.TurnPage, error)) {
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
	r.page, r.err = fn()
	r.left = ctx.Err() != nil
}

// begin has those who come from now on wait for the next one.
func (s *sharedPages) begin(of pageOf, r *sharedPage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.under[of]
	t.going, t.waiting = r, nil
}

func (s *sharedPages) end(of pageOf, r *sharedPage) {
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
