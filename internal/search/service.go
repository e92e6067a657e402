package search

import (
	"cmp"
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
// which may be the beginning of one. First come those whose title, or a task's
// key, has them, then what else has them, and of both the newest first: the order
// is the same each time, and on both engines. Nothing in text is syntax; without
// a word nothing is found.
//
// Reports and sessions are many, and say the same each day: they take at most
// half of the places when tasks and comments would fill more than the other half,
// and the other way round.
//
// Of one caller two searches run at once, like lists; see db.LimitReads.
func (s *Service) Find(ctx context.Context, text string, only Only, limit int) ([]Result, error) {
	q := query{wordsOf(text)}
	if len(q.words) == 0 {
		return []Result{}, nil
	}
	limit = min(max(limit, 1), maxResults)
	leave, err := s.DB.LimitReads(ctx, actor.From(ctx).ID)
	if err != nil {
		return nil, fmt.Errorf("wait for the caller's other searches: %w", err)
	}
	defer leave()
	var rows []row
	err = s.DB.View(ctx, func(in db.Queryer) (err error) {
		var sides [][]hit
		for _, kinds := range only.sides() {
			side, err := s.find(ctx, in, q, Only{Archived: only.Archived, Kinds: kinds}, limit)
			if err != nil {
				return err
			}
			sides = append(sides, side)
		}
		rows, err = read(ctx, in, share(sides, limit), limit)
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

// sides are the kinds that are looked for, those that share their places together.
func (o Only) sides() [][]Kind {
	var sides [][]Kind
	for _, side := range [][]Kind{{OfTask, OfComment}, {OfReport, OfSession}} {
		wanted := slices.DeleteFunc(side, func(k Kind) bool { return len(o.Kinds) > 0 && !slices.Contains(o.Kinds, k) })
		if len(wanted) > 0 {
			sides = append(sides, wanted)
		}
	}
	return sides
}

// hit is a text that was found.
type hit struct {
	id     int64
	titled bool // whether its title has all the words
}

// find returns the first texts of one side: those with the words in the title, then the others.
func (s *Service) find(ctx context.Context, in db.Queryer, q query, only Only, limit int) (hits []hit, err error) {
	for _, titles := range []bool{true, false} {
		if len(hits) == limit {
			break
		}
		// Those with the words in their title are among the others again.
		found, err := q.found(ctx, in, s.DB.Engine(), only, titles, limit+len(hits))
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if !slices.Contains(hits, hit{id, true}) && len(hits) < limit {
				hits = append(hits, hit{id, titles})
			}
		}
	}
	return hits, nil
}

// share gives each side its part of the places, and what one does not need to the other.
func share(sides [][]hit, limit int) []hit {
	var hits []hit
	for i, side := range sides {
		others := 0
		for j, other := range sides {
			if i != j {
				others += len(other)
			}
		}
		part := limit / len(sides)
		if i == 0 {
			part = limit - part*(len(sides)-1)
		}
		hits = append(hits, side[:min(len(side), max(part, limit-others))]...)
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if a.titled != b.titled {
			return map[bool]int{true: -1, false: 1}[a.titled]
		}
		return cmp.Compare(b.id, a.id)
	})
	return hits
}
