package archive

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/search"
	"wardroom/internal/session"
	"wardroom/internal/transcript"
)

// Runtime is the part of the gateway client that the archive needs.
type Runtime interface {
	Session(ctx context.Context, key string) (gateway.Session, bool, error)
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
}

// Service maintains the archive. Its exported fields must not be changed once Run has been called.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Pace    Pace
	Lists   *mirror.Sessions // the runtime's sessions

	wake mirror.Signal
}

// Filter selects the sessions to list. The zero Filter selects the whole
// archive.
type Filter struct {
	AgentID, Kind, Status string
	From, To              time.Time // bounds of the last activity: From inclusive, To exclusive
	Text                  string    // words that the session contains
	// LastKnown selects, instead of the archived sessions, all sessions that the latest snapshot of
	// the runtime contains, archived or not.
	LastKnown bool
}

// List returns one page of sessions, most recent activity first.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Archived], error) {
	var w list.Where
	if f.LastKnown {
		w.And(`present`)
		if f.AgentID != "" {
			w.Use(`archive_sessions_present_of_agent`)
		}
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
			w.And(`CAST(? AS TEXT) <> ''`, f.Text) // ties the cursor to the text
			w.Hint(condition, match)
		}
		if part, err = sessions().Read(ctx, q, w, want); err != nil {
			return err
		}
		return s.date(ctx, q, part.Rows)
	})
	return part, err
}

// date sets AsOf and Age in each row: when the runtime last confirmed the data, and how long ago
// that was.
func (s *Service) date(ctx context.Context, q db.Queryer, rows []Archived) error {
	at, err := findReading(ctx, q)
	if err != nil {
		return fmt.Errorf("read the time of the last reading: %w", err)
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

// Get returns one archived session.
func (s *Service) Get(ctx context.Context, id string) (Archived, error) {
	a, err := find(ctx, s.DB, id)
	if db.IsNotFound(err) {
		return a, ErrNotFound.With("GET /sessions lists the archived sessions.")
	}
	if err != nil {
		return a, fmt.Errorf("read archived session %s: %w", id, err)
	}
	rows := []Archived{a}
	err = s.date(ctx, s.DB, rows)
	return rows[0], err
}

// pageBytes is the approximate maximum size of a page's JSON. A message can be two megabytes long,
// so a page of 500 of them would not fit into memory.
const pageBytes = 4 << 20

// fitting returns the number of the first message on a page of the range [from, to). If the whole
// range is longer than about pageBytes, the page contains only the last stored parts that fit, but
// at least one.
func fitting(ctx context.Context, q db.Queryer, id string, from, to int64) (int64, error) {
	sizes, err := sizesBetween(ctx, q, id, from, to)
	if err != nil || len(sizes) == 0 {
		return from, err
	}
	room := int64(pageBytes)
	for i, p := range sizes { // last part first
		if room -= p.size; room < 0 && i > 0 {
			return max(from, sizes[i-1].first), nil
		}
	}
	return from, nil
}

// Messages returns up to limit messages in chronological order: those before the cursor, or the
// newest if the cursor is empty. If the messages are long, it returns fewer. It also returns the
// cursor for older messages, or an empty cursor if no older messages exist.
func (s *Service) Messages(
	ctx context.Context, id, cursor string, limit int,
) (messages []transcript.Message, next string, err error) {
	given, err := page.Decode(cursor, 2)
	if err != nil {
		return nil, "", err
	}
	err = s.DB.View(ctx, func(q db.Queryer) error {
		a, err := find(ctx, q, id)
		if db.IsNotFound(err) {
			return ErrNotFound.With("GET /sessions lists the archived sessions.")
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
		if from, err = fitting(ctx, q, a.ID, from, to); err != nil {
			return err
		}
		if messages, err = between(ctx, q, a.ID, from, to); err != nil {
			return err
		}
		if from > 0 {
			next = page.Encode(id, strconv.FormatInt(from, 10))
		}
		return transcript.Name(messages, func(ids []string) (map[string]string, error) {
			return session.Senders(ctx, q, ids)
		})
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	return messages, next, nil
}

// between returns the messages with numbers in the range [from, to).
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

// CountOld returns the number of sub-agent sessions that PurgeOld would remove in total, and the
// time at which the oldest of them was last active.
func (s *Service) CountOld(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error) {
	if n, oldest, err = countOld(ctx, s.DB, before); err != nil {
		err = fmt.Errorf("count archived sub-agent sessions: %w", err)
	}
	return n, oldest, err
}

// PurgeOld deletes archived sub-agent sessions without activity since the given time, up to limit,
// oldest first. It uses the caller's transaction and returns the number of deleted sessions. Their
// usage stays in the ledger. If the runtime still has a session, only its transcript is deleted.
func (s *Service) PurgeOld(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	n, err := purgeOld(ctx, tx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("purge archived sub-agent sessions: %w", err)
	}
	return n, nil
}
