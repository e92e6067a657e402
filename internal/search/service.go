package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/db"
)

// Service performs full-text searches.
type Service struct {
	DB *db.DB
}

// Filter selects the texts to search. The zero Filter selects all.
type Filter struct {
	Archived *bool // nil selects both
	Kinds    []Kind
}

// maxResults is the maximum number of results of a search.
const maxResults = 100

// Find returns up to limit results that contain all words of the given text. The last word also
// matches longer words that begin with it. Matches in a title or task key come before all other
// matches; within each group, the newest come first. Both engines return the same, stable order. No
// character in the text has a special meaning. If the text contains no words, Find returns nothing.
//
// Reports and sessions are numerous and similar, so they may fill only half of the results; the
// other half is for tasks and comments. If one side has too few matches for its half, the other
// side gets the rest.
//
// Find waits while the caller already runs two long reads, such as lists; see db.LimitReads.
func (s *Service) Find(ctx context.Context, text string, filter Filter, limit int) ([]Result, error) {
	q := parse(text)
	if len(q.terms) == 0 {
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
		for _, kinds := range filter.sides() {
			side, err := s.find(ctx, in, q, Filter{Archived: filter.Archived, Kinds: kinds}, limit)
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

// sides returns the selected kinds in two groups: the kinds for tasks and the kinds for runs. It
// omits empty groups. The groups share the limit on results.
func (f Filter) sides() [][]Kind {
	var sides [][]Kind
	for _, side := range [][]Kind{{OfTask, OfComment}, {OfReport, OfSession}} {
		wanted := slices.DeleteFunc(side, func(k Kind) bool { return len(f.Kinds) > 0 && !slices.Contains(f.Kinds, k) })
		if len(wanted) > 0 {
			sides = append(sides, wanted)
		}
	}
	return sides
}

// hit is a text that matches a search.
type hit struct {
	id     int64
	titled bool // whether the title has all the words
}

// find returns at most limit texts that the filter selects and that match q. Title matches come
// first.
func (s *Service) find(ctx context.Context, in db.Queryer, q query, filter Filter, limit int) (hits []hit, err error) {
	for _, titles := range []bool{true, false} {
		if len(hits) == limit {
			break
		}
		// The second search finds the matches in titles again.
		found, err := s.found(ctx, in, q, filter, titles, limit+len(hits))
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

// found is like the method of q, but leaves out texts that have a run of q only in pieces.
func (s *Service) found(
	ctx context.Context, in db.Queryer, q query, filter Filter, titles bool, limit int,
) ([]int64, error) {
	if !q.loose {
		return q.found(ctx, in, s.DB.Engine(), filter, titles, limit)
	}
	found, err := q.found(ctx, in, s.DB.Engine(), filter, titles, 2*maxResults)
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(found))
	for i, id := range found {
		hits[i].id = id
	}
	rows, err := read(ctx, in, hits, 2*maxResults)
	found = nil
	for _, r := range rows {
		if title := r.title(); q.hasRuns(title) || !titles && q.hasRuns(title+"\n"+r.text) {
			found = append(found, r.id)
		}
	}
	return found, err
}

// share picks at most limit hits from up to two groups and sorts them. Each group gets an
// equal share of the limit, plus whatever the other group leaves unused.
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
