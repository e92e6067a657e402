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

	Add      userAddCmd      `cmd:"" help:"Make an account. Its password is asked for, or read from standard input."`
	Password userPasswordCmd `cmd:"" help:"Set an account's password."`
	List     userListCmd     `cmd:"" help:"List the accounts."`
	Owner    userOwnerCmd    `cmd:"" help:"Make an account the owner; the one before becomes an admin."`
}

// open opens the accounts.
func (c userCmd) open(ctx context.Context, t terminal) (_ context.Context, _ *account.Service, done func() error, _ error) {
	return openAccounts(ctx, t, c.RawCommon)
}

// openAccounts does not take the database's lock: the commands that use it work
// beside a running service.
func openAccounts(ctx context.Context, t terminal, raw config.RawCommon) (_ context.Context, _ *account.Service, done func() error, _ error) {
	cfg, _, err := raw.Check()
	if err != nil {
		return nil, nil, nil, usage(fmt.Errorf("these settings need a change:\n%w", err))
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

// exists refuses an SQLite file that is not there: to open it would make an
// empty one, as a rule in the wrong folder.
func exists(database string) error {
	if strings.Contains(database, "://") {
		return nil
	}
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database at %s: run `wardroom migrate` or start the service once, or set DATA_DIR to where it is", database)
	}
	return nil
}

type userAddCmd struct {
	Email   string `arg:"" help:"The account's email, with which it logs in."`
	Role    string `default:"user" enum:"admin,user,agent" help:"admin, user or agent."`
	AgentID string `help:"The runtime agent that an account with role agent is, such as coo."`
	Name    string `help:"The name that others see."`
}

// Run makes an account.
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
	fmt.Fprintf(t.out, "Made %s with role %s.\n", u.Email, u.Role)
	return nil
}

type userPasswordCmd struct {
	Email string `arg:"" help:"Whose password."`
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
	fmt.Fprintf(t.out, "The password of %s is set. Logins that are open stay so until their tokens expire.\n", c.Email)
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
	Email string `arg:"" help:"Who becomes the owner."`
}

// Run hands the ownership over.
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
	fmt.Fprintf(t.out, "%s is the owner now.\n", u.Email)
	return nil
}

// askPassword reads a password: twice and without echo from a terminal, else
// the first line of standard input.
func askPassword(t terminal) (string, error) {
	f, ok := t.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(t.in).ReadString('\n')
		if line == "" && err != nil {
			return "", usage(errors.New("no password: give it on standard input, or run the command in a terminal"))
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Once more: "} {
		fmt.Fprint(t.err, prompt)
		p, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(t.err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(p)
	}
	if typed[0] != typed[1] {
		return "", usage(errors.New("the two passwords differ"))
	}
	return typed[0], nil
}

// explain puts a fault into words for a terminal.
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
