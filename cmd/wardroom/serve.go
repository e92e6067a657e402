package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

type serveCmd struct {
	config.Raw `embed:""`
}

// Run serves until it is told to stop.
func (c serveCmd) Run(ctx context.Context, t terminal) error {
	cfg, warnings, err := c.Check()
	if err != nil {
		return usage(fmt.Errorf("these settings need a change:\n%w", err))
	}
	log := newLog(t.err, cfg.Common)
	for _, w := range warnings {
		log.WarnContext(ctx, "settings", "warning", w)
	}
	a, err := app.New(ctx, cfg, log, app.Options{Cost: t.cost, OnSetup: t.showSetup})
	if err != nil {
		return err
	}
	ln, err := a.Listen(ctx)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	log.InfoContext(ctx, "serving", "address", "http://"+ln.Addr().String(), "version", app.Version, "database", a.DB.Engine().String())
	go settle(ctx)
	err = a.Run(ctx, ln)
	log.InfoContext(context.WithoutCancel(ctx), "stopped")
	return err
}

// settle gives back to the system what only the start needed, mostly the 16 MB in
// which the migrations are read. A collector that goes by how much is allocated
// would keep them, for as long as nobody asks the service for anything.
func settle(ctx context.Context) {
	const started = time.Second // by then everything runs
	rest := time.NewTimer(started)
	defer rest.Stop()
	select {
	case <-rest.C:
		runtime.GC() // pools give up what they hold after two collections
		debug.FreeOSMemory()
	case <-ctx.Done():
	}
}

// showSetup tells the person who started the service how to become its owner.
// It goes to the terminal and never through the log, which others read.
func (t terminal) showSetup(o app.SetupOffer) {
	fmt.Fprintf(t.err, setup, account.SetupLife/time.Minute, o.Until.Local().Format("15:04"), o.Address, o.Token, o.Token, o.Address, o.Token)
}

// setup begins with a link that holds the token behind a #, which browsers send
// to no server, so that no log has it. Then it has two parts to copy: what is given to a program on its standard input
// stands neither in the list of processes nor in the shell's history, where a
// here-document would be as well.
const setup = `
Nobody owns this service yet. With this link you become its owner; it works once, for %d minutes, until %s:

  %s/setup#%s

From another machine, put its address in place of the link's. Without a browser, this is the token:

  %s

Run this line first:

  curl %s/api/v1/auth/setup --json @-

Then give it this, with your email and a password of at least 12 characters in it, and end with Enter and Ctrl-D:

  {"token":"%s","email":"you@example.com","password":"…"}

`

type demoCmd struct {
	Dir  string        `default:"wardroom-demo" help:"Folder of the demo's data; delete it to begin anew."`
	Host string        `default:"127.0.0.1" env:"HOST" help:"Address to listen on."`
	Port string        `default:"3000" env:"PORT" help:"Port to listen on; 0 takes a free one."`
	Pace time.Duration `default:"2500ms" help:"How long an agent thinks before it answers."`

	Still bool `help:"The agents do only what they are told to; without it they work by themselves, too."`
}

// Run runs the service with the built-in team.
func (c demoCmd) Run(ctx context.Context, t terminal) error {
	log := newLog(t.err, config.Common{LogFormat: "text"})
	d, err := app.NewDemo(ctx, app.DemoOptions{Dir: c.Dir, Host: c.Host, Port: c.Port, Pace: c.Pace, Still: c.Still}, log)
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
	folder, err := filepath.Abs(c.Dir)
	if err != nil {
		folder = c.Dir
	}
	at := "http://" + ln.Addr().String()
	fmt.Fprintf(t.out, welcome, at, at, app.DemoOwner, d.Password, folder, at, app.DemoOwner, d.Password, at, at, at)
	go settle(ctx)
	err = d.App.Run(ctx, ln)
	return errors.Join(err, d.Runtime.Close())
}

const welcome = `
Wardroom's demo is running, with four agents: coo, cto, cpo and cmo.

  Look at        %s
  API            %s/api/docs
  Sign in as     %s
  Password       %s
                 (the agents are coo@wardroom.demo and so on, with the same password)
  Data           %s

Hold a standup from a second terminal:

  TOKEN=$(curl -s %s/api/v1/auth/login --json '{"email":"%s","password":"%s"}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
  ID=$(curl -s -X POST %s/api/v1/standups -H "Authorization: Bearer $TOKEN" | sed 's/{"id":"\([^"]*\)".*/\1/')
  curl -s -X POST %s/api/v1/standups/$ID/run -H "Authorization: Bearer $TOKEN" --json '{"again":true}' >/dev/null
  curl -s %s/api/v1/standups/$ID/transcript -H "Authorization: Bearer $TOKEN"

Press Ctrl-C to stop it. Start it again and all is still there, but for the runtime's sessions of meanwhile and its changed jobs.

`

type migrateCmd struct {
	config.RawCommon `embed:""`
}

// Run brings the database up to date.
func (c migrateCmd) Run(ctx context.Context, t terminal) (err error) {
	cfg, _, err := c.Check()
	if err != nil {
		return usage(fmt.Errorf("these settings need a change:\n%w", err))
	}
	d, err := db.Own(ctx, cfg.DatabaseURL.Reveal())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	names, err := d.Migrate(ctx, app.Schema())
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(t.out, "applied", name)
	}
	if len(names) == 0 {
		fmt.Fprintln(t.out, "The database is up to date.")
	}
	return nil
}
