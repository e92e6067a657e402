package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/plaintext"
)

// Record appends an event caused by the actor in ctx. It encodes data with json.Marshal; nil means
// an empty object. It returns an error if ctx has no actor.
//
// Call it in the transaction that makes the change. Write transactions run one at a time. Therefore
// IDs follow commit order, and a reader that has seen an event has seen all events with a lower ID.
func Record(ctx context.Context, tx *db.Tx, at time.Time, class Class, kind string, about Subject, data any) error {
	by := actor.From(ctx)
	if !by.Known() {
		return fmt.Errorf("event %s: the context has no actor", kind)
	}
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("event %s: %w", kind, err)
	}
	if string(body) == "null" {
		body = []byte("{}")
	}
	from := originOf(ctx, class)
	err = add(ctx, tx, changesTasks(kind, about),
		at, class, kind, by.ID, by.Name, about.Kind, about.ID, about.Name, string(body), from.Via, from.Address)
	if err != nil {
		return fmt.Errorf("event %s: %w", kind, err)
	}
	return nil
}

// add inserts an event with the next ID and wakes the readers. If the event changes tasks, TaskVersion changes as well.
// On PostgreSQL it uses a single statement, which is sent together with the commit. On SQLite it needs two statements.
func add(ctx context.Context, tx *db.Tx, tasks bool, values ...any) error {
	const rest = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`
	count, version := `UPDATE event_counter SET last = last + 1 WHERE one = 1`, []any(nil)
	if tasks {
		count, version = `UPDATE event_counter SET last = last + 1, tasks = ? WHERE one = 1`, []any{newTaskVersion()}
	}
	clause, topic := tx.AlsoWake(topicOfLog)
	values = append(values, topic...)
	if tx.Engine() == db.Postgres {
		return tx.Later(ctx, `
			WITH next AS (`+count+` RETURNING last)
			INSERT INTO events (`+eventColumns+`) VALUES ((SELECT last FROM next), `+rest+`)`+clause,
			append(version, values...)...)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO events (`+eventColumns+`)
		VALUES ((SELECT last + 1 FROM event_counter WHERE one = 1), `+rest+`)`+clause, values...)
	if err == nil {
		_, err = tx.Exec(ctx, count, version...)
	}
	return err
}

const eventColumns = `id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data, via, address`

// originOf returns the origin to store with an event. Only events in the audit log have one,
// because users who cannot read that log must not see IP addresses.
func originOf(ctx context.Context, class Class) Origin {
	if class != Audit {
		return Origin{}
	}
	o := actor.OriginOf(ctx)
	from := Origin{Via: o.Via}
	if o.Address.IsValid() {
		from.Address = o.Address.String()
	}
	return from
}

// topicOfLog is the database notification topic for new events.
const topicOfLog = "events"

// RecordPurge records that events with IDs up to upTo may have been deleted. Call it in the
// transaction that deletes them. Clients that resume a stream from before upTo receive a reset.
func RecordPurge(ctx context.Context, tx *db.Tx, upTo int64) error {
	if _, err := tx.Exec(ctx, `UPDATE event_counter SET purged = ? WHERE one = 1 AND purged < ?`, upTo, upTo); err != nil {
		return fmt.Errorf("record the deletion of events: %w", err)
	}
	return nil
}

// logRange is the range of event IDs in the log.
type logRange struct {
	last   int64 // newest ID; 0 if there is none
	purged int64 // see RecordPurge
}

// readRange returns the newest event ID and the highest purged ID.
func readRange(ctx context.Context, q db.Queryer) (s logRange, err error) {
	err = q.QueryRow(ctx, `SELECT last, purged FROM event_counter WHERE one = 1`).Scan(&s.last, &s.purged)
	return s, err
}

// following returns up to limit events of any class with IDs above id, in order. It returns
// errPurged if some of them may have been deleted. It also returns errPurged if id is above the
// newest ID, because the database has then been restored from a backup and reuses IDs. It must be
// called in a View, so that no events are deleted between its queries.
func following(ctx context.Context, q db.Queryer, id int64, limit int) ([]Event, error) {
	at, err := readRange(ctx, q)
	if err != nil {
		return nil, err
	}
	if id < at.purged || id > at.last {
		return nil, errPurged
	}
	// With the limit as a parameter, SQLite would plan the query on each
	// call.
	rows, err := q.Query(ctx, `SELECT `+eventColumns+` FROM events WHERE id > ? ORDER BY id LIMIT `+strconv.Itoa(limit),
		id)
	return db.All(rows, err, scan)
}

