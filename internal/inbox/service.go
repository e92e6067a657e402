package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
)

// Service keeps the inbox.
type Service struct {
	DB  *db.DB
	Now func() time.Time
}

// lock makes those who change the inbox take turns. Of one cause there is one
// item, and a transaction that raises several takes their rows in any order:
// without turns two of them, or one and a person, could wait for each other.
const lock = "inbox"

// The kinds of the events. All have the item and what changed of it.
const (
	raised   = "inbox.raised"   // it is new
	repeated = "inbox.repeated" // it was raised again, and stays where it is
	reopened = "inbox.reopened" // by a person, because it came back, or because it became worse
	acked    = "inbox.acked"    // by a person
	snoozed  = "inbox.snoozed"  // by a person
	woken    = "inbox.woken"    // its snooze has ended
	assigned = "inbox.assigned" // by a person
	resolved = "inbox.resolved" // by a person, or because its cause has ended
)

// batch is how many snoozes are ended in one transaction, so that nobody waits
// long for the writer.
const batch = 100

// Raise brings up something that needs a human, in the transaction of whatever
// brought it up: it makes an item, or counts the one of the same cause once
// more and gives it the newest words. A resolved one opens again; its count goes
// on. One that was acknowledged or put off stays so, unless m is worse than it
// was.
//
// Call it after the transaction's other statements, as event.Record: it writes
// an event, by the service itself. It fails for a kind, severity or cause that
// cannot be, and never for a text.
func (s *Service) Raise(ctx context.Context, tx *db.Tx, m Matter) error {
	if err := s.raise(ctx, tx, m); err != nil {
		return fmt.Errorf("raise %.200q in the inbox: %w", m.Cause, err)
	}
	return nil
}

func (s *Service) raise(ctx context.Context, tx *db.Tx, m Matter) error {
	if err := m.check(); err != nil {
		return err
	}
	if err := tx.Lock(ctx, lock); err != nil {
		return err
	}
	now := s.Now()
	was, err := ofCause(ctx, tx, m.Cause)
	if errors.Is(err, ErrNotFound) {
		made := m.open(db.NewID(), now)
		if err := insert(ctx, tx, made); err != nil {
			return err
		}
		return s.record(ctx, tx, raised, made, nil)
	}
	if err != nil {
		return err
	}
	i, kind := was.repeat(m, now), repeated
	changes := i.changes(was)
	if len(changes) > 0 {
		i.Version++ // a mere repeat does not invalidate what somebody is about to do
	}
	if i.State == Open && was.State != Open {
		kind = reopened
	}
	if err := update(ctx, tx, i); err != nil {
		return err
	}
	return s.record(ctx, tx, kind, i, changes)
}

// Settle says that a cause has ended, in the transaction that ended it: its item
// resolves itself, with why as its note. When there is none, or it is resolved,
// nothing happens. Call it after the transaction's other statements.
func (s *Service) Settle(ctx context.Context, tx *db.Tx, cause, why string) error {
	if err := s.settle(ctx, tx, cause, why); err != nil {
		return fmt.Errorf("settle %.200q in the inbox: %w", cause, err)
	}
	return nil
}

func (s *Service) settle(ctx context.Context, tx *db.Tx, cause, why string) error {
	if err := tx.Lock(ctx, lock); err != nil {
		return err
	}
	was, err := ofCause(ctx, tx, plaintext.Lines(cause))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.change(actor.With(ctx, actor.System), tx, was, resolved, resolve(markdown(why, maxNote)))
	return err
}

// Filter says which items to list. The zero Filter lists what waits for somebody:
// all that is open or acknowledged.
type Filter struct {
	States     []State
	Kinds      []Kind
	Severities []Severity
	Assignee   string // a user's id or email, an agent_id, "me" or "none"; empty is anybody
}

// List returns one page of the items that match: the most severe first, and of
// those the one that has waited longest; or by when they were last raised.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Item], error) {
	now := s.Now()
	var part page.Part[Item]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		w, err := f.where(ctx, q, now)
		if err != nil {
			return err
		}
		w.Use(f.index(want.Sort))
		part, err = items.Read(ctx, q, w, want)
		return err
	})
	for n := range part.Rows {
		part.Rows[n] = part.Rows[n].at(now)
	}
	return part, err
}

// Get returns one item.
func (s *Service) Get(ctx context.Context, id string) (Item, error) {
	i, err := find(ctx, s.DB, id)
	return i.at(s.Now()), err
}

// Ack notes that somebody has seen an item. With a version it is refused with
// ErrStale when the item has moved on; so are the other deeds.
func (s *Service) Ack(ctx context.Context, id string, version *int64) (Item, error) {
	return s.do(ctx, id, version, acked, ack)
}

// Snooze puts an item out of sight until a time, at most 90 days from now.
func (s *Service) Snooze(ctx context.Context, id string, until time.Time, version *int64) (Item, error) {
	return s.do(ctx, id, version, snoozed, snooze(until))
}

