package task

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/encode"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Boards are read far more often than they are written, often a hundred tasks
// at a time, and decoding every column of every task is slow. So each row also
// stores the task as JSON, written by the transaction that changes the task,
// and lists read little else.

// Card is a task as JSON. A slim card has only the fields that are needed to
// show the board.
type Card struct {
	board       string // object with the fields before the description
	description string
	rest        string // object with the fields after the description; empty in a slim card
}

// AppendJSON appends the card's JSON to a buffer and returns the extended
// buffer.
func (c *Card) AppendJSON(to []byte) []byte {
	to = append(to, c.board...)
	if c.rest == "" {
		return to
	}
	to = encode.String(append(to[:len(to)-1], `,"description":`...), c.description)
	return append(append(to, ','), c.rest[1:]...)
}

// MarshalJSON implements json.Marshaler.
func (c Card) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// cardJSON returns two JSON objects for use in a Card: one with the fields
// before the description, and one with the fields after it.
func (t Task) cardJSON() (board, rest string, err error) {
	const description = `,"description":"",` // cannot occur within a value, because quotes in values are escaped
	t.Description = ""
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t); err != nil { //nolint:gosec // G117: a session key is a name, not a secret
		return "", "", fmt.Errorf("write the card of %s: %w", t.Key, err)
	}
	before, after, _ := strings.Cut(strings.TrimSuffix(b.String(), "\n"), description)
	return before + `}`, `{` + after, nil
}

// card builds the Card of a task from the task's fields. It does not use the
// stored JSON.
func (t Task) card(slim bool, now time.Time) (Card, error) {
	board, rest, err := t.withoutExpiredClaim(now).cardJSON()
	if slim {
		return Card{board: board}, err
	}
	return Card{board, t.Description, rest}, err
}

// rewriteCards updates the stored cards of tasks. Some writes change a task's
// card but not its version, for example updates to its comment count or cost.
// Code that makes such a write must call rewriteCards in the same transaction.
func rewriteCards(ctx context.Context, tx *db.Tx, ids ...string) error {
	for _, id := range ids {
		t, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		card, rest, err := t.cardJSON()
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE tasks SET card = ?, rest = ? WHERE id = ?`, card, rest, id); err != nil {
			return fmt.Errorf("write the card of %s: %w", t.Key, err)
		}
	}
	return nil
}

// BackfillCards is a periodic job that writes the missing cards of tasks that
// an older version of Wardroom created.
func (s *Service) BackfillCards(ctx context.Context) error {
	const batch = 50 // keeps transactions short for other writers
	for {
		rows, err := s.DB.Query(ctx, `SELECT id FROM tasks INDEXED BY tasks_without_card WHERE card IS NULL ORDER BY number LIMIT ?`, batch)
		ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
		if err == nil && len(ids) > 0 {
			err = s.DB.Tx(ctx, func(tx *db.Tx) error {
				for _, id := range ids {
					if err := backfillCard(ctx, tx, id); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("write cards: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
	}
}

// backfillCard writes a task's missing card.
func backfillCard(ctx context.Context, tx *db.Tx, id string) error {
	t, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	card, rest, err := t.cardJSON()
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE tasks SET card = ?, rest = ? WHERE id = ?`, card, rest, id)
	}
	return err
}

// cardRow is a row of a list of cards. It contains a card and the values needed
// to sort the row and to detect that the card is stale.
type cardRow struct {
	number int64
	until  *clock.Time // when the claim expires; nil if unclaimed
	card   Card
	stored bool // false if the row has no card yet

	// One of these has the value that the list is sorted by, unless the list is
	// sorted by number.
	at   clock.Time
	rank int64
	text string
}

// stale reports whether the card is missing or shows a claim that has expired.
func (d cardRow) stale(now time.Time) bool {
	return !d.stored || d.until != nil && !now.Before(d.until.Time)
}

// sorting is a column by which cards can be sorted. Its first function returns a pointer for
// scanning the column's value into a row. The second one returns that value.
type sorting struct {
	column string
	to     func(*cardRow) any
	value  func(cardRow) any
}