var errPurged = errors.New("the requested events have been deleted")

// Filter selects events of one class. Its other fields narrow the selection.
type Filter struct {
	Class       Class
	SubjectKind string
	SubjectID   string
	ActorIDs    []string  // any of these
	Kinds       []string  // any of these; one that ends in ".*" matches a prefix
	Since       time.Time // inclusive; zero means no bound
	Until       time.Time // exclusive; zero means no bound

	hidden []string // subject kinds to leave out
}

// where returns the filter as an SQL condition. If one of f.Kinds ends in ".*", known must list the
// kinds in the log that match f.Kinds.
func (f Filter) where(known []string) list.Where {
	var w list.Where
	w.And(`class = ?`, f.Class)
	list.Is(&w, `subject_kind`, f.SubjectKind)
	list.Is(&w, `subject_id`, f.SubjectID)
	for _, kind := range f.hidden {
		w.And(`subject_kind <> ?`, kind)
	}
	// The first of these conditions selects the index. A person causes fewer events than most kinds
	// have; Wardroom itself causes more.
	if f.byPerson() {
		list.In(&w, `actor_id`, f.ActorIDs)
	}
	ofKinds(&w, f.Kinds, known)
	if !f.byPerson() {
		list.In(&w, `actor_id`, f.ActorIDs)
	}
	// COALESCE keeps PostgreSQL from reading the index by time too. The hints turn the times into a range of IDs.
	if !f.Since.IsZero() {
		w.And(`COALESCE(at, at) >= ?`, f.Since)
		w.Hint(`id > COALESCE((SELECT id FROM events WHERE at < ? ORDER BY at DESC LIMIT 1), 0)`, f.Since.Add(-disorder))
	}
	if !f.Until.IsZero() {
		w.And(`COALESCE(at, at) < ?`, f.Until)
		w.Hint(`id < COALESCE((SELECT id FROM events WHERE at >= ? ORDER BY at LIMIT 1), `+strconv.Itoa(math.MaxInt64)+`)`,
			f.Until.Add(disorder))
	}
	switch {
	case f.SubjectID != "":
		w.Use(`events_of_subject`)
	case len(f.ActorIDs) > 0 || len(f.Kinds) > 0: // indexes are in events.Sorts
	case f.SubjectKind != "":
		w.Use(`events_of_subject_kind`)
	default:
		w.Use(`events_of_class`)
	}
	return w
}

// disorder is the maximum time by which an event can be earlier than an event with a lower ID. IDs
// follow the order of commits, but times come from the replicas' clocks at the start of each
// transaction. A query that converts a time range to an ID range must therefore extend the time
// range by disorder on both sides.
const disorder = time.Hour

// byPerson reports whether the filter selects events caused by an account, rather than by Wardroom
// itself or by an anonymous caller.
func (f Filter) byPerson() bool {
	return len(f.ActorIDs) > 0 && f.ActorIDs[0] != actor.System.ID && f.ActorIDs[0] != actor.Anonymous.ID
}

// isPrefix reports whether kind is a pattern such as task.*, which matches all kinds with that
// prefix.
func isPrefix(kind string) bool { return strings.HasSuffix(kind, ".*") }

// ofKinds adds the condition that selects the given kinds of events.
func ofKinds(w *list.Where, kinds, known []string) {
	if !slices.ContainsFunc(kinds, isPrefix) {
		list.In(w, `kind`, kinds)
		return
	}
	var or []string
	var args []any
	for _, k := range kinds {
		if !isPrefix(k) {
			or, args = append(or, `kind = ?`), append(args, k)
			continue
		}
		begin := strings.TrimSuffix(k, "*")
		or, args = append(or, `SUBSTR(kind, 1, ?) = ?`), append(args, utf8.RuneCountInString(begin), begin)
	}
	w.And(`(`+strings.Join(or, ` OR `)+`)`, args...)
	list.HintIn(w, `kind`, known)
}

