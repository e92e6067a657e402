package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wardroom/internal/task"
)

// load sends requests that need no gateway, from several clients at once.
type load struct {
	owner caller
	t     *testing.T
	stop  chan struct{}
	work  sync.WaitGroup
	once  sync.Once
	live  *stream
	idle  *httptest.Server // answers at once
	limit time.Duration    // below the time limit of the gateway

	mu    sync.Mutex
	count int
	worst time.Duration
	other time.Duration   // longest time of a request to idle
	what  string          // the slowest request
	last  string          // key of the newest task
	told  map[string]bool // keys of the tasks that the live stream reported
}

// people is the number of concurrent clients.
const people = 2

// begins starts a load.
func (f *broken) begins() {
	made := decode[task.Task](f.owner.post("/api/v1/tasks", map[string]any{"title": "The first one"}).want(http.StatusCreated))
	l := &load{
		owner: f.owner, t: f.t, stop: make(chan struct{}), last: made.Key, told: map[string]bool{},
		live:  f.owner.follow("/api/v1/events?topics=task"),
		limit: f.limit,
		idle:  httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
	}
	for range people {
		l.work.Go(l.person)
	}
	l.work.Go(l.watch)
	f.t.Cleanup(l.halt)
	f.load = l
}

// watch reads the live stream, which must stay open.
func (l *load) watch() {
	for f := range l.live.frames {
		switch f["event"] {
		case "task.created":
			_, name, _ := strings.Cut(f["data"], `"name":"TASK-`)
			number, _, _ := strings.Cut(name, `"`)
			l.mu.Lock()
			l.told["TASK-"+number] = true
			l.mu.Unlock()
		case "end":
			l.t.Errorf("the live stream ended during the fault: %v", f)
		}
	}
}

// halt stops all clients.
func (l *load) halt() {
	l.once.Do(func() {
		close(l.stop)
		l.live.leave()
		l.work.Wait()
		l.idle.Close()
	})
}

// person repeats every kind of request with short pauses, as an open page does.
func (l *load) person() {
	breath := time.NewTicker(40 * time.Millisecond)
	defer breath.Stop()
	for n := 0; ; n++ {
		for _, r := range []struct {
			method, path string
			body         any
			want         int
		}{
			{http.MethodGet, "/health", nil, http.StatusOK},
			{http.MethodGet, "/api/v1/tasks?limit=10", nil, http.StatusOK},
			{http.MethodPost, "/api/v1/tasks", map[string]any{"title": fmt.Sprint("Load ", n)}, http.StatusCreated},
			{http.MethodGet, "/api/v1/users?limit=5", nil, http.StatusOK},
			{http.MethodPatch, "/api/v1/tasks/", map[string]any{"status": "todo"}, http.StatusOK},
			{http.MethodGet, "/api/v1/standups?limit=5", nil, http.StatusOK},
			{http.MethodGet, "/api/v1/config", nil, http.StatusOK},
			{http.MethodGet, "/api/v1/activity?limit=5", nil, http.StatusOK},
			{http.MethodGet, "/livez", nil, http.StatusOK},
		} {
			select {
			case <-l.stop:
				return
			case <-breath.C:
			}
			l.send(r.method, r.path, r.body, r.want)
		}
		l.compare()
	}
}

