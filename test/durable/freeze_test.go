//go:build unix

package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"wardroom/internal/platform/db/dbtest"
)

// freezeFor returns how long a replica is frozen, which is longer than the time after which PostgreSQL ends its
// transaction.
func freezeFor() time.Duration {
	if testing.Short() {
		return 8 * time.Second
	}
	return time.Minute
}

// crowd creates tasks on one replica and records the answers.
type crowd struct {
	sync.Mutex
	made   map[string]bool // titles of acknowledged tasks
	last   time.Time       // time of the last acknowledged task
	widest time.Duration   // longest time between two of them
	failed map[int]int     // number of other answers by status
}

// write creates tasks one by one until ctx ends.
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

// A replica that is frozen in a transaction, such as in a paused virtual machine, must
// not block writes of the others. No acknowledged write may be lost, and the replica
// works again when it thaws.
func TestFrozenReplica(t *testing.T) {
	x, both := replicas(t, dbtest.ProductLimits)
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
	until(t, "both to write", 60*time.Second, func() bool { return wrote("first") > 10 && wrote("second") > 10 })

	thaw := freezeWriting(x, both["first"], "first")
	t.Cleanup(thaw) // before the wait for the crowds
	frozen := time.Now()
	other := crowds["second"]
	other.Lock()
	other.widest, other.last = 0, frozen
	before := len(other.made)
	other.Unlock()
	time.Sleep(freezeFor()) // the time under test
	other.Lock()
	widest, made := max(other.widest, time.Since(other.last)), len(other.made)-before
	other.Unlock()
	t.Logf("with a frozen replica, %d tasks were created, the longest pause was %s", made, widest)
	if widest > limit || made == 0 {
		t.Errorf("with a frozen replica, %d tasks were created, with a pause of %s", made, widest)
	}

	thaw()
	already := wrote("first")
	until(t, "the thawed replica to write", 60*time.Second, func() bool { return wrote("first") > already+10 })
	stop()
	writing.Wait()
	for name, c := range crowds {
		for title := range c.made {
			if n := x.count(`SELECT COUNT(*) FROM tasks WHERE title = ?`, title); n != 1 {
				t.Errorf("%q was acknowledged by %s and exists %d times", title, name, n)
			}
		}
		t.Logf("%s created %d tasks; other answers: %v", name, len(c.made), c.failed)
		for status := range c.failed { // 0 means that the client gave up
			if status != 0 && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
				t.Errorf("%s answered %d", name, status)
			}
		}
	}
	if n := x.count(`SELECT COUNT(*) - COUNT(DISTINCT title) FROM tasks`); n != 0 {
		t.Errorf("%d tasks were created twice", n)
	}
	var ready struct{ Status string }
	if status, body, err := request(t.Context(), both["first"].url, x.token, http.MethodGet, "/readyz", nil); status != http.StatusOK || json.Unmarshal(body, &ready) != nil {
		t.Errorf("the thawed replica is not ready: %d %s %v", status, body, err)
	}
}

// freezeWriting stops p while it has an idle transaction, so that PostgreSQL waits for
// it.
func freezeWriting(x *trial, p *process, name string) (thaw func()) {
	x.Helper()
	signal := func(s syscall.Signal) {
		if err := p.cmd.Process.Signal(s); err != nil {
			x.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		signal(syscall.SIGSTOP)
		time.Sleep(10 * time.Millisecond) // everything it has sent is answered
		if x.count(`SELECT COUNT(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
			WHERE application_name = ? AND state = 'idle in transaction' AND locktype = 'advisory' AND granted AND datname = current_database()`, name) > 0 {
			return sync.OnceFunc(func() { signal(syscall.SIGCONT) })
		}
		signal(syscall.SIGCONT)
	}
	x.Fatal("the process was never stopped within a transaction")
	return nil
}