// knownKinds returns the kinds in the log that match at least one of the given kinds. The query is
// fast, because the log has only a few dozen distinct kinds, and finding each one takes a single
// index lookup.
func knownKinds(ctx context.Context, q db.Queryer, given []string) ([]string, error) {
	if !slices.ContainsFunc(given, isPrefix) {
		return nil, nil
	}
	rows, err := q.Query(ctx, `
		WITH RECURSIVE known (kind) AS (
			SELECT MIN(kind) FROM events
			UNION ALL
			SELECT (SELECT MIN(kind) FROM events WHERE kind > known.kind) FROM known WHERE known.kind IS NOT NULL
		)
		SELECT kind FROM known WHERE kind IS NOT NULL`)
	all, err := db.All(rows, err, func(row db.Row) (kind string, err error) { return kind, row.Scan(&kind) })
	if err != nil {
		return nil, fmt.Errorf("read the kinds of events: %w", err)
	}
	return slices.DeleteFunc(all, func(kind string) bool {
		return !slices.ContainsFunc(given, func(k string) bool {
			return k == kind || isPrefix(k) && strings.HasPrefix(kind, strings.TrimSuffix(k, "*"))
		})
	}), nil
}

// events defines how Read sorts and reads events.
var events = list.List[Event]{
	Table: `events`, Columns: eventColumns, Scan: scan,
	Usual: "-id",
	Sorts: map[string]list.Sort[Event]{
		"id": {
			Columns:  []string{`id`},
			Position: func(e Event) []any { return []any{e.ID} },
			Apart:    map[string]string{`actor_id`: `events_of_actor`, `kind`: `events_of_kind`},
		},
	},
}

// Read returns one page of the matching events, newest first by default.
func Read(ctx context.Context, q db.Queryer, f Filter, want page.Want) (page.Part[Event], error) {
	known, err := knownKinds(ctx, q, f.Kinds)
	if err != nil {
		return page.Part[Event]{}, err
	}
	return events.Read(ctx, q, f.where(known), want)
}

// TimesByAgents returns when agents caused activity about subjects of a kind since a time, earliest
// first.
func TimesByAgents(ctx context.Context, q db.Queryer, subjectKind string, since time.Time) ([]time.Time, error) {
	// With CASE, both engines use the index by time. The others would read all of the history.
	rows, err := q.Query(ctx, `SELECT at FROM events WHERE at >= ? AND CASE WHEN class = 'activity' AND subject_kind = ? THEN actor_id END
		IN (SELECT id FROM users WHERE role = 'agent') ORDER BY at`, clock.At(since), subjectKind)
	return db.All(rows, err, func(row db.Row) (time.Time, error) {
		var at clock.Time
		err := row.Scan(&at)
		return at.Time, err
	})
}

// findOwn returns the caller's ID if the given email is the caller's own, and actor.NoID otherwise.
func findOwn(ctx context.Context, q db.Queryer, email string) (id string, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM users WHERE email_key = ? AND id = ?`,
		plaintext.Fold(email), actor.From(ctx).ID).Scan(&id)
	if db.IsNotFound(err) {
		return actor.NoID, nil
	}
	return id, err
}

// findActors returns the IDs of the accounts whose ID, email, or agent_id is ref. There can be
// several, because an agent may have had several accounts.
func findActors(ctx context.Context, q db.Queryer, ref string) ([]string, error) {
	folded := plaintext.Fold(ref)
	rows, err := q.Query(ctx, `SELECT id FROM users WHERE id = ? OR email_key = ? OR agent_id = ? ORDER BY id`, folded,
		folded, ref)
	return db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
}

func scan(row db.Row) (Event, error) {
	var e Event
	var at clock.Time
	var data string
	var from Origin
	err := row.Scan(&e.ID, &at, &e.Class, &e.Kind, &e.Actor.ID, &e.Actor.Name, &e.Subject.Kind, &e.Subject.ID,
		&e.Subject.Name, &data, &from.Via, &from.Address)
	if from.Via != "" {
		e.From = &from
	}
	e.At, e.Data = at, json.RawMessage(data)
	return e, err
}
