package task

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// mark names the state that the board is in: two lists of the same question
// that were read at the same mark show the same. Whatever changes tasks, or the
// names of those in them, is in the log, whose mark was read with the caller.
// Only claims end without anybody doing anything: the last one that has ended is
// in the mark until it is noted in the log.
//
// Read it before the list: a list that is newer than its mark is only read
// once more than needed.
func (s *Service) mark(ctx context.Context) (string, error) {
	asOf := actor.From(ctx).AsOf
	if asOf == "" {
		m, err := event.ReadMark(ctx, s.DB.Brief())
		if err != nil {
			return "", err
		}
		asOf = m.String()
	}
	ended, err := s.endings.last(ctx, s.DB.Brief(), asOf, s.Now())
	return asOf + "/" + strconv.FormatInt(ended, 10), err
}

// endings remember when the last claim ended, and until when that remains so if
// nobody does anything: then the log has another mark.
type endings struct {
	mu    sync.Mutex
	asOf  string
	ended int64 // in microseconds since 1970; 0 is never
	from  time.Time
	next  *clock.Time // nil is never
}

// last is when the last claim has ended that ended by now.
func (e *endings) last(ctx context.Context, q db.Queryer, asOf string, now time.Time) (int64, error) {
	e.mu.Lock()
	if e.asOf == asOf && !now.Before(e.from) && (e.next == nil || now.Before(e.next.Time)) {
		defer e.mu.Unlock()
		return e.ended, nil
	}
	e.mu.Unlock()
	var ended, next *clock.Time
	err := q.QueryRow(ctx, `
		SELECT (SELECT MAX(claim_until) FROM tasks WHERE claim_until IS NOT NULL AND claim_until <= ?),
			(SELECT MIN(claim_until) FROM tasks WHERE claim_until IS NOT NULL AND claim_until > ?)`, now, now).Scan(&ended, &next)
	if err != nil {
		return 0, fmt.Errorf("read which claims have ended: %w", err)
	}
	var micros int64
	if ended != nil {
		micros = ended.UnixMicro()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asOf, e.ended, e.from, e.next = asOf, micros, now, next
	return micros, nil
}
