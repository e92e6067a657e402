package task

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/platform/cache"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Boards are read again and again, and of a hundred cards hardly one has changed.
// So a list reads from the database which tasks there are and in which state each
// of them is, and takes the JSON of those that it has seen in that state from
// memory.

// Card is a task as the API shows it: its JSON.
type Card struct {
	text []byte // shared
}

// AppendJSON appends the task.
func (c *Card) AppendJSON(to []byte) []byte { return append(to, c.text...) }

// MarshalJSON is for encoding/json.
func (c Card) MarshalJSON() ([]byte, error) { return slices.Clone(c.text), nil }

// state is what a card is made from: the version, and whatever shows and changes
// without it. With the time of the update, a version that is given again after
// the database was set back is another.
type state struct {
	version  int64
	updated  int64 // these two in microseconds since 1970
	claimed  int64 // until when; 0 when nobody holds it, or not any more
	waiting  int64
	comments int64
	shown    int64 // counts the changes of its dispatch and its costs
	position string
}

// stamp is a row of the board without its texts.
type stamp struct {
	number int64
	state
	created time.Time // these two only in lists that are sorted by them
	rank    int64
}

const stampColumns = `number, version, updated_at, claim_until, waiting_on, comment_count, shown, position`

// stamps is tasks without their texts, in the order of Columns. The table and the
// order are those of tasks, so that they have each other's cursors.
func stamps(order string, position func(stamp) []any, more string, place func(*stamp) any) list.List[stamp] {
	l := list.List[stamp]{
		Table: tasks.Table, Columns: stampColumns, Usual: tasks.Usual,
		Sorts: map[string]list.Sort[stamp]{order: {Columns: tasks.Sorts[order].Columns, Position: position}},
	}
	if more != "" {
		l.Columns += `, ` + more
	}
	l.Scan = func(row db.Row) (s stamp, err error) {
		var updated clock.Time
		var until *clock.Time
		to := []any{&s.number, &s.version, &updated, &until, &s.waiting, &s.comments, &s.shown, &s.position}
		if place != nil {
			to = append(to, place(&s))
		}
		if err = row.Scan(to...); until != nil {
			s.claimed = until.UnixMicro()
		}
		s.updated = updated.UnixMicro()
		return s, err
	}
	return l
}

// stampsBy is stamps by each of the orders of tasks.
var stampsBy = map[string]list.List[stamp]{
	"key":      stamps("key", func(s stamp) []any { return []any{s.number} }, "", nil),
	"updated":  stamps("updated", func(s stamp) []any { return []any{time.UnixMicro(s.updated).UTC(), s.number} }, "", nil),
	"position": stamps("position", func(s stamp) []any { return []any{s.position, s.number} }, "", nil),
	"created": stamps("created", func(s stamp) []any { return []any{s.created, s.number} },
		`created_at`, func(s *stamp) any { return &s.created }),
	"due": stamps("due", func(s stamp) []any { return []any{s.rank, s.number} },
		`due_rank`, func(s *stamp) any { return &s.rank }),
	"priority": stamps("priority", func(s stamp) []any { return []any{s.rank, s.number} },
		`priority_rank`, func(s *stamp) any { return &s.rank }),
}

// stateOf is the state that a task is in then.
func stateOf(t Task, now time.Time) state {
	s := state{version: t.Version, updated: t.UpdatedAt.UnixMicro(), waiting: t.WaitingOn, comments: t.Comments, shown: t.shown, position: t.Position}
	if c := t.held(now); c != nil {
		s.claimed = c.ExpiresAt.UnixMicro()
	}
	return s
}

// at is the state then: a claim ends without anybody doing anything.
func (s state) at(now time.Time) state {
	if s.claimed != 0 && !now.Before(time.UnixMicro(s.claimed)) {
		s.claimed = 0
	}
	return s
}

// cards makes cards and keeps them. Those that are kept are shared by all callers:
// everybody sees the same board.
type cards struct {
	cache.Cache[int64, state] // by the number of the task
}

// make makes the card of a task that was just read.
func (c *cards) make(t Task, now time.Time) Card {
	t = t.seen(now)
	scratch := scratches.Get().(*[]byte) //nolint:errcheck,forcetypeassert // nothing else is put into it
	*scratch = t.AppendJSON((*scratch)[:0])
	text := slices.Clone(*scratch) // without room to grow
	if cap(*scratch) <= largestScratch {
		scratches.Put(scratch)
	}
	c.Put(t.number, stateOf(t, now), text)
	return Card{text}
}

