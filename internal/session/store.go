package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// putSender stores who sent a message. A message that is sent again keeps its first sender.
func putSender(ctx context.Context, tx *db.Tx, now time.Time, runID, key string) error {
	by := actor.From(ctx)
	_, err := tx.Exec(ctx, `INSERT INTO session_messages (run_id, session_key, sender_id, sender_name, sent_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (run_id) DO NOTHING`, runID, key, by.ID, by.Name, clock.At(now))
	if err != nil {
		return fmt.Errorf("store the sender of a message: %w", err)
	}
	return nil
}

// Senders returns the names of the users who sent the given messages through Wardroom, by run ID.
func Senders(ctx context.Context, q db.Queryer, runIDs []string) (map[string]string, error) {
	args := make([]any, len(runIDs))
	for i, id := range runIDs {
		args[i] = id
	}
	type sender struct{ id, name string }
	rows, err := q.Query(ctx,
		`SELECT run_id, sender_name FROM session_messages WHERE run_id IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
	all, err := db.All(rows, err, func(r db.Row) (o sender, err error) { return o, r.Scan(&o.id, &o.name) })
	if err != nil {
		return nil, fmt.Errorf("read the senders of messages: %w", err)
	}
	names := make(map[string]string, len(all))
	for _, o := range all {
		names[o.id] = o.name
	}
	return names, nil
}
