package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// watching is the input for the process that reads the live streams. That process opens
// the streams, changes tasks at a fixed rate and records when each stream receives each
// change.
type watching struct {
	Address string
	Token   string   // of the user who changes the tasks
	Tokens  []string // tokens of the watchers, used in turn
	Streams int
	Rate    int // changes per second
	For     time.Duration
	Tasks   int
	Lap     int // distinguishes this run's changes from those of other runs
}

// watched holds the results of a measurement with live streams. Times are in milliseconds. They are
// measured from the time at which the server responds to a change, which it does after the commit.
// Only Sent99 is measured from the request.
type watched struct {
	Streams int     `json:"streams"`
	Rate    int     `json:"rate"`
	Changes int     `json:"changes"`
	Missing int     `json:"missing"` // changes that a stream did not receive
	Last50  float64 `json:"last_p50_ms"`
	Last99  float64 `json:"last_p99_ms"` // until the last stream received a change
	Each50  float64 `json:"each_p50_ms"`
	Each99  float64 `json:"each_p99_ms"` // until a stream received a change
	Sent99  float64 `json:"last_since_request_p99_ms"`
	CPU     float64 `json:"cpu_us"`        // of the server, per change: the change and publishing it
	Client  float64 `json:"client_cpu_us"` // of the reading process, which runs on the same machine
}

// live measures how long a change to a task takes to reach many live streams.
func (b *bench) live(ctx context.Context, rate int) (w watched, err error) {
	self, err := os.Executable()
	if err != nil {
		return w, err
	}
	b.turn++
	ask := watching{Address: b.service.address, Streams: b.streams, Rate: rate, For: 10 * b.slice, Tasks: b.size, Lap: b.turn, Token: b.token}
	if ask.Tokens, err = loginWatchers(ctx, b.service.address); err != nil {
		return w, err
	}
	told, err := json.Marshal(ask)
	if err != nil {
		return w, err
	}
	cmd := exec.CommandContext(ctx, self, "live")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(told), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return w, err
	}
	if err := cmd.Start(); err != nil {
		return w, err
	}
	answers := json.NewDecoder(out)
	var ready struct{}
	errs := []error{answers.Decode(&ready)}
	before, reader := cpu(b.service.cmd.Process.Pid), cpu(cmd.Process.Pid)
	errs = append(errs, answers.Decode(&w))
	each := func(spent time.Duration) float64 { return float64(spent.Microseconds()) / float64(max(w.Changes, 1)) }
	w.CPU, w.Client = each(cpu(b.service.cmd.Process.Pid)-before), each(cpu(cmd.Process.Pid)-reader)
	return w, errors.Join(append(errs, cmd.Wait())...)
}

