package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"wardroom/internal/app"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
)

type demoCmd struct {
	Dir  string        `default:"wardroom-demo" help:"Folder for the demo's data. Delete it to start over."`
	Host string        `default:"127.0.0.1" env:"HOST" help:"Address to listen on."`
	Port string        `default:"3000" env:"PORT" help:"Port to listen on; 0 picks a free one."`
	Pace time.Duration `default:"2500ms" help:"How long an agent thinks before it answers."`
	Work time.Duration `default:"40s" help:"How long an agent works on a task that you send to it, roughly."`

	Timezone string `env:"TIMEZONE" help:"IANA time zone of the demo, such as Europe/Lisbon. Only its first start uses this. Default: this machine's."`

	Still  bool `help:"Agents only answer requests. By default they also work on their own."`
	NoOpen bool `help:"Don't open a browser. By default the demo opens one if it has a terminal and a display."`
}

// Run runs the demo until ctx is canceled.
func (c demoCmd) Run(ctx context.Context, t terminal) error {
	folder, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("find the demo's folder: %w", err)
	}
	file := &logFile{path: filepath.Join(folder, "wardroom.log")}
	defer file.Close()
	d, err := app.NewDemo(ctx,
		app.DemoOptions{
			Dir: c.Dir, Host: c.Host, Port: c.Port, Pace: c.Pace, Work: c.Work, Still: c.Still,
			Timezone: cmp.Or(c.Timezone, localZone()),
		},
		newLog(file, config.Common{LogFormat: "text"}))
	if errors.Is(err, app.ErrSettings) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	ln, err := d.App.Listen(ctx)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	link := d.Link(ln)
	fmt.Fprintf(t.out, welcome, link, app.DemoOwner, d.Password, folder, file.path)
	if !c.NoOpen && hasDisplay(t.out) {
		openBrowser(context.WithoutCancel(ctx), link)
	}
	go releaseMemory(ctx)
	err = d.App.Run(ctx, ln)
	return errors.Join(err, d.Runtime.Close())
}

// localZone returns the IANA name of this machine's time zone, or UTC if it is unknown.
func localZone() string {
	name := os.Getenv("TZ")
	if name == "" {
		path, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(path, "zoneinfo/")
	}
	if _, err := clock.Zone(name); err != nil || name == "Etc/UTC" {
		return "UTC"
	}
	return name
}

// welcome is all that the demo prints.
const welcome = `The Wardroom demo is running with four agents: COO, CTO, CPO, and CMO. Press Ctrl-C to stop.
  Open         %s
  Sign in as   %s (the link does it for you, once)
  Password     %s
  Data         %s
  Log          %s
`

// logFile is the demo's log. It is created at the first line, so that a demo with invalid settings
// leaves no folder, and replaces the log of the previous run.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// Write appends to the file.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return 0, fmt.Errorf("create the demo's folder: %w", err)
		}
		file, err := os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, fmt.Errorf("create the demo's log: %w", err)
		}
		l.file = file
	}
	return l.file.Write(p)
}

// Close closes the file. Later lines start it again.
func (l *logFile) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}
