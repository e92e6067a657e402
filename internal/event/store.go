package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	from := originOf(ctx, class)
	err = add(ctx, tx, at, class, kind, by.ID, by.Name, about.Kind, about.ID, about.Name, string(body), from.Via, from.Address)
	if err != nil {
		return fmt.Errorf("event %s: %w", kind, err)
	}
	return nil
}

// add writes an event of these values with the next number, and wakes the readers.
// On PostgreSQL it is one statement, which is sent together with the commit. SQLite
// has no statement that does both.
func add(ctx context.Context, tx *db.Tx, values ...any) error {
	const rest = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`
	clause, topic := tx.AlsoWake(topicOfLog)
	values = append(values, topic...)
	if tx.Engine() == db.Postgres {
		return tx.Later(ctx, `
			WITH next AS (UPDATE event_counter SET last = last + 1 WHERE one = 1 RETURNING last)
			INSERT INTO events (`+eventColumns+`) VALUES ((SELECT last FROM next), `+rest+`)`+clause, values...)
	}
	_, err := tx.Exec(ctx, `INSERT INTO events (`+eventColumns+`) VALUES ((SELECT last + 1 FROM event_counter WHERE one = 1), `+rest+`)`+clause, values...)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE event_counter SET last = last + 1 WHERE one = 1`)
	}
	return err
}

const eventColumns = `id, at, class, kind, actor_id, actor_name, subject_kind, subject_id, subject_name, data, via, address`

// originOf is from where the caller acts. It is kept in the audit only: where
// people are is nobody's business but those who may read that.
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

// topicOfLog is what is watched in the database for new events.
const topicOfLog = "events"

// Forgot notes that events up to and with the id upTo are not all there any
// more. Whoever removes events calls it in the same transaction: readers that
// resume from below are told that they missed something.
func Forgot(ctx context.Context, tx *db.Tx, upTo int64) error {
	if _, err := tx.Exec(ctx, `UPDATE event_counter SET purged = ? WHERE one = 1 AND purged < ?`, upTo, upTo); err != nil {
		return fmt.Errorf("note that events are gone: %w", err)
	}
	return nil
}

// stand is how far the log reaches.
type stand struct {
	last   int64 // the newest id; 0 before the first
	purged int64 // see Forgot
}

// standing reads how far the log reaches.
func standing(ctx context.Context, q db.Queryer) (s stand, err error) {
	err = q.QueryRow(ctx, `SELECT last, purged FROM event_counter WHERE one = 1`).Scan(&s.last, &s.purged)
	return s, err
}

// following returns the events after the id, of every class, in their order,
// and at most limit of them. It fails with errForgotten when some of them may
// have been removed, and when the id is from the future: then the database was
// set back under us, and numbers that we know are given anew. Both is read of
// one view, so that nothing is removed between the two.
func following(ctx context.Context, d *db.DB, id int64, limit int) (list []Event, err error) {
	err = d.View(ctx, func(q db.Queryer) error {
		at, err := standing(ctx, q)
		if err != nil {
			return err
		}
		if id < at.purged || id > at.last {
			return errForgotten
		}
		// A limit that is bound has SQLite plan anew each time.
		rows, err := q.Query(ctx, `SELECT `+eventColumns+` FROM events WHERE id > ? ORDER BY id LIMIT `+strconv.Itoa(limit), id)
		list, err = db.All(rows, err, scan)
		return err
	})
	return list, err
}

var errForgotten = errors.New("events that are asked for have been removed")

// Filter says which events to read. The zero Filter reads all of a class.
type Filter struct {
	Class       Class
	SubjectKind string
	SubjectID   string
	ActorIDs    []string  // any of these
	Kinds       []string  // any of these; one that ends in ".*" is all that begin with what is before the star
	Since       time.Time // not before; zero is no bound
	Until       time.Time // before it; zero is no bound

	hidden []string // kinds of subjects that are left out
}

