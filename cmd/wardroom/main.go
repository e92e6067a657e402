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
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // time zones for machines without a zone database

	"github.com/alecthomas/kong"

	"wardroom/internal/app"
	"wardroom/internal/platform/config"
)

// Exit statuses of the program. A supervisor should not restart Wardroom after
// exitUsage, because the settings or the command line must be fixed first.
const (
	exitFailed = 1
	exitUsage  = 2
)

// cli declares the program's commands.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run Wardroom."`
	Demo    demoCmd    `cmd:"" help:"Run Wardroom with a built-in team of agents. Needs no gateway and no settings."`
	Doctor  doctorCmd  `cmd:"" help:"Diagnose the connection to the agent runtime. Works even if Wardroom is not running. Exits with 0 if all checks pass, otherwise 1."`
	Migrate migrateCmd `cmd:"" help:"Apply pending database migrations and exit."`
	Backup  backupCmd  `cmd:"" help:"Write a backup of the database to one file. Safe while Wardroom runs."`
	Restore restoreCmd `cmd:"" help:"Restore a backup to a new location. Never overwrites anything."`
	Verify  verifyCmd  `cmd:"" help:"Check a backup or the database. Exits with 0 if no problems are found, otherwise 1."`
	User    userCmd    `cmd:"" help:"Manage accounts. Safe while Wardroom runs."`
	Key     keyCmd     `cmd:"" help:"Manage the API keys of agent users. Safe while Wardroom runs."`
	Task    taskCmd    `cmd:"" help:"Work on tasks as an agent, over HTTP."`
	Ask     askCmd     `cmd:"" help:"Ask a person as an agent, over HTTP."`
	Health  healthCmd  `cmd:"" help:"Ask the Wardroom that runs on this machine whether it is ready for requests. Exits with 0 if it is, otherwise 1."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Completion completionCmd `cmd:"" help:"Print a script for the completion of commands in a shell."`
}

// errUsage marks an error in the settings or the command line.
var errUsage = errors.New("usage")

// terminal holds the standard streams of a command.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	cost     int // bcrypt cost; 0 is the default. Tests use the minimum
	// databaseWait is how long a server tries to connect to its database; 0 is the default.
	databaseWait time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, t terminal) int {
	err := dispatch(ctx, args, t)
	failed, has := errors.AsType[statusError](err)
	switch {
	case err == nil:
		return 0
	case has:
		fmt.Fprintf(t.err, "wardroom: %s\n", brief(err))
		return failed.status
	case errors.Is(err, errUsage):
		fmt.Fprintf(t.err, "wardroom: %s\n", brief(err))
		return exitUsage
	default:
		fmt.Fprintf(t.err, "wardroom: %s\n", brief(err))
		return exitFailed
	}
}

// brief returns the text of err without lines that repeat the previous line. The
// PostgreSQL client tries an address with and without TLS and reports the same failure
// twice.
func brief(err error) string {
	return strings.Join(slices.Compact(strings.Split(err.Error(), "\n")), "\n")
}

// done is a panic value. The kong parser panics with it instead of calling os.Exit, for example
// after printing the help. The function dispatch recovers it.
type done struct{ code int }

// dotEnv reads the .env file and the files with secrets, and returns them as variables. The demo ignores both,
// because they configure a regular Wardroom, whose port the demo must not use. So do the commands of agents, because
// .env may be a file of the project that the agent works on, which must not choose where the API key is sent.
func dotEnv(args []string) (map[string]string, error) {
	if len(args) > 0 && slices.Contains([]string{"demo", "task", "ask", "completion", completeCommand}, args[0]) {
		return map[string]string{}, nil
	}
	values, err := config.LoadDotEnv(".env", os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return values, config.ReadSecretFiles(values, os.LookupEnv)
}

// dispatch parses the command line and runs the command that it names.
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
		kong.Description("The operations service for a team of AI agents.\n\nYou can also set each flag with the variable next to it, in the environment or in a .env file."),
		kong.Resolvers(config.Resolver(env)),
		kong.Writers(t.out, t.err),
		kong.Exit(func(code int) { panic(done{code}) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(t),
	)
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == completeCommand {
		return complete(parser.Model.Node, args[1:], t.out)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return usage(fmt.Errorf("%w (see wardroom --help)", err))
	}
	return withOrigins(command.Run(), args, env)
}

// variableName matches the name of a setting in an error.
var variableName = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\b`)

// withOrigins adds to an error about settings which of those that it names come from the environment or the .env
// file. Some names, such as HOST and PORT, are so common that a shell or a platform sets them for something else.
func withOrigins(err error, args []string, dotEnv map[string]string) error {
	if !errors.Is(err, errUsage) && !errors.Is(err, app.ErrListen) {
		return err
	}
	var notes []string
	for _, name := range variableName.FindAllString(err.Error(), -1) {
		option := "--" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		given := slices.ContainsFunc(args, func(a string) bool { return a == option || strings.HasPrefix(a, option+"=") })
		_, shell := os.LookupEnv(name)
		_, file := dotEnv[name]
		_, secret := os.LookupEnv(name + "_FILE")
		note := ""
		switch {
		case given:
		case shell:
			note = fmt.Sprintf("%s comes from the environment of this process: unset it there, or use %s.", name, option)
		case secret || dotEnv[name+"_FILE"] != "":
			note = fmt.Sprintf("%s comes from the file that %s_FILE names.", name, name)
		case file:
			note = fmt.Sprintf("%s comes from the .env file: change it there, or use %s.", name, option)
		}
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if len(notes) == 0 {
		return err
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(notes, "\n"))
}

// usage marks err as an error in the settings or the command line.
func usage(err error) error { return usageError{err} }

type usageError struct{ error }

func (e usageError) Is(target error) bool { return target == errUsage }
func (e usageError) Unwrap() error        { return e.error }

// newLog returns a logger that writes text or JSON lines, depending on the settings.
func newLog(w io.Writer, c config.Common) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

type versionCmd struct{}

// Run prints the version, and the commit that the binary was built from if the build knew it.
func (versionCmd) Run(t terminal) error {
	_, err := fmt.Fprintln(t.out, "wardroom", app.Version+commit())
	return err
}

// commit returns the commit that the binary was built from and its time, such as " (fce0352d16ab,
// 2026-11-30T08:00:00Z)". It is empty if the binary was built outside of a Git repository.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	revision := built["vcs.revision"]
	if revision == "" {
		return ""
	}
	changed := ""
	if built["vcs.modified"] == "true" {
		changed = ", with changes"
	}
	return fmt.Sprintf(" (%s, %s%s)", revision[:min(12, len(revision))], built["vcs.time"], changed)
}
