package session

import (
	"context"
	"slices"
	"time"

	"wardroom/internal/gateway"
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

// FollowMessages sends each message in the gateway's events to the clients that follow
// the message's session, until ctx ends. It sends no requests to the gateway.
func (s *Service) FollowMessages(ctx context.Context) {
	for ctx.Err() == nil {
		events, stop := s.Runtime.Events(eventBuffer)
		s.relayMessages(ctx, events)
		stop()
		s.notifyMissed(nil)
		sleep(ctx, retryFirst) // the subscription ended: this was too slow, or the gateway client has stopped
	}
}

// window counts the messages of a session in the current time window, which lasts newsWindow.
type window struct {
	since  time.Time
	n      int
	missed bool
}

func (s *Service) relayMessages(ctx context.Context, events <-chan gateway.Event) {
	windows := map[string]*window{}
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
			s.relayMessage(e, windows)
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

// relayMessage sends the message in an event to the clients that follow the message's session.
func (s *Service) relayMessage(e gateway.Event, windows map[string]*window) {
	if e.Resync {
		s.notifyMissed(windows)
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
		w = &window{since: time.Now()}
		windows[key] = w
		if missed {
			s.Tell(key, News{Key: key, Missed: true})
		}
	}
	if w.n++; w.n > maxNews {
		w.missed = true
		return
	}
	heard, ok := s.Runtime.MessageEvent(e)
	if !ok {
		w.missed = true
		return
	}
	m := transcript.Of(heard.Turn).Brief(maxNewsBytes)
	s.Tell(key, News{Key: key, Message: &m})
}

// notifyMissed tells the followers of all sessions that they have missed messages.
func (s *Service) notifyMissed(windows map[string]*window) {
	for _, key := range s.Followed() {
		delete(windows, key)
		s.Tell(key, News{Key: key, Missed: true})
	}
}
