package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// load is the input for the process that sends requests. It describes one kind of
// request. Each connection sends the next request as soon as the previous one is
// answered.
type load struct {
	Address     string
	Connections int
	For         time.Duration
	Method      string
	Path        string   // "{n}" is the number of a task
	Bodies      []string // used in turn, starting with Turn; "{turn}" is the turn
	Header      string   // additional header lines, each with its line end
	Status      int      // expected status
	Tasks       int      // number of tasks to choose from
	Turn        int
	Walk        bool // uses each task once before repeating any
}

// done holds the results of load.run.
type done struct {
	Requests int
	Wrong    int    // number of responses with an unexpected status
	Example  string // one such response
	Took     time.Duration
	P50, P99 time.Duration
	Bytes    int // of the last body
}

// run sends requests for the duration l.For.
func (l load) run(ctx context.Context) (done, error) {
	var all sync.WaitGroup
	parts, errs := make([]worker, l.Connections), make([]error, l.Connections)
	began := time.Now()
	for i := range parts {
		all.Go(func() {
			parts[i] = worker{load: l, number: i, random: rand.New(rand.NewPCG(uint64(i), uint64(l.Turn)))}
			errs[i] = parts[i].run(ctx, began.Add(l.For))
		})
	}
	all.Wait()
	sum := done{Took: time.Since(began)}
	var times []time.Duration
	for _, w := range parts {
		times = append(times, w.times...)
		sum.Wrong += w.wrong
		if w.wrong > 0 {
			sum.Example = w.example
		}
		sum.Bytes = max(sum.Bytes, w.bytes)
	}
	sum.Requests = len(times)
	if len(times) > 0 {
		slices.Sort(times)
		sum.P50, sum.P99 = times[len(times)/2], times[len(times)*99/100]
	}
	return sum, errors.Join(errs...)
}

// worker sends requests on one connection. To use little CPU time, it implements only
// the parts of HTTP that it needs.
type worker struct {
	load
	number  int
	random  *rand.Rand
	times   []time.Duration
	wrong   int
	example string
	bytes   int
}

func (w *worker) run(ctx context.Context, end time.Time) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(end.Add(30 * time.Second)); err != nil {
		return err
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	var request []byte
	for i := 0; ; i++ {
		began := time.Now()
		if began.After(end) {
			return nil
		}
		request = w.request(request[:0], i)
		if _, err := conn.Write(request); err != nil {
			return err
		}
		status, size, err := w.answer(r)
		if err != nil {
			return err
		}
		w.times = append(w.times, time.Since(began))
		w.bytes = size
		if status != w.Status {
			w.wrong++
		}
	}
}

// request appends an HTTP request to the given bytes. turn is the request's number on this
// connection. It selects the body and, with Walk, the task.
func (w *worker) request(to []byte, turn int) []byte {
	task := 1 + w.random.IntN(max(w.Tasks, 1))
	if w.Walk {
		task = 1 + (w.number+turn*w.Connections)%w.Tasks
	}
	n, body := strconv.Itoa(task), ""
	if len(w.Bodies) > 0 {
		lap := w.Turn + turn*w.Connections/max(w.Tasks, 1)
		body = strings.ReplaceAll(w.Bodies[(lap+w.pick())%len(w.Bodies)], "{turn}", strconv.Itoa(lap))
	}
	to = append(to, w.Method...)
	to = append(to, ' ')
	to = append(to, strings.ReplaceAll(w.Path, "{n}", n)...)
	to = append(to, " HTTP/1.1\r\nHost: bench\r\n"...)
	to = append(to, w.Header...)
	if body != "" {
		to = append(to, "Content-Type: application/json\r\nContent-Length: "...)
		to = strconv.AppendInt(to, int64(len(body)), 10)
		to = append(to, "\r\n"...)
	}
	to = append(to, "\r\n"...)
	return append(to, body...)
}

// pick returns the index in Bodies at which this connection starts. With Walk, the index
// is 0, because all connections send the same body until they have used every task once.
func (w *worker) pick() int {
	if w.Walk {
		return 0
	}
	return w.number
}

// answer reads one HTTP response and returns its status and the size of its body.
func (w *worker) answer(r *bufio.Reader) (status, size int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("not an HTTP response: %q", line)
	}
	status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
	chunked := false
	for {
		line, err = r.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return 0, 0, err
			}
		}
		chunked = chunked || bytes.HasPrefix(line, []byte("Transfer-Encoding: chunked"))
	}
	if chunked {
		size, err = chunks(r)
		return status, size, err
	}
	if status != w.Status && w.example == "" {
		body := make([]byte, size)
		_, err = io.ReadFull(r, body)
		w.example = fmt.Sprintf("%d %s", status, body)
		return status, size, err
	}
	_, err = r.Discard(size)
	return status, size, err
}

// chunks reads a chunked body and returns its size.
func chunks(r *bufio.Reader) (size int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return 0, fmt.Errorf("size of a chunk: %w", err)
		}
		if _, err := r.Discard(int(n) + 2); err != nil { // with the end of the line
			return 0, err
		}
		if size += int(n); n == 0 {
			return size, nil
		}
	}
}
