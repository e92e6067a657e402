package session

import (
	"context"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/transcript"
)

// Messages is one page of a conversation.
type Messages struct {
	List  []transcript.Message // newest last
	older *older               // nil on the oldest page
}

// older is the position of the next older page of messages. It refers to the transcript as it was
// when the newer page was read.
type older struct {
	transcript         string
	total, offset, seq int64
}

// pageOf identifies a page of a conversation.
type pageOf struct {
	key    string
	limit  int
	before older // the zero value means the newest page
}

// Messages returns the newest page of a conversation, or the page before a position. A
// page has at most limit rows of the transcript. The newest page ends with the messages that
// the agent has not read yet.
func (s *Service) Messages(ctx context.Context, key string, limit int, before *older) (Messages, error) {
	if _, err := s.Get(ctx, key); err != nil {
		return Messages{}, err
	}
	of := pageOf{key: key, limit: limit}
	if before != nil {
		of.before = *before
	}
	answered, err := s.reads.acquire(ctx, time.Now())
	if err != nil {
		return Messages{}, err
	}
	defer answered()
	page, err := s.pages.Read(ctx, of, func(ctx context.Context) (gateway.TurnPage, error) {
		if before == nil {
			return s.Runtime.Turns(ctx, key, limit, 0)
		}
		return s.Runtime.TurnsBefore(ctx, key, limit, before.offset, before.total, before.seq)
	})
	if err != nil {
		return Messages{}, err
	}
	if before != nil && before.transcript != page.SessionID {
		return Messages{}, errOtherTranscript
	}
	m := Messages{List: make([]transcript.Message, 0, len(page.Turns)+len(page.Pending))}
	read := map[string]bool{}
	for _, t := range page.Turns {
		m.List = append(m.List, transcript.Of(t))
		read[t.SentAs] = t.SentAs != ""
	}
	for _, p := range page.Pending {
		if !read[p.SentAs] {
			m.List = append(m.List, transcript.OfPending(p))
		}
	}
	senders := func(ids []string) (map[string]string, error) { return Senders(ctx, s.DB, ids) }
	if err := transcript.Name(m.List, senders); err != nil {
		return Messages{}, err
	}
	if page.Older > 0 {
		m.older = &older{transcript: page.SessionID, total: page.Total, offset: page.Older}
		if before != nil {
			m.older.seq = before.seq
		}
		if len(page.Turns) > 0 {
			m.older.seq = page.Turns[0].Seq
		}
	}
	return m, nil
}
