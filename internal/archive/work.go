package archive

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/transcript"
)

// Transcript identifies a stored transcript and how far it was read.
type Transcript struct {
	ID, Key  string
	Version  int64       // grows when more of the transcript is stored
	Complete bool        // everything that the runtime had at its last reading is stored
	ReadAt   *clock.Time // when its end was last requested and then stored; nil before
	Messages int64
}

const transcriptColumns = `id, session_key, read_version, NOT active AND read_version >= version, archived_at, messages`

func scanTranscript(row db.Row) (t Transcript, err error) {
	return t, row.Scan(&t.ID, &t.Key, &t.Version, &t.Complete, &t.ReadAt, &t.Messages)
}

// Transcripts returns the transcripts of the sessions with the given keys.
func (s *Service) Transcripts(ctx context.Context, keys []string) ([]Transcript, error) {
	in, args := db.In(keys)
	rows, err := s.DB.Query(ctx,
		`SELECT `+transcriptColumns+` FROM archive_sessions WHERE session_key `+in+` ORDER BY began_at, id`, args...)
	return db.All(rows, err, scanTranscript)
}

// RecentTranscripts returns up to limit transcripts of an agent with activity since the given time,
// newest first.
func (s *Service) RecentTranscripts(
	ctx context.Context, agentID string, since time.Time, limit int,
) ([]Transcript, error) {
	rows, err := s.DB.Query(ctx,
		`SELECT `+transcriptColumns+
			` FROM archive_sessions WHERE agent_id = ? AND last_at >= ? ORDER BY last_at DESC, id DESC LIMIT ?`,
		agentID, since, limit)
	return db.All(rows, err, scanTranscript)
}

// FailedSessions returns the keys of up to limit archived sessions of an agent with activity since the given
// time whose last run has failed or timed out.
func (s *Service) FailedSessions(ctx context.Context, agentID string, since time.Time, limit int) ([]string, error) {
	rows, err := s.DB.Query(ctx, `SELECT session_key FROM archive_sessions WHERE agent_id = ? AND last_at >= ?
		AND archived_at IS NOT NULL AND status IN ('failed', 'timeout') ORDER BY last_at DESC, id DESC LIMIT ?`,
		agentID, since, limit)
	return db.All(rows, err, func(row db.Row) (key string, err error) { return key, row.Scan(&key) })
}

// NewestMessages returns the newest messages of a transcript in chronological order, at most the given number.
func (s *Service) NewestMessages(ctx context.Context, t Transcript, most int64) ([]transcript.Message, error) {
	messages, err := between(ctx, s.DB, t.ID, max(t.Messages-most, 0), t.Messages)
	if err != nil {
		return nil, fmt.Errorf("read the transcript of %s: %w", t.ID, err)
	}
	return messages, nil
}
