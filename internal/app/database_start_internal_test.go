package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wardroom/internal/platform/db"
)

// A database that starts a little later than Wardroom must not end it, and a wrong address must not keep it for ever.
func TestOpenDatabase(t *testing.T) {
	const postgres = "postgres://wardroom@db/wardroom"
	refused := errors.New("invalid settings")
	for name, test := range map[string]struct {
		address string        // empty means PostgreSQL
		back    time.Duration // when the database becomes available
		err     error         // until then
		want    error
		took    time.Duration
		lines   int // in the log
	}{
		"available":       {},
		"available soon":  {back: 2 * time.Second, err: io.EOF, took: 2 * time.Second},
		"available later": {back: 20 * time.Second, err: io.EOF, took: 20 * time.Second, lines: 1},
		"never":           {back: time.Hour, err: io.EOF, want: io.EOF, took: databaseWait, lines: 1},
		"a file":          {address: "data/wardroom.db", back: time.Hour, err: io.EOF, want: io.EOF},
		"another error":   {back: time.Hour, err: refused, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				began := time.Now()
				text := slog.New(slog.NewTextHandler(&log, nil))
				_, err := openDatabase(t.Context(), text, cmp.Or(test.address, postgres), databaseWait, func(context.Context, string) (*db.DB, error) {
					if time.Since(began) < test.back {
						return nil, test.err
					}
					return nil, nil //nolint:nilnil // the database is not used
				})
				if took := time.Since(began); !errors.Is(err, test.want) || (err != nil) != (test.want != nil) || took != test.took {
					t.Errorf("%v after %s, want %v after %s", err, took, test.want, test.took)
				}
				if lines := strings.Count(log.String(), "trying again"); lines != test.lines {
					t.Errorf("the log has %d lines, want %d:\n%s", lines, test.lines, log.String())
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		never := func(context.Context, string) (*db.DB, error) { return nil, io.EOF }
		_, err := openDatabase(ctx, slog.New(slog.DiscardHandler), postgres, databaseWait, never)
		if !errors.Is(err, io.EOF) || time.Since(began) != time.Second {
			t.Errorf("stopped: %v after %s", err, time.Since(began))
		}
	})
}
