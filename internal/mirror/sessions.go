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
	Rows   []gateway.Session
	At     clock.Time            // when Rows were received; zero before the first list
	Totals *gateway.SessionUsage // the last fresh totals; nil before the first ones
	// Skipped are the sessions of lists that were never taken, and that Rows no longer has.
	Skipped []gateway.Session
}

// Sessions passes the latest list of the runtime's sessions from the reader that maintains it to
// the readers that store it. The zero value is ready to use.
type Sessions struct {
	mu    sync.Mutex
	list  List
	taken bool
	// woken at each new list, and at new totals
	atList, atTotals []*Signal
}

// WakeAtList makes every new list wake w.
func (s *Sessions) WakeAtList(w *Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atList = append(s.atList, w)
}

// WakeAtTotals makes every new set of totals wake w.
func (s *Sessions) WakeAtTotals(w *Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atTotals = append(s.atTotals, w)
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
	wakeAll(s.atList)
}

// PutTotals stores new totals.
func (s *Sessions) PutTotals(totals *gateway.SessionUsage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Totals = totals
	wakeAll(s.atTotals)
}

// Wake wakes the readers of the list, for example after their database was unavailable.
func (s *Sessions) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	wakeAll(s.atList)
}

func wakeAll(signals []*Signal) {
	for _, w := range signals {
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

// LedgerTotals holds a transcript's totals according to the usage ledger.
type LedgerTotals struct {
	gateway.Totals
	Version int64 // the gateway.Session.Version up to which the ledger is complete
	Copied  bool  // the transcript started as a copy, so the runtime counts more than the ledger
}
