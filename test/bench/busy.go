package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/test/faults"
)

const (
	busySessions        = 50
	busyLeast, busyMost = 200 * time.Millisecond, 500 * time.Millisecond // between two changes of one session
	gatewayToken        = "of-the-benchmark"
	busyAgent           = "cto"
	busySettle          = 2 * time.Second // before the last change of each session
	busyPatience        = 10 * time.Second
	busyTimes           = 20 // duration as a multiple of the plan's slice
)

// busying is the input for the process that reads the live streams.
type busying struct {
	Address string
	Tokens  []string // tokens of the watchers, used in turn
	Streams int
	Mark    string // prefix of a changed label; the change's number and the event's time follow it
	Final   int    // first change that every stream must receive
	Finals  int
}

// busy holds the results of a measurement with 50 sessions that change constantly.
// Times are in milliseconds, measured from just before the gateway creates the event
// for a change. If a session changes again within 250 ms, the earlier change is neither
// published nor counted as missing.
type busy struct {
	Streams  int     `json:"streams"`
	Sessions int     `json:"sessions"`
	Changes  int     `json:"changes"`
	Told     int     `json:"told"`    // changes received by a stream
	Missing  int     `json:"missing"` // last changes of a session that a stream did not receive
	Each50   float64 `json:"each_p50_ms"`
	Each99   float64 `json:"each_p99_ms"`
	Last50   float64 `json:"last_p50_ms"` // until the last stream received a change
	Last99   float64 `json:"last_p99_ms"`
	MemoryMB float64 `json:"memory_mb"` // private memory of the server
	RSSMB    float64 `json:"rss_mb"`    // including pages of mapped files
	CPU      float64 `json:"cpu_us"`    // of the server, per change
	Client   float64 `json:"client_cpu_us"`
	Lists    int     `json:"lists"` // number of reads of the session list from the gateway
	Load     string  `json:"load"`
}

// busy measures how long the gateway's event for a changed session takes to reach
// many live streams. It starts its own service. The gateway is the demo runtime,
// which runs in this process.
func (b *bench) busy(ctx context.Context) (s busy, err error) {
	runtime, err := faults.Start(ctx, demo.Options{Token: gatewayToken, Pace: time.Millisecond})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, runtime.Close()) }()
	keys, err := workIn(ctx, runtime)
	if err != nil {
		return s, err
	}
	service, err := b.startBusy(ctx, runtime.URL())
	if err != nil {
		return s, err
	}
	defer service.end()
	b.turn++
	ask := busying{Address: service.address, Streams: b.streams, Mark: fmt.Sprintf("busy-%d-", b.turn), Finals: len(keys), Final: 1 << 20}
	if ask.Tokens, err = loginWatchers(ctx, service.address); err != nil {
		return s, err
	}
	told, err := json.Marshal(ask)
	if err != nil {
		return s, err
	}
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, self, "busy")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(told), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	answers := json.NewDecoder(out)
	var ready struct{}
	if err := answers.Decode(&ready); err != nil {
		return s, errors.Join(err, cmd.Wait())
	}
	pid := service.cmd.Process.Pid
	before, reader, lists := cpu(pid), cpu(cmd.Process.Pid), runtime.Calls("sessions.list")
	changes, err := b.work(runtime, keys, ask)
	errs := []error{err, answers.Decode(&s)}
	each := func(spent time.Duration) float64 { return float64(spent.Microseconds()) / float64(max(changes, 1)) }
	s.Changes, s.Sessions, s.Streams, s.Load = changes, len(keys), b.streams, loadAverage()
	s.CPU, s.Client = each(cpu(pid)-before), each(cpu(cmd.Process.Pid)-reader)
	s.MemoryMB, _ = memory(pid)
	s.RSSMB, s.Lists = resident(pid), runtime.Calls("sessions.list")-lists
	return s, errors.Join(append(errs, cmd.Wait())...)
}

// startBusy starts a service connected to the gateway at url.
func (b *bench) startBusy(ctx context.Context, url string) (*process, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	database, err := b.engine.fresh(ctx, b.size, "busy")
	if err != nil {
		return nil, err
	}
	if b.engine.name() == "sqlite" {
		database = "sqlite:" + database
	}
	bin, err := filepath.Abs("bin/wardroom")
	if err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(address, ":")
	return start(ctx, filepath.Join(b.dir, "busy.log"), address, []string{
		"HOST=" + host, "PORT=" + port, "DATA_DIR=" + b.dir, "DATABASE_URL=" + database, "JWT_SECRET=" + secret,
		"ARCHIVE_AFTER_DAYS=0", "ACTIVITY_LOG_RETENTION_DAYS=0", "HISTORY_RETENTION_DAYS=0", "AGENTRT_GATEWAY_URL=" + url, "AGENTRT_GATEWAY_TOKEN=" + gatewayToken,
		"BOOTSTRAP_OWNER_EMAIL=", "BOOTSTRAP_OWNER_PASSWORD=",
	}, bin, "serve")
}

