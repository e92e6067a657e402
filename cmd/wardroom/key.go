package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"wardroom/internal/account"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

type keyCmd struct {
	config.RawCommon `embed:""`

	Add    keyAddCmd    `cmd:"" help:"Create a key and print it to standard output. It is shown only once."`
	List   keyListCmd   `cmd:"" help:"List the keys of an account."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke a key immediately."`
}

type keyAddCmd struct {
	Email   string `arg:"" help:"The agent user's email."`
	Name    string `required:"" help:"Name of the key, such as the machine that uses it."`
	Expires string `help:"Lifetime of the key, such as 12h, 90d or 52w. By default it does not expire."`
}

// Run creates an API key. Standard output contains nothing but the key, so a script
// can store it without displaying it.
func (c keyAddCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	n := account.NewKey{Name: c.Name}
	if c.Expires != "" {
		life, err := clock.ParseDuration(c.Expires)
		if err != nil {
			return usage(fmt.Errorf("--expires: %w", err))
		}
		n.ExpiresAt = patch.Set(clock.At(clock.Now().Add(life)))
	}
	ctx, s, done, err := openAccounts(ctx, t, parent.Key.RawCommon)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	k, err := s.MakeKey(ctx, c.Email, n)
	if err != nil {
		return explain(err)
	}
	fmt.Fprintf(t.err, "Created key %s (%s) for %s. It is shown only once.\n", k.ID, k.Name, c.Email)
	_, err = fmt.Fprintln(t.out, k.Secret)
	return err
}

type keyListCmd struct {
	Email string `arg:"" help:"The agent user's email."`
}

// Run lists an account's API keys.
func (c keyListCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := openAccounts(ctx, t, parent.Key.RawCommon)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	table := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tKEY\tCREATED\tLAST USED\tEXPIRES\tREVOKED")
	for cursor := ""; ; {
		part, err := s.Keys(ctx, c.Email, page.Want{Query: page.Query{Limit: 200, Cursor: cursor}})
		if err != nil {
			return explain(err)
		}
		for _, k := range part.Rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
				k.ID, k.Name, k.Hint, formatTime(&k.CreatedAt), formatTime(k.LastUsedAt),
				formatTime(k.ExpiresAt), formatTime(k.RevokedAt))
		}
		if cursor = part.Next; cursor == "" {
			return table.Flush()
		}
	}
}

// formatTime formats a time without seconds, and a missing time as "-".
func formatTime(at *clock.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

type keyRevokeCmd struct {
	Email string `arg:"" help:"The agent user's email."`
	ID    string `arg:"" help:"The key's ID, as key list shows it."`
}

// Run revokes an API key.
func (c keyRevokeCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := openAccounts(ctx, t, parent.Key.RawCommon)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := s.RevokeKey(ctx, c.Email, c.ID); err != nil {
		return explain(err)
	}
	_, err = fmt.Fprintf(t.out, "Revoked key %s of %s.\n", c.ID, c.Email)
	return err
}
