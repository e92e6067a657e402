package session

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Runtime is the part of the gateway that the sessions need.
type Runtime interface {
	Connection() (id any, err error)
	Events(buffer int) (events <-chan gateway.Event, stop func()) // begins with EventConnected while there is a connection
	SessionOf(e gateway.Event) (gateway.SessionChange, bool)
	SubscribeSessions(ctx context.Context) error
	ListSessions(ctx context.Context, most int) (gateway.Sessions, error)
	Session(ctx context.Context, key string) (gateway.Session, bool, error)
	Usage(ctx context.Context) (gateway.SessionUsage, error)
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
	TurnsBefore(ctx context.Context, sessionKey string, limit int, offset, total, seq int64) (gateway.TurnPage, error)
	MessageEvent(e gateway.Event) (gateway.MessageEvent, bool)
}

// Service shows the sessions. Nothing is read until Run; its exported fields
// are not changed after.
type Service struct {
	Runtime  Runtime
	Log      *slog.Logger
	Now      func() time.Time
	Patience time.Duration // how long a reader waits for the list; the gateway's own limit for one request
	// Changed, when not nil, is told which sessions are new or other than before,
	// and the keys of those that are gone: at once, and of each at most once every
	// 250 ms, as it is by then. It is called by one goroutine, one after another, and
	// may take its time. A gateway that goes away is no change.
	Changed func(changed []Session, gone []string)
	// Read, when not nil, is given all sessions after each reading of the list, and at
	// most twice a second as events have changed them; and the sessions for which
	// totals have come, if these are fresh: counted is nil else. What it gets it must
	// not change, and it must be quick: the next reading waits for it.
	Read func(rows []gateway.Session, counted *gateway.SessionUsage)

	// Noted, when not nil, answers what the usage ledger has of transcripts, by their
	// ids. It is asked after LedgerGrown.
	Noted func(ctx context.Context, transcripts []string) (map[string]Noted, error)

	// What follows is for sending and stopping (control.go).
	Controls Controls
	DB       *db.DB

	// What follows is for the live tail (tail.go). Followed are the sessions of
	// which somebody wants to hear what is said, and Tell tells them. Neither waits.
	Followed func() []string
	Tell     func(sessionKey string, n News)

	// StalledAfter is how long a run may tell nothing of itself before it counts as
	// stalled; zero is for ever. Raise and Settle bring such runs to whoever sees to
	// them; without a DB nobody hears of them. Away, when given, tells whether an
	// error says that the database cannot be used at the moment.
	StalledAfter time.Duration
	Raise        func(ctx context.Context, tx *db.Tx, m Matter) error
	Settle       func(ctx context.Context, tx *db.Tx, cause, why string) error
	Away         func(error) bool

	mirror mirror
	signs  signs
	pages  shared[pageOf, gateway.TurnPage]
	sought shared[string, sought]
	reads  allowance
}

// List is the sessions that the filter takes, from behind a position on, at
// most limit of them. left says how many the runtime has that are not looked at.
func (s *Service) List(ctx context.Context, f Filter, after *position, limit int) (page []Session, left int, err error) {
	shown, err := s.current(ctx)
	if err != nil {
		return nil, 0, err
	}
	from := 0
	if after != nil {
		from, _ = slices.BinarySearchFunc(shown.rows, *after, func(r row, p position) int {
			if r.position().before(p) <= 0 {
				return -1
			}
			return 1
		})
	}
	for i := from; i < len(shown.rows) && len(page) < limit; i++ {
		if r := &shown.rows[i]; f.takes(r) {
			page = append(page, s.present(r))
		}
	}
	return page, shown.left, nil
}

// Get is one session.
func (s *Service) Get(ctx context.Context, key string) (Session, error) {
	shown, err := s.current(ctx)
	if err != nil {
		return Session{}, err
	}
	if i, ok := shown.find(key); ok {
		return s.present(&shown.rows[i]), nil
	}
	// Only the gateway knows those that the list leaves out: archived ones, and
	// the oldest of very many.
	answered, err := s.reads.ask(ctx, time.Now())
	if err != nil {
		return Session{}, err
	}
	defer answered()
	asOf := clock.At(s.Now())
	g, err := s.sought.read(ctx, key, func() (sought, error) {
		g, ok, err := s.Runtime.Session(ctx, key)
		return sought{g, ok}, err
	})
	if err != nil {
		return Session{}, err
	}
	if !g.there {
		return Session{}, ErrNotFound.With("The runtime has no session %q. GET /agentrt/sessions lists those it has.", key)
	}
	return s.present(&row{Session: g.Session, asOf: asOf}), nil
}

// sought is what the gateway says of a session that is in no list.
type sought struct {
	gateway.Session
	there bool
}

// Doubt says that the gateway may have changed what was read without telling, as
// one does that has stopped answering: readers get nothing until it has been
// read anew.
func (s *Service) Doubt() {
	s.mirror.lock()
	defer s.mirror.mu.Unlock()
	s.mirror.mark()
}

// Activities is what the sessions tell of each agent that has any, and of when
// that is. It fails while the sessions cannot be read.
func (s *Service) Activities(ctx context.Context) (asOf clock.Time, byAgent map[string]Activity, err error) {
	shown, err := s.current(ctx)
	if err != nil {
		return clock.Time{}, nil, err
	}
	return shown.asOf, s.stalled(shown), nil
}
