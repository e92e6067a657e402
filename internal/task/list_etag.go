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

// listETag returns an identifier for the board's state. As long as the
// identifier stays the same, a repeated request for a list returns the same
// tasks. It contains event.TaskVersion, which changes with every change
// to a task or to a name that tasks show. It also contains the time at which a
// claim last expired, because no event is recorded when a claim expires, and the
// zone in which due days end.
//
// Callers must get the identifier before they read the list. The list can then
// be newer than its ETag, which only causes one unnecessary read by the client.
func (s *Service) listETag(ctx context.Context) (string, error) {
	version := actor.From(ctx).TaskVersion
	if version == "" {
		var err error
		if version, err = event.ReadTaskVersion(ctx, s.DB.Brief()); err != nil {
			return "", err
		}
	}
	ended, err := s.claimEnds.last(ctx, s.DB.Brief(), version, s.Now())
	zone := ""
	if s.Zone != nil {
		zone = s.Zone.String()
	}
	return version + "/" + strconv.FormatInt(ended, 10) + "/" + zone, err
}

// claimEnds caches the time at which a claim last expired. The cached time is
// valid until the next claim expires or event.TaskVersion changes.
type claimEnds struct {
	mu      sync.Mutex
	version string // event.TaskVersion
	ended   int64  // microseconds since 1970; 0 means never
	from    time.Time
	next    *clock.Time // when the next claim expires; nil means never
}

// last returns the time when a claim last expired, in microseconds since 1970.
func (e *claimEnds) last(ctx context.Context, q db.Queryer, version string, now time.Time) (int64, error) {
	e.mu.Lock()
	if e.version == version && !now.Before(e.from) && (e.next == nil || now.Before(e.next.Time)) {
		defer e.mu.Unlock()
		return e.ended, nil
	}
	e.mu.Unlock()
	var ended, next *clock.Time
	err := q.QueryRow(ctx, `
		SELECT (SELECT MAX(claim_until) FROM tasks WHERE claim_until IS NOT NULL AND claim_until <= ?),
			(SELECT MIN(claim_until) FROM tasks WHERE claim_until IS NOT NULL AND claim_until > ?)`, now, now).Scan(&ended,
		&next)
	if err != nil {
		return 0, fmt.Errorf("read which claims have ended: %w", err)
	}
	var micros int64
	if ended != nil {
		micros = ended.UnixMicro()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.version, e.ended, e.from, e.next = version, micros, now, next
	return micros, nil
}
