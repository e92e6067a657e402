package mirror

import (
	"slices"
	"sync"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
)

// maxSkipped is the maximum number of sessions that Sessions keeps for the next Take.
const maxSkipped = 1000

// List is a list of the runtime's sessions. It must not be modified.
type List struct {
	Rows []gateway.Session
	At   clock.Time // when Rows were received; zero before the first list
	// Skipped are the sessions of lists that were never taken, and that Rows no longer has.
	Skipped []gateway.Session
}

// Sessions passes the latest list of the runtime's sessions from the reader that maintains it to
// the readers that store it. The zero value is ready to use.
type Sessions struct {
	mu     sync.Mutex
	list   List
	taken  bool
	atList []*Signal // woken at each new list
}

// WakeAtList makes every new list wake w.
func (s *Sessions) WakeAtList(w *Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atList = append(s.atList, w)
}

// Put stores a new list. It keeps the slice, so the caller must not change it.
func (s *Sessions) Put(rows []gateway.Session, at clock.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken {
		type name struct{ key, id string }
		there := make(map[name]bool, len(rows))
		for i := range rows {
			there[name{rows[i].Key, rows[i].ID}] = true
		}
		var skipped []gateway.Session
		for _, g := range slices.Concat(s.list.Rows, s.list.Skipped) { // newest first
			if n := (name{g.Key, g.ID}); !there[n] && len(skipped) < maxSkipped {
				there[n] = true
				skipped = append(skipped, g)
			}
		}
		s.list.Skipped = skipped
	}
	s.list.Rows, s.list.At, s.taken = rows, at, false
	s.wake()
}

// Wake wakes the readers of the list, for example after their database was unavailable.
func (s *Sessions) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

// wake wakes the readers of the list. The caller must hold the lock.
func (s *Sessions) wake() {
	for _, w := range s.atList {
		w.Wake()
	}
}

// Latest returns the latest list.
func (s *Sessions) Latest() List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Take returns the latest list, and whether it is new since the last call. Only one reader may call
// it, the one that must see every session.
func (s *Sessions) Take() (list List, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, fresh = s.list, !s.taken && !s.list.At.IsZero()
	s.taken, s.list.Skipped = true, nil
	return list, fresh
}

// PutBack undoes Take after a failure, so that the next call returns the same sessions again.
func (s *Sessions) PutBack(skipped []gateway.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
	if s.list.Skipped == nil {
		s.list.Skipped = skipped
	}
}
