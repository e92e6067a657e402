// Package places bounds how many requests stay open at once, in all and of each
// caller.
package places

import "sync"

// Places bound the requests that stay open at once, such as streams and those
// that wait for something, in all and of each caller. They are of one process.
// The zero Places are ready; they must not be copied once used.
type Places struct {
	mu    sync.Mutex
	taken map[string]int // by caller
	all   int
}

// Take gets a place for a caller, if fewer than most are taken and fewer than
// mostEach by this one. Whoever got one gives it back with leave; more than
// once does no harm.
func (p *Places) Take(caller string, most, mostEach int) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= most || p.taken[caller] >= mostEach {
		return nil, false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.all++
	p.taken[caller]++
	return sync.OnceFunc(func() { p.leave(caller) }), true
}

func (p *Places) leave(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.taken[caller]--; p.taken[caller] == 0 {
		delete(p.taken, caller)
	}
}