// loginWatchers returns a token for each watcher. There are many of them, because one account may
// open only a few streams.
func loginWatchers(ctx context.Context, address string) ([]string, error) {
	tokens := make([]string, watchers)
	for n := range tokens {
		var err error
		if tokens[n], err = login(ctx, address, watcherEmail(n)); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// viewer is the state of the process that reads the live streams.
type viewer struct {
	watching
	began          time.Time
	sent, answered []time.Duration // by change
	seen           [][]time.Duration
	left           atomic.Int64 // changes that streams have not received yet, in total
	all            chan struct{}
}

// run opens the streams, calls ready, changes tasks and returns the results.
func (ask watching) run(ctx context.Context, ready func() error) (watched, error) {
	n := int(ask.For.Seconds() * float64(ask.Rate))
	v := &viewer{watching: ask, began: time.Now(), sent: make([]time.Duration, n), answered: make([]time.Duration, n), all: make(chan struct{})}
	v.left.Store(int64(n * ask.Streams))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading sync.WaitGroup
	defer reading.Wait()
	for i := range ask.Streams {
		v.seen = append(v.seen, make([]time.Duration, n))
		conn, r, err := v.open(ctx, ask.Tokens[i%len(ask.Tokens)])
		if err != nil {
			return watched{}, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		reading.Go(func() { defer stop(); v.follow(r, v.seen[i]) })
	}
	defer cancel() // before waiting for the readers
	if err := ready(); err != nil {
		return watched{}, err
	}
	if err := v.change(ctx, n); err != nil {
		return watched{}, err
	}
	select {
	case <-v.all:
	case <-time.After(10 * time.Second):
	}
	cancel()
	reading.Wait()
	return v.sum(), nil
}

func (v *viewer) open(ctx context.Context, token string) (net.Conn, *bufio.Reader, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", v.Address)
	if err != nil {
		return nil, nil, err
	}
	r := bufio.NewReaderSize(conn, 32<<10)
	fmt.Fprintf(conn, "GET /api/v1/events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", token)
	status, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return nil, nil, errors.Join(fmt.Errorf("the response to a stream request is %q", status), err, conn.Close())
	}
	for line := ""; line != "event: hello\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
	}
	return conn, r, nil
}

// mark returns a string that appears in every frame for a change made in this run.
func (v *viewer) mark() []byte { return fmt.Appendf(nil, `"live-%d-`, v.Lap) }

// follow reads a stream and records when each change arrives. It does not parse the
// frames: the readers share a machine with the server and must use little CPU time.
func (v *viewer) follow(r *bufio.Reader, seen []time.Duration) {
	mark := v.mark()
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		i := bytes.LastIndex(line, mark) // the previous value comes first
		if i < 0 {
			continue
		}
		digits, _, ok := bytes.Cut(line[i+len(mark):], []byte{'"'})
		n, err := strconv.Atoi(string(digits))
		if !ok || err != nil || n >= len(seen) || seen[n] != 0 {
			continue
		}
		if seen[n] = time.Since(v.began); v.left.Add(-1) == 0 {
			close(v.all)
		}
	}
}

// change sends n changes at the rate v.Rate, without waiting for responses.
func (v *viewer) change(ctx context.Context, n int) error {
	const connections = 16
	due := make(chan int, n)
	var writing sync.WaitGroup
	errs := make([]error, connections)
	for i := range connections {
		writing.Go(func() { errs[i] = v.write(ctx, due) })
	}
	tick := time.NewTicker(time.Second / time.Duration(v.Rate))
	defer tick.Stop()
	for i := range n {
		<-tick.C
		due <- i
	}
	close(due)
	writing.Wait()
	return errors.Join(errs...)
}

func (v *viewer) write(ctx context.Context, due <-chan int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", v.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	w, r := worker{load: load{Status: 200}}, bufio.NewReader(conn)
	for n := range due {
		body := fmt.Sprintf(`{"branch":"live-%d-%d"}`, v.Lap, n)
		v.sent[n] = time.Since(v.began)
		fmt.Fprintf(conn, "PATCH /api/v1/tasks/TASK-%d HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			1+n%v.Tasks, v.Token, len(body), body)
		if status, _, err := w.answer(r); err != nil || status != w.Status {
			return fmt.Errorf("a change was answered %d %s: %w", status, w.example, err)
		}
		v.answered[n] = time.Since(v.began)
	}
	return nil
}

func (v *viewer) sum() watched {
	w := watched{Streams: v.Streams, Rate: v.Rate, Changes: len(v.sent)}
	var last, each, since []time.Duration
	for n := range v.sent {
		latest, missing := time.Duration(0), false
		for _, seen := range v.seen {
			missing = missing || seen[n] == 0
			latest = max(latest, seen[n])
			each = append(each, max(0, seen[n]-v.answered[n]))
		}
		if missing {
			w.Missing++
			continue
		}
		last, since = append(last, max(0, latest-v.answered[n])), append(since, latest-v.sent[n])
	}
	share := func(list []time.Duration, percent int) float64 {
		if len(list) == 0 {
			return 0
		}
		slices.Sort(list)
		return float64(list[len(list)*percent/100].Microseconds()) / 1000
	}
	w.Last50, w.Last99, w.Each50, w.Each99, w.Sent99 = share(last, 50), share(last, 99), share(each, 50), share(each, 99), share(since, 99)
	return w
}
