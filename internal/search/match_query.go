package search

import (
	"context"
	"fmt"
	"unicode/utf8"

	"wardroom/internal/platform/db"
)

// Queries that find matching texts, newest first. SQLite reads its index in that order and stops at
// the limit. PostgreSQL's index has no order, so Wardroom uses it only for rare words and finds
// common words by scanning the newest texts.
const (
	matching = `SELECT rowid AS id FROM search_index WHERE search_index MATCH ? ORDER BY rowid DESC LIMIT ?`
	isVector = ` words @@ CAST(CAST(? AS TEXT) AS TSQUERY)`
	inIndex  = `SELECT id FROM (SELECT id FROM search_texts WHERE` + isVector +
		` OFFSET 0) AS hits ORDER BY id DESC LIMIT ?`
)

// amongNewest returns a query that scans only a given number of texts: the newest ones that meet
// the SQL condition side.
func amongNewest(side string, most int) string {
	return fmt.Sprintf(
		`SELECT id FROM (SELECT id, words FROM search_texts WHERE %s ORDER BY id DESC LIMIT %d) AS newest WHERE`, side, most,
	) +
		isVector + ` ORDER BY id DESC LIMIT ?`
}

// PostgreSQL first scans the newest texts, fewNewest in number. If too few of them match, it scans
// manyNewest texts, unless even these are unlikely to contain enough matches.
const fewNewest, manyNewest = 500, 5_000

// found returns the IDs of the newest texts that match the filter and the query. If titles is true,
// the query's words must be in the title; otherwise they can be anywhere in the text.
func (q query) found(
	ctx context.Context, in db.Queryer, engine db.Engine, filter Filter, titles bool, limit int,
) ([]int64, error) {
	prefixes := filter.prefixes(titles)
	if engine == db.SQLite {
		endings, err := q.endings(ctx, in, prefixes)
		if err != nil {
			return nil, err
		}
		return ids(ctx, in, matching, q.match(engine, prefixes, endings), limit)
	}
	match, side := q.match(engine, prefixes, nil), `task_id IS NOT NULL`
	if filter.ofRuns() {
		side = `task_id IS NULL`
	}
	found, err := ids(ctx, in, amongNewest(side, fewNewest), match, limit)
	if err == nil && len(found) < limit && len(found)*manyNewest >= 2*limit*fewNewest {
		found, err = ids(ctx, in, amongNewest(side, manyNewest), match, limit)
	}
	if err == nil && len(found) < limit {
		found, err = ids(ctx, in, inIndex, match, limit)
	}
	return found, err
}

// ids returns the IDs that a statement finds, or nil if the search expression is empty.
func ids(ctx context.Context, q db.Queryer, statement, match string, limit int) ([]int64, error) {
	if match == "" {
		return nil, nil
	}
	rows, err := q.Query(ctx, statement, match, limit)
	return db.All(rows, err, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) })
}

// longestPrefix is the maximum length of a prefix in SQLite's index, including the letter for the
// word's class. For a longer prefix, up to mostEndings words that begin with it are looked up one
// by one.
const longestPrefix, mostEndings = 4, 200

// indexed reports whether SQLite finds the last term of q without endings: its prefix index covers
// the term, or longer terms do not match.
func (q query) indexed() bool {
	last := q.terms[len(q.terms)-1]
	return !last.begins || utf8.RuneCountInString(last.text) < longestPrefix
}

// endings returns the words in SQLite's index that begin with the last term of q, by class prefix.
// It omits classes with too many such words. If SQLite does not need them, endings returns nil.
//
// Without a prefix index, SQLite merges the entries of all matching words even if a search needs
// only a few results. Looking up the words one by one avoids this.
func (q query) endings(ctx context.Context, in db.Queryer, prefixes []string) (map[string][]string, error) {
	if q.indexed() {
		return nil, nil
	}
	last := q.terms[len(q.terms)-1].text
	all := map[string][]string{}
	for _, prefix := range prefixes {
		// Step from word to word without reading their entries.
		rows, err := in.Query(ctx, `
			WITH RECURSIVE found (term) AS (
				SELECT (SELECT term FROM search_terms WHERE term >= ? LIMIT 1)
				UNION ALL
				SELECT (SELECT term FROM search_terms WHERE term >= found.term || CHAR(1) LIMIT 1) FROM found WHERE found.term < ?
			)
			SELECT term FROM found WHERE term < ? LIMIT ?`, prefix+last, prefix+last+"\U0010FFFF", prefix+last+"\U0010FFFF", mostEndings+1)
		terms, err := db.All(rows, err, func(r db.Row) (term string, err error) { return term, r.Scan(&term) })
		if err != nil {
			return nil, fmt.Errorf("look up words: %w", err)
		}
		if len(terms) <= mostEndings {
			all[prefix] = terms
		}
	}
	return all, nil
}

// ofRuns reports whether the filter selects reports or sessions. The filter must not combine these
// with tasks or comments; see sides.
func (f Filter) ofRuns() bool {
	return len(f.Kinds) > 0 && f.Kinds[0] != OfTask && f.Kinds[0] != OfComment
}

// fewSessions limits how many matching sessions a query collects and then sorts. If more sessions
// match, the query instead reads all sessions in list order and checks each one.
const fewSessions = 2000

// Sessions returns an SQL condition for archived sessions that contain all words of text, as in
// Find. The given column holds the session's ID, and match is the condition's argument. If no
// session can match, ok is false.
func Sessions(
	ctx context.Context, in db.Queryer, engine db.Engine, column, text string,
) (condition, match string, ok bool, err error) {
	q := parse(text)
	if len(q.terms) == 0 {
		return "", "", false, nil
	}
	prefixes := Filter{Kinds: []Kind{OfSession}}.prefixes(false)
	if engine == db.Postgres {
		match = q.match(engine, prefixes, nil)
		var n int
		const enough = fewNewest / 100
		err = in.QueryRow(ctx, `SELECT COUNT(*) FROM (`+amongNewest(`session_id IS NOT NULL`, fewNewest)+`) AS few`,
			match, enough).Scan(&n)
		if n == enough {
			return `(SELECT` + isVector + ` FROM search_texts WHERE session_id = ` + column + `)`, match, true, err
		}
		return column + ` = ANY (ARRAY(SELECT session_id FROM search_texts WHERE` + isVector + `))`, match, true, err
	}
	endings, err := q.endings(ctx, in, prefixes)
	if err != nil {
		return "", "", false, err
	}
	if match = q.match(engine, prefixes, endings); match == "" {
		return "", "", false, nil
	}
	var n int
	err = in.QueryRow(ctx, `SELECT COUNT(*) FROM (`+matching+`)`, match, fewSessions+1).Scan(&n)
	if _, known := endings[prefixes[0]]; n > fewSessions && (known || q.indexed()) {
		return `EXISTS (SELECT 1 FROM search_texts s CROSS JOIN search_index WHERE s.session_id = ` + column +
			` AND search_index.rowid = s.id AND search_index MATCH ?)`, match, true, err
	}
	return column + ` IN (SELECT s.session_id FROM search_index CROSS JOIN search_texts s WHERE s.id = search_index.rowid AND search_index MATCH ?)`, match, true, err
}
