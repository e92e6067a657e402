package search

import (
	"context"
	"fmt"
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
	_, err := tx.Exec(ctx, `INSERT INTO search_texts (task_id, comment_id, words) VALUES (?, ?, CAST(CAST(? AS TEXT) AS TSVECTOR))`+
		conflict(comment)+` DO UPDATE SET words = excluded.words`, task, comment, words)
	return err
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
func found(ctx context.Context, q db.Queryer, engine db.Engine, match string, archived *bool, limit int) ([]row, error) {
	from, where, order := fromWords, isWords, byWords
	if engine == db.Postgres {
		from, where, order = fromVector, isVector, byVector
	}
	if archived != nil {
		where += map[bool]string{true: ` AND t.archived_at IS NOT NULL`, false: ` AND t.archived_at IS NULL`}[*archived]
	}
	rows, err := q.Query(ctx, `SELECT s.id, t.id, t.number, t.title, t.archived_at, t.created_at, t.updated_at, t.version,
		COALESCE(c.body, t.description), c.id, c.created_at, c.edited_at`+from+`
		JOIN tasks t ON t.id = s.task_id LEFT JOIN comments c ON c.id = s.comment_id`+where+order, match, limit)
	return db.All(rows, err, scan)
}

// row is a Result before its snippet is cut.
type row struct {
	Result
	id   int64
	text string
}

func scan(from db.Row) (row, error) {
	var r row
	var number, version int64
	var archived, said *clock.Time
	var made, changed clock.Time
	err := from.Scan(&r.id, &r.TaskID, &number, &r.Title, &archived, &made, &changed, &version, &r.text, &r.CommentID, &said, &r.EditedAt)
	r.Kind, r.TaskKey, r.Archived, r.At = OfTask, fmt.Sprint("TASK-", number), archived != nil, made
	switch {
	case r.CommentID != nil && said != nil:
		r.Kind, r.At = OfComment, *said
	case version > 1:
		r.EditedAt = &changed
	}
	return r, err
}