// Assign makes an item somebody's, named by their id or email, or with nil
// nobody's. An agent cannot see to one.
func (s *Service) Assign(ctx context.Context, id string, to *string, version *int64) (Item, error) {
	var who *Assignee
	if to != nil {
		found, err := findAssignee(ctx, s.DB, *to)
		if err != nil {
			return Item{}, err
		}
		who = &found
	}
	return s.do(ctx, id, version, assigned, assign(who))
}

// Resolve ends an item, with a note that may be empty. Should its cause come
// back, it opens again.
func (s *Service) Resolve(ctx context.Context, id, note string, version *int64) (Item, error) {
	return s.do(ctx, id, version, resolved, resolve(note))
}

// Reopen takes an item back from wherever somebody has put it.
func (s *Service) Reopen(ctx context.Context, id string, version *int64) (Item, error) {
	return s.do(ctx, id, version, reopened, reopen)
}

// do has the caller do something to an item.
func (s *Service) do(ctx context.Context, id string, version *int64, kind string, d deed) (i Item, err error) {
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, lock); err != nil {
			return err
		}
		was, err := find(ctx, tx, id)
		if err == nil {
			err = was.seen(version)
		}
		if err != nil {
			return err
		}
		i, err = s.change(ctx, tx, was, kind, d)
		return err
	})
	if err != nil {
		return Item{}, fmt.Errorf("%s: %w", kind, err)
	}
	return i, nil
}

// change does d to an item that was read in this transaction.
func (s *Service) change(ctx context.Context, tx *db.Tx, was Item, kind string, d deed) (Item, error) {
	now := s.Now()
	i, err := d(was.at(now), actor.From(ctx), now)
	if err != nil {
		return Item{}, err
	}
	changes := i.changes(was.at(now))
	if len(changes) == 0 {
		return i, nil
	}
	i.Version++
	if err := update(ctx, tx, i); err != nil {
		return Item{}, err
	}
	return i, s.recordBy(ctx, tx, kind, i, changes)
}

// EndSnoozes opens the items whose snooze has ended, and tells of it. Nothing
// waits for it: whoever reads an item sees it open from that moment. It is timed
// work.
func (s *Service) EndSnoozes(ctx context.Context) error {
	for {
		// Without this look an idle inbox would be written to every few seconds.
		due, err := dueSnoozes(ctx, s.DB, s.Now(), batch)
		if err != nil || len(due) == 0 {
			return err
		}
		err = s.DB.Tx(ctx, func(tx *db.Tx) error {
			if err := tx.Lock(ctx, lock); err != nil {
				return err
			}
			for _, id := range due {
				if err := s.wake(ctx, tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("end snoozes: %w", err)
		}
		if len(due) < batch {
			return nil
		}
	}
}

// wake opens an item whose snooze has ended, unless somebody has done something
// else with it since it was looked for.
func (s *Service) wake(ctx context.Context, tx *db.Tx, id string) error {
	was, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	i := was.at(s.Now())
	changes := i.changes(was)
	if err != nil || len(changes) == 0 {
		return err
	}
	i.Version++
	if err := update(ctx, tx, i); err != nil {
		return err
	}
	return s.record(ctx, tx, woken, i, changes)
}

// CountResolved tells how many items PurgeResolved would remove in all, and when
// the first of them was resolved: the zero time when there is none.
func (s *Service) CountResolved(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error) {
	var at *clock.Time
	if err := s.DB.QueryRow(ctx, countResolved, before).Scan(&n, &at); err != nil {
		return 0, oldest, fmt.Errorf("count resolved items of the inbox: %w", err)
	}
	if at != nil {
		oldest = at.Time
	}
	return n, oldest, nil
}

// PurgeResolved removes items that were resolved before then, the oldest first
// and at most limit, in a transaction of its caller's, and says how many. Should
// a cause come back after that, it is a new item.
func (s *Service) PurgeResolved(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	if err := tx.Lock(ctx, lock); err != nil {
		return 0, err
	}
	n, err := purgeResolved(ctx, tx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("remove resolved items of the inbox: %w", err)
	}
	return n, nil
}

// told is what an event says of an item: all but its detail, which is long.
type told struct {
	Item

	Detail *struct{} `json:"detail,omitempty"` // hides the item's
}

// record notes something that the service itself did. Nothing else of the inbox
// may be written after it.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind string, i Item, changes map[string][2]any) error {
	return s.recordBy(actor.With(ctx, actor.System), tx, kind, i, changes)
}

func (s *Service) recordBy(ctx context.Context, tx *db.Tx, kind string, i Item, changes map[string][2]any) error {
	if changes == nil {
		changes = map[string][2]any{}
	}
	about := event.Subject{Kind: event.TopicInbox, ID: i.ID, Name: i.Title}
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, about, map[string]any{"item": told{Item: i}, "changes": changes})
}

// wanted are the states of the filter, as a set.
func (f Filter) wanted() map[State]bool {
	states := f.States
	if len(states) == 0 {
		states = []State{Open, Acked}
	}
	set := map[State]bool{}
	for _, s := range States() {
		set[s] = slices.Contains(states, s)
	}
	return set
}
