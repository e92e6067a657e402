package session

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/shared"
	"wardroom/internal/usage"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	Connection() (id any, err error)
	SubscribeSessions(ctx context.Context) error
	ListSessions(ctx context.Context, most int) (gateway.Sessions, error)
	Session(ctx context.Context, key string) (gateway.Session, bool, error)
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
	TurnsBefore(ctx context.Context, sessionKey string, limit int, offset, total, seq int64) (gateway.TurnPage, error)
}

// Service provides access to the runtime's sessions. It reads no data before Run is called, and its
// exported fields must not change after that.
type Service struct {
	Runtime  Runtime
	Log      *slog.Logger
	Now      func() time.Time
	Patience time.Duration // how long a request waits for the list, like one request to the gateway
	// Events sends new, changed and removed sessions to live streams, and new messages to those that
	// follow their session. A changed session is sent immediately, but at most once every 250 ms, with
	// its latest state. Losing the connection does not count as a change.
	Events *event.Service
	// Lists receives all sessions after each read of the session list and, at most
	// twice a second, after events.
	Lists *mirror.Sessions
	Usage *usage.Service // has their tokens and costs

	// Controls and DB are used to send messages and to stop runs (send_stop.go).
	Controls Controls
	DB       *db.DB
	Holds    *hold.Service

	// StalledAfter is how long a run can be without activity before Wardroom considers it
	// stalled; zero disables the check. Inbox receives items about stalled runs and loops.
	StalledAfter time.Duration
	Inbox        *inbox.Service

	mirror   sessionMirror
	messages messageRelay
	activity activityLog
	pages    shared.Reads[pageOf, gateway.TurnPage]
	lookups  shared.Reads[string, foundSession]
	reads    rateLimiter
}

// List returns at most limit sessions that match the filter, starting after the given position. It
// also returns how many sessions the mirror omits because there are too many.
func (s *Service) List(
	ctx context.Context, f Filter, after *position, limit int,
) (page []Session, left int, err error) {
	shown, err := s.current(ctx)
	if err != nil {
		return nil, 0, err
	}
	from := 0
	if after != nil {
		from, _ = slices.BinarySearchFunc(shown.rows, *after, func(r row, p position) int {
			if r.position().compare(p) <= 0 {
				return -1
			}
			return 1
		})
	}
	for i := from; i < len(shown.rows) && len(page) < limit; i++ {
		if r := &shown.rows[i]; f.matches(r) {
			page = append(page, s.apiSession(r))
		}
	}
	return page, shown.left, nil
}

// Overview returns the sessions that show what each agent does and did: those with an active run,
// the one used last, apart from those of sub-agents, and those whose last run has failed since the
// given time. It returns active sessions first, then the most recently used.
func (s *Service) Overview(ctx context.Context, since time.Time) ([]Session, error) {
	shown, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	seen, all := map[string]bool{}, []Session{}
	for i := range shown.rows {
		r := &shown.rows[i]
		failed := (r.Status == "failed" || r.Status == "timeout") && !r.UpdatedAt.Before(since)
		latest := !r.Active && r.Kind != "subagent" && !seen[r.AgentID]
		if r.Active || failed || latest {
			all = append(all, s.apiSession(r))
		}
		seen[r.AgentID] = seen[r.AgentID] || latest
	}
	return all, nil
}

// Get returns one session.
func (s *Service) Get(ctx context.Context, key string) (Session, error) {
	shown, err := s.current(ctx)
	if err != nil {
		return Session{}, err
	}
	if i, ok := shown.find(key); ok {
		return s.apiSession(&shown.rows[i]), nil
	}
	// The list omits archived sessions and, if there are too many sessions, the oldest ones.
	answered, err := s.reads.acquire(ctx, time.Now())
	if err != nil {
		return Session{}, err
	}
	defer answered()
	asOf := clock.At(s.Now())
	g, err := s.lookups.Read(ctx, key, func(ctx context.Context) (foundSession, error) {
		g, ok, err := s.Runtime.Session(ctx, key)
		return foundSession{g, ok}, err
	})
	if err != nil {
		return Session{}, err
	}
	if !g.there {
		return Session{}, ErrNotFound.With(
			"The runtime has no session %q. GET /agentrt/sessions lists the available sessions.", key,
		)
	}
	return s.apiSession(&row{Session: g.Session, asOf: asOf}), nil
}

// CountUsed returns how many of an agent's sessions were used since the given time, without those of
// standups.
func (s *Service) CountUsed(ctx context.Context, agentID string, since time.Time) (int, error) {
	const most = 1000
	seen, _, err := s.List(ctx, Filter{AgentID: agentID}, nil, most)
	n := 0
	for _, one := range seen {
		used := one.Active || one.UpdatedAt != nil && !one.UpdatedAt.Before(since)
		if used && !strings.HasPrefix(one.Key, "agent:"+agentID+":standup:") {
			n++
		}
	}
	return n, err
}

// foundSession is the gateway's response about a session that the session list does not contain.
type foundSession struct {
	gateway.Session
	there bool
}

// Doubt marks the mirror as possibly outdated, so that later requests wait until the session list has been read again.
// Call it, for example, when the gateway has stopped responding.
func (s *Service) Doubt() {
	s.mirror.lock()
	defer s.mirror.mu.Unlock()
	s.mirror.invalidate()
}

// Activities returns the activity of each agent that has sessions, as of the time asOf.
// It fails while the sessions cannot be read.
func (s *Service) Activities(ctx context.Context) (asOf clock.Time, byAgent map[string]Activity, err error) {
	shown, err := s.current(ctx)
	if err != nil {
		return clock.Time{}, nil, err
	}
	return shown.asOf, s.withStalled(shown), nil
}
