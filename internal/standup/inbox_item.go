package standup

import (
	"time"

	"wardroom/internal/event"
)

// InboxItem is an issue that needs a human. If an item with the same cause already
// exists, raising another one increases the count of the existing item.
type InboxItem struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
	At                                   time.Time // when the issue occurred; zero means now
}
