package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// This file writes data about requests in the background: when API keys and devices were
// last used, and audit events about logins.

const (
	// noteInterval is the minimum time between two writes of the same key's last use, and between
	// two events for the same audit entry.
	noteInterval = time.Minute
	// finalTimeout limits the last write when the service stops.
	finalTimeout = 5 * time.Second
	// maxEntries is the maximum number of distinct audit entries per minute. Further ones share one
	// entry, so that requests from very many addresses cannot fill the disk.
	maxEntries = 60
	// maxAddresses is the maximum number of addresses in one event.
	maxAddresses = 10
)

// notes holds the last use of each API key and device, and new audit entries in memory until Service.Run writes
// them to the database. The zero value is ready to use.
type notes struct {
	mu      sync.Mutex
	uses    map[use]time.Time
	entries map[auditEntry]*auditCount
	wake    chan struct{} // wakes Run for a new entry
}

// use identifies an API key or a device that was used.
type use struct {
	device bool
	tools  bool // the key called the tools for agents
	id     string
}

// auditEntry identifies occurrences that are counted together because they can be frequent, such as
// failed logins to one account. Repeated occurrences within a minute share one event with a count.
type auditEntry struct {
	kind   string // the kind of the event
	about  event.Subject
	by     actor.Actor
	reason string
}

// auditCount counts the occurrences of an auditEntry.
type auditCount struct {
	count       int
	first, last time.Time
	addresses   []string   // the first maxAddresses different addresses
	from        netip.Addr // the address of the last occurrence
	written     bool       // whether an event was recorded in this minute
}

// used records that a key or device was used, unless a use within the given interval before now is
// already stored.
func (n *notes) used(what use, last *clock.Time, now time.Time, interval time.Duration) {
	if last != nil && now.Sub(last.Time) < interval && last.Sub(now) < clock.Skew {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uses == nil {
		n.uses = map[use]time.Time{}
	}
	n.uses[what] = now
}

// note counts one occurrence of an audit entry. It does not wait for the database, because
// otherwise the response time would reveal whether an account exists.
func (n *notes) note(what auditEntry, from netip.Addr, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.entries == nil {
		n.entries = map[auditEntry]*auditCount{}
	}
	if n.entries[what] == nil && len(n.entries) >= maxEntries {
		what = auditEntry{
			kind: what.kind, by: actor.Anonymous, about: event.Subject{Kind: "address", ID: "others", Name: "many others"},
		}
	}
	one := n.entries[what]
	if one == nil {
		one = &auditCount{}
		n.entries[what] = one
	}
	if one.count == 0 {
		one.first, one.addresses = now, nil
	}
	one.count++
	one.last, one.from = now, from
	if a := from.String(); from.IsValid() && len(one.addresses) < maxAddresses && !slices.Contains(one.addresses, a) {
		one.addresses = append(one.addresses, a)
	}
	if !one.written {
		select {
		case n.waking() <- struct{}{}:
		default:
		}
	}
}

// waking returns the channel that wakes Run. The caller must hold n.mu.
func (n *notes) waking() chan struct{} {
	if n.wake == nil {
		n.wake = make(chan struct{}, 1)
	}
	return n.wake
}

func (n *notes) woken() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.waking()
}

func (n *notes) takeUses() map[use]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.uses
	n.uses = nil
	return taken
}

// takeEntries returns the entries that have occurred since they were last taken, and resets their
// counts. Unless all is true, it omits entries for which an event was already recorded in the
// current minute. At the end of each minute, Run calls it with all set to true.
func (n *notes) takeEntries(all bool) map[auditEntry]auditCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := map[auditEntry]auditCount{}
	for what, one := range n.entries {
		switch {
		case one.count == 0 && all:
			delete(n.entries, what)
		case one.count == 0 || one.written && !all:
		default:
			taken[what] = *one
			one.count, one.written = 0, true
		}
	}
	return taken
}

