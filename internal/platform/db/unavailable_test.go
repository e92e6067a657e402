package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// A wrong query that is reported as an outage is never found, and an outage that is
// reported as a wrong query looks like a bug in Wardroom.
func TestUnavailable(t *testing.T) {
	for code, want := range map[string]bool{
		"57P01": true, "57P05": true, "25P03": true, "57P02": true, "57P03": true, "53300": true, "53100": true, "08006": true, "58030": true, "25006": true, "55P03": true, "57014": true,
		"42601": false, "23505": false, "40001": false, "22P02": false, "": false, "5": false,
	} {
		reason, away := db.Unavailable(fmt.Errorf("look up: %w", &pgconn.PgError{Code: code}))
		if away != want || (reason != "") != want {
			t.Errorf("%s: %q, %v", code, reason, away)
		}
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, net.ErrClosed, errors.New("conn closed")} {
		if reason, away := db.Unavailable(fmt.Errorf("look up: %w", err)); !away || !strings.Contains(reason, "broke") {
			t.Errorf("%v: %q, %v", err, reason, away)
		}
	}
	for err, want := range map[error]string{db.ErrBusy: "other writers", db.ErrNewer: "newer"} {
		if reason, away := db.Unavailable(fmt.Errorf("begin: %w", err)); !away || !strings.Contains(reason, want) {
			t.Errorf("%v: %q, %v", err, reason, away)
		}
	}
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded, sql.ErrNoRows, sql.ErrTxDone, errors.New("something")} {
		if reason, away := db.Unavailable(err); away {
			t.Errorf("%v: %q", err, reason)
		}
	}
}

// Real errors of the engines must be recognized, and no caller may wait without
// limit.
func TestUnavailableReal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, query := range []string{`SELECT nothing FROM users`, `SELECT 1 +`, `SELECT * FROM no_table`} {
			var v any
			err := d.QueryRow(t.Context(), query).Scan(&v)
			if reason, away := db.Unavailable(err); err == nil || away {
				t.Errorf("%s: %v is taken for %q", query, err, reason)
			}
		}
	})
	t.Run("a server that is not there", func(t *testing.T) {
		_, err := db.Open(t.Context(), "postgres://wardroom@127.0.0.1:9/wardroom")
		if reason, away := db.Unavailable(err); !away || reason != "PostgreSQL cannot be reached" {
			t.Errorf("%v is taken for %q", err, reason)
		}
	})
	t.Run("all connections are in use", func(t *testing.T) {
		d := dbtest.Open(t, dbtest.ProductLimits(dbtest.URL(t, db.Postgres)))
		var all sync.WaitGroup
		holding, release := make(chan bool), make(chan bool)
		for range d.Pools()[0].Max {
			all.Go(func() {
				err := d.View(t.Context(), func(db.Queryer) error {
					holding <- true
					<-release
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			<-holding
		}
		began := time.Now()
		err := d.Ping(t.Context())
		if reason, away := db.Unavailable(err); !away || !strings.Contains(reason, "in time") || time.Since(began) > 60*time.Second {
			t.Errorf("after %v: %v is taken for %q", time.Since(began), err, reason)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := d.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller with less time: %v", err)
		} else if _, away := db.Unavailable(err); away {
			t.Error("a caller with little time is taken for an outage")
		}
		close(release)
		all.Wait()
	})
	t.Run("a session that is ended", func(t *testing.T) {
		d := dbtest.Open(t, dbtest.URL(t, db.Postgres))
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `SELECT pg_terminate_backend(pg_backend_pid())`)
			return err
		})
		if reason, away := db.Unavailable(err); !away {
			t.Errorf("%v is taken for %q", err, reason)
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}
