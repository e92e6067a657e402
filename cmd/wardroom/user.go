package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"wardroom/internal/account"
	"wardroom/internal/app"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

type userCmd struct {
	config.RawCommon `embed:""`

	Add      userAddCmd      `cmd:"" help:"Create an account. Prompts for the password, or reads it from standard input."`
	Password userPasswordCmd `cmd:"" help:"Set the password of an account. Prompts for it, or reads it from standard input."`
	List     userListCmd     `cmd:"" help:"List all accounts."`
	Owner    userOwnerCmd    `cmd:"" help:"Make an account the owner. The previous owner becomes an admin."`
}

// open calls openAccounts with the command's settings.
func (c userCmd) open(
	ctx context.Context, t terminal,
) (_ context.Context, _ *account.Service, done func() error, _ error) {
	return openAccounts(ctx, t, c.RawCommon)
}

// openAccounts opens the database and returns the account service, a context with the
// system as the actor, and a function that closes the database. It does not lock the
// database, so the commands that call it also work while Wardroom runs.
func openAccounts(
	ctx context.Context, t terminal, raw config.RawCommon,
) (_ context.Context, _ *account.Service, done func() error, _ error) {
	cfg, _, err := raw.Check()
	if err != nil {
		return nil, nil, nil, usage(fmt.Errorf("invalid settings:\n%w", err))
	}
	if err := exists(cfg.DatabaseURL.Reveal()); err != nil {
		return nil, nil, nil, err
	}
	d, err := db.Open(ctx, cfg.DatabaseURL.Reveal())
	if err != nil {
		return nil, nil, nil, err
	}
	if err := d.Check(ctx, app.Schema()); err != nil {
		return nil, nil, nil, errors.Join(err, d.Close())
	}
	s := &account.Service{DB: d, Now: clock.Now, Cost: t.cost, Log: slog.New(slog.DiscardHandler)}
	return actor.With(actor.Through(ctx, actor.Origin{Via: actor.ViaCommand}), actor.System), s, d.Close, nil
}

// exists returns an error if the SQLite file is missing. Opening a missing file would
// create an empty database, usually in the wrong folder.
func exists(database string) error {
	if strings.Contains(database, "://") {
		return nil
	}
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf(
			"no database at %s: set DATA_DIR to the folder that contains it, or run `wardroom migrate` to create it", database,
		)
	}
	return nil
}

type userAddCmd struct {
	Email   string `arg:"" help:"Email of the account, used to log in."`
	Role    string `default:"user" enum:"admin,user,agent" help:"admin, user or agent."`
	AgentID string `help:"ID of the agent in the runtime, such as coo. Required if the role is agent."`
	Name    string `help:"Display name."`
}

// Run creates an account.
func (c userAddCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := parent.User.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	password, err := askPassword(t)
	if err != nil {
		return err
	}
	n := account.NewUser{Email: c.Email, Name: c.Name, Password: password, Role: actor.Role(c.Role)}
	if c.AgentID != "" {
		n.AgentID = patch.Set(c.AgentID)
	}
	u, err := s.Create(ctx, n)
	if err != nil {
		return explain(err)
	}
	fmt.Fprintf(t.out, "Created %s with role %s.\n", u.Email, u.Role)
	return nil
}

type userPasswordCmd struct {
	Email string `arg:"" help:"Email of the account."`
}

// Run sets a password.
func (c userPasswordCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := parent.User.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if _, err := s.Get(ctx, c.Email); err != nil {
		return explain(err)
	}
	password, err := askPassword(t)
	if err != nil {
		return err
	}
	if err := s.SetPassword(ctx, c.Email, password); err != nil {
		return explain(err)
	}
	fmt.Fprintf(t.out, "Set the password of %s. Existing logins stay valid until their tokens expire.\n", c.Email)
	return nil
}

type userListCmd struct{}

// Run lists the accounts.
func (userListCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := parent.User.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	table := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "EMAIL\tNAME\tROLE\tAGENT\tACTIVE")
	for cursor := ""; ; {
		part, err := s.List(ctx, account.Filter{}, page.Want{Query: page.Query{Limit: 200, Cursor: cursor}})
		if err != nil {
			return explain(err)
		}
		for _, u := range part.Rows {
			agent := "-"
			if u.AgentID != nil {
				agent = *u.AgentID
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%t\n", u.Email, u.Name, u.Role, agent, u.Active)
		}
		if cursor = part.Next; cursor == "" {
			return table.Flush()
		}
	}
}

type userOwnerCmd struct {
	Email string `arg:"" help:"Email of the new owner."`
}

// Run makes the given account the owner.
func (c userOwnerCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := parent.User.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	u, err := s.HandOver(ctx, c.Email)
	if err != nil {
		return explain(err)
	}
	fmt.Fprintf(t.out, "%s is now the owner.\n", u.Email)
	return nil
}

// askPassword prompts for a password twice, without echo, if standard input is a
// terminal. Otherwise it reads the first line of standard input.
func askPassword(t terminal) (string, error) {
	f, ok := t.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(t.in).ReadString('\n')
		if line == "" && err != nil {
			return "", usage(errors.New("no password: pass it on standard input, or run the command in a terminal"))
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Repeat password: "} {
		fmt.Fprint(t.err, prompt)
		p, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(t.err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(p)
	}
	if typed[0] != typed[1] {
		return "", usage(errors.New("the passwords do not match"))
	}
	return typed[0], nil
}

// explain formats a fault for the terminal: its title and detail, then a line for
// each invalid field.
func explain(err error) error {
	f := fault.Of(err)
	if f == nil {
		return err
	}
	text := []string{strings.TrimSpace(f.Title + " " + f.Detail)}
	for _, field := range f.Fields {
		text = append(text, "  "+strings.TrimPrefix(field.Pointer, "/")+": "+field.Detail)
	}
	return errors.New(strings.Join(text, "\n"))
}
