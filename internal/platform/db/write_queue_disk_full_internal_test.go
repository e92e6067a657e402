package db

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// fill makes SQLite roll back the whole transaction because the disk is full.
func fill(tx *Tx) error {
	_, err := tx.Exec(context.Background(), `INSERT INTO names VALUES (hex(zeroblob(1000000)))`)
	return err
}

// SQLite ends a transaction by itself if the disk is full. A later statement would
// commit on its own, although its caller gets an error.
func TestWritersOnAFullDisk(t *testing.T) {
	refused := errors.New("refused")
	for name, full := range map[string]func(*Tx) error{
		"told as it is":       fill,
		"told in other words": func(tx *Tx) error { return errors.New(fill(tx).Error()) },
		"told to nobody":      func(tx *Tx) error { _ = fill(tx); return nil },
		"and written on": func(tx *Tx) error {
			_ = fill(tx)
			_, err := tx.Exec(context.Background(), `INSERT INTO names VALUES ('more')`)
			return err
		},
		"and panicked": func(tx *Tx) error { panic(fill(tx)) },
		"by a row": func(tx *Tx) error {
			var name string
			_ = tx.QueryRow(context.Background(), `INSERT INTO names VALUES (hex(zeroblob(1000000))) RETURNING name`).Scan(&name)
			return refused
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, filepath.Join(t.TempDir(), "test.db"))
			c.add(t.Context(), "0", func(tx *Tx) error {
				_, err := tx.Exec(context.Background(), `PRAGMA max_page_count = 20`)
				return err
			})
			c.add(t.Context(), "full", full)
			c.add(t.Context(), "a", nil)
			c.add(t.Context(), "b", nil)
			if names := c.let(); !slices.Equal(names, []string{"0", "a", "b"}) {
				t.Errorf("%v are there", names)
			}
			for _, name := range []string{"0", "a", "b"} {
				if c.errs[name] != nil {
					t.Errorf("%s was told %v", name, c.errs[name])
				}
			}
			if _, away := Unavailable(c.errs["full"]); !away && !slices.Contains(c.said, "full panicked") {
				t.Errorf("who filled the disk was told %v", c.errs["full"])
			}
		})
	}
}
