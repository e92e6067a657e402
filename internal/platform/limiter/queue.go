package limiter

import (
	"context"
	"errors"
	"sync"
)

// ErrFull means that too many callers with the same key already wait.
var ErrFull = errors.New("too many callers wait")

// Queue lets only a few callers with the same key run at the same time; the others wait. The zero
// Queue is ready to use. Do not copy a Queue after first use.
type Queue struct {
	mu   sync.Mutex
	open map[string]*line
}

// line is the queue of one key.
type line struct {
	in    chan struct{} // one element for each running caller
	users int           // running and waiting callers
}

// Enter waits until fewer than width callers with the key run, or until ctx ends. It returns
// ErrFull at once if as many callers as the limit waiting already wait. Call leave when the caller
// has finished. The width of a key must always be the same. An empty key is not limited.
func (q *Queue) Enter(ctx context.Context, key string, width, waiting int) (leave func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	q.mu.Lock()
	if q.open == nil {
		q.open = map[string]*line{}
	}
	one := q.open[key]
	if one == nil {
		one = &line{in: make(chan struct{}, width)}
		q.open[key] = one
	}
	if one.users-width >= waiting {
		q.mu.Unlock()
		return nil, ErrFull
	}
	one.users++
	q.mu.Unlock()
	select {
	case one.in <- struct{}{}:
		return func() { <-one.in; q.drop(key, one) }, nil
	case <-ctx.Done():
		q.drop(key, one)
		return nil, ctx.Err()
	}
}

// drop records that a caller no longer uses a line, and deletes a line without callers.
func (q *Queue) drop(key string, one *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(q.open, key)
	}
}

// Waiting returns the number of callers that wait with the key that most of them wait with.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, one := range q.open {
		n = max(n, one.users-cap(one.in))
	}
	return n
}

// Keys returns the number of keys with callers.
func (q *Queue) Keys() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.open)
}
