package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench measures the service on one database engine with a given number of tasks.
type bench struct {
	plan
	engine  engine
	size    int
	dir     string
	out     io.Writer
	service *process
	bound   *process
	token   string
	tag     string // ETag of the task list, valid while nothing changes
	turn    int
}

// operation is a request to measure. If beside is not nil, it is a similar request to the
// reference server, for comparison.
type operation struct {
	name        string
	load        load
	beside      *load
	besideName  string
	connections []int
}

// settled is how long to wait for the service to become idle after it starts.
const settled = 5 * time.Second

func (b *bench) run(ctx context.Context) (p part, err error) {
	if err := b.start(ctx); err != nil {
		return p, err
	}
	defer b.service.end()
	defer b.bound.end()
	if p.About, err = b.engine.about(ctx); err != nil {
		return p, err
	}
	p.Engine, p.Tasks = b.engine.name(), b.size
	p.StartMS = float64(b.service.started.Microseconds()) / 1000
	time.Sleep(settled)
	p.IdleMB, p.IdleWrittenMB = memory(b.service.cmd.Process.Pid)
	p.BoundIdleMB, _ = memory(b.bound.cmd.Process.Pid)
	for _, o := range b.operations() {
		for _, n := range o.connections {
			r, err := b.measure(ctx, o, n)
			if err != nil {
				return p, err
			}
			p.Results = append(p.Results, r)
		}
		loaded, _ := memory(b.service.cmd.Process.Pid)
		bound, _ := memory(b.bound.cmd.Process.Pid)
		p.LoadedMB, p.BoundLoadedMB = max(p.LoadedMB, loaded), max(p.BoundLoadedMB, bound)
	}
	// Of the many tokens that the logins made, the oldest no longer work.
	if b.token, err = login(ctx, b.service.address, email(0)); err != nil {
		return p, err
	}
	for _, rate := range b.rates {
		if !b.wants("live") {
			break
		}
		w, err := b.live(ctx, rate)
		if err != nil {
			return p, fmt.Errorf("live: %w", err)
		}
		p.Live = append(p.Live, w)
	}
	if b.wants("sessions") && b.size == b.sizes[0] {
		s, err := b.busy(ctx)
		if err != nil {
			return p, fmt.Errorf("sessions: %w", err)
		}
		p.Sessions = &s
	}
	return p, nil
}

// start starts both servers, each on its own copy of the database.
func (b *bench) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var addresses, databases [2]string
	for i, purpose := range []string{"service", "bound"} {
		if addresses[i], err = freeAddress(ctx); err != nil {
			return err
		}
		if databases[i], err = b.engine.fresh(ctx, b.size, purpose); err != nil {
			return err
		}
	}
	bin, err := filepath.Abs("bin/wardroom")
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(addresses[0], ":")
	address := databases[0]
	if b.engine.name() == "sqlite" {
		address = "sqlite:" + address
	}
	b.service, err = start(ctx, filepath.Join(b.dir, "service.log"), addresses[0], []string{
		"HOST=" + host, "PORT=" + port, "DATA_DIR=" + b.dir, "DATABASE_URL=" + address, "JWT_SECRET=" + secret,
		"ARCHIVE_AFTER_DAYS=0", "ACTIVITY_LOG_RETENTION_DAYS=0", "HISTORY_RETENTION_DAYS=0", "AGENTRT_GATEWAY_URL=", "BOOTSTRAP_OWNER_EMAIL=", "BOOTSTRAP_OWNER_PASSWORD=",
	}, bin, "serve")
	if err != nil {
		return err
	}
	if b.bound, err = start(ctx, filepath.Join(b.dir, "bound.log"), addresses[1], nil, self, "bound", databases[1], addresses[1]); err != nil {
		return err
	}
	if b.token, err = login(ctx, b.service.address, email(0)); err != nil {
		return err
	}
	_, header, err := get(ctx, "http://"+b.service.address+"/api/v1/tasks?limit=100", b.token)
	b.tag = header.Get("ETag")
	return err
}

