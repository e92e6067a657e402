package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Add indexes a new text, in the transaction that writes the text. Deleting the text also deletes
// its index entry.
func Add(ctx context.Context, tx *db.Tx, t Text) error { return put(ctx, tx, t, addWords) }

// Put is like Add, but for a text that may be indexed already.
func Put(ctx context.Context, tx *db.Tx, t Text) error { return put(ctx, tx, t, putWords) }

func put(
	ctx context.Context, tx *db.Tx, t Text,
	write func(ctx context.Context, tx *db.Tx, task string, comment *string, words string) error,
) error {
	kind, comment := OfTask, (*string)(nil)
	if t.CommentID != "" {
		kind, comment = OfComment, &t.CommentID
	}
	words := classOf(kind, t.Archived).tokens(t.Title, t.Body)
	var err error
	if tx.Engine() == db.Postgres {
		err = putVector(ctx, tx, t.TaskID, comment, vector(words))
	} else {
		err = write(ctx, tx, t.TaskID, comment, strings.Join(words, " "))
	}
	if err != nil {
		return fmt.Errorf("index a text: %w", err)
	}
	return nil
}

// conflict returns the ON CONFLICT target for an indexed text.
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

// addWords adds the words of a text to the index. It does not use RETURNING or ON CONFLICT, because
// SQLite would then add a savepoint, which makes FTS5 flush its buffer. The index entries of tasks
// that are committed together would then be written one by one.
func addWords(ctx context.Context, tx *db.Tx, task string, comment *string, words string) error {
	_, err := tx.Exec(ctx, `INSERT INTO search_texts (task_id, comment_id) VALUES (?, ?)`, task, comment)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO search_index (rowid, words) VALUES (LAST_INSERT_ROWID(), ?)`, words)
	}
	return err
}

func putWords(ctx context.Context, tx *db.Tx, task string, comment *string, words string) error {
	var id int64
	err := tx.QueryRow(ctx, `INSERT INTO search_texts (task_id, comment_id) VALUES (?, ?)`+
		conflict(comment)+` DO UPDATE SET task_id = excluded.task_id RETURNING id`, task, comment).Scan(&id)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT OR REPLACE INTO search_index (rowid, words) VALUES (?, ?)`, id, words)
	}
	return err
}

// vector formats words as a PostgreSQL tsvector. It does not escape them, because words contain no
// quotes.
func vector(words []string) string {
	if len(words) == 0 {
		return ``
	}
	return `'` + strings.Join(words, `' '`) + `'`
}

// read loads the matched texts in order. The statement has as many placeholders
// as the limit, even if fewer texts match, so that one prepared statement per
// limit suffices.
func read(ctx context.Context, q db.Queryer, found []hit, limit int) ([]row, error) {
	args := make([]any, limit)
	for i := range args {
		args[i] = 0
		if i < len(found) {
			args[i] = found[i].id
		}
	}
	rows, err := q.Query(ctx, `
		SELECT s.id, t.id, t.number, COALESCE(t.title, (SELECT u.title FROM standups u WHERE u.id = s.standup_id), NULLIF(a.label, ''), a.session_key),
			t.archived_at, t.created_at, t.updated_at, t.version,
			COALESCE(c.body, t.description, r.text, x.head || ' ' || x.tail, ''), c.id, c.created_at, c.edited_at, s.standup_id, s.session_id, a.session_key,
			COALESCE(r.agent_id, a.agent_id), COALESCE(r.answered_at, a.last_at)
		FROM search_texts s
		LEFT JOIN tasks t ON t.id = s.task_id LEFT JOIN comments c ON c.id = s.comment_id
		LEFT JOIN standup_reports r ON r.standup_id = s.standup_id AND r.agent_id = s.agent_id
		LEFT JOIN archive_sessions a ON a.id = s.session_id LEFT JOIN archive_texts x ON x.session_id = s.session_id
		WHERE s.id IN (?`+strings.Repeat(`, ?`, limit-1)+`)`, args...)
	all, err := db.All(rows, err, scan)
	slices.SortFunc(all, func(a, b row) int {
		place := func(r row) int { return slices.IndexFunc(found, func(h hit) bool { return h.id == r.id }) }
		return cmp.Compare(place(a), place(b))
	})
	return all, err
}

// row is a Result together with the text that its snippet is taken from.
type row struct {
	Result
	id   int64
	text string
	key  *string // of a session
}

// title returns the title of the text in the index, which can differ from that in a Result.
func (r row) title() string {
	switch r.Kind {
	case OfTask:
		return *r.TaskKey + " " + r.Title
	case OfSession:
		return r.Title + " " + *r.key
	}
	return ""
}

func scan(from db.Row) (row, error) {
	var r row
	var number, version *int64
	var archived, said, made, changed, last *clock.Time
	err := from.Scan(&r.id, &r.TaskID, &number, &r.Title, &archived, &made, &changed, &version, &r.text, &r.CommentID,
		&said, &r.EditedAt, &r.StandupID, &r.SessionID, &r.key, &r.AgentID, &last)
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
		return r, errors.New("an indexed text has no owner")
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

// PutSession adds an archived session to the index or updates its entry. The transaction must be
// the one that writes the session. An updated session ranks as the newest text.
func PutSession(ctx context.Context, tx *db.Tx, t SessionText) error {
	if err := DropSession(ctx, tx, t.ID); err != nil {
		return fmt.Errorf("index a session: %w", err)
	}
	if err := putNew(
		ctx, tx, `session_id, agent_id`, t.ID, nil, classOf(OfSession, true).tokens(t.Title, t.Body),
	); err != nil {
		return fmt.Errorf("index a session: %w", err)
	}
	return nil
}

// PutReport adds a standup report to the index or updates its entry. The transaction must be the
// one that writes the report. An updated report ranks as the newest text. Deleting the standup also
// deletes the entry. Reports are indexed without a title, because otherwise the word "standup"
// would match every report.
func PutReport(ctx context.Context, tx *db.Tx, t ReportText) error {
	err := DropReport(ctx, tx, t.StandupID, t.AgentID)
	if err == nil {
		err = putNew(ctx, tx, `standup_id, agent_id`, t.StandupID, &t.AgentID, classOf(OfReport, false).tokens("", t.Body))
	}
	if err != nil {
		return fmt.Errorf("index a report: %w", err)
	}
	return nil
}

// DropReport removes a standup report from the index.
func DropReport(ctx context.Context, tx *db.Tx, standupID, agentID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM search_texts WHERE standup_id = ? AND agent_id = ?`, standupID, agentID)
	return err
}

// putNew adds the words of a text to the index. The given columns identify the text and
// receive the values id and agent.
func putNew(ctx context.Context, tx *db.Tx, columns, id string, agent *string, words []string) error {
	if tx.Engine() == db.Postgres {
		_, err := tx.Exec(ctx,
			`INSERT INTO search_texts (`+columns+`, words) VALUES (?, ?, CAST(CAST(? AS TEXT) AS TSVECTOR))`, id,
			agent, vector(words))
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO search_texts (`+columns+`) VALUES (?, ?)`, id, agent)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO search_index (rowid, words) VALUES (LAST_INSERT_ROWID(), ?)`,
			strings.Join(words, " "))
	}
	return err
}

// DropSession removes an archived session from the index.
func DropSession(ctx context.Context, tx *db.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM search_texts WHERE session_id = ?`, id)
	return err
}
