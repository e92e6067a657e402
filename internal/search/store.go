package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Add makes a new text findable. Call it in the transaction that writes the
// text, which is there already. With the text it goes by itself.
func Add(ctx context.Context, tx *db.Tx, t Text) error { return put(ctx, tx, t, addWords) }

// Put is Add for a text that may be findable already as it was.
func Put(ctx context.Context, tx *db.Tx, t Text) error { return put(ctx, tx, t, putWords) }

func put(ctx context.Context, tx *db.Tx, t Text, words func(ctx context.Context, tx *db.Tx, task string, comment *string, title, body string) error) error {
	var comment *string
	if t.CommentID != "" {
		comment = &t.CommentID
	}
	title, body := wordsOf(t.Title), wordsOf(t.Body)
	var err error
	if tx.Engine() == db.Postgres {
		err = putVector(ctx, tx, t.TaskID, comment, vector(title, body))
	} else {
		err = words(ctx, tx, t.TaskID, comment, strings.Join(title, " "), strings.Join(body, " "))
	}
	if err != nil {
		return fmt.Errorf("make a text findable: %w", err)
	}
	return nil
}

// conflict is what makes two rows one.
func conflict(comment *string) string {
	if comment == nil {
		return ` ON CONFLICT (task_id) WHERE comment_id IS NULL`
	}
	return ` ON CONFLICT (comment_id)`
}

func putVector(ctx context.Context, tx *db.Tx, task string, comment *string, words string) error {
	return tx.Later(ctx, `INSERT INTO search_texts (task_id, comment_id, words) VALUES (?, ?, CAST(CAST(? AS TEXT) AS TSVECTOR))`+
		conflict(comment)+` DO UPDATE SET words = excluded.words`, task, comment, words)
}

