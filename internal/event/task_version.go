package event

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"wardroom/internal/platform/db"
)

// TaskVersion is an SQL expression for a text that is new after each event that can change a list of tasks. While it
// stays the same, so do all tasks and the names that they show. It is random, so that a restored database does not
// repeat a text that clients know. The expression can be added to any SELECT.
const TaskVersion = `(SELECT tasks FROM event_counter WHERE one = 1)`

// ReadTaskVersion returns the current TaskVersion.
func ReadTaskVersion(ctx context.Context, q db.Queryer) (v string, err error) {
	if err = q.QueryRow(ctx, `SELECT `+TaskVersion).Scan(&v); err != nil {
		err = fmt.Errorf("read the version of the tasks: %w", err)
	}
	return v, err
}

// changesTasks reports whether an event of this kind can change a list of tasks. An account's events can, because tasks
// show its name and filters accept its email; its logins cannot.
func changesTasks(kind string, about Subject) bool {
	switch about.Kind {
	case TopicTask, TopicProject:
		return true
	case TopicUser:
		return strings.HasPrefix(kind, "user.")
	}
	return false
}

func newTaskVersion() string { return rand.Text() }
