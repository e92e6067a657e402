package app

import (
	"context"
	"log/slog"
	"time"

	"wardroom/internal/platform/db"
)

const (
	// databaseWait is how long the service tries to connect to PostgreSQL at its start. A host that has just booted, or
	// that is busy, needs more than one attempt, and a process that ends at once would only be started again.
	databaseWait = 30 * time.Second
	// databaseQuiet is how long it tries without a line in the log.
	databaseQuiet = 3 * time.Second
	databasePause = 500 * time.Millisecond // between two attempts
)

// openDatabase calls open for the address until the database is available, ctx ends, or wait has passed. It returns the
// last error. It waits only for PostgreSQL: an SQLite file that can't be opened needs a person.
func openDatabase(ctx context.Context, log *slog.Logger, address string, wait time.Duration,
	open func(ctx context.Context, address string) (*db.DB, error),
) (*db.DB, error) {
	began, told := time.Now(), false
	for {
		d, err := open(ctx, address)
		reason, away := db.Unavailable(err)
		waited := time.Since(began)
		if !away || db.EngineOf(address) == db.SQLite || waited+databasePause > wait {
			return d, err
		}
		if waited >= databaseQuiet && !told {
			told = true
			log.WarnContext(ctx, "database not available yet, trying again", "reason", reason, "until", began.Add(wait),
				"err", err)
		}
		select {
		case <-time.After(databasePause):
		case <-ctx.Done():
			return nil, err
		}
	}
}
