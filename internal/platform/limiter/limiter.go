// Package limiter limits how many requests run at the same time, in total and
// per caller.
package limiter

import "sync"

// Limiter limits how many long requests, such as streams, run in this process at the
// same time, in total and per caller. The zero Limiter is ready to use. Do not copy a
// Limiter after first use.
type Limiter struct {
	mu       sync.Mutex
	byCaller map[string]int
	total    int
}

// Acquire takes a slot for a caller. It returns false if the total limit (most) or
// the limit per caller (mostEach) is reached. Call release when the request ends;
// further calls have no effect.
func (l *Limiter) Acquire(caller string, most, mostEach int) (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= most || l.byCaller[caller] >= mostEach {
		return nil, false
	}
	if l.byCaller == nil {
		l.byCaller = map[string]int{}
	}
	l.total++
	l.byCaller[caller]++
	return sync.OnceFunc(func() { l.release(caller) }), true
}

func (l *Limiter) release(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.byCaller[caller]--; l.byCaller[caller] == 0 {
		delete(l.byCaller, caller)
	}
}