// scratches are where cards are written before one knows how long they are.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// largestScratch is how large one may have become and still be kept, in bytes.
const largestScratch = 64 << 10

// Card is Get as the API shows it, with the version.
func (s *Service) Card(ctx context.Context, ref string) (c Card, version int64, err error) {
	now, q := s.Now(), s.DB.Brief()
	if number, ok := parseKey(ref); ok && s.cards.Has(number) {
		one, err := stampsBy["key"].Scan(q.QueryRow(ctx, `SELECT `+stampColumns+` FROM tasks WHERE number = ?`, number))
		if text, ok := s.cards.Get(number, one.at(now)); err == nil && ok {
			return Card{text}, one.version, nil
		}
	}
	t, err := find(ctx, q, ref)
	if err != nil {
		return Card{}, 0, err
	}
	return s.cards.make(t, now), t.Version, nil
}

// Kept tells how well cards are served from memory.
func (s *Service) Kept() cache.Stats { return s.cards.Stats() }

// Cards is List as the API shows it.
func (s *Service) Cards(ctx context.Context, f Filter, want page.Want) (page.Part[Card], error) {
	var part page.Part[Card]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		if f, err = f.lookUp(ctx, q); err != nil {
			return err
		}
		part, err = s.cardsOf(ctx, q, f.where(), want)
		return err
	})
	return part, err
}

func (s *Service) cardsOf(ctx context.Context, q db.Queryer, w list.Where, want page.Want) (part page.Part[Card], err error) {
	order := strings.TrimPrefix(cmp.Or(want.Sort, tasks.Usual), "-")
	stamps, err := stampsBy[order].Read(ctx, q, w, want)
	if err != nil {
		return part, err
	}
	now := s.Now()
	part = page.Part[Card]{Rows: make([]Card, len(stamps.Rows)), Next: stamps.Next, Total: stamps.Total}
	var missing []int
	for i, one := range stamps.Rows {
		text, ok := s.cards.Get(one.number, one.at(now))
		if part.Rows[i] = (Card{text}); !ok {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return part, nil
	}
	// When many are missing, the whole page costs little more than they do.
	if len(missing) <= max(1, len(part.Rows)/4) {
		whole, err := s.fill(ctx, q, part.Rows, stamps.Rows, missing, now)
		if err != nil || whole {
			return part, err
		}
	}
	want.Total = false
	read, err := tasks.Read(ctx, q, w, want)
	part.Next, part.Rows = read.Next, part.Rows[:0]
	for _, t := range read.Rows {
		part.Rows = append(part.Rows, s.cards.make(t, now))
	}
	return part, err
}

// fill reads the tasks whose cards are missing. It reports false when one of them
// is in another state than when the page was read: then it may belong to another
// page now, and the page has to be read at once.
func (s *Service) fill(ctx context.Context, q db.Queryer, rows []Card, stamps []stamp, missing []int, now time.Time) (whole bool, err error) {
	numbers := make([]any, 0, len(missing))
	for _, i := range missing {
		numbers = append(numbers, stamps[i].number)
	}
	found, err := numbered(ctx, q, numbers)
	if err != nil {
		return false, fmt.Errorf("read the cards of a list: %w", err)
	}
	for _, i := range missing {
		t, ok := found[stamps[i].number]
		if !ok || stateOf(t, now) != stamps[i].at(now) {
			return false, nil
		}
		rows[i] = s.cards.make(t, now)
	}
	return true, nil
}

// numbered reads tasks by their numbers. Some are asked for twice, so that there
// are few different statements to keep.
func numbered(ctx context.Context, q db.Queryer, numbers []any) (map[int64]Task, error) {
	for size := 1; ; size *= 4 {
		if size >= len(numbers) {
			for len(numbers) < size {
				numbers = append(numbers, numbers[0])
			}
			break
		}
	}
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM tasks WHERE number IN (?`+strings.Repeat(`, ?`, len(numbers)-1)+`)`, numbers...)
	list, err := db.All(rows, err, scan)
	found := make(map[int64]Task, len(list))
	for _, t := range list {
		found[t.number] = t
	}
	return found, err
}
