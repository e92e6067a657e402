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

// What requests leave behind without waiting for the database: that a key was
// used, and what the audit tells of logins.

const (
	// noteTime is how often a use of a key is written at most, and how late; and
	// how often the audit tells of the same thing again.
	noteTime = time.Minute
	// lastNotes is how long the last notes may take when the service stops.
	lastNotes = 5 * time.Second
	// mostSights is how many things are kept apart in a minute. Beyond it they
	// are counted together: with a million addresses nobody can fill the disk.
	mostSights = 60
	// mostAddresses is how many addresses one event names.
	mostAddresses = 10
)

// notes are kept in memory until Run writes them. The zero notes are ready.
type notes struct {
	mu     sync.Mutex
	uses   map[string]time.Time // of keys, by their id
	sights map[sight]*sighted
	wake   chan struct{} // tells Run of something new
}

// sight is something that may happen a thousand times a minute, such as a
// failed login, and is then one event with a count.
type sight struct {
	kind   string // of the event
	about  event.Subject
	by     actor.Actor
	reason string
}

// sighted is how often.
type sighted struct {
	count       int
	first, last time.Time
	addresses   []string // from where, the first ones
	from        netip.Addr
	told        bool // in this minute
}

// used notes that a key was, unless that was written less than a minute ago.
func (n *notes) used(k Key, now time.Time) {
	if k.LastUsedAt != nil && now.Sub(k.LastUsedAt.Time) < noteTime {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uses == nil {
		n.uses = map[string]time.Time{}
	}
	n.uses[k.ID] = now
}

// sight counts one more. It waits for nothing, so that an answer takes as long
// whether there is an account or not.
func (n *notes) sight(what sight, from netip.Addr, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sights == nil {
		n.sights = map[sight]*sighted{}
	}
	if n.sights[what] == nil && len(n.sights) >= mostSights {
		what = sight{kind: what.kind, by: actor.Anonymous, about: event.Subject{Kind: "address", ID: "others", Name: "many others"}}
	}
	one := n.sights[what]
	if one == nil {
		one = &sighted{}
		n.sights[what] = one
	}
	if one.count == 0 {
		one.first, one.addresses = now, nil
	}
	one.count++
	one.last, one.from = now, from
	if a := from.String(); from.IsValid() && len(one.addresses) < mostAddresses && !slices.Contains(one.addresses, a) {
		one.addresses = append(one.addresses, a)
	}
	if !one.told {
		select {
		case n.waking() <- struct{}{}:
		default:
		}
	}
}

// waking is the channel that wakes Run; the caller holds the lock.
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

func (n *notes) takeUses() map[string]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.uses
	n.uses = nil
	return taken
}

// takeSights returns what is new, or, when a minute is over, all that happened
// since it was told last.
func (n *notes) takeSights(all bool) map[sight]sighted {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := map[sight]sighted{}
	for what, one := range n.sights {
		switch {
		case one.count == 0 && all:
			delete(n.sights, what)
		case one.count == 0 || one.told && !all:
		default:
			taken[what] = *one
			one.count, one.told = 0, true
		}
	}
	return taken
}

// Run writes what was noted of requests until ctx ends, and then the rest. Each
// process runs its own. It returns nil: what cannot be written is in the log.
func (s *Service) Run(ctx context.Context) error {
	every := s.NoteEvery
	if every == 0 {
		every = noteTime
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.notes.woken():
			s.warn(ctx, s.writeSights(ctx, false))
		case <-tick.C:
			s.warn(ctx, errors.Join(s.writeUses(ctx), s.writeSights(ctx, true)))
		case <-ctx.Done():
			last, done := context.WithTimeout(context.WithoutCancel(ctx), lastNotes)
			defer done()
			s.warn(ctx, errors.Join(s.writeUses(last), s.writeSights(last, true)))
			return nil
		}
	}
}

func (s *Service) warn(ctx context.Context, err error) {
	if err != nil && s.Log != nil {
		s.Log.WarnContext(ctx, "what was noted of requests is lost", slog.Any("err", err))
	}
}

// writeUses writes the uses of keys in one transaction, in the order of their
// ids, so that two replicas do not wait for each other. What fails is lost.
func (s *Service) writeUses(ctx context.Context) error {
	uses := s.notes.takeUses()
	if len(uses) == 0 {
		return nil
	}
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(uses)) {
			if err := touchKey(ctx, tx, id, uses[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note the uses of keys: %w", err)
	}
	return nil
}

// writeSights tells the audit, in the order in which things happened.
func (s *Service) writeSights(ctx context.Context, all bool) error {
	sights := s.notes.takeSights(all)
	if len(sights) == 0 {
		return nil
	}
	order := slices.SortedFunc(maps.Keys(sights), func(a, b sight) int {
		if c := sights[a].last.Compare(sights[b].last); c != 0 {
			return c
		}
		return strings.Compare(a.kind+a.about.ID+a.reason, b.kind+b.about.ID+b.reason)
	})
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for _, what := range order {
			if err := what.record(ctx, tx, sights[what]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("tell the audit of %d kinds of logins: %w", len(sights), err)
	}
	return nil
}

func (what sight) record(ctx context.Context, tx *db.Tx, how sighted) error {
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

// The kinds of events about logins.
const (
	loginSucceeded = "login.succeeded"
	loginFailed    = "login.failed"
	loginThrottled = "login.throttled"
)

// suspect notes a failure of somebody who is not signed in. It is about the
// account that they tried, or about their address when there is none: what
// they typed is not kept, because people type their password into the wrong
// field.
func (s *Service) suspect(kind, reason string, tried User, from netip.Addr) {
	about := event.Subject{Kind: "user", ID: tried.ID, Name: tried.Name}
	if tried.ID == "" {
		name := addressName(from)
		about = event.Subject{Kind: "address", ID: name, Name: name}
	}
	s.notes.sight(sight{kind: kind, about: about, by: actor.Anonymous, reason: reason}, from, s.Now())
}

// addressName is an address as its failures are counted: in IPv6 the network.
func addressName(from netip.Addr) string {
	switch from = from.Unmap().WithZone(""); {
	case !from.IsValid():
		return "unknown"
	case from.Is6():
		return netip.PrefixFrom(from, 64).Masked().String()
	}
	return from.String()
}
