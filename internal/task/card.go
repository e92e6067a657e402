package task

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
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
	board string // object with the fields before the description
	rest  string // object with the other fields; empty in a slim card
}

// AppendJSON appends the card's JSON to a buffer and returns the extended
// buffer.
func (c *Card) AppendJSON(to []byte) []byte {
	if c.rest == "" {
		return append(to, c.board...)
	}
	return append(append(append(to, c.board[:len(c.board)-1]...), ','), c.rest[1:]...)
}

// MarshalJSON implements json.Marshaler.
func (c Card) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// card returns the task as a card with all fields.
func (t Task) card() (Card, error) {
	const second = `,"description":` // cannot occur within a value, because quotes in values are escaped
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(t); err != nil { //nolint:gosec // G117: a session key is a name, not a secret
		return Card{}, fmt.Errorf("write the card of %s: %w", t.Key, err)
	}
	board, rest, _ := strings.Cut(strings.TrimSuffix(b.String(), "\n"), second)
	return Card{board + `}`, `{` + second[1:] + rest}, nil
}

// Task returns the task that the card shows. Of a slim card, it returns the fields before the
// description.
func (c Card) Task() (t Task, err error) {
	if err := json.Unmarshal(c.AppendJSON(nil), &t); err != nil {
		return Task{}, fmt.Errorf("read a card: %w", err)
	}
	t.number, _ = parseKey(t.Key)
	return t, nil
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
		c, err := t.card()
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE tasks SET card = ?, rest = ? WHERE id = ?`, c.board, c.rest, id); err != nil {
			return fmt.Errorf("write the card of %s: %w", t.Key, err)
		}
	}
	return nil
}

// cardRow is a row of a list of cards.
type cardRow struct {
	number int64
	until  *clock.Time // when the claim expires; nil if unclaimed
	card   Card

	// One of these has the value that the list is sorted by, unless the list is
	// sorted by number.
	at   clock.Time
	rank int64
	text string
}

// current returns the row's card without an expired claim.
func (d *cardRow) current(now time.Time) (Card, error) {
	if d.until == nil || clock.Holds(d.until.Time, now, longestLease) {
		return d.card, nil
	}
	var t Task
	if err := json.Unmarshal([]byte(d.card.board), &t); err != nil {
		return Card{}, fmt.Errorf("read the card of %s: %w", keyOf(d.number), err)
	}
	t.Claim = nil
	c, err := t.card()
	d.card.board = c.board
	return d.card, err
}

// usual is the default order of a list of tasks.
const usual = "-key"

// order is a sort order of the tasks. Tasks with equal values are sorted by number.
type order struct {
	column string             // none of its values may be null
	at     func(*cardRow) any // where to read its value to
	index  string             // of the column, without archived tasks
	apart  string             // index of the status followed by the column; empty if there is none
}

// orders contains the sort orders by name.
var orders = map[string]order{
	"key":      {`number`, func(d *cardRow) any { return &d.number }, `tasks_by_number`, `tasks_of_status`},
	"created":  {`created_at`, func(d *cardRow) any { return &d.at }, `tasks_by_creation`, ``},
	"updated":  {`updated_at`, func(d *cardRow) any { return &d.at }, `tasks_by_update`, `tasks_of_status_by_update`},
	"due":      {`due_rank`, func(d *cardRow) any { return &d.rank }, `tasks_by_due`, ``},
	"priority": {`priority_rank`, func(d *cardRow) any { return &d.rank }, `tasks_by_rank`, ``},
	"position": {`position`, func(d *cardRow) any { return &d.text }, `tasks_by_position`, `tasks_of_status_by_position`},
}

// orderOf returns the name of the order that a caller wants, without its direction.
func orderOf(want page.Want) string { return strings.TrimPrefix(cmp.Or(want.Sort, usual), "-") }

// position returns the row's place in a list with this order.
func (o order) position(d cardRow) []any {
	switch v := o.at(&d).(type) {
	case *clock.Time:
		return []any{v.Time, d.number}
	case *string:
		return []any{*v, d.number}
	case *int64:
		if v != &d.number {
			return []any{*v, d.number}
		}
	}
	return []any{d.number}
}

// cardList defines a list of cards with one order.
func cardList(name string, slim bool) list.List[cardRow] {
	o := orders[name]
	l := list.List[cardRow]{Table: `tasks`, Columns: `number, claim_until, card`, Usual: usual}
	if !slim {
		l.Columns += `, rest`
	}
	s := list.Sort[cardRow]{Columns: []string{o.column}, Position: o.position}
	if o.apart != "" {
		s.Apart = map[string]string{`status`: o.apart}
	}
	if o.column != `number` {
		l.Columns += `, ` + o.column
		s.Columns = append(s.Columns, `number`)
	}
	l.Sorts = map[string]list.Sort[cardRow]{name: s}
	l.Scan = func(row db.Row) (d cardRow, err error) {
		to := []any{&d.number, &d.until, &d.card.board}
		if !slim {
			to = append(to, &d.card.rest)
		}
		if o.column != `number` {
			to = append(to, o.at(&d))
		}
		return d, row.Scan(to...)
	}
	return l
}

// Card returns a task as JSON, together with the task's version.
func (s *Service) Card(ctx context.Context, ref string) (c Card, version int64, err error) {
	where, arg := byName(ref)
	var d cardRow
	err = s.DB.Brief().QueryRow(ctx, `SELECT number, version, claim_until, card, rest FROM tasks WHERE `+where, arg).
		Scan(&d.number, &version, &d.until, &d.card.board, &d.card.rest)
	if db.IsNotFound(err) {
		return Card{}, 0, errNoTask()
	}
	if err != nil {
		return Card{}, 0, err
	}
	c, err = d.current(s.Now())
	return c, version, err
}

// CardsByID returns the current cards of the tasks with the given IDs, by ID, as JSON with all fields.
func (s *Service) CardsByID(ctx context.Context, q db.Queryer, ids []string) (map[string]json.RawMessage, error) {
	cards, now := make(map[string]json.RawMessage, len(ids)), s.Now()
	rows, err := q.Query(ctx,
		`SELECT id, number, claim_until, card, rest FROM tasks WHERE id `+in(anys(ids, func(id string) any { return id })),
		anys(ids, func(id string) any { return id })...)
	type stored struct {
		id string
		cardRow
	}
	found, err := db.All(rows, err, func(row db.Row) (d stored, err error) {
		err = row.Scan(&d.id, &d.number, &d.until, &d.card.board, &d.card.rest)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the changed tasks: %w", err)
	}
	for _, d := range found {
		c, err := d.current(now)
		if err != nil {
			return nil, err
		}
		cards[d.id] = c.AppendJSON(nil)
	}
	return cards, nil
}

// Cards returns one page of the tasks that match the filter. Slim cards have only the fields that
// are needed to show the board. The filter may name deactivated accounts, so that their tasks can
// be found and reassigned.
func (s *Service) Cards(ctx context.Context, f Filter, want page.Want, slim bool) (page.Part[Card], error) {
	var part page.Part[Card]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		w, err := s.where(ctx, q, f, want)
		if err != nil {
			return err
		}
		stored, err := cardList(orderOf(want), slim).Read(ctx, q, w, want)
		if err != nil {
			return err
		}
		now := s.Now()
		part = page.Part[Card]{Rows: make([]Card, len(stored.Rows)), Next: stored.Next, Total: stored.Total}
		for i := range stored.Rows {
			if part.Rows[i], err = stored.Rows[i].current(now); err != nil {
				return err
			}
		}
		return nil
	})
	return part, err
}
