package standup

import "wardroom/internal/event"

// Matter is something that needs a human: it becomes an item of the inbox.
// Matters of one cause are one item, which counts them.
type Matter struct {
	Cause, Kind, Severity, Title, Detail string
	Subject                              event.Subject
}
