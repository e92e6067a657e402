package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// report holds all results of a run.
type report struct {
	Mode       string    `json:"mode"`
	At         time.Time `json:"at"`
	Machine    string    `json:"machine"`
	LoadBefore string    `json:"load_before"` // load averages of the machine
	LoadAfter  string    `json:"load_after"`
	Parts      []part    `json:"parts"`
}

// part holds the results for one database engine and one number of tasks.
type part struct {
	Engine        string    `json:"engine"`
	About         string    `json:"about"`
	Tasks         int       `json:"tasks"`
	StartMS       float64   `json:"start_ms"` // from the start of the process to its first answer
	IdleMB        float64   `json:"idle_mb"`
	IdleWrittenMB float64   `json:"idle_written_mb"` // part of it that was written, not read from files
	LoadedMB      float64   `json:"loaded_mb"`
	BoundIdleMB   float64   `json:"bound_idle_mb"`
	BoundLoadedMB float64   `json:"bound_loaded_mb"`
	Results       []result  `json:"results"`
	Live          []watched `json:"live"`
	Sessions      *busy     `json:"sessions,omitempty"`
}

// result holds the results for one operation at one number of connections.
type result struct {
	Operation   string `json:"operation"`
	Bound       string `json:"bound,omitempty"` // the request to the bound
	Connections int    `json:"connections"`
	Service     []turn `json:"service"` // by round
	AtBound     []turn `json:"at_bound"`
	// The fields below are medians over all rounds. A ratio of 1 means that the
	// service is as fast as the reference server.
	Median turn    `json:"median"`
	Beside turn    `json:"median_at_bound"`
	ByRate float64 `json:"ratio_by_rate,omitempty"`
	ByCPU  float64 `json:"ratio_by_cpu,omitempty"`
}

// turn holds the results for one server in one round.
type turn struct {
	Rate        float64 `json:"rate"` // answers per second
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	CPU         float64 `json:"cpu_us"` // of the server, per request
	DatabaseCPU float64 `json:"database_cpu_us"`
	Bytes       int     `json:"bytes"` // of a body
}

func (t turn) cpu() float64 { return t.CPU + t.DatabaseCPU }

// sum calculates the medians over all rounds.
func (r *result) sum() {
	r.Median, r.Beside = middle(r.Service), middle(r.AtBound)
	if r.Bound == "" {
		return
	}
	var rates, cpus []float64
	for i, s := range r.Service {
		rates, cpus = append(rates, s.Rate/r.AtBound[i].Rate), append(cpus, r.AtBound[i].cpu()/max(s.cpu(), 0.001))
	}
	r.ByRate, r.ByCPU = median(rates), median(cpus)
}

func middle(ts []turn) turn {
	of := func(f func(turn) float64) float64 {
		var vs []float64
		for _, t := range ts {
			vs = append(vs, f(t))
		}
		return median(vs)
	}
	return turn{
		Rate: of(func(t turn) float64 { return t.Rate }), P50: of(func(t turn) float64 { return t.P50 }), P99: of(func(t turn) float64 { return t.P99 }),
		CPU: of(func(t turn) float64 { return t.CPU }), DatabaseCPU: of(func(t turn) float64 { return t.DatabaseCPU }), Bytes: ts[0].Bytes,
	}
}

func median(vs []float64) float64 {
	slices.Sort(vs)
	return vs[len(vs)/2]
}

func (p part) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s, %d tasks; start %.0f ms; memory %.0f MB idle (%.0f written), %.0f MB loaded (bound: %.0f, %.0f)\n\n",
		p.About, p.Tasks, p.StartMS, p.IdleMB, p.IdleWrittenMB, p.LoadedMB, p.BoundIdleMB, p.BoundLoadedMB)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tconns\trate/s\tp50 ms\tp99 ms\tCPU µs\tDB µs\tbytes\tbound\trate/s\tCPU µs\tby rate\tby CPU\t")
	for _, r := range p.Results {
		m := r.Median
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.2f\t%.2f\t%.0f\t%.0f\t%d\t", r.Operation, r.Connections, m.Rate, m.P50, m.P99, m.CPU, m.DatabaseCPU, m.Bytes)
		if r.Bound == "" {
			fmt.Fprintln(w, "-\t\t\t\t\t")
			continue
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f %%\t%.0f %%\t\n", r.Bound, r.Beside.Rate, r.Beside.cpu(), 100*r.ByRate, 100*r.ByCPU)
	}
	_ = w.Flush()
	for _, l := range p.Live {
		fmt.Fprintf(out, "live: %d changes, %d a second, to %d streams: seen by the last after p50 %.0f, p99 %.0f ms (by any p50 %.0f, p99 %.0f; "+
			"from the request p99 %.0f); %.0f µs CPU each, and %.0f µs of the reader; %d missing\n",
			l.Changes, l.Rate, l.Streams, l.Last50, l.Last99, l.Each50, l.Each99, l.Sent99, l.CPU, l.Client, l.Missing)
	}
	if s := p.Sessions; s != nil {
		fmt.Fprintf(out, "sessions: %d changes of %d sessions, of which %d were received, to %d streams: seen after p50 %.0f, p99 %.0f ms (by the last p50 %.0f, p99 %.0f; "+
			"%d missing), %.0f MB (%.0f resident), CPU %.0f µs a change (the reader's %.0f), %d lists of the gateway, load %s\n",
			s.Changes, s.Sessions, s.Told, s.Streams, s.Each50, s.Each99, s.Last50, s.Last99, s.Missing, s.MemoryMB, s.RSSMB, s.CPU, s.Client, s.Lists, s.Load)
	}
}
