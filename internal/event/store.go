package event

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Record appends an event by the caller in ctx. Call it in the transaction
// that makes the change, after its other statements: the ids come from a
// counter whose row stays locked until the commit, so that they follow the
// order of the commits and a reader that has seen one has seen all before it.
// Data is what json.Marshal makes of it; nil is an empty object. A context
// without a caller is refused: nothing happens by nobody.
func Record(ctx context.Context, tx *db.Tx, at time.Time, class Class, kind string, about Subject, data any) error {
	by := actor.From(ctx)
	if !by.Known() {
		return fmt.Errorf("event %s: nobody is said to have done it", kind)
	}
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("event %s: %w", kind, err)
	}
	if string(body) == "null" {
		body = []byte("{}")
	}
	var id int64
	if err := tx.QueryRow(ctx, `UPDATE event_counter SET last = last + 1 RETURNING last`).Scan(&id); err != nil {
		return fmt.Errorf("event %s: number: %w", kind, err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO events (id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, at, class, kind, by.ID, by.Name, about.Kind, about.ID, about.Name, string(body))
	if err != nil {
		return fmt.Errorf("event %s: %w", kind, err)
	}
	return nil
}

// Filter says which events to read. The zero Filter reads all of a class.
type Filter struct {
	Class       Class
	SubjectKind string
	SubjectID   string
	ActorID     string
	Kinds       []string
	Since       time.Time // not before; zero is no bound
	Before      int64     // ids below it; zero is no bound
	Limit       int
}

// Read returns the events that match, the newest first.
func Read(ctx context.Context, q db.Queryer, f Filter) ([]Event, error) {
	where, args := []string{"class = ?"}, []any{f.Class}
	add := func(condition string, arg any) {
		where, args = append(where, condition), append(args, arg)
	}
	if f.SubjectKind != "" {
		add("subject_kind = ?", f.SubjectKind)
	}
	if f.SubjectID != "" {
		add("subject_id = ?", f.SubjectID)
	}
	if f.ActorID != "" {
		add("actor_id = ?", f.ActorID)
	}
	if len(f.Kinds) > 0 {
		where = append(where, "kind IN (?"+strings.Repeat(", ?", len(f.Kinds)-1)+")")
		for _, k := range f.Kinds {
			args = append(args, k)
		}
	}
	if !f.Since.IsZero() {
		add("at >= ?", f.Since)
	}
	if f.Before > 0 {
		add("id < ?", f.Before)
	}
	rows, err := q.Query(ctx, `
		SELECT id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data
		FROM events WHERE `+strings.Join(where, " AND ")+` ORDER BY id DESC LIMIT ?`, append(args, f.Limit)...)
	return db.All(rows, err, scan)
}

func scan(row db.Row) (Event, error) {
	var e Event
	var at clock.Time
	var data string
	err := row.Scan(&e.ID, &at, &e.Class, &e.Kind, &e.Actor.ID, &e.Actor.Name, &e.Subject.Kind, &e.Subject.ID, &e.Subject.Name, &data)
	e.At, e.Data = at, json.RawMessage(data)
	return e, err
}
