package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// ErrClaimed means that another process holds the claim.
var ErrClaimed = errors.New("another process holds the claim")

// Claim lets one process at a time do a reader's work. Two would produce correct results, but
// double the load on the gateway. A claim expires with its lease. It is not safe for concurrent
// use.
type Claim struct {
	DB    *db.DB
	Lease time.Duration
	Now   func() time.Time
	// Update sets the columns owner and until of the reader's row, which are its first two
	// parameters, if the owner is the third one, or if until is null or before the fourth, or if
	// the fifth is true.
	Update string
	// Ends, if set, selects until. A claim that ends too late for its lease was stored while the clock was wrong, and is
	// taken over.
	Ends string
	// Alone means that no other process uses the database, so that the holder of an earlier claim
	// has ended.
	Alone bool

	owner   string
	held    bool
	renewed time.Time
}

// NewClaim returns a Claim that is not held.
func NewClaim(d *db.DB, update string, lease time.Duration, now func() time.Time) *Claim {
	// Only one process uses an SQLite file.
	return &Claim{DB: d, Lease: lease, Now: now, Update: update, Alone: d.Engine() == db.SQLite, owner: db.NewID()}
}

// Hold acquires or renews the claim. It returns ErrClaimed if another process holds it.
func (c *Claim) Hold(ctx context.Context) error {
	err := c.DB.Tx(ctx, func(tx *db.Tx) error { return c.HoldIn(ctx, tx) })
	if err != nil {
		return err
	}
	c.held, c.renewed = true, c.Now()
	return nil
}

// HoldIn acquires or renews the claim in the caller's transaction.
func (c *Claim) HoldIn(ctx context.Context, tx *db.Tx) error {
	at, err := tx.Clock(ctx, c.Now())
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	update := func(always bool) (int64, error) {
		return tx.Exec(ctx, c.Update, c.owner, at.Add(c.Lease), c.owner, at, always)
	}
	n, err := update(c.Alone && !c.held)
	if err == nil && n == 0 && c.Ends != "" {
		var until *clock.Time
		if err = tx.QueryRow(ctx, c.Ends).Scan(&until); err == nil && until != nil && until.After(at.Add(10*c.Lease)) {
			n, err = update(true)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("claim: %w", err)
	case n == 0:
		return ErrClaimed
	}
	return nil
}

// Renew renews the claim during long work, unless it was renewed recently.
func (c *Claim) Renew(ctx context.Context) error {
	if since := c.Now().Sub(c.renewed); since >= 0 && since < c.Lease/4 { // the clock may be set back
		return nil
	}
	return c.Hold(ctx)
}

// Release gives up the claim, so that another process can continue immediately. It also does so
// after ctx has ended.
func (c *Claim) Release(ctx context.Context) error {
	if !c.held {
		return nil
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return c.DB.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, c.Update, c.owner, nil, c.owner, nil, false)
		return err
	})
}
