package standup

import (
	"time"

	"wardroom/internal/event"
)

// InboxItem is an issue that needs a human. Raising an item again with the same
// cause increases the count of the existing item.
type InboxItem struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
	At                                   time.Time // when the issue occurred; zero means now
}
