package search

import (
	"context"
	"fmt"
	"unicode/utf8"

	"wardroom/internal/platform/db"
)

// The matching texts, newest first, by engine. SQLite reads its index in that order
// and stops when it has enough. PostgreSQL's index has no order: it finds what is
// rare, and common words are found by looking through the newest texts.
const (
	matching = `SELECT rowid AS id FROM search_index WHERE search_index MATCH ? ORDER BY rowid DESC LIMIT ?`
	isVector = ` words @@ CAST(CAST(? AS TEXT) AS TSQUERY)`
	inIndex  = `SELECT id FROM (SELECT id FROM search_texts WHERE` + isVector + ` OFFSET 0) AS hits ORDER BY id DESC LIMIT ?`
)

// amongNewest looks through so many of the newest texts of one side.
func amongNewest(side string, most int) string {
	return fmt.Sprintf(`SELECT id FROM (SELECT id, words FROM search_texts WHERE %s ORDER BY id DESC LIMIT %d) AS newest WHERE`, side, most) +
		isVector + ` ORDER BY id DESC LIMIT ?`
}

// How many of the newest texts PostgreSQL looks through: at first, and when so many of
// those matched that these will be enough.
const fewNewest, manyNewest = 500, 5_000

// found are the newest texts that only takes and that have the words, in their title
// or anywhere: their ids.
func (q query) found(ctx context.Context, in db.Queryer, engine db.Engine, only Only, titles bool, limit int) ([]int64, error) {
	prefixes := only.prefixes(titles)
	if engine == db.SQLite {
		endings, err := q.endings(ctx, in, prefixes)
		if err != nil {
			return nil, err
		}
		return ids(ctx, in, matching, q.match(engine, prefixes, endings), limit)
	}
	match, side := q.match(engine, prefixes, nil), `task_id IS NOT NULL`
	if only.ofRuns() {
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

// ids are what a statement finds; nothing for an empty search.
func ids(ctx context.Context, q db.Queryer, statement, match string, limit int) ([]int64, error) {
	if match == "" {
		return nil, nil
	}
	rows, err := q.Query(ctx, statement, match, limit)
	return db.All(rows, err, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) })
}

// SQLite has an index of prefixes of up to longestPrefix characters, the letter of the
// class among them. Of longer ones, at most mostEndings words are looked up.
const longestPrefix, mostEndings = 4, 200

// indexed says whether SQLite has an index of prefixes that are as long as the last
// word of q.
func (q query) indexed() bool {
	return utf8.RuneCountInString(q.words[len(q.words)-1]) < longestPrefix
}

// endings are the words in SQLite's index that the last word of q is the beginning
// of, by class. A class is left out when a prefix is quicker, or there are too many:
// for a prefix without an index SQLite merges all that it has of all of its words,
// however few are wanted.
func (q query) endings(ctx context.Context, in db.Queryer, prefixes []string) (map[string][]string, error) {
	if q.indexed() {
		return nil, nil
	}
	last := q.words[len(q.words)-1]
	all := map[string][]string{}
	for _, prefix := range prefixes {
		// From each word to the next in one step, without what the index has of it.
		rows, err := in.Query(ctx, `
			WITH RECURSIVE found (term) AS (
				SELECT (SELECT term FROM search_terms WHERE term >= ? LIMIT 1)
				UNION ALL
				SELECT (SELECT term FROM search_terms WHERE term >= found.term || CHAR(1) LIMIT 1) FROM found WHERE found.term < ?
			)
			SELECT term FROM found WHERE term < ? LIMIT ?`, prefix+last, prefix+last+"\U0010FFFF", prefix+last+"\U0010FFFF", mostEndings+1)
		terms, err := db.All(rows, err, func(r db.Row) (term string, err error) { return term, r.Scan(&term) })
		if err != nil {
			return nil, fmt.Errorf("look words up: %w", err)
		}
		if len(terms) <= mostEndings {
			all[prefix] = terms
		}
	}
	return all, nil
}

// ofRuns says whether o takes reports and sessions, and no tasks.
func (o Only) ofRuns() bool {
	return len(o.Kinds) > 0 && o.Kinds[0] != OfTask && o.Kinds[0] != OfComment
}

// fewSessions is how many sessions at most are found by their words first and then
// put in order. Of more, those of the page are found by going through the sessions
// in their order.
const fewSessions = 2000

// Sessions is a condition for those rows whose column names an archived session
// that has all the words of text, as in Find; false when no session can have them.
// How it is written depends on how many there are.
func Sessions(ctx context.Context, in db.Queryer, engine db.Engine, column, text string) (condition, match string, ok bool, err error) {
	q := query{wordsOf(text)}
	if len(q.words) == 0 {
		return "", "", false, nil
	}
	prefixes := Only{Kinds: []Kind{OfSession}}.prefixes(false)
	if engine == db.Postgres {
		match = q.match(engine, prefixes, nil)
		var n int
		const enough = fewNewest / 100
		err = in.QueryRow(ctx, `SELECT COUNT(*) FROM (`+amongNewest(`session_id IS NOT NULL`, fewNewest)+`) AS few`, match, enough).Scan(&n)
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
		return `EXISTS (SELECT 1 FROM search_texts s CROSS JOIN search_index WHERE s.session_id = ` + column + ` AND search_index.rowid = s.id AND search_index MATCH ?)`, match, true, err
	}
	return column + ` IN (SELECT s.session_id FROM search_index CROSS JOIN search_texts s WHERE s.id = search_index.rowid AND search_index MATCH ?)`, match, true, err
}