// send sends one request and records its duration.
func (l *load) send(method, path string, body any, want int) {
	l.mu.Lock()
	if method == http.MethodPatch {
		path += l.last
	}
	l.mu.Unlock()
	began := time.Now()
	a, err := l.owner.try(method, path, body)
	took := time.Since(began)
	if err != nil || a.status != want {
		l.t.Errorf("during the fault, %s %s: %d, %v, want %d\n%s", method, path, a.status, err, want, a.body)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if took > l.worst {
		l.worst, l.what = took, method+" "+path
	}
	if method == http.MethodPost {
		l.last = decode[task.Task](a).Key
	}
}

// compare sends a request to the idle server, to measure how busy the machine is.
func (l *load) compare() {
	began := time.Now()
	if _, err := (caller{service: &service{house: l.owner.house, base: l.idle.URL, client: l.owner.client}}).try(http.MethodGet, "/", nil); err != nil {
		l.t.Errorf("the idle server: %v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.other = max(l.other, time.Since(began))
}

// end stops the load and checks the result.
func (l *load) end() {
	l.t.Helper()
	made := decode[task.Task](l.owner.post("/api/v1/tasks", map[string]any{"title": "The last one"}).want(http.StatusCreated))
	waitFor(l.t, "the last task on the stream", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.told[made.Key]
	})
	l.halt()
	l.t.Logf("%d requests during the fault; the slowest took %s: %s; the slowest to an idle server %s",
		l.count, l.worst.Round(time.Millisecond), l.what, l.other.Round(time.Millisecond))
	if l.worst-l.other >= l.limit {
		l.t.Errorf("%s took %s, as long as a request to the gateway; the slowest request to an idle server took %s", l.what, l.worst, l.other)
	}
}

// labelled runs fn with a profiler label, which all goroutines that it starts inherit.
func labelled(name string, fn func()) {
	if name == "" {
		fn()
		return
	}
	pprof.Do(context.Background(), pprof.Labels("house", name), func(context.Context) { fn() })
}

// census counts goroutines by their start function.
type census map[string]int

// least returns the smaller of both counts for each function. A leaked goroutine is in
// every census, while temporary ones are missing from some.
func (c census) least(other census) census {
	both := census{}
	for began, n := range c {
		if n = min(n, other[began]); n > 0 {
			both[began] = n
		}
	}
	return both
}

func (c census) total() (sum int) {
	for _, n := range c {
		sum += n
	}
	return sum
}

// quiet returns the goroutines that the idle service always has.
func (f *broken) quiet() census {
	f.t.Helper()
	f.s.client.CloseIdleConnections()
	least, _ := profile(f.labelled)
	seen := 1
	f.await("twenty looks at the goroutines", func() bool {
		now, _ := profile(f.labelled)
		least = least.least(now)
		seen++
		return seen == 20
	})
	return least
}

// profile counts the goroutines with the label and returns their stacks.
func profile(name string) (count census, where string) {
	count = census{}
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return count, err.Error()
	}
	first := regexp.MustCompile(`^(\d+) @ `)
	began := regexp.MustCompile(`\t([^\t]+)\+0x[0-9a-f]+\t[^\n]*$`)
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		group = strings.Trim(group, "\n")
		m := first.FindStringSubmatch(group)
		if m == nil {
			if _, rest, ok := strings.Cut(group, "\n"); ok { // the first one follows the headline
				m, group = first.FindStringSubmatch(rest), rest
			}
		}
		if m == nil || !strings.Contains(group, fmt.Sprintf(`"house":%q`, name)) {
			continue
		}
		b := began.FindStringSubmatch(group)
		if b == nil || b[1] == "modernc.org/sqlite.interruptOnDone.func1" {
			continue // it has not started yet, or it watches a single statement, which a busy machine always has
		}
		n, _ := strconv.Atoi(m[1]) // cannot fail: the pattern matches digits
		count[b[1]] += n
		where += group + "\n\n"
	}
	return count, where
}

// wantGoroutines waits until the service has no more goroutines than before.
func (f *broken) wantGoroutines(before census) {
	f.t.Helper()
	if len(before) < 2 {
		f.t.Errorf("the goroutines that carry the name of the house are %v", before)
	}
	left, where := profile(f.labelled)
	for end := time.Now().Add(30 * time.Second); left.total() > before.total(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Errorf("%d goroutines stay, and %d did before:\n%v\n%v\n%s", left.total(), before.total(), left, before, where)
			return
		}
		var now census
		now, where = profile(f.labelled)
		left = left.least(now)
	}
	f.t.Logf("%d goroutines before and %d after", before.total(), left.total())
}
