package usage

import (
	"strings"
	"sync"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
)

// Receive takes note of new messages, so that the usage of the run that wrote them is read within
// seconds. It does not block.
func (s *Service) Receive(e mirror.Event) {
	if e.Name != "session.message" || e.Active == "" {
		return
	}
	var used *gateway.Usage
	if e.Message != nil {
		used = e.Message().Usage
	}
	if s.messages.add(e.Active, used) || s.urgent() {
		s.wake.Wake()
	}
}

// messages holds the keys of the sessions with messages that have not been read. The zero value is
// ready to use.
type messages struct {
	mu     sync.Mutex
	unread map[string]Unread // by session key in lower case, as the runtime may use either case
}

// Unread is the usage in messages that have not been read. Messages without a price count only as
// tokens.
type Unread struct{ NanoDollars, Tokens, Calls int64 }

// add reports whether the session had no unread messages before.
func (m *messages) add(key string, used *gateway.Usage) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key = strings.ToLower(key)
	is, had := m.unread[key]
	if m.unread == nil {
		m.unread = map[string]Unread{}
	}
	if used != nil {
		is.Calls++
		is.Tokens += used.Input + used.Output + used.CacheRead + used.CacheWrite + used.Other
		if used.CostNanoUSD != nil {
			is.NanoDollars += *used.CostNanoUSD
		}
	}
	m.unread[key] = is
	return !had
}

// total returns the usage in all unread messages.
func (m *messages) total() (sum Unread) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.unread {
		sum.NanoDollars += u.NanoDollars
		sum.Tokens += u.Tokens
		sum.Calls += u.Calls
	}
	return sum
}

func (m *messages) has(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.unread[strings.ToLower(key)]
	return ok
}

func (m *messages) clear(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unread, strings.ToLower(key))
}

// lastRead says when a transcript with an active run was read, and how long that took.
type lastRead struct {
	at   time.Time
	took time.Duration
}

// nextRead says when to read a transcript with an active run again: soon if it has new messages, as
// soon as possible if a limit is close, otherwise late.
func (r *reader) nextRead(row *gateway.Session) time.Time {
	last, ok := r.last[row.ID]
	if !ok {
		return time.Time{}
	}
	wait, factor := busyInterval, busyFactor
	if r.s.messages.has(row.Key) {
		wait = callInterval
		if r.s.urgent() {
			wait, factor = urgentInterval, urgentFactor
		}
	}
	return last.at.Add(max(wait, time.Duration(factor)*last.took))
}
