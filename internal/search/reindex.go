package search

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"wardroom/internal/platform/db"
)

// Reindex is a periodic job that replaces the words of texts that an earlier version of Wardroom
// indexed, the newest first. It writes nothing if there are none.
func (s *Service) Reindex(ctx context.Context) error {
	for {
		upto, err := earlier(ctx, s.DB)
		if err == nil && upto > 0 {
			err = s.DB.Tx(ctx, func(tx *db.Tx) error { return reindex(ctx, tx) })
		}
		if err != nil {
			return fmt.Errorf("index earlier texts again: %w", err)
		}
		if upto == 0 {
			return nil
		}
	}
}

// earlier returns the ID up to which texts still have the words of an earlier version.
func earlier(ctx context.Context, q db.Queryer) (upto int64, err error) {
	return upto, q.QueryRow(ctx, `SELECT upto FROM search_state WHERE one = 1`).Scan(&upto)
}

// reindex replaces the words of one batch of texts.
func reindex(ctx context.Context, tx *db.Tx) error {
	const batch = 200 // keeps transactions short for other writers
	upto, err := earlier(ctx, tx)
	if err != nil || upto == 0 {
		return err
	}
	found, err := tx.Query(ctx, `SELECT id FROM search_texts WHERE id <= ? ORDER BY id DESC LIMIT ?`, upto, batch)
	hits, err := db.All(found, err, func(r db.Row) (h hit, err error) { return h, r.Scan(&h.id) })
	if err != nil {
		return err
	}
	rows, err := read(ctx, tx, hits, batch)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if !strings.ContainsFunc(r.title()+r.text, func(c rune) bool { return c > unicode.MaxASCII }) {
			continue // its words are the same
		}
		if err := replaceWords(ctx, tx, r.id, r.tokens()); err != nil {
			return err
		}
	}
	upto = 0
	if len(hits) == batch {
		upto = hits[batch-1].id - 1
	}
	_, err = tx.Exec(ctx, `UPDATE search_state SET upto = ? WHERE one = 1`, upto)
	return err
}
