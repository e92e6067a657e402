package search

import (
	"context"
	"fmt"
	"slices"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// Service finds texts.
type Service struct {
	DB *db.DB
}

// Only says which texts are looked at. The zero Only is all of them.
type Only struct {
	Archived *bool // what is in the archive, or what is not
	Kinds    []Kind
}

// maxResults is how many texts one search finds at most.
const maxResults = 100

// Find returns at most limit texts that have all the words of text, the last of
// which may be the beginning of one. First come the tasks whose key and title
// have them, then what else has them, and of both the newest first: the order is
// the same each time, and on both engines. Nothing in text is syntax; without a word nothing is found.
//
// Of one caller two searches run at once, like lists; see db.Turn.
func (s *Service) Find(ctx context.Context, text string, only Only, limit int) ([]Result, error) {
	q := query{wordsOf(text)}
	if len(q.words) == 0 {
		return []Result{}, nil
	}
	limit = min(max(limit, 1), maxResults)
	leave, err := s.DB.Turn(ctx, actor.From(ctx).ID)
	if err != nil {
		return nil, fmt.Errorf("wait for the caller's other searches: %w", err)
	}
	defer leave()
	var rows []row
	err = s.DB.View(ctx, func(in db.Queryer) (err error) {
		engine := s.DB.Engine()
		if rows, err = found(ctx, in, engine, q.match(engine, true), only, limit); err != nil || len(rows) == limit {
			return err
		}
		// Those with the words in their title are among these again.
		more, err := found(ctx, in, engine, q.match(engine, false), only, limit+len(rows))
		titled := len(rows)
		for _, r := range more {
			known := slices.ContainsFunc(rows[:titled], func(t row) bool { return t.id == r.id })
			if !known && len(rows) < limit {
				rows = append(rows, r)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	results := make([]Result, len(rows))
	for i, r := range rows {
		r.Snippet, r.Marks = q.snippet(r.text)
		results[i] = r.Result
	}
	return results, nil
}
