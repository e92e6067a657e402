package archive

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/search"
	"wardroom/internal/transcript"
)

// Runtime is the part of the gateway that the archive needs.
type Runtime interface {
	Session(ctx context.Context, key string) (gateway.Session, bool, error)
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
}

// Service keeps the archive. Its exported fields are not changed after Run.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Pace    Pace
	// Away, when given, tells whether an error says that the database cannot be
	// used at the moment, and logs it.
	Away func(error) bool

	mirror mirror
}

func (s *Service) away(err error) bool { return s.Away != nil && s.Away(err) }

// Filter says which sessions to list. The zero Filter lists all of the archive.
type Filter struct {
	AgentID, Kind, Status string
	From, To              time.Time // when anything last happened in it: from From on, before To
	Text                  string    // words that are in it
	// LastKnown lists instead the sessions that the runtime had when it was last
	// heard, whether they are in the archive or not.
	LastKnown bool
}

// List is one page of the sessions, those first in which something happened last.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Archived], error) {
	var w list.Where
	if f.LastKnown {
		w.And(`present`)
	} else {
		w.And(`archived_at IS NOT NULL`)
	}
	list.Is(&w, `agent_id`, f.AgentID)
	list.Is(&w, `kind`, f.Kind)
	list.Is(&w, `status`, f.Status)
	if !f.From.IsZero() {
		w.And(`last_at >= ?`, f.From)
	}
	if !f.To.IsZero() {
		w.And(`last_at < ?`, f.To)
	}
	part := page.Part[Archived]{Rows: []Archived{}}
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		if f.Text != "" {
			condition, match, ok, err := search.Sessions(ctx, q, s.DB.Engine(), `archive_sessions.id`, f.Text)
			if err != nil || !ok {
				return err
			}
			w.And(`CAST(? AS TEXT) <> ''`, f.Text) // that the cursor belongs to
			w.Hint(condition, match)
		}
		if part, err = sessions().Read(ctx, q, w, want); err != nil {
			return err
		}
		return s.date(ctx, q, part.Rows)
	})
	return part, err
}

// date says of each row when the runtime last said so.
func (s *Service) date(ctx context.Context, q db.Queryer, rows []Archived) error {
	at, err := findReading(ctx, q)
	if err != nil {
		return fmt.Errorf("read when the runtime was heard: %w", err)
	}
	now := s.Now()
	for i := range rows {
		if a := &rows[i]; a.Present && at != nil && at.After(a.AsOf.Time) {
			a.AsOf = *at
		}
		rows[i].Age = max(int64(now.Sub(rows[i].AsOf.Time)/time.Second), 0)
	}
	return nil
}

// Get is one session.
func (s *Service) Get(ctx context.Context, id string) (Archived, error) {
	a, err := find(ctx, s.DB, id)
	if db.IsNotFound(err) {
		return a, ErrNotFound.With("GET /sessions lists those that there are.")
	}
	if err != nil {
		return a, fmt.Errorf("read archived session %s: %w", id, err)
	}
	rows := []Archived{a}
	err = s.date(ctx, s.DB, rows)
	return rows[0], err
}

// pageBytes is about how much JSON one page of messages has at most. A message may
// have two megabytes, so that 500 of them would have all memory that there is.
const pageBytes = 4 << 20

// fitting is from which message on the ones up to another fit into a page, from a
// first one on: in whole portions, and at least in one.
func fitting(ctx context.Context, q db.Queryer, id string, from, to int64) (int64, error) {
	sizes, err := sizesBetween(ctx, q, id, from, to)
	if err != nil || len(sizes) == 0 {
		return from, err
	}
	room := int64(pageBytes)
	for i, p := range sizes { // the last first
		if room -= p.size; room < 0 && i > 0 {
			return max(from, sizes[i-1].first), nil
		}
	}
	return from, nil
}

// Messages are at most limit messages of a session, the newest last, from before
// a place that another page gave out, or the newest; next is the place for what
// is older, or empty. There may be fewer where they are long.
func (s *Service) Messages(ctx context.Context, id, cursor string, limit int) (messages []transcript.Message, next string, err error) {
	given, err := page.Decode(cursor, 2)
	if err != nil {
		return nil, "", err
	}
	err = s.DB.View(ctx, func(q db.Queryer) error {
		a, err := find(ctx, q, id)
		if db.IsNotFound(err) {
			return ErrNotFound.With("GET /sessions lists those that there are.")
		}
		if err != nil {
			return err
		}
		to := a.Messages
		if given != nil {
			n, err := strconv.ParseInt(given[1], 10, 64)
			if err != nil || n < 1 || given[0] != id || strconv.FormatInt(n, 10) != given[1] {
				return page.Refused()
			}
			to = min(n, to)
		}
		from := max(to-int64(limit), 0)
		if from, err = fitting(ctx, q, id, from, to); err != nil {
			return err
		}
		if messages, err = between(ctx, q, id, from, to); err != nil {
			return err
		}
		if from > 0 {
			next = page.Encode(id, strconv.FormatInt(from, 10))
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	return messages, next, nil
}

// between are the messages from one number up to another.
func between(ctx context.Context, q db.Queryer, id string, from, to int64) ([]transcript.Message, error) {
	messages := []transcript.Message{}
	parts, err := partsBetween(ctx, q, id, from, to)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		some, err := p.unpack()
		if err != nil {
			return nil, err
		}
		messages = append(messages, some[max(from-p.first, 0):min(to-p.first, p.messages)]...)
	}
	return messages, nil
}

// CountOld tells how many sessions of sub-agents PurgeOld would remove in all,
// and when anything last happened in the first of them.
func (s *Service) CountOld(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error) {
	if n, oldest, err = countOld(ctx, s.DB, before); err != nil {
		err = fmt.Errorf("count archived sessions of sub-agents: %w", err)
	}
	return n, oldest, err
}

// PurgeOld removes archived sessions of sub-agents in which nothing has happened
// since then, the oldest first and at most limit, in a transaction of its
// caller's, and says how many. What they used stays in the ledger. Of one that
// the runtime has still, only what was said goes.
func (s *Service) PurgeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	n, err := purgeOld(ctx, tx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("remove archived sessions of sub-agents: %w", err)
	}
	return n, nil
}

// Heard is when the runtime last told all its sessions; nil before it ever did.
func (s *Service) Heard(ctx context.Context) (*clock.Time, error) { return findReading(ctx, s.DB) }
