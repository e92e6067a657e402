package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/platform/db"
	"wardroom/internal/schema"
	"wardroom/test/year"
)

// yearOfUse is the size of the database that BENCH=year measures.
var yearOfUse = year.Size{Tasks: 100_000, Sessions: 100_000, Events: 1_000_000, Runs: 1_000_000, Others: 20_000}

// ask is one request that a screen of the dashboard sends.
type ask struct{ screen, path string }

// asks returns the requests that each screen sends with its usual filters.
func asks(now time.Time) []ask {
	day := func(ago int) string { return now.UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	at := func(ago time.Duration) string { return now.UTC().Add(-ago).Format(time.RFC3339) }
	const hour = time.Hour
	list := []ask{
		{"Now", "/agents"},
		{"Now", "/tasks?blocked=true&status=backlog,todo,in_progress,review&limit=1&total=true"},
		{"Now", "/inbox?state=open&limit=50&sort=rank"},
		{"Now", "/inbox?state=open&limit=1&total=true"},
		{"Now", "/standups?team=all&limit=1"},
		{"Now", "/usage?from=" + day(0) + "&group=agent"},
		{"Now", "/usage?from=" + day(7) + "&to=" + day(6) + "&group=hour"},
		{"Now", "/usage?from=" + at(hour) + "&group=agent"},
		{"Now", "/agentrt/slots?from=" + at(12*hour) + "&to=" + at(-12*hour) + "&limit=500"},
		{"Now", "/activity?subject_kind=inbox&kind=inbox.raised,inbox.repeated,inbox.reopened&since=" + at(24*hour) + "&limit=500"},
		{"Now", "/sessions?status=failed&from=" + at(24*hour) + "&limit=500"},
		{"Now", "/sessions?status=timeout&from=" + at(24*hour) + "&limit=500"},
		{"Inbox", "/inbox?limit=100&sort=rank"},
		{"Inbox", "/inbox?state=resolved&sort=-last&limit=100"},
		{"Tasks", "/tasks?sort=position&limit=500"},
		{"Tasks", "/tasks?sort=position&status=backlog,todo,in_progress,review&limit=500"},
		{"Tasks", "/tasks?q=nowhere&limit=20"},
		{"Tasks", "/tasks?due_before=" + at(5000*24*hour) + "&limit=100"},
		{"Agents", "/agents"},
		{"Agents", "/agents/cto"},
		{"Sessions", "/sessions?limit=100"},
		{"Sessions", "/sessions?q=nightly&limit=100"},
		{"Sessions", "/sessions?q=rare6999000&limit=100"},
		{"Session", "/sessions/" + year.SessionID(year.LongSession)},
		{"Standups", "/standups?team=executive&from=" + day(30) + "&to=" + day(0) + "&limit=500"},
		{"Schedules", "/agentrt/slots?from=" + at(24*hour) + "&to=" + at(0) + "&limit=500"},
		{"Spend", "/usage?from=" + day(30) + "&group=agent"},
		{"Spend", "/usage?from=" + day(30) + "&group=day"},
		{"Spend", "/usage?from=" + day(365) + "&group=model"},
		{"Spend", "/usage?from=" + day(365) + "&group=day"},
		{"Search", "/search?q=nightly&limit=20"},
		{"Search", "/search?q=nightly&kind=task&limit=20"},
		{"Search", "/search?q=rare99000&limit=20"},
		{"Activity", "/activity?limit=100"},
		{"Activity", "/activity?subject_kind=project&limit=100"},
		{"Activity", "/activity?since=" + at(300*24*hour) + "&until=" + at(299*24*hour) + "&limit=100"},
	}
	for i := range list {
		list[i].path = "/api/v1" + list[i].path
	}
	return list
}

// subject is a build of the service with its own copy of the database.
type subject struct {
	bench
	name string
}

// measureYear prints the cost of each screen's requests after a year of use. If the
// environment variable BENCH_BEFORE names an older binary, it measures both binaries
// in turn.
func measureYear(ctx context.Context, out io.Writer, dir string, engines []engine) error {
	for _, e := range engines {
		if err := fillYear(ctx, out, e); err != nil {
			return fmt.Errorf("fill %s: %w", e.name(), err)
		}
		binaries := map[string]string{"now": "bin/wardroom"}
		if before := os.Getenv("BENCH_BEFORE"); before != "" {
			binaries["before"] = before
		}
		var all []*subject
		for _, name := range []string{"before", "now"} {
			if binaries[name] == "" {
				continue
			}
			s, err := startYear(ctx, out, e, dir, name, binaries[name])
			if err != nil {
				return fmt.Errorf("start %s on %s: %w", binaries[name], e.name(), err)
			}
			defer s.service.end()
			all = append(all, s)
		}
		if err := compareYear(ctx, out, all); err != nil {
			return err
		}
	}
	return nil
}

func fillYear(ctx context.Context, out io.Writer, e engine) (err error) {
	began := time.Now()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	d, err := db.Own(ctx, e.seed())
	if err != nil {
		return err
	}
	_, err = d.Migrate(ctx, db.Schema{Files: schema.FS(), Program: "0.0.0-test"})
	if err == nil {
		plan := year.Plan{Now: began.UTC().Truncate(time.Second), Full: yearOfUse, PasswordHash: string(hash)}
		err = plan.Grow(ctx, d, year.Size{}, yearOfUse)
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: a year of use, %+v, in %.0f s\n", e.name(), yearOfUse, time.Since(began).Seconds())
	return e.keep(ctx, yearOfUse.Tasks)
}

// startYear migrates a copy of the database and starts the given binary with it.
func startYear(ctx context.Context, out io.Writer, e engine, dir, name, binary string) (*subject, error) {
	s := &subject{name: name}
	s.engine, s.dir = e, filepath.Join(dir, e.name()+"-"+name)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	database, err := e.fresh(ctx, yearOfUse.Tasks, name)
	if err != nil {
		return nil, err
	}
	if e.name() == "sqlite" {
		database = "sqlite:" + database
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(address, ":")
	env := []string{
		"HOST=" + host, "PORT=" + port, "DATA_DIR=" + s.dir, "DATABASE_URL=" + database, "JWT_SECRET=" + secret,
		"ARCHIVE_AFTER_DAYS=0", "ACTIVITY_LOG_RETENTION_DAYS=0", "HISTORY_RETENTION_DAYS=0", "SUBAGENT_RETENTION_DAYS=0", "AGENTRT_GATEWAY_URL=", "BOOTSTRAP_OWNER_EMAIL=", "BOOTSTRAP_OWNER_PASSWORD=",
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	began := time.Now()
	migrate := exec.CommandContext(ctx, binary, "migrate")
	migrate.Env = append(os.Environ(), env...)
	if text, err := migrate.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("migrate: %w\n%s", err, text)
	}
	fmt.Fprintf(out, "%s, %s: migrated in %.1f s\n", e.name(), name, time.Since(began).Seconds())
	if s.service, err = start(ctx, filepath.Join(s.dir, "service.log"), address, env, binary, "serve"); err != nil {
		return nil, err
	}
	began = time.Now()
	if err := s.service.rests(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s, %s: worked in the background for %.0f s\n", e.name(), name, time.Since(began).Seconds())
	s.token, err = login(ctx, address, year.Admin)
	return s, err
}

// figures holds the results for one request and one build of the service.
type figures struct {
	turn
	failed string // the status, if it was not 200
}

func (f figures) String() string {
	if f.failed != "" {
		return f.failed + "\t\t\t"
	}
	return fmt.Sprintf("%.1f\t%.1f\t%.1f\t", f.P50, f.P99, f.cpu()/1000)
}

// compareYear sends each request to each build of the service in turn and prints the
// results.
func compareYear(ctx context.Context, out io.Writer, all []*subject) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nscreen\trequest\t")
	for _, s := range all {
		fmt.Fprintf(w, "%s: p50 ms\tp99 ms\tCPU ms\t", s.name)
	}
	fmt.Fprintln(w)
	sums := map[string][]float64{}
	var screens []string
	for _, a := range asks(time.Now()) {
		fmt.Fprintf(w, "%s\t%s\t", a.screen, strings.TrimPrefix(a.path, "/api/v1"))
		if sums[a.screen] == nil {
			sums[a.screen] = make([]float64, len(all))
			screens = append(screens, a.screen)
		}
		for n, s := range all {
			f, err := s.request(ctx, a.path)
			if err != nil {
				return err
			}
			sums[a.screen][n] += f.P50
			fmt.Fprint(w, f)
		}
		fmt.Fprintln(w)
	}
	for _, screen := range screens {
		fmt.Fprintf(w, "%s\ttotal\t", screen)
		for _, sum := range sums[screen] {
			fmt.Fprintf(w, "%.0f\t\t\t", sum)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// request measures a request. It sends the request once as a warm-up and then repeats
// it for one second.
func (s *subject) request(ctx context.Context, path string) (f figures, err error) {
	l := load{Method: "GET", Path: path, Status: 200}
	for _, limit := range []time.Duration{time.Millisecond, time.Second} {
		f.turn, err = s.take(ctx, l, s.service, 1, limit)
		if wrong, ok := errors.AsType[wrongAnswer](err); ok {
			return figures{failed: wrong.done.Example[:3]}, nil
		}
	}
	return f, err
}