var (
	byTime = func(column string) sorting {
		return sorting{column, func(d *cardRow) any { return &d.at }, func(d cardRow) any { return d.at.Time }}
	}
	byRank = func(column string) sorting {
		return sorting{column, func(d *cardRow) any { return &d.rank }, func(d cardRow) any { return d.rank }}
	}
	sortings = map[string]sorting{
		"key":      {},
		"created":  byTime(`created_at`),
		"updated":  byTime(`updated_at`),
		"due":      byRank(`due_rank`),
		"priority": byRank(`priority_rank`),
		"position": {`position`, func(d *cardRow) any { return &d.text }, func(d cardRow) any { return d.text }},
	}
)

// cardList defines a list of cards. It has the same table and sort orders as
// the list of tasks, so that a cursor works for both lists.
func cardList(order string, slim bool) list.List[cardRow] {
	at, sort := sortings[order], tasks.Sorts[order]
	l := list.List[cardRow]{Table: tasks.Table, Columns: `number, claim_until, card`, Usual: tasks.Usual}
	if !slim {
		l.Columns += `, description, rest`
	}
	if at.column != "" {
		l.Columns += `, ` + at.column
	}
	l.Scan = func(row db.Row) (d cardRow, err error) {
		var board, rest sql.NullString
		to := []any{&d.number, &d.until, &board}
		if !slim {
			to = append(to, &d.card.description, &rest)
		}
		if at.column != "" {
			to = append(to, at.to(&d))
		}
		err = row.Scan(to...)
		d.stored, d.card.board, d.card.rest = board.Valid, board.String, rest.String
		return d, err
	}
	l.Sorts = map[string]list.Sort[cardRow]{order: {Columns: sort.Columns, Apart: sort.Apart, Position: func(d cardRow) []any {
		if at.column == "" {
			return []any{d.number}
		}
		return []any{at.value(d), d.number}
	}}}
	return l
}

// Card returns a task as JSON, together with the task's version.
func (s *Service) Card(ctx context.Context, ref string) (c Card, version int64, err error) {
	where, arg := byName(ref)
	now, q := s.Now(), s.DB.Brief()
	var board, rest sql.NullString
	var d cardRow
	err = q.QueryRow(ctx, `SELECT version, claim_until, card, description, rest FROM tasks WHERE `+where, arg).
		Scan(&version, &d.until, &board, &d.card.description, &rest)
	if db.IsNotFound(err) {
		return Card{}, 0, errNoTask()
	}
	d.stored, d.card.board, d.card.rest = board.Valid, board.String, rest.String
	if err != nil || !d.stale(now) {
		return d.card, version, err
	}
	t, err := find(ctx, q, ref)
	if err != nil {
		return Card{}, 0, err
	}
	c, err = t.card(false, now)
	return c, t.Version, err
}

// Cards is like List, but returns each task as a card. Slim cards have only the
// fields that are needed to show the board.
func (s *Service) Cards(ctx context.Context, f Filter, want page.Want, slim bool) (page.Part[Card], error) {
	var part page.Part[Card]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		w, err := s.where(ctx, q, f, want)
		if err != nil {
			return err
		}
		part, err = s.cards(ctx, q, w, want, slim)
		return err
	})
	return part, err
}

func (s *Service) cards(ctx context.Context, q db.Queryer, w list.Where, want page.Want, slim bool) (part page.Part[Card], err error) {
	now := s.Now()
	order := strings.TrimPrefix(cmp.Or(want.Sort, tasks.Usual), "-")
	stored, err := cardList(order, slim).Read(ctx, q, w, want)
	if err != nil {
		return part, err
	}
	if !slices.ContainsFunc(stored.Rows, func(d cardRow) bool { return d.stale(now) }) {
		for _, d := range stored.Rows {
			part.Rows = append(part.Rows, d.card)
		}
		part.Next, part.Total = stored.Next, stored.Total
		return part, nil
	}
	// Read the whole page again: a stale row may belong on another page by now.
	whole, err := tasks.Read(ctx, q, w, want)
	if err != nil {
		return part, err
	}
	for _, t := range whole.Rows {
		c, err := t.card(slim, now)
		if err != nil {
			return part, err
		}
		part.Rows = append(part.Rows, c)
	}
	part.Next, part.Total = whole.Next, whole.Total
	return part, nil
}
