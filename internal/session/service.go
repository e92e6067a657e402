package session

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	Connection() (id any, err error)
	Events(buffer int) (events <-chan gateway.Event, stop func()) // starts with EventConnected if there is a connection
	SessionOf(e gateway.Event) (gateway.SessionChange, bool)
	SubscribeSessions(ctx context.Context) error
	ListSessions(ctx context.Context, most int) (gateway.Sessions, error)
	Session(ctx context.Context, key string) (gateway.Session, bool, error)
	Usage(ctx context.Context) (gateway.SessionUsage, error)
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
	TurnsBefore(ctx context.Context, sessionKey string, limit int, offset, total, seq int64) (gateway.TurnPage, error)
	MessageEvent(e gateway.Event) (gateway.MessageEvent, bool)
}

// Service provides access to the runtime's sessions. It reads no data before Run is called, and its
// exported fields must not change after that.
type Service struct {
	Runtime  Runtime
	Log      *slog.Logger
	Now      func() time.Time
	Patience time.Duration // how long a request waits for the list, like one request to the gateway
	// Changed, if not nil, is called with new and changed sessions and with the keys of removed ones. It is called
	// immediately, but at most once every 250 ms for each session, with the session's latest state. Calls do not
	// overlap and may block. Losing the connection does not count as a change.
	Changed func(changed []Session, gone []string)
	// Read, if not nil, is called with all sessions after each read of the session list and, at
	// most twice a second, after events. It is also called when new usage totals arrive. In that
	// case counted contains them; otherwise it is nil. Read must not change its arguments. It must
	// return quickly, because the next read of the list waits for it.
	Read func(rows []gateway.Session, counted *gateway.SessionUsage)

	// Noted, if not nil, returns the usage ledger's totals for the given transcripts, by transcript
	// ID. It is called after LedgerGrown.
	Noted func(ctx context.Context, transcripts []string) (map[string]Noted, error)

	// Controls and DB are used to send messages and to stop runs (send_stop.go).
	Controls Controls
	DB       *db.DB

	// Followed returns the sessions whose messages clients follow, and Tell sends a
	// message to those clients (live_messages.go). Neither blocks.
	Followed func() []string
	Tell     func(sessionKey string, n News)

	// StalledAfter is how long a run can be without activity before Wardroom considers it
	// stalled; zero disables the check. Raise adds an inbox item for a stalled run, and
	// Resolve resolves it; both require DB. Away, if not nil, reports whether an error
	// means that the database is unavailable.
	StalledAfter time.Duration
	Raise        func(ctx context.Context, tx *db.Tx, m inbox.NewItem) error
	Resolve      func(ctx context.Context, tx *db.Tx, cause, why string) error
	Away         func(error) bool

	mirror   mirror
	activity activityLog
	pages    sharedReads[pageOf, gateway.TurnPage]
	lookups  sharedReads[string, foundSession]
	reads    rateLimiter
}

// List returns at most limit sessions that match the filter, starting after the given position. It
// also returns how many sessions the mirror omits because there are too many.
func (s *Service) List(ctx context.Context, f Filter, after *position, limit int) (page []Session, left int, err error) {
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
	g, err := s.lookups.read(ctx, key, func() (foundSession, error) {
		g, ok, err := s.Runtime.Session(ctx, key)
		return foundSession{g, ok}, err
	})
	if err != nil {
		return Session{}, err
	}
	if !g.there {
		return Session{}, ErrNotFound.With("The runtime has no session %q. GET /agentrt/sessions lists the available sessions.", key)
	}
	return s.apiSession(&row{Session: g.Session, asOf: asOf}), nil
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