// workIn creates the sessions for the measurement and starts a run in each.
func workIn(ctx context.Context, runtime *faults.Runtime) (keys []string, err error) {
	c, err := gateway.New(link.Options{URL: runtime.URL(), Token: gatewayToken, Scopes: []string{"operator.read", "operator.write"}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = c.Run(ctx) }) // always returns nil
	if _, err := c.Await(ctx); err != nil {
		return nil, err
	}
	for n := range busySessions {
		run, key := fmt.Sprint("busy-", n), fmt.Sprintf("agent:%s:busy-%d", busyAgent, n)
		if _, err := c.Start(ctx, gateway.Question{RunID: run, AgentID: busyAgent, SessionKey: key, Message: "Go on."}); err != nil {
			return nil, err
		}
		if _, err := c.Wait(ctx, run, busyPatience); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// work keeps changing the sessions for a fixed time. After a pause, it makes one final change to
// each session, which every stream must receive. It returns the total number of changes.
func (b *bench) work(runtime *faults.Runtime, keys []string, ask busying) (changes int, err error) {
	var n atomic.Int64
	label := func(key string, n int64) error {
		return runtime.Label(key, fmt.Sprintf("%s%d-%d", ask.Mark, n, time.Now().UnixNano()))
	}
	var working sync.WaitGroup
	errs := make([]error, len(keys))
	end := time.Now().Add(busyTimes * b.slice)
	for i, key := range keys {
		working.Go(func() {
			for errs[i] == nil && time.Now().Before(end) {
				time.Sleep(busyLeast + rand.N(busyMost-busyLeast))
				errs[i] = label(key, n.Add(1))
			}
		})
	}
	working.Wait()
	time.Sleep(busySettle)
	for i, key := range keys {
		errs[i] = errors.Join(errs[i], label(key, int64(ask.Final+i)))
		time.Sleep(5 * time.Millisecond)
	}
	return int(n.Load()) + len(keys), errors.Join(errs...)
}

// run opens the streams, calls ready, receives the changes and returns the results.
func (ask busying) run(ctx context.Context, ready func() error) (s busy, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v := &viewer{watching: watching{Address: ask.Address}, all: make(chan struct{})}
	v.left.Store(int64(ask.Streams * ask.Finals))
	seen := make([]map[int]time.Duration, ask.Streams)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel() // before waiting for the readers
	for i := range ask.Streams {
		conn, r, err := v.open(ctx, ask.Tokens[i%len(ask.Tokens)])
		if err != nil {
			return s, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		seen[i] = map[int]time.Duration{}
		reading.Go(func() { defer stop(); ask.follow(v, r, seen[i]) })
	}
	if err := ready(); err != nil {
		return s, err
	}
	select {
	case <-v.all:
	case <-time.After(time.Minute):
	}
	cancel()
	reading.Wait()
	return ask.sum(seen), nil
}

// follow reads a stream and records how long each change took to arrive.
func (ask busying) follow(v *viewer, r *bufio.Reader, seen map[int]time.Duration) {
	mark := []byte(`"` + ask.Mark)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		_, rest, ok := bytes.Cut(line, mark)
		if !ok {
			continue
		}
		text, _, _ := bytes.Cut(rest, []byte{'"'})
		number, moment, _ := strings.Cut(string(text), "-")
		n, err := strconv.Atoi(number)
		at, err2 := strconv.ParseInt(moment, 10, 64)
		if err != nil || err2 != nil {
			continue
		}
		if _, again := seen[n]; again {
			continue // it is sent again with its tokens
		}
		seen[n] = time.Since(time.Unix(0, at))
		if n >= ask.Final && v.left.Add(-1) == 0 {
			close(v.all)
		}
	}
}

func (ask busying) sum(seen []map[int]time.Duration) (s busy) {
	latest := map[int]time.Duration{}
	var each []time.Duration
	for _, stream := range seen {
		finals := 0
		for n, took := range stream {
			latest[n] = max(latest[n], took)
			each = append(each, took)
			if n >= ask.Final {
				finals++
			}
		}
		s.Missing += ask.Finals - finals
	}
	last := make([]time.Duration, 0, len(latest))
	for _, took := range latest {
		last = append(last, took)
	}
	share := func(list []time.Duration, percent int) float64 {
		if len(list) == 0 {
			return 0
		}
		slices.Sort(list)
		return float64(list[len(list)*percent/100].Microseconds()) / 1000
	}
	s.Told, s.Each50, s.Each99, s.Last50, s.Last99 = len(latest), share(each, 50), share(each, 99), share(last, 50), share(last, 99)
	return s
}

// resident returns the resident memory of a process in MB.
func resident(pid int) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			n, _ := strconv.Atoi(f[1])
			return float64(n) / 1024
		}
	}
	return 0
}