func (b *bench) operations() []operation {
	const api = "/api/v1"
	both := []int{16, 64}
	read := func(path string) load { return load{Method: "GET", Path: path, Status: 200, Tasks: b.size} }
	beside := func(l load) *load { return &l }
	created := strconv.Quote(description(1))
	creating := load{Method: "POST", Status: 201, Bodies: []string{`{"title":"Look into what came in the night","description":` + created + `}`}}
	at := func(l load, path string) load { l.Path = path; return l }
	moves := load{Method: "PATCH", Path: api + "/tasks/TASK-{n}", Status: 200, Tasks: b.size, Walk: true}
	for _, s := range []string{"todo", "in_progress", "review", "backlog"} {
		moves.Bodies = append(moves.Bodies, `{"status":"`+s+`","branch":"turn-{turn}"}`) // so that each request changes the task
	}
	logins := load{Method: "POST", Path: api + "/auth/login", Status: 200}
	for n := range people {
		logins.Bodies = append(logins.Bodies, fmt.Sprintf(`{"email":%q,"password":%q}`, email(n), password))
	}
	same := read(api + "/tasks?limit=100")
	same.Status, same.Header = 304, "If-None-Match: "+b.tag+"\r\n"
	packed := read(api + "/tasks?limit=100")
	packed.Header = "Accept-Encoding: gzip\r\n"
	list := []operation{
		{"health", read("/health"), beside(read("/health")), "health", both},
		{"list 100", read(api + "/tasks?limit=100"), beside(read("/appended?limit=100")), "list 100 appended", both},
		{"list 100 (structs)", read(api + "/tasks?limit=100"), beside(read("/structs?limit=100")), "list 100 structs", both[:1]},
		{"list 100 gzip", packed, beside(read("/appended?limit=100")), "list 100 appended", both[:1]},
		{"list 50", read(api + "/tasks?limit=50"), beside(read("/appended?limit=50")), "list 50 appended", both[:1]},
		{"list unchanged", same, beside(read("/health")), "health", both},
		{"get by id", read(api + "/tasks/TASK-{n}"), beside(read("/tasks/{n}")), "by id", both},
		{"standups list", read(api + "/standups"), nil, "", both[:1]},
		{"create", at(creating, api+"/tasks"), beside(at(creating, "/tasks")), "create", both},
		{"change status", moves, beside(at(creating, "/tasks")), "create", both},
		{"login", logins, nil, "", []int{people}},
	}
	return slices.DeleteFunc(list, func(o operation) bool {
		return !b.wants(o.name) || b.tag == "" && o.name == "list unchanged"
	})
}

// measure measures an operation alternately on the reference server and on the service.
func (b *bench) measure(ctx context.Context, o operation, connections int) (r result, err error) {
	r = result{Operation: o.name, Bound: o.besideName, Connections: connections}
	rounds := b.rounds
	if connections > 16 || o.name == "login" {
		rounds = 1
	}
	for round := range rounds + 1 {
		limit := b.slice
		if round == 0 {
			limit /= 4 // for the warm-up
		}
		var bound, service turn
		if o.beside != nil {
			if bound, err = b.take(ctx, *o.beside, b.bound, connections, limit); err != nil {
				return r, err
			}
		}
		if service, err = b.take(ctx, o.load, b.service, connections, limit); err != nil {
			return r, err
		}
		if round == 0 {
			continue
		}
		r.Service, r.AtBound = append(r.Service, service), append(r.AtBound, bound)
	}
	r.sum()
	return r, nil
}

// wrongAnswer is the error for responses with an unexpected status.
type wrongAnswer struct {
	load load
	done done
}

// Error describes the unexpected answers.
func (w wrongAnswer) Error() string {
	return fmt.Sprintf("%s %s: %d of %d answers were not %d, such as %.300s", w.load.Method, w.load.Path, w.done.Wrong, w.done.Requests, w.load.Status, w.done.Example)
}

// take measures one server (the service or the reference server) in one round.
func (b *bench) take(ctx context.Context, l load, on *process, connections int, limit time.Duration) (t turn, err error) {
	b.turn++
	l.Address, l.Connections, l.For, l.Turn = on.address, connections, limit, b.turn
	if on == b.service && !strings.HasSuffix(l.Path, "/login") && l.Path != "/health" {
		l.Header += "Authorization: Bearer " + b.token + "\r\n"
	}
	others, err := b.engine.processes()
	if err != nil {
		return t, err
	}
	mine, theirs := cpu(on.cmd.Process.Pid), cpu(others...)
	d, err := l.send(ctx)
	if err != nil {
		return t, err
	}
	if d.Wrong > 0 {
		return t, wrongAnswer{l, d}
	}
	if others, err = b.engine.processes(); err != nil {
		return t, err
	}
	each := func(spent time.Duration) float64 { return float64(spent.Microseconds()) / float64(max(d.Requests, 1)) }
	return turn{
		Rate: float64(d.Requests) / d.Took.Seconds(), P50: float64(d.P50.Microseconds()) / 1000, P99: float64(d.P99.Microseconds()) / 1000,
		CPU: each(cpu(on.cmd.Process.Pid) - mine), DatabaseCPU: each(cpu(others...) - theirs), Bytes: d.Bytes,
	}, nil
}

// write prints the report and stores it as JSON.
func (r report) write(out io.Writer, file string) error {
	fmt.Fprintf(out, "\n%s, load before %s and after %s\n", r.Machine, r.LoadBefore, r.LoadAfter)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "All figures are in %s.\n", file)
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