// addWords does without RETURNING and ON CONFLICT: with them SQLite guards the
// statement by a savepoint, at which FTS5 writes out what it has gathered, and
// what several tasks that are committed together have would not be written at once.
func addWords(ctx context.Context, tx *db.Tx, task string, comment *string, title, body string) error {
	_, err := tx.Exec(ctx, `INSERT INTO search_texts (task_id, comment_id) VALUES (?, ?)`, task, comment)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO search_words (rowid, title, body) VALUES (LAST_INSERT_ROWID(), ?, ?)`, title, body)
	}
	return err
}

func putWords(ctx context.Context, tx *db.Tx, task string, comment *string, title, body string) error {
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO search_texts (task_id, comment_id) VALUES (?, ?)`+
		conflict(comment)+` DO UPDATE SET task_id = excluded.task_id RETURNING id`, task, comment).Scan(&id)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT OR REPLACE INTO search_words (rowid, title, body) VALUES (?, ?, ?)`, id, title, body)
	}
	return err
}

// vector writes words as PostgreSQL reads a vector. They have no quotes in them.
// Their places are not told: only that the title has them.
func vector(title, body []string) string {
	var b strings.Builder
	for _, w := range title {
		b.WriteString(`'` + w + `':1A `)
	}
	for _, w := range body {
		b.WriteString(`'` + w + `':2 `)
	}
	return b.String()
}

// match is q as the engine wants it. With titles only they are looked at.
func (q query) match(engine db.Engine, titles bool) string {
	parts := make([]string, len(q.words))
	for i, w := range q.words {
		last := i == len(q.words)-1
		switch {
		case engine != db.Postgres && last:
			parts[i] = `"` + w + `"*`
		case engine != db.Postgres:
			parts[i] = `"` + w + `"`
		default:
			weight := ""
			if last {
				weight = "*"
			}
			if titles {
				weight += "A"
			}
			if parts[i] = `'` + w + `'`; weight != "" {
				parts[i] += `:` + weight
			}
		}
	}
	if engine == db.Postgres {
		return strings.Join(parts, ` & `)
	}
	all := strings.Join(parts, ` AND `)
	if titles {
		return `{title} : (` + all + `)`
	}
	return all
}

// Both engines read the words from their index. SQLite also reads them in the
// order of the answer.
const (
	fromWords  = ` FROM search_words JOIN search_texts s ON s.id = search_words.rowid`
	fromVector = ` FROM search_texts s`
	isWords    = ` WHERE search_words MATCH ?`
	isVector   = ` WHERE s.words @@ CAST(CAST(? AS TEXT) AS TSQUERY)`
	byWords    = ` ORDER BY search_words.rowid DESC LIMIT ?`
	byVector   = ` ORDER BY s.id DESC LIMIT ?`
)

// found are the newest texts that match, each with its whole text.
func found(ctx context.Context, q db.Queryer, engine db.Engine, match string, only Only, limit int) ([]row, error) {
	from, where, order := fromWords, isWords, byWords
	if engine == db.Postgres {
		from, where, order = fromVector, isVector, byVector
	}
	rows, err := q.Query(ctx, `SELECT s.id, t.id, t.number, COALESCE(t.title, (SELECT u.title FROM standups u WHERE u.id = s.standup_id), NULLIF(a.label, ''), a.session_key),
		t.archived_at, t.created_at, t.updated_at, t.version,
		COALESCE(c.body, t.description, r.text, x.head || ' ' || x.tail, ''), c.id, c.created_at, c.edited_at, s.standup_id, s.session_id,
		COALESCE(r.agent_id, a.agent_id), COALESCE(r.answered_at, a.last_at)`+from+`
		LEFT JOIN tasks t ON t.id = s.task_id LEFT JOIN comments c ON c.id = s.comment_id
		LEFT JOIN standup_reports r ON r.standup_id = s.standup_id AND r.agent_id = s.agent_id
		LEFT JOIN archive_sessions a ON a.id = s.session_id LEFT JOIN archive_texts x ON x.session_id = s.session_id`+where+only.clause()+order, match, limit)
	return db.All(rows, err, scan)
}

// clause is the further conditions that o makes.
func (o Only) clause() string {
	text := ``
	if o.Archived != nil {
		text += map[bool]string{
			true: ` AND (t.archived_at IS NOT NULL OR s.session_id IS NOT NULL)`, false: ` AND t.archived_at IS NULL AND s.session_id IS NULL`,
		}[*o.Archived]
	}
	of := map[Kind]string{
		OfTask: `s.task_id IS NOT NULL AND s.comment_id IS NULL`, OfComment: `s.comment_id IS NOT NULL`,
		OfReport: `s.standup_id IS NOT NULL`, OfSession: `s.session_id IS NOT NULL`,
	}
	var kinds []string
	for _, k := range []Kind{OfTask, OfComment, OfReport, OfSession} { // in one order, whatever the caller's
		if slices.Contains(o.Kinds, k) {
			kinds = append(kinds, of[k])
		}
	}
	if len(kinds) > 0 {
		text += ` AND (` + strings.Join(kinds, ` OR `) + `)`
	}
	return text
}

// row is a Result before its snippet is cut.
type row struct {
	Result
	id     int64
	text   string
	titled bool // whether its title has all the words
}

func scan(from db.Row) (row, error) {
	var r row
	var number, version *int64
	var archived, said, made, changed, last *clock.Time
	err := from.Scan(&r.id, &r.TaskID, &number, &r.Title, &archived, &made, &changed, &version, &r.text, &r.CommentID, &said, &r.EditedAt, &r.StandupID, &r.SessionID, &r.AgentID, &last)
	if last != nil {
		r.At = *last
	}
	switch {
	case err != nil:
		return r, err
	case r.StandupID != nil:
		r.Kind = OfReport
		return r, nil
	case r.SessionID != nil:
		r.Kind, r.Archived = OfSession, true
		return r, nil
	case number == nil || made == nil || version == nil:
		return r, errors.New("a text of nothing is findable")
	}
	key := fmt.Sprint("TASK-", *number)
	r.Kind, r.TaskKey, r.Archived, r.At = OfTask, &key, archived != nil, *made
	switch {
	case r.CommentID != nil && said != nil:
		r.Kind, r.At = OfComment, *said
	case *version > 1:
		r.EditedAt = changed
	}
	return r, nil
}

// PutSession makes an archived session findable, in the transaction that writes
// it, or findable as it is now: then it counts as the newest text.
func PutSession(ctx context.Context, tx *db.Tx, t SessionText) error {
	if err := DropSession(ctx, tx, t.ID); err != nil {
		return fmt.Errorf("make a session findable: %w", err)
	}
	if err := putNew(ctx, tx, `session_id, agent_id`, t.ID, nil, t.Title, t.Body); err != nil {
		return fmt.Errorf("make a session findable: %w", err)
	}
	return nil
}

// PutReport makes a report of a standup findable, in the transaction that writes
// it, or findable as it is now: then it counts as the newest text. With the
// standup it goes by itself. It has no title: else the word standup would find
// every report there is.
func PutReport(ctx context.Context, tx *db.Tx, t ReportText) error {
	err := DropReport(ctx, tx, t.StandupID, t.AgentID)
	if err == nil {
		err = putNew(ctx, tx, `standup_id, agent_id`, t.StandupID, &t.AgentID, "", t.Body)
	}
	if err != nil {
		return fmt.Errorf("make a report findable: %w", err)
	}
	return nil
}

// DropReport makes a report of a standup findable no more.
func DropReport(ctx context.Context, tx *db.Tx, standupID, agentID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM search_texts WHERE standup_id = ? AND agent_id = ?`, standupID, agentID)
	return err
}

// putNew makes a text findable whose id, and agent, stand in these columns.
func putNew(ctx context.Context, tx *db.Tx, columns, id string, agent *string, title, body string) error {
	heads, words := wordsOf(title), wordsOf(body)
	if tx.Engine() == db.Postgres {
		_, err := tx.Exec(ctx, `INSERT INTO search_texts (`+columns+`, words) VALUES (?, ?, CAST(CAST(? AS TEXT) AS TSVECTOR))`, id, agent, vector(heads, words))
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO search_texts (`+columns+`) VALUES (?, ?)`, id, agent)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO search_words (rowid, title, body) VALUES (LAST_INSERT_ROWID(), ?, ?)`, strings.Join(heads, " "), strings.Join(words, " "))
	}
	return err
}

// DropSession makes an archived session findable no more.
func DropSession(ctx context.Context, tx *db.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM search_texts WHERE session_id = ?`, id)
	return err
}

// Sessions is a condition for those rows whose column names an archived session
// that has all the words of text, as in Find; false when there is no word in it.
func Sessions(engine db.Engine, column, text string) (condition, match string, ok bool) {
	q := query{wordsOf(text)}
	if len(q.words) == 0 {
		return "", "", false
	}
	from, where := fromWords, isWords
	if engine == db.Postgres {
		from, where = fromVector, isVector
	}
	return column + ` IN (SELECT s.session_id` + from + where + ` AND s.session_id IS NOT NULL)`, q.match(engine, false), true
}
