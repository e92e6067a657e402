package backup

import (
	"sync"
	"sync/atomic"
	"time"
)

// Progress is the progress of a long step.
type Progress struct {
	Step  string        // such as "Copying"
	Done  int64         // bytes; 0 if not counted
	Total int64         // bytes, approximately; 0 if unknown
	Took  time.Duration // elapsed time
	Over  bool          // the step has ended
}

// watch reports the progress of a step until stop is called. The done function, which may be nil,
// returns the number of bytes processed so far.
func (t *Tool) watch(step string, total int64, done func() int64) (stop func()) {
	if t.Report == nil {
		return func() {}
	}
	const every = 250 * time.Millisecond
	began, end := time.Now(), make(chan struct{})
	report := func(over bool) {
		p := Progress{Step: step, Total: total, Took: time.Since(began), Over: over}
		if done != nil {
			p.Done = done()
		}
		t.Report(p)
	}
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				report(false)
			}
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		work.Wait()
		report(true)
	})
}

// counter counts the bytes written to it.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

func (c *counter) load() int64 { return c.n.Load() }
