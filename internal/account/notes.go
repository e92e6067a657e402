package account

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"wardroom/internal/platform/db"
)

// What requests leave behind without waiting for the database.

const (
	// noteTime is how often a use of a key is written at most, and how late.
	noteTime = time.Minute
	// lastNotes is how long the last notes may take when the service stops.
	lastNotes = 5 * time.Second
)

// notes are kept in memory until Run writes them. The zero notes are ready.
type notes struct {
	mu   sync.Mutex
	uses map[string]time.Time // of keys, by their id
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

func (n *notes) takeUses() map[string]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.uses
	n.uses = nil
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
		case <-tick.C:
			s.writeNotes(ctx)
		case <-ctx.Done():
			last, done := context.WithTimeout(context.WithoutCancel(ctx), lastNotes)
			defer done()
			s.writeNotes(last)
			return nil
		}
	}
}

func (s *Service) writeNotes(ctx context.Context) {
	if err := s.writeUses(ctx); err != nil && s.Log != nil {
		s.Log.WarnContext(ctx, "the last uses of keys are not noted", slog.Any("err", err))
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
