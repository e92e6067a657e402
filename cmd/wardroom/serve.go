package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"wardroom/internal/account"
	"wardroom/internal/app"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
)

type serveCmd struct {
	config.Raw `embed:""`
}

// Run runs Wardroom until ctx is canceled.
func (c serveCmd) Run(ctx context.Context, t terminal) error {
	cfg, warnings, err := c.Check()
	if err != nil {
		return usage(fmt.Errorf("invalid settings:\n%w", err))
	}
	log := newLog(t.err, cfg.Common)
	for _, w := range warnings {
		log.WarnContext(ctx, "settings", "warning", w)
	}
	a, err := app.New(ctx, cfg, log, app.Options{Cost: t.cost, OnSetup: t.showSetup, DatabaseWait: t.databaseWait})
	if err != nil {
		return err
	}
	ln, err := a.Listen(ctx)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	log.InfoContext(ctx, "serving", "address", "http://"+ln.Addr().String(), "version", app.Version,
		"database", a.DB.Engine().String())
	go releaseMemory(ctx)
	running, stop := context.WithCancel(ctx)
	var systemd sync.WaitGroup // so that the process does not end before it has said that it stops
	systemd.Go(func() { notifySystemd(running, "http://"+ln.Addr().String(), log) })
	err = a.Run(ctx, ln)
	stop()
	systemd.Wait()
	log.InfoContext(context.WithoutCancel(ctx), "stopped")
	return err
}

// releaseMemory returns unused memory to the operating system after startup. Most of
// this memory, about 16 MB, is needed only to read the migrations. The garbage
// collector runs only when allocations grow, so an idle service would keep it.
func releaseMemory(ctx context.Context) {
	const started = time.Second // the start is over by then
	timer := time.NewTimer(started)
	defer timer.Stop()
	select {
	case <-timer.C:
		runtime.GC() // pools are emptied after two collections
		debug.FreeOSMemory()
	case <-ctx.Done():
	}
}

// showSetup explains on the terminal how to create the owner account. It writes nothing to the log,
// because other people may read the log.
func (t terminal) showSetup(o app.SetupOffer) {
	fmt.Fprintf(t.err, setup, account.SetupLife/time.Minute, o.Until.Local().Format("15:04"), o.Page, o.Token, o.Token,
		o.Address, o.Token)
}

// setup explains how to create the owner account without leaking the token into logs,
// process lists or the shell's history. In the link, the token follows a #, because
// browsers do not send that part to servers. The curl command reads the token from
// standard input rather than from its arguments or a here-document.
const setup = `
Wardroom has no owner yet. Open this link to create the owner account. It works once and expires in %d minutes, at %s:

  %s/setup#%s

From another machine, replace the address in the link with the address of this machine.
Without a browser, use this token:

  %s

Run this command:

  curl %s/api/v1/auth/setup --json @-

Then paste this, with your email and a password of at least 12 characters, and press Enter and Ctrl-D:

  {"token":"%s","email":"you@example.com","password":"…"}

`

type migrateCmd struct {
	config.RawCommon `embed:""`
}

// Run applies the pending migrations.
func (c migrateCmd) Run(ctx context.Context, t terminal) (err error) {
	cfg, _, err := c.Check()
	if err != nil {
		return usage(fmt.Errorf("invalid settings:\n%w", err))
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
