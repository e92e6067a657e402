//go:build unix

package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// freezeFor is how long a replica is frozen: long enough for PostgreSQL to end
// its transaction several times over, and a minute in `make nightly`.
func freezeFor() time.Duration {
	if os.Getenv("WARDROOM_NIGHTLY") != "" {
		return time.Minute
	}
	return 8 * time.Second
}

// crowd writes tasks to one replica, and notes what it was told of each.
type crowd struct {
	sync.Mutex
	made   map[string]bool // titles that were acknowledged
	last   time.Time       // when one was
	widest time.Duration   // between two of them
	failed map[int]int     // other answers, by status
}

// write makes tasks, one after the other, until ctx ends.
func (c *crowd) write(ctx context.Context, p *process, token, who string) {
	for n := 0; ctx.Err() == nil; n++ {
		title := fmt.Sprintf("%s %d", who, n)
		status, _, err := request(context.WithoutCancel(ctx), p.url, token, http.MethodPost, "/api/v1/tasks", map[string]string{"title": title})
		c.Lock()
		switch now := time.Now(); {
		case err == nil && status == http.StatusCreated:
			c.made[title] = true
			c.widest, c.last = max(c.widest, now.Sub(c.last)), now
		default:
			c.failed[status]++
		}
		c.Unlock()
		if status != http.StatusCreated {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// A replica that is frozen in the middle of a transaction, as by a paused virtual
// machine, must not keep the others from writing; nothing that was acknowledged
// may be lost, and when it thaws it works as before.
func TestFrozenReplica(t *testing.T) {
	t.Parallel()
	x, both := replicas(t)
	const atOnce = 4
	limit := min(10*time.Second, freezeFor()*3/4)
	crowds := map[string]*crowd{}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for name, p := range both {
		c := &crowd{made: map[string]bool{}, failed: map[int]int{}, last: time.Now()}
		crowds[name] = c
		for i := range atOnce {
			writing.Go(func() { c.write(ctx, p, x.token, fmt.Sprint(name, " ", i)) })
		}
	}
	t.Cleanup(func() { stop(); writing.Wait() })
	wrote := func(name string) int {
		c := crowds[name]
		c.Lock()
		defer c.Unlock()
		return len(c.made)
	}
	until(t, "both to write", 30*time.Second, func() bool { return wrote("first") > 10 && wrote("second") > 10 })

	thaw := freezeWriting(x, both["first"], "first")
	t.Cleanup(thaw) // before the crowds are waited for
	frozen := time.Now()
	other := crowds["second"]
	other.Lock()
	other.widest, other.last = 0, frozen
	before := len(other.made)
	other.Unlock()
	time.Sleep(freezeFor()) // which is the trial
	other.Lock()
	widest, made := max(other.widest, time.Since(other.last)), len(other.made)-before
	other.Unlock()
	t.Logf("beside a frozen replica %d tasks were made, the longest pause was %s", made, widest)
	if widest > limit || made == 0 {
		t.Errorf("beside a frozen replica %d tasks were made, with a pause of %s", made, widest)
	}

	thaw()
	already := wrote("first")
	until(t, "the thawed replica to write", 30*time.Second, func() bool { return wrote("first") > already+10 })
	stop()
	writing.Wait()
	for name, c := range crowds {
		for title := range c.made {
			if n := x.count(`SELECT COUNT(*) FROM tasks WHERE title = ?`, title); n != 1 {
				t.Errorf("%q was acknowledged by %s and is there %d times", title, name, n)
			}
		}
		t.Logf("%s made %d tasks; other answers: %v", name, len(c.made), c.failed)
		for status := range c.failed { // 0 is of a client that gave up
			if status != 0 && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
				t.Errorf("%s answered %d", name, status)
			}
		}
	}
	if n := x.count(`SELECT COUNT(*) - COUNT(DISTINCT title) FROM tasks`); n != 0 {
		t.Errorf("%d tasks were made twice", n)
	}
	var ready struct{ Status string }
	if status, body, err := request(t.Context(), both["first"].url, x.token, http.MethodGet, "/readyz", nil); status != http.StatusOK || json.Unmarshal(body, &ready) != nil {
		t.Errorf("the thawed replica is not ready: %d %s %v", status, body, err)
	}
}

// freezeWriting stops p when it has a transaction in which it does nothing at the
// moment, so that PostgreSQL waits for it.
func freezeWriting(x *trial, p *process, name string) (thaw func()) {
	x.Helper()
	signal := func(s syscall.Signal) {
		if err := p.cmd.Process.Signal(s); err != nil {
			x.Fatal(err)
		}
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		signal(syscall.SIGSTOP)
		time.Sleep(10 * time.Millisecond) // what it has sent is answered
		if x.count(`SELECT COUNT(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
			WHERE application_name = ? AND state = 'idle in transaction' AND locktype = 'advisory' AND granted`, name) > 0 {
			return sync.OnceFunc(func() { signal(syscall.SIGCONT) })
		}
		signal(syscall.SIGCONT)
	}
	x.Fatal("it was never in a transaction when it was stopped")
	return nil
}
