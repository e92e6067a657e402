package trouble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/link"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Runtime is the part of the gateway client that Checks uses.
type Runtime interface {
	Agents(ctx context.Context) ([]gateway.Agent, error)
	Jobs(ctx context.Context, want gateway.JobsWanted) ([]gateway.Job, error)
	Logins(ctx context.Context, agentID string) ([]gateway.Login, error)
	Disk(ctx context.Context) (gateway.Disk, error)
	FileLimits(ctx context.Context) (gateway.FileLimits, error)
	AgentFiles(ctx context.Context, agentID string) ([]gateway.AgentFile, error)
	AgentFileLength(ctx context.Context, agentID, name string) (int64, error)
}

// Checks looks for logins that end, files of agents that are too long, and a full disk. Each check raises an inbox item
// for what it finds, and resolves the item once that is gone. An item that a person resolved returns after a day.
type Checks struct {
	DB      *db.DB
	Runtime Runtime
	Now     func() time.Time
	Inbox   *inbox.Service
}

// Run makes all checks. One that fails does not keep the others from being made.
func (s *Checks) Run(ctx context.Context) error {
	return errors.Join(s.CheckLogins(ctx), s.CheckFiles(ctx), s.CheckDisk(ctx))
}

// check compares what find returns, all of one kind, with the inbox. It does not raise an item without a title, but
// keeps the one that is there. It does nothing while the gateway cannot be asked, so that an outage resolves no item.
func (s *Checks) check(
	ctx context.Context, kind inbox.Kind, find func(context.Context) ([]inbox.NewItem, error), gone string,
) error {
	found, err := find(ctx)
	if link.IsUnavailable(err) || errors.Is(err, link.ErrNotConfigured) {
		return nil // the state of the gateway is reported elsewhere
	}
	if err != nil {
		return fmt.Errorf("check for items of the kind %s: %w", kind, err)
	}
	slices.SortFunc(found, func(a, b inbox.NewItem) int { return cmp.Compare(a.Cause, b.Cause) })
	err = s.DB.Tx(actor.With(ctx, actor.System), func(tx *db.Tx) error {
		for _, item := range found {
			known, err := s.reported(ctx, tx, item)
			if err == nil && !known && item.Title != "" {
				item.Kind, item.At = kind, s.Now()
				err = s.Inbox.Raise(ctx, tx, item)
			}
			if err != nil {
				return err
			}
		}
		return s.resolveOthers(ctx, tx, kind, found, gone)
	})
	if err != nil {
		return fmt.Errorf("raise and resolve items of the kind %s: %w", kind, err)
	}
	return nil
}

// reported reports whether the inbox already has an item. An item that a person resolved recently counts, but
// not one that was less severe or that Wardroom resolved.
func (s *Checks) reported(ctx context.Context, tx *db.Tx, m inbox.NewItem) (known bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM inbox_items WHERE cause = ? AND severity IN (?, ?)
		AND (state <> 'resolved' OR resolver_id <> ? AND resolved_at > ?))`
	since := clock.At(s.Now().Add(-silentFor))
	err = tx.QueryRow(ctx, query, m.Cause, m.Severity, inbox.High, actor.System.ID, since).Scan(&known)
	return known, err
}

// resolveOthers resolves the items of a kind that were not found.
func (s *Checks) resolveOthers(
	ctx context.Context, tx *db.Tx, kind inbox.Kind, found []inbox.NewItem, why string,
) error {
	rows, err := tx.Query(ctx, `SELECT cause FROM inbox_items WHERE kind = ? AND state <> 'resolved'`, kind)
	open, err := db.All(rows, err, func(r db.Row) (cause string, err error) { return cause, r.Scan(&cause) })
	for _, cause := range open {
		still := slices.ContainsFunc(found, func(m inbox.NewItem) bool { return m.Cause == cause })
		if !still && err == nil {
			err = s.Inbox.ResolveCause(ctx, tx, cause, why)
		}
	}
	return err
}
