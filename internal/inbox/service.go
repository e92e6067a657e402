package inbox

import (
	"context"
	"encoding/json"
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

// Service implements the inbox's operations.
type Service struct {
	DB  *db.DB
	Now func() time.Time
}

// Kinds of events. Each event includes the item and its changes.
const (
	raised   = "inbox.raised"   // new item
	repeated = "inbox.repeated" // raised again without a change of state
	reopened = "inbox.reopened" // by a user, because the cause recurred, or because the severity rose
	acked    = "inbox.acked"    // by a user
	snoozed  = "inbox.snoozed"  // by a user
	woken    = "inbox.woken"    // the snooze has ended
	assigned = "inbox.assigned" // by a user
	resolved = "inbox.resolved" // by a user, or because the cause has ended
)

// batch is the maximum number of snoozes to end in one transaction. Short transactions let
// other writers proceed.
const batch = 100

// Raise opens an item in the caller's transaction. If the cause already has an item, Raise
// increments the item's count and updates its texts. A resolved item is reopened. An
// acknowledged or snoozed item keeps its state unless the severity rises. If the occurrence is the
// one that the item was last raised for (see NewItem.At), the item returns to what it was before
// Wardroom resolved it.
//
// Raise records an event if anything changed or a new occurrence was counted. It fails for an invalid
// kind, severity, or cause, but accepts any text.
func (s *Service) Raise(ctx context.Context, tx *db.Tx, m NewItem) error {
	if err := s.raise(ctx, tx, m); err != nil {
		return fmt.Errorf("raise %.200q in the inbox: %w", m.Cause, err)
	}
	return nil
}

func (s *Service) raise(ctx context.Context, tx *db.Tx, m NewItem) error {
	if err := m.check(); err != nil {
		return err
	}
	now := s.Now()
	old, err := ofCause(ctx, tx, m.Cause)
	if errors.Is(err, ErrNotFound) {
		made := m.open(db.NewID(), now)
		if err := insert(ctx, tx, made); err != nil {
			return err
		}
		return s.record(ctx, tx, raised, made, nil)
	}
	if err != nil || m.Once && (m.Run == nil || old.Run == nil || old.Run.RunID == m.Run.RunID) {
		return err
	}
	before := old
	if m.isLast(old) && old.State == Resolved {
		if old.Resolution.By.ID != actor.System.ID {
			return nil
		}
		if before, err = unresolved(ctx, tx, old); err != nil {
			return fmt.Errorf("read how the item was before it was resolved: %w", err)
		}
	}
	i, kind := before.repeat(m, now), repeated
	changes := i.changes(old)
	if len(changes) > 0 {
		i.Version++ // a mere repeat keeps the version, so a client's If-Match stays valid
	} else if i.Count == old.Count {
		return nil
	}
	if old.State == Resolved || i.State == Open && old.State != Open {
		kind = reopened
	}
	if err := update(ctx, tx, i); err != nil {
		return err
	}
	return s.record(ctx, tx, kind, i, changes)
}

// unresolved returns a resolved item in the state that it had before. It is open if that is unknown.
func unresolved(ctx context.Context, q db.Queryer, i Item) (Item, error) {
	var data string
	err := q.QueryRow(ctx, `SELECT data FROM events WHERE subject_id = ? AND kind = ? ORDER BY id DESC LIMIT 1`,
		i.ID, resolved).Scan(&data)
	i = i.to(Open)
	if db.IsNotFound(err) {
		return i, nil
	}
	var event struct {
		Changes struct {
			State        []State       `json:"state"`
			SnoozedUntil []*clock.Time `json:"snoozed_until"`
		} `json:"changes"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &event)
	}
	if was := event.Changes; err == nil && len(was.State) > 0 {
		i.State = was.State[0]
		if len(was.SnoozedUntil) > 0 {
			i.SnoozedUntil = was.SnoozedUntil[0]
		}
	}
	return i, err
}

// ResolveCause resolves the item that was raised for the given cause, with why as the resolution's
// note. It has no effect if there is no such item or it is already resolved.
func (s *Service) ResolveCause(ctx context.Context, tx *db.Tx, cause, why string) error {
	if err := s.resolveCause(ctx, tx, cause, why); err != nil {
		return fmt.Errorf("resolve %.200q in the inbox: %w", cause, err)
	}
	return nil
}

func (s *Service) resolveCause(ctx context.Context, tx *db.Tx, cause, why string) error {
	old, err := ofCause(ctx, tx, plaintext.Lines(cause))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.change(actor.With(ctx, actor.System), tx, old, resolved, resolve(markdown(why, maxNote)))
	return err
}

// ResolveAbout resolves the items of the given kinds about a subject, on behalf of the actor in ctx.
// The note may have any length; it is truncated. ResolveAbout has no effect if there are no such items
// or all of them are already resolved.
func (s *Service) ResolveAbout(ctx context.Context, tx *db.Tx, subjectID, note string, kinds ...Kind) error {
	return s.changeAbout(ctx, tx, subjectID, kinds, resolved, resolve(markdown(note, maxNote)))
}

// AckAbout acknowledges the unresolved items of the given kinds about a subject, on behalf of the
// actor in ctx.
func (s *Service) AckAbout(ctx context.Context, tx *db.Tx, subjectID string, kinds ...Kind) error {
	return s.changeAbout(ctx, tx, subjectID, kinds, acked, ack)
}

func (s *Service) changeAbout(
	ctx context.Context, tx *db.Tx, subjectID string, kinds []Kind, kind string, d action,
) error {
	all, err := unresolvedAbout(ctx, tx, subjectID, kinds)
	if err != nil {
		return fmt.Errorf("find inbox items about %s: %w", subjectID, err)
	}
	for _, old := range all {
		if _, err := s.change(ctx, tx, old, kind, d); err != nil {
			return fmt.Errorf("change inbox item %s: %w", old.ID, err)
		}
	}
	return nil
}

// Filter selects the items to list. The zero Filter selects all items that are open or acknowledged.
type Filter struct {
	States     []State
	Kinds      []Kind
	Severities []Severity
	Assignee   string // a user's ID or email, an agent_id, "me", or "none"; empty means any
	// NeedsMe selects the items that need the actor in the context: those assigned to them, and the
	// unassigned ones that are not acknowledged.
	NeedsMe bool
}

// List returns one page of the items that match the filter.
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

// Ack acknowledges an item. Like the other actions, it fails with ErrStale if
// version is not nil and the item has changed since that version.
func (s *Service) Ack(ctx context.Context, id string, version *int64) (Item, error) {
	return s.do(ctx, id, version, acked, ack)
}

// Snooze hides an item until the given time, at most 90 days from now.
func (s *Service) Snooze(ctx context.Context, id string, until time.Time, version *int64) (Item, error) {
	return s.do(ctx, id, version, snoozed, snooze(until))
}

// Assign assigns an item to the human with the given ID or email. If to is nil, it unassigns the
// item.
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

// Resolve resolves an item with an optional note. If its cause recurs, the item
// reopens.
func (s *Service) Resolve(ctx context.Context, id, note string, version *int64) (Item, error) {
	return s.do(ctx, id, version, resolved, resolve(note))
}

// Reopen reopens an item from any state.
func (s *Service) Reopen(ctx context.Context, id string, version *int64) (Item, error) {
	return s.do(ctx, id, version, reopened, reopen)
}

// do applies the caller's action to an item.
func (s *Service) do(ctx context.Context, id string, version *int64, kind string, d action) (Item, error) {
	return db.Do(ctx, s.DB, kind, func(tx *db.Tx) (Item, error) {
		old, err := find(ctx, tx, id)
		if err == nil {
			err = ErrStale.Unless(version, old.Version, "item")
		}
		if err != nil {
			return Item{}, err
		}
		return s.change(ctx, tx, old, kind, d)
	})
}

// change applies an action to the item old, which the caller must have read in the same
// transaction. It records an event if the action changed anything.
func (s *Service) change(ctx context.Context, tx *db.Tx, old Item, kind string, d action) (Item, error) {
	now := s.Now()
	i, err := d(old.at(now), actor.From(ctx), now)
	if err != nil {
		return Item{}, err
	}
	changes := i.changes(old.at(now))
	if len(changes) == 0 {
		return i, nil
	}
	i.Version++
	if err := update(ctx, tx, i); err != nil {
		return Item{}, err
	}
	return i, s.recordBy(ctx, tx, kind, i, changes)
}

// EndSnoozes is a periodic job that reopens the items whose snooze has ended and records
// an event for each. Lists show such items as open even before the job runs.
func (s *Service) EndSnoozes(ctx context.Context) error {
	for {
		// Check first, or an idle inbox would start a write every few seconds.
		due, err := dueSnoozes(ctx, s.DB, s.Now(), batch)
		if err != nil || len(due) == 0 {
			return err
		}
		err = s.DB.Tx(ctx, func(tx *db.Tx) error {
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

// wake reopens an item whose snooze has ended. It does nothing if the item has changed in the meantime.
func (s *Service) wake(ctx context.Context, tx *db.Tx, id string) error {
	old, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	i := old.at(s.Now())
	changes := i.changes(old)
	if err != nil || len(changes) == 0 {
		return err
	}
	i.Version++
	if err := update(ctx, tx, i); err != nil {
		return err
	}
	return s.record(ctx, tx, woken, i, changes)
}

// CountResolved returns how many items were resolved before the given time, and the
// earliest time at which one of them was resolved. That time is zero if there are no such
// items.
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

// PurgeResolved deletes up to limit items that were resolved before the given time, oldest
// first. It uses the caller's transaction and returns the number of deleted items. If the
// cause of a deleted item recurs, a new item is created.
func (s *Service) PurgeResolved(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	n, err := purgeResolved(ctx, tx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("remove resolved items of the inbox: %w", err)
	}
	return n, nil
}

// eventItem is an item as stored in events. It omits the detail, because the detail may be long.
type eventItem struct {
	Item

	Detail *struct{} `json:"detail,omitempty"` // hides Item.Detail
}

// record writes an event about a change that Wardroom itself made.
func (s *Service) record(ctx context.Context, tx *db.Tx, kind string, i Item, changes map[string][2]any) error {
	return s.recordBy(actor.With(ctx, actor.System), tx, kind, i, changes)
}

func (s *Service) recordBy(ctx context.Context, tx *db.Tx, kind string, i Item, changes map[string][2]any) error {
	if changes == nil {
		changes = map[string][2]any{}
	}
	about := event.Subject{Kind: event.TopicInbox, ID: i.ID, Name: i.Title}
	return event.Record(ctx, tx, s.Now(), event.Activity, kind, about, map[string]any{
		"item": eventItem{Item: i}, "changes": changes,
	})
}

// wanted returns the states that the filter selects, as a set.
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
