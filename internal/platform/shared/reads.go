// Package shared lets concurrent callers share a read.
package shared

import (
	"context"
	"sync"
)

// Reads combines concurrent reads for the same key, so that, for example, 500 browsers that
// reconnect at once cause two reads instead of 500. The zero value is ready to use.
type Reads[K comparable, V any] struct {
	mu sync.Mutex
	// Keys with a running read, and the next read if a caller waits for it.
	next map[K]*reading[V]
}

// reading is a read that several callers share.
type reading[V any] struct {
	done chan struct{} // closed when v and err are set
	v    V
	err  error
}

// Read returns the result of a read that starts after this call, so it is never older than the
// call. While a read for the given key is running, new callers wait for the next read and share
// it. If ctx ends, Read returns early and the read continues for the other callers, so read must
// have a time limit of its own. All callers get the same value and must not change what it points
// to.
func (s *Reads[K, V]) Read(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	s.mu.Lock()
	mine, runs := s.next[key]
	if mine == nil {
		mine = &reading[V]{done: make(chan struct{})}
		if s.next == nil {
			s.next = map[K]*reading[V]{}
		}
		if s.next[key] = mine; !runs {
			s.next[key] = nil
			go s.serve(context.WithoutCancel(ctx), key, mine, read)
		}
	}
	s.mu.Unlock()
	select {
	case <-mine.done:
		return mine.v, mine.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// serve performs the given read for a key. If callers have begun to wait in the meantime, it
// performs another read for them, and so on.
func (s *Reads[K, V]) serve(ctx context.Context, key K, now *reading[V], read func(context.Context) (V, error)) {
	for now != nil {
		now.v, now.err = read(ctx)
		close(now.done)
		s.mu.Lock()
		if now = s.next[key]; now != nil {
			s.next[key] = nil
		} else {
			delete(s.next, key)
		}
		s.mu.Unlock()
	}
}

// Running returns the number of keys that are being read.
func (s *Reads[K, V]) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.next)
}
