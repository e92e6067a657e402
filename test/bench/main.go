// Bench compares the service with a reference server: a minimal net/http server with the same
// database driver and the same rows. In the results, the reference server is called "the bound".
//
// Run the benchmark with `make bench`, which takes eight minutes, or with `BENCH=quick make bench`,
// which takes two. `BENCH=growth make bench` compares a large number of tasks with a small one.
// `BENCH=year make bench` measures the screens' requests after a year of use.
//
// The benchmark uses four processes: the built service, the reference server, a process that sends
// requests, and the main process. The main process starts the others, reads their CPU times from
// /proc and prints the results. In each round, an operation is measured first on the reference
// server and then on the service, so that other load on the machine affects both.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// plan defines what a run of the benchmark measures.
type plan struct {
	sizes    []int // numbers of tasks, ascending
	postgres bool
	rounds   int
	slice    time.Duration // duration of one side's turn
	streams  int           // live streams at each of the rates
	rates    []int         // changes per second
	only     []string      // names of operations; nil is all
}

func planOf(mode, only string) (p plan, err error) {
	switch mode {
	case "quick":
		p = plan{sizes: []int{10_000}, rounds: 3, slice: 800 * time.Millisecond}
	case "", "full":
		p = plan{sizes: []int{1_000, 10_000, 100_000}, postgres: true, rounds: 3, slice: 500 * time.Millisecond}
	case "growth":
		p = plan{sizes: []int{1_000, 100_000}, postgres: true, rounds: 3, slice: 2 * time.Second}
		p.only = []string{"list 100", "get by id", "create", "change status"}
	case "year":
		p = plan{postgres: true}
	default:
		return p, fmt.Errorf("BENCH must be quick, growth, year, full or empty, not %q", mode)
	}
	p.streams, p.rates = 500, []int{20, 150}
	if only != "" {
		p.only = strings.Split(only, ",")
	}
	return p, nil
}

// wants reports whether the plan includes the operation with the given name.
func (p plan) wants(name string) bool { return len(p.only) == 0 || slices.Contains(p.only, name) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		slog.Error("bench", "err", err)
		os.Exit(1)
	}
}

// run runs the process that the first argument selects, or the main process if there
// are no arguments.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return measure(ctx, out)
	}
	switch args[0] {
	case "load":
		var l load
		if err := json.NewDecoder(in).Decode(&l); err != nil {
			return fmt.Errorf("read the load: %w", err)
		}
		done, err := l.run(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(done)
	case "live":
		var ask watching
		if err := json.NewDecoder(in).Decode(&ask); err != nil {
			return fmt.Errorf("read what to watch: %w", err)
		}
		answers := json.NewEncoder(out)
		done, err := ask.run(ctx, func() error { return answers.Encode(struct{}{}) })
		if err != nil {
			return err
		}
		return answers.Encode(done)
	case "busy":
		var ask busying
		if err := json.NewDecoder(in).Decode(&ask); err != nil {
			return fmt.Errorf("read what to watch: %w", err)
		}
		answers := json.NewEncoder(out)
		done, err := ask.run(ctx, func() error { return answers.Encode(struct{}{}) })
		if err != nil {
			return err
		}
		return answers.Encode(done)
	case "bound":
		return serveBound(ctx, args[1], args[2])
	}
	return fmt.Errorf("unknown process %q", args[0])
}

// measure is the main function of the process that runs the benchmark. The environment
// variable BENCH selects what it measures.
func measure(ctx context.Context, out io.Writer) (err error) {
	p, err := planOf(os.Getenv("BENCH"), os.Getenv("BENCH_ONLY"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "wardroom-bench.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	report := report{Mode: os.Getenv("BENCH"), At: time.Now().UTC().Truncate(time.Second), Machine: machine(), LoadBefore: loadAverage()}
	engines := []engine{&sqliteEngine{dir: dir}}
	if p.postgres {
		pg, err := newPostgres(ctx, os.Getenv("TEST_POSTGRES_URL"))
		if err != nil {
			return err
		}
		defer pg.close()
		engines = append(engines, pg)
	}
	if os.Getenv("BENCH") == "year" {
		return measureYear(ctx, out, dir, engines)
	}
	for _, e := range engines {
		if err := seedAll(ctx, e, p.sizes, out); err != nil {
			return fmt.Errorf("seed %s: %w", e.name(), err)
		}
		for _, size := range p.sizes {
			b := bench{plan: p, engine: e, size: size, dir: filepath.Join(dir, fmt.Sprintf("%s-%d", e.name(), size)), out: out}
			if err := os.MkdirAll(b.dir, 0o700); err != nil {
				return err
			}
			part, err := b.run(ctx)
			if err != nil {
				return fmt.Errorf("%s with %d tasks: %w", e.name(), size, err)
			}
			report.Parts = append(report.Parts, part)
			part.print(out)
		}
	}
	report.LoadAfter = loadAverage()
	return report.write(out, "bin/bench.json")
}
