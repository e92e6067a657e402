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

	Add    keyAddCmd    `cmd:"" help:"Make a key and print it, once, on standard output."`
	List   keyListCmd   `cmd:"" help:"List the keys of an account."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key, at once."`
}

type keyAddCmd struct {
	Email   string `arg:"" help:"The agent user's email."`
	Name    string `required:"" help:"What the key is for, such as the machine that it is on."`
	Expires string `help:"How long it works: 12h, 90d, 52w; without it for ever."`
}

// Run makes a key. Standard output has the key and nothing else, so that it can
// go where it is needed without being seen.
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
	fmt.Fprintf(t.err, "Made the key %s (%s) of %s. It is shown this once.\n", k.ID, k.Name, c.Email)
	_, err = fmt.Fprintln(t.out, k.Secret)
	return err
}

type keyListCmd struct {
	Email string `arg:"" help:"Whose keys."`
}

// Run lists the keys of an account.
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
				k.ID, k.Name, k.Hint, minute(&k.CreatedAt), minute(k.LastUsedAt), minute(k.ExpiresAt), minute(k.RevokedAt))
		}
		if cursor = part.Next; cursor == "" {
			return table.Flush()
		}
	}
}

// minute writes a time for a table.
func minute(at *clock.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02T15:04Z")
}

type keyRevokeCmd struct {
	Email string `arg:"" help:"Whose key."`
	ID    string `arg:"" help:"The key's id, as listed."`
}

// Run revokes a key.
func (c keyRevokeCmd) Run(ctx context.Context, parent *cli, t terminal) (err error) {
	ctx, s, done, err := openAccounts(ctx, t, parent.Key.RawCommon)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := s.RevokeKey(ctx, c.Email, c.ID); err != nil {
		return explain(err)
	}
	_, err = fmt.Fprintf(t.out, "The key %s of %s is revoked.\n", c.ID, c.Email)
	return err
}
