// Wardroom is the operations service for a team of AI agents.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // time zones also where the machine has none

	"github.com/alecthomas/kong"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
)

// Exit statuses: what is wrong with the settings or the command line is told
// from what goes wrong while running, so that a supervisor need not try again.
const (
	exitFailed = 1
	exitUsage  = 2
)

// cli is the command line.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run the service."`
	Demo    demoCmd    `cmd:"" help:"Run the service with a built-in team of agents; it needs nothing else."`
	Doctor  doctorCmd  `cmd:"" help:"Find out what stands between this machine and the agent runtime; needs no running service. The exit status is 0 when all is well, and 1 when not."`
	Migrate migrateCmd `cmd:"" help:"Bring the database up to date and stop."`
	Backup  backupCmd  `cmd:"" help:"Write a backup of the database to one file, also while the service runs."`
	Restore restoreCmd `cmd:"" help:"Restore a backup into a new place. It never overwrites anything."`
	Verify  verifyCmd  `cmd:"" help:"Check a backup, or the database. The exit status is 0 when it is sound, and 1 when not."`
	User    userCmd    `cmd:"" help:"Look after accounts, also while the service runs."`
	Key     keyCmd     `cmd:"" help:"Look after the API keys of agent users, also while the service runs."`
	Version versionCmd `cmd:"" help:"Say which version this is."`
}

// errUsage marks a mistake in the settings or the command line.
var errUsage = errors.New("usage")

// terminal is where a command talks to the person who called it.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	cost     int // of bcrypt; 0 is the default. Tests take the least
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run does what the arguments say and returns the exit status.
func run(ctx context.Context, args []string, t terminal) int {
	err := dispatch(ctx, args, t)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(t.err, "wardroom: %s\n", brief(err))
		return exitUsage
	default:
		fmt.Fprintf(t.err, "wardroom: %s\n", brief(err))
		return exitFailed
	}
}

// brief is the text of an error in which no line stands twice in a row: the
// client of PostgreSQL tries an address with TLS and without, and tells of both
// in the same words.
func brief(err error) string {
	return strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "\n")
}

// done ends the parser where kong would end the process, after --help.
type done struct{ code int }

// dotEnv reads the file .env, which is the service's: a demo beside it has nothing
// of it, least of all its port.
func dotEnv(args []string) (map[string]string, error) {
	if len(args) > 0 && args[0] == "demo" {
		return map[string]string{}, nil
	}
	return config.LoadDotEnv(".env", os.LookupEnv)
}

func dispatch(ctx context.Context, args []string, t terminal) (err error) {
	env, err := dotEnv(args)
	if err != nil {
		return usage(err)
	}
	defer func() {
		if v := recover(); v != nil {
			d, ok := v.(done)
			if !ok {
				panic(v)
			}
			if err = nil; d.code != 0 {
				err = usage(errors.New("see wardroom --help"))
			}
		}
	}()
	var c cli
	parser, err := kong.New(&c,
		kong.Name("wardroom"),
		kong.Description("The operations service for a team of AI agents.\n\nEvery flag can also be set by the variable beside it, in the environment or in a file .env."),
		kong.Resolvers(config.Resolver(env)),
		kong.Writers(t.out, t.err),
		kong.Exit(func(code int) { panic(done{code}) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(t),
	)
	if err != nil {
		return err
	}
	command, err := parser.Parse(args)
	if err != nil {
		return usage(fmt.Errorf("%w (see wardroom --help)", err))
	}
	return command.Run()
}

// usage marks err as a mistake of the caller.
func usage(err error) error { return usageError{err} }

type usageError struct{ error }

func (e usageError) Is(target error) bool { return target == errUsage }
func (e usageError) Unwrap() error        { return e.error }

// newLog writes lines for people or for machines.
func newLog(w io.Writer, c config.Common) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(t terminal) error {
	_, err := fmt.Fprintln(t.out, "wardroom", app.Version)
	return err
}