// where is the filter in SQL. known are the kinds in the log that match one of
// f.Kinds; it is only looked at when one of those ends in ".*".
func (f Filter) where(known []string) list.Where {
	var w list.Where
	w.And(`class = ?`, f.Class)
	list.Is(&w, `subject_kind`, f.SubjectKind)
	list.Is(&w, `subject_id`, f.SubjectID)
	for _, kind := range f.hidden {
		w.And(`subject_kind <> ?`, kind)
	}
	// The list is read through the index of the first of these that is there. A
	// person does less than most kinds of events hold, the service more.
	if f.byPerson() {
		list.In(&w, `actor_id`, f.ActorIDs)
	}
	ofKinds(&w, f.Kinds, known)
	if !f.byPerson() {
		list.In(&w, `actor_id`, f.ActorIDs)
	}
	if !f.Since.IsZero() {
		w.And(`at >= ?`, f.Since)
		w.Hint(`id >= (SELECT id FROM events WHERE at >= ? ORDER BY at LIMIT 1)`, f.Since.Add(-disorder))
	}
	if !f.Until.IsZero() {
		w.And(`at < ?`, f.Until)
		w.Hint(`id <= (SELECT id FROM events WHERE at < ? ORDER BY at DESC LIMIT 1)`, f.Until.Add(disorder))
	}
	switch {
	case f.SubjectID != "":
		w.Use(`events_of_subject`)
	case len(f.ActorIDs) > 0 || len(f.Kinds) > 0: // see events
	case f.SubjectKind != "":
		w.Use(`events_of_subject_kind`)
	default:
		w.Use(`events_of_class`)
	}
	return w
}

// disorder is how far the times of events may be from the order of their ids:
// ids follow the commits, times the replicas' clocks at the beginning of each
// transaction.
const disorder = time.Hour

// byPerson reports whether only the events of a person or an agent are asked for.
func (f Filter) byPerson() bool {
	return len(f.ActorIDs) > 0 && f.ActorIDs[0] != actor.System.ID && f.ActorIDs[0] != actor.Anonymous.ID
}

// isPrefix reports whether kind, of a filter, is all kinds that begin so.
func isPrefix(kind string) bool { return strings.HasSuffix(kind, ".*") }

// ofKinds adds that an event is of one of the kinds.
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

// knownKinds are the kinds in the log that match one of the given ones. The log
// has some dozens, which are found by as many looks into an index.
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

// events is how the log is listed.
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

// Read returns one page of the events that match, the newest first.
func Read(ctx context.Context, q db.Queryer, f Filter, want page.Want) (page.Part[Event], error) {
	known, err := knownKinds(ctx, q, f.Kinds)
	if err != nil {
		return page.Part[Event]{}, err
	}
	return events.Read(ctx, q, f.where(known), want)
}

// findOwn answers the caller's id if that email is theirs, and else actor.NoID.
func findOwn(ctx context.Context, q db.Queryer, email string) (id string, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM users WHERE email_key = ? AND id = ?`, strings.ToLower(email), actor.From(ctx).ID).Scan(&id)
	if db.IsNotFound(err) {
		return actor.NoID, nil
	}
	return id, err
}

// findActors finds the ids of the accounts that ref names, by id, email or
// agent_id: an agent may have had several.
func findActors(ctx context.Context, q db.Queryer, ref string) ([]string, error) {
	lower := strings.ToLower(ref)
	rows, err := q.Query(ctx, `SELECT id FROM users WHERE id = ? OR email_key = ? OR agent_id = ? ORDER BY id`, lower, lower, ref)
	return db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
}

func scan(row db.Row) (Event, error) {
	var e Event
	var at clock.Time
	var data string
	var from Origin
	err := row.Scan(&e.ID, &at, &e.Class, &e.Kind, &e.Actor.ID, &e.Actor.Name, &e.Subject.Kind, &e.Subject.ID, &e.Subject.Name,
		&data, &from.Via, &from.Address)
	if from.Via != "" {
		e.From = &from
	}
	e.At, e.Data = at, json.RawMessage(data)
	return e, err
}
