package task

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
)

// Filter.Text may be any part of a task's key or title. To avoid scanning all
// tasks, an index holds the n-grams of both: their sequences of one, two, and
// three characters. A periodic job writes the n-grams of many new tasks at a
// time, which is much cheaper than writing them with each task. Until then new
// tasks are scanned.

// searched returns the text that Filter.Text is compared with. The text is
// folded in Go, because databases differ in how they do that.
func (t Task) searched() string { return plaintext.Fold(t.Key + " " + t.Title) }

// longestGram is the maximum length of an n-gram in characters.
const longestGram = 3

// gramsOf returns the distinct n-grams of a text. They are at least shortest and
// at most longestGram characters long. Spaces and punctuation are replaced by
// private-use characters, because FTS5 would drop them from words.
func gramsOf(text string, shortest int) []string {
	const private = 0xE000 // start of a private use area
	runes := []rune(text)
	for i, r := range runes {
		if r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			runes[i] = private + r
		}
	}
	seen := make(map[string]bool, len(runes)*longestGram)
	var grams []string
	for i := range runes {
		for n := shortest; n <= min(longestGram, len(runes)-i); n++ {
			if g := string(runes[i : i+n]); !seen[g] {
				seen[g] = true
				grams = append(grams, g)
			}
		}
	}
	return grams
}

// withGrams returns a filter condition for the tasks that may contain the text.
// These are the tasks whose n-grams include those of the text, and the tasks
// that are not indexed yet. The condition also matches some tasks that do not
// contain the text.
func withGrams(ctx context.Context, q db.Queryer, text string) (narrow, error) {
	const most = 16 // further n-grams hardly narrow the result
	_, upto, err := indexed(ctx, q)
	text = plaintext.Fold(text)
	grams := gramsOf(text, min(longestGram, utf8.RuneCountInString(text)))
	grams = grams[:min(len(grams), most)]
	query, arg := `SELECT rowid FROM task_grams WHERE task_grams MATCH ?`, `"`+strings.Join(grams, `" AND "`)+`"`
	if q.Engine() == db.Postgres {
		query, arg = `SELECT number FROM task_grams WHERE grams @> STRING_TO_ARRAY(CAST(? AS TEXT), ' ')`,
			strings.Join(grams, " ")
	}
	return numbered(query+` UNION ALL SELECT number FROM tasks WHERE number > ?`, arg, upto), err
}

// indexed returns the highest task number assigned so far, and the number up to which all tasks
// are indexed.
func indexed(ctx context.Context, q db.Queryer) (last, upto int64, err error) {
	err = q.QueryRow(ctx,
		`SELECT last, (SELECT upto FROM task_grams_state WHERE one = 1) FROM task_counter WHERE one = 1`).Scan(&last, &upto)
	if err != nil {
		err = fmt.Errorf("read which tasks are indexed: %w", err)
	}
	return last, upto, err
}

// IndexTexts is a periodic job that indexes the n-grams of new tasks. It writes nothing if there are none.
func (s *Service) IndexTexts(ctx context.Context) error {
	const batch = 200 // keeps transactions short for other writers
	for {
		last, upto, err := indexed(ctx, s.DB)
		if err == nil && last > upto {
			err = s.DB.Tx(ctx, func(tx *db.Tx) error { return indexTexts(ctx, tx, batch) })
		}
		if err != nil {
			return fmt.Errorf("index the texts of new tasks: %w", err)
		}
		if last <= upto+batch {
			return nil
		}
	}
}

func indexTexts(ctx context.Context, tx *db.Tx, batch int64) error {
	last, upto, err := indexed(ctx, tx)
	if err != nil || last <= upto {
		return err
	}
	last = min(last, upto+batch)
	rows, err := tx.Query(ctx, `SELECT number, title FROM tasks WHERE number > ? AND number <= ?`, upto, last)
	tasks, err := db.All(rows, err, func(row db.Row) (t Task, err error) {
		err = row.Scan(&t.number, &t.Title)
		t.Key = keyOf(t.number)
		return t, err
	})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := putGrams(ctx, tx, t); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE task_grams_state SET upto = ? WHERE one = 1`, last)
	return err
}

// putGrams writes the n-grams of a task, and replaces earlier ones.
func putGrams(ctx context.Context, tx *db.Tx, t Task) error {
	statement := `INSERT OR REPLACE INTO task_grams (rowid, grams) VALUES (?, ?)`
	if tx.Engine() == db.Postgres {
		statement = `INSERT INTO task_grams (number, grams) VALUES (?, STRING_TO_ARRAY(CAST(? AS TEXT), ' '))
			ON CONFLICT (number) DO UPDATE SET grams = excluded.grams`
	}
	_, err := tx.Exec(ctx, statement, t.number, strings.Join(gramsOf(t.searched(), 1), " "))
	return err
}

// reindexTitle replaces the n-grams of a task whose title has changed. If the task is not
// indexed yet, it does nothing, because IndexTexts will index the task.
func reindexTitle(ctx context.Context, tx *db.Tx, t Task) error {
	_, upto, err := indexed(ctx, tx)
	if err != nil || t.number > upto {
		return err
	}
	return putGrams(ctx, tx, t)
}

// dropGrams removes the n-grams of a task.
func dropGrams(ctx context.Context, tx *db.Tx, number int64) error {
	statement := `DELETE FROM task_grams WHERE rowid = ?`
	if tx.Engine() == db.Postgres {
		statement = `DELETE FROM task_grams WHERE number = ?`
	}
	_, err := tx.Exec(ctx, statement, number)
	return err
}
