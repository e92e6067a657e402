package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/mirror"
	"wardroom/internal/transcript"
)

// Limits on live messages.
const (
	// newsWindow and maxNews limit the rate of messages. If a session has more than maxNews
	// messages within newsWindow, the rest are only reported as missed.
	newsWindow, maxNews = time.Second, 20
	// maxNewsBytes is the maximum total size of a message's texts.
	maxNewsBytes = 32 << 10
)

// News is a live update about the messages of a session.
type News struct {
	Key     string              `json:"key"`
	Message *transcript.Message `json:"message"` // null if messages were missed
	// Missed means that some messages were not sent. There were too many in a short time, or the
	// connection to the runtime was lost. Clients should read the session's messages.
	Missed bool `json:"missed"`
}

// messageRelay sends the messages in the gateway's events to the clients that follow their sessions.
// It sends no requests to the gateway. The zero value is ready to use.
type messageRelay struct {
	mu      sync.Mutex
	windows map[string]*window // by session key
}

// window counts the messages of a session in the current time window, which lasts newsWindow.
type window struct {
	since  time.Time
	n      int
	missed bool
}

// reportMissed tells the followers of a session that they have missed messages, at the end of the
// window in which that happened. It runs until ctx ends.
func (s *Service) reportMissed(ctx context.Context) {
	end := time.NewTicker(newsWindow)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-end.C:
			s.messages.mu.Lock()
			for key, w := range s.messages.windows {
				if now.Sub(w.since) >= newsWindow {
					s.endWindow(key, w)
				}
			}
			s.messages.mu.Unlock()
		}
	}
}

// endWindow ends a session's window. The caller must hold the lock.
func (s *Service) endWindow(key string, w *window) {
	if delete(s.messages.windows, key); w.missed {
		s.tell(key, News{Key: key, Missed: true})
	}
}

// relayMessage sends the message in an event to the clients that follow the message's session.
func (s *Service) relayMessage(e mirror.Event) {
	if !e.Resync && e.Name != "session.message" {
		return
	}
	followed := s.Events.Followed()
	if len(followed) == 0 {
		return
	}
	r := &s.messages
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Resync {
		for _, key := range followed {
			delete(r.windows, key)
			s.tell(key, News{Key: key, Missed: true})
		}
		return
	}
	key := e.Active
	if !slices.Contains(followed, key) {
		return
	}
	w := r.windows[key]
	if w != nil && time.Since(w.since) >= newsWindow {
		s.endWindow(key, w)
		w = nil
	}
	if w == nil {
		if r.windows == nil {
			r.windows = map[string]*window{}
		}
		w = &window{since: time.Now()}
		r.windows[key] = w
	}
	if w.n++; w.n > maxNews || e.Message == nil {
		w.missed = true
		return
	}
	m := transcript.Of(e.Message()).Brief(maxNewsBytes)
	s.tell(key, News{Key: key, Message: &m})
}

// tell publishes news of a session to the clients that follow it.
func (s *Service) tell(key string, n News) {
	s.Events.Publish(event.State{Kind: "session.message", Topics: []string{event.TopicSession}, Data: n, Session: key})
}