// Run regularly saves recorded uses of API keys and devices, and audit entries, from memory to the database. When
// ctx ends, it writes the rest and returns nil. It logs failed writes. Every process must call it.
func (s *Service) Run(ctx context.Context) error {
	every := s.NoteEvery
	if every == 0 {
		every = noteInterval
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.notes.woken():
			if ctx.Err() == nil { // otherwise the last write saves the entries
				s.warn(ctx, s.writeEntries(context.WithoutCancel(ctx), false))
			}
		case <-tick.C:
			s.warn(ctx, errors.Join(s.writeUses(ctx), s.writeEntries(ctx, true)))
		case <-ctx.Done():
			last, done := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
			defer done()
			s.warn(ctx, errors.Join(s.writeUses(last), s.writeEntries(last, true)))
			return nil
		}
	}
}

func (s *Service) warn(ctx context.Context, err error) {
	if err != nil && s.Log != nil {
		s.Log.WarnContext(ctx, "could not write uses of keys and devices, and login events; they are lost",
			slog.Any("err", err))
	}
}

// writeUses stores the time at which each key and device was last used, all in one transaction. If the
// transaction fails, these times are lost.
func (s *Service) writeUses(ctx context.Context) error {
	uses := s.notes.takeUses()
	if len(uses) == 0 {
		return nil
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for what, used := range uses {
			touch := touchKey
			switch {
			case what.device:
				touch = touchDevice
			case what.tools:
				touch = touchTools
			}
			if err := touch(ctx, tx, what.id, used); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the uses of keys and devices: %w", err)
	}
	return nil
}

// writeEntries records one audit event for each entry that takeEntries returns, ordered by the time
// of the last occurrence.
func (s *Service) writeEntries(ctx context.Context, all bool) error {
	entries := s.notes.takeEntries(all)
	if len(entries) == 0 {
		return nil
	}
	order := slices.SortedFunc(maps.Keys(entries), func(a, b auditEntry) int {
		if c := entries[a].last.Compare(entries[b].last); c != 0 {
			return c
		}
		return strings.Compare(a.kind+a.about.ID+a.reason, b.kind+b.about.ID+b.reason)
	})
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, what := range order {
			if err := what.record(ctx, tx, entries[what]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record %d audit events of logins: %w", len(entries), err)
	}
	return nil
}

func (what auditEntry) record(ctx context.Context, tx *db.Tx, how auditCount) error {
	ctx = actor.With(actor.Through(ctx, actor.Origin{Via: actor.ViaAPI, Address: how.from}), what.by)
	data := map[string]any{"count": how.count}
	if what.reason != "" {
		data["reason"] = what.reason
	}
	if how.count > 1 {
		data["since"], data["addresses"] = clock.At(how.first), how.addresses
	}
	return event.Record(ctx, tx, how.last, event.Audit, what.kind, what.about, data)
}

// Kinds of events about logins.
const (
	loginSucceeded = "login.succeeded"
	loginFailed    = "login.failed"
	loginThrottled = "login.throttled"
	loginEnded     = "login.ended"
)

// recordFailure notes a failed attempt by a client that is not signed in. The event's subject is
// the account, if it is known, or else the client's address. The email that was entered is not
// stored, because people sometimes type their password into the email field.
func (s *Service) recordFailure(kind, reason string, tried User, from netip.Addr) {
	about := event.Subject{Kind: "user", ID: tried.ID, Name: tried.Name}
	if tried.ID == "" {
		name := addressName(from)
		about = event.Subject{Kind: "address", ID: name, Name: name}
	}
	s.notes.note(auditEntry{kind: kind, about: about, by: actor.Anonymous, reason: reason}, from, s.Now())
}

// addressName returns the name under which failed attempts from an IP address are audited: the
// address itself for IPv4, and its /64 network for IPv6.
func addressName(from netip.Addr) string {
	switch from = from.Unmap().WithZone(""); {
	case !from.IsValid():
		return "unknown"
	case from.Is6():
		return netip.PrefixFrom(from, 64).Masked().String()
	}
	return from.String()
}
