package session

import (
	"context"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/transcript"
)

// What one reader of a session is told at most.
const (
	// newsWindow and newsMost bound how fast: beyond so many messages of a session
	// in that time we only say that there were more.
	newsWindow, newsMost = time.Second, 20
	// newsBytes is how large one message is told, without the names of its parts.
	newsBytes = 32 << 10
)

// News is what is told of a session to those who follow it.
type News struct {
	Key     string              `json:"key"`
	Message *transcript.Message `json:"message"` // null when messages were missed
	// Missed says that there were messages which are not told: too many at once, or
	// the line to the runtime broke. Read the session's messages.
	Missed bool `json:"missed"`
}

// FollowMessages tells what is said in the sessions that somebody follows, as
// the gateway tells it, until ctx ends. It asks the gateway for nothing.
func (s *Service) FollowMessages(ctx context.Context) {
	for ctx.Err() == nil {
		events, stop := s.Runtime.Events(eventsBehind)
		s.tail(ctx, events)
		stop()
		s.missed(nil)
		sleep(ctx, retryFirst) // we were too slow, or the gateway's client has ended
	}
}

// told is what a session's readers were told in the present window.
type told struct {
	since  time.Time
	n      int
	missed bool
}

func (s *Service) tail(ctx context.Context, events <-chan gateway.Event) {
	windows := map[string]*told{}
	end := time.NewTicker(newsWindow)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			s.hear(e, windows)
		case now := <-end.C:
			for key, w := range windows {
				if now.Sub(w.since) < newsWindow {
					continue
				}
				if delete(windows, key); w.missed {
					s.Tell(key, News{Key: key, Missed: true})
				}
			}
		}
	}
}

// hear tells of one event, if it is about what somebody follows.
func (s *Service) hear(e gateway.Event, windows map[string]*told) {
	if e.Resync {
		s.missed(windows)
		return
	}
	if e.Name != "session.message" {
		return
	}
	followed := s.Followed()
	if len(followed) == 0 {
		return
	}
	key, ok := e.MessageOf()
	if !ok || !slices.Contains(followed, key) {
		return
	}
	w := windows[key]
	if w == nil || time.Since(w.since) >= newsWindow {
		missed := w != nil && w.missed
		w = &told{since: time.Now()}
		windows[key] = w
		if missed {
			s.Tell(key, News{Key: key, Missed: true})
		}
	}
	if w.n++; w.n > newsMost {
		w.missed = true
		return
	}
	heard, ok := s.Runtime.MessageEvent(e)
	if !ok {
		w.missed = true
		return
	}
	m := transcript.Of(heard.Turn).Brief(newsBytes)
	s.Tell(key, News{Key: key, Message: &m})
}

// missed tells everybody who follows a session that something is missing.
func (s *Service) missed(windows map[string]*told) {
	for _, key := range s.Followed() {
		delete(windows, key)
		s.Tell(key, News{Key: key, Missed: true})
	}
}
