package schedule

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/list"
)

const (
	mirrorColumns = `id, definition, present, watched_from, next_due, last_due, alarmed, changed_at`
	jobColumns    = mirrorColumns + `, task, task_after`
)

func scanJob(row db.Row) (w mirroredJob, err error) {
	var id string
	var task *string
	if err := row.Scan(
		&id, &w.text, &w.present, &w.since, &w.nextDue, &w.lastDue, &w.alarmed, &w.changedAt, &task, &w.taskAfter,
	); err != nil {
		return w, err
	}
	if task != nil {
		if err := json.Unmarshal([]byte(*task), &w.task); err != nil {
			return w, err
		}
	}
	return w, json.Unmarshal([]byte(w.text), &w.job)
}

// presentJobs returns the stored jobs that have not been removed from the runtime, sorted by ID.
func presentJobs(ctx context.Context, q db.Queryer) ([]mirroredJob, error) {
	rows, err := q.Query(ctx, `SELECT `+jobColumns+` FROM schedule_jobs WHERE present ORDER BY id`)
	return db.All(rows, err, scanJob)
}

// allJobs returns all jobs by ID, including removed ones.
func allJobs(ctx context.Context, q db.Queryer) (map[string]*mirroredJob, error) {
	rows, err := q.Query(ctx, `SELECT `+jobColumns+` FROM schedule_jobs`)
	return byID(db.All(rows, err, scanJob))
}

// dueJobs returns the jobs with a due slot that is not in the ledger yet.
func dueJobs(ctx context.Context, q db.Queryer, now time.Time) ([]mirroredJob, error) {
	rows, err := q.Query(ctx, `SELECT `+jobColumns+` FROM schedule_jobs WHERE next_due <= ? ORDER BY id`, now)
	return db.All(rows, err, scanJob)
}

// openJobs returns the jobs with slots that are not final.
func openJobs(ctx context.Context, q db.Queryer) (map[string]*mirroredJob, error) {
	rows, err := q.Query(ctx,
		`SELECT `+jobColumns+` FROM schedule_jobs WHERE id IN (SELECT job_id FROM schedule_slots WHERE NOT settled)`)
	return byID(db.All(rows, err, scanJob))
}

func byID(all []mirroredJob, err error) (map[string]*mirroredJob, error) {
	out := make(map[string]*mirroredJob, len(all))
	for i := range all {
		out[all[i].job.ID] = &all[i]
	}
	return out, err
}

// findJob returns the job with the given ID, even if the job was removed. If there is no such job,
// it returns nil.
func findJob(ctx context.Context, q db.Queryer, id string) (*mirroredJob, error) {
	w, err := scanJob(q.QueryRow(ctx, `SELECT `+jobColumns+` FROM schedule_jobs WHERE id = ?`, id))
	if db.IsNotFound(err) {
		return nil, nil
	}
	return &w, err
}

// putJobs inserts or replaces jobs.
func putJobs(ctx context.Context, tx *db.Tx, jobs ...mirroredJob) error {
	rows := make([][]any, len(jobs))
	for i, w := range jobs {
		rows[i] = []any{w.job.ID, w.text, w.present, w.since, w.nextDue, w.lastDue, w.alarmed, w.changedAt}
	}
	return insert(ctx, tx, `INSERT INTO schedule_jobs (`+mirrorColumns+`) VALUES `, ` ON CONFLICT (id) DO UPDATE SET definition = excluded.definition, present = excluded.present,
		watched_from = excluded.watched_from, next_due = excluded.next_due, last_due = excluded.last_due, alarmed = excluded.alarmed, changed_at = excluded.changed_at`, rows)
}

// batchSize limits how many rows one statement writes, because a thousand jobs can be due at the
// same time.
const batchSize = 50

// insert inserts rows in batches. It appends the given ON CONFLICT clause to each
// statement.
func insert(ctx context.Context, tx *db.Tx, into, conflict string, rows [][]any) error {
	for len(rows) > 0 {
		n := 1
		if len(rows) >= batchSize {
			n = batchSize // only two sizes, so that both statements stay prepared
		}
		one := `(?` + strings.Repeat(`, ?`, len(rows[0])-1) + `)`
		var args []any
		for _, r := range rows[:n] {
			args = append(args, r...)
		}
		if _, err := tx.Exec(ctx, into+one+strings.Repeat(`, `+one, n-1)+conflict, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// clearAlarm records that a job has no items in the inbox.
func clearAlarm(ctx context.Context, tx *db.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE schedule_jobs SET alarmed = FALSE WHERE id = ?`, id)
	return err
}

// textOf returns a job as JSON, the format in which jobs are stored.
func textOf(j gateway.Job) (string, error) {
	text, err := json.Marshal(j)
	return string(text), err
}

const runColumns = `job_id, started_at, ended_at, run_id, session_key, status, error, summary, manual`

func scanRun(row db.Row) (r Run, err error) {
	return r, row.Scan(&r.JobID, &r.StartedAt, &r.EndedAt, &r.RunID, &r.SessionKey, &r.Status, &r.Error,
		&r.Summary, &r.Manual)
}

// runs defines how the API lists a job's runs.
var runs = list.List[Run]{
	Table: `schedule_runs`, Columns: runColumns, Scan: scanRun, Usual: "-started",
	Sorts: map[string]list.Sort[Run]{
		"started": {
			Columns: []string{`job_id`, `started_at`}, Position: func(r Run) []any { return []any{r.JobID, r.StartedAt.Time} },
		},
	},
}

// addRun inserts a run and reports whether it is new.
func addRun(ctx context.Context, tx *db.Tx, r Run) (bool, error) {
	n, err := tx.Exec(ctx,
		`INSERT INTO schedule_runs (`+runColumns+
			`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job_id, started_at) DO NOTHING`,
		r.JobID, r.StartedAt, r.EndedAt, r.RunID, r.SessionKey, r.Status, r.Error, r.Summary, r.Manual)
	return n > 0, err
}

// verdictColumns are the columns of a run that determine the state of a slot or appear in its inbox
// item.
const verdictColumns = `job_id, started_at, ended_at, run_id, session_key, status, error, manual`

// runsSince returns the runs that ended at or after a given time, grouped by job and
// sorted by start time.
func runsSince(ctx context.Context, q db.Queryer, since time.Time) (map[string][]Run, error) {
	// In the order of the index on the end. In that of the result, SQLite may read the whole table.
	rows, err := q.Query(ctx,
		`SELECT `+verdictColumns+` FROM schedule_runs WHERE ended_at >= ? ORDER BY ended_at, job_id, started_at`, since)
	all, err := db.All(rows, err, func(row db.Row) (r Run, err error) {
		return r, row.Scan(&r.JobID, &r.StartedAt, &r.EndedAt, &r.RunID, &r.SessionKey, &r.Status, &r.Error, &r.Manual)
	})
	out := map[string][]Run{}
	for _, r := range all {
		out[r.JobID] = append(out[r.JobID], r)
	}
	for _, runs := range out {
		slices.SortFunc(runs, func(a, b Run) int { return a.StartedAt.Compare(b.StartedAt.Time) })
	}
	return out, err
}

const slotColumns = `job_id, due_at, agent_id, name, spread, deadline_at, state, reason, started_at, judged_at, settled, look_at`

func scanSlot(row db.Row) (s Slot, err error) {
	var spread int64
	err = row.Scan(&s.JobID, &s.DueAt, &s.AgentID, &s.Name, &spread, &s.Deadline, &s.State, &s.Reason, &s.StartedAt,
		&s.JudgedAt, &s.final, &s.recheckAt)
	s.spread = time.Duration(spread) * time.Millisecond
	return s, err
}

// putSlots inserts slots or updates their state.
func putSlots(ctx context.Context, tx *db.Tx, slots ...Slot) error {
	rows := make([][]any, len(slots))
	for i, s := range slots {
		rows[i] = []any{
			s.JobID, s.DueAt, s.AgentID, s.Name, s.spread.Milliseconds(), s.Deadline, string(s.State), s.Reason, s.StartedAt,
			s.JudgedAt, s.final, s.recheckAt,
		}
	}
	return insert(ctx, tx, `INSERT INTO schedule_slots (`+slotColumns+`) VALUES `, ` ON CONFLICT (job_id, due_at) DO UPDATE SET state = excluded.state, reason = excluded.reason,
		started_at = excluded.started_at, judged_at = excluded.judged_at, settled = excluded.settled, look_at = excluded.look_at`, rows)
}

// openSlots returns the slots that are not final, sorted by time.
func openSlots(ctx context.Context, q db.Queryer) ([]Slot, error) {
	// In the order of the index on open slots, as in runsSince.
	rows, err := q.Query(ctx, `SELECT `+slotColumns+` FROM schedule_slots WHERE NOT settled ORDER BY due_at, job_id`)
	return db.All(rows, err, scanSlot)
}

// slotsBetween returns at most limit slots that match a filter, starting after the given position.
func slotsBetween(ctx context.Context, q db.Queryer, f SlotFilter, after *slotKey, limit int) ([]Slot, error) {
	query, args := `SELECT `+slotColumns+` FROM schedule_slots WHERE due_at >= ? AND due_at < ?`, []any{f.From, f.To}
	if f.JobID != "" {
		query, args = query+` AND job_id = ?`, append(args, f.JobID)
	}
	if after != nil {
		query, args = query+` AND (due_at, job_id) > (?, ?)`, append(args, after.due, after.job)
	}
	rows, err := q.Query(ctx, query+` ORDER BY due_at, job_id LIMIT ?`, append(args, limit)...)
	return db.All(rows, err, scanSlot)
}

// reading is the time range for which Wardroom knows every run. It is zero before the first read.
type reading struct {
	from, to time.Time
	bootID   string // of the gateway's process at the last read; empty if unknown
	away     outage // the last one
}

// reading returns what is known of the runtime's runs. A reading of the future was stored while the clock was wrong,
// and counts for nothing.
func (s *Service) reading(ctx context.Context, q db.Queryer) (reading, error) {
	r, err := findReading(ctx, q)
	if s.ahead(r.to) {
		r = reading{}
	}
	return r, err
}

func findReading(ctx context.Context, q db.Queryer) (r reading, err error) {
	var from, to clock.Time
	var awayFrom, awayTo *clock.Time
	err = q.QueryRow(ctx,
		`SELECT known_from, known_to, boot_id, away_from, away_to, restarted FROM schedule_reading WHERE one = 1`).
		Scan(&from, &to, &r.bootID, &awayFrom, &awayTo, &r.away.restarted)
	if db.IsNotFound(err) {
		return r, nil
	}
	r.from, r.to = from.Time, to.Time
	if awayFrom != nil && awayTo != nil {
		r.away.from, r.away.to = awayFrom.Time, awayTo.Time
	}
	return r, err
}

func putReading(ctx context.Context, tx *db.Tx, r reading) error {
	var awayFrom, awayTo *clock.Time
	if !r.away.to.IsZero() {
		awayFrom, awayTo = clock.Ptr(r.away.from), clock.Ptr(r.away.to)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO schedule_reading (one, known_from, known_to, boot_id, away_from, away_to, restarted) VALUES (1, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (one) DO UPDATE SET known_from = excluded.known_from, known_to = excluded.known_to, boot_id = excluded.boot_id,
			away_from = excluded.away_from, away_to = excluded.away_to, restarted = excluded.restarted`,
		r.from, r.to, r.bootID, awayFrom, awayTo, r.away.restarted)
	return err
}

// rowExists reports whether a query returns a row.
func rowExists(ctx context.Context, q db.Queryer, query string, args ...any) (found bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (`+query+`)`, args...).Scan(&found)
	return found, err
}

// oldSlots and oldRuns select the rows that purge deletes, and countOld counts those rows.
const (
	countOld = `SELECT COUNT(*), MIN(at) FROM (
		SELECT due_at AS at FROM schedule_slots WHERE due_at < ? AND settled
		UNION ALL SELECT ended_at FROM schedule_runs WHERE ended_at < ?) AS old`
	oldSlots = `SELECT job_id, due_at FROM schedule_slots WHERE due_at < ? AND settled ORDER BY due_at, job_id LIMIT ?`
	oldRuns  = `SELECT job_id, started_at FROM schedule_runs WHERE ended_at < ? ORDER BY ended_at, job_id, started_at LIMIT ?`
)

// purge deletes up to limit final slots and runs older than the given time, and returns the number
// of deleted rows. If there are no such rows, it deletes removed jobs that have no slots. It
// deletes rows one by one, because PostgreSQL would scan the whole table if one statement listed
// all keys.
func purge(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	type key struct {
		job string
		at  clock.Time
	}
	var all int64
	for query, remove := range map[string]string{
		oldSlots: `DELETE FROM schedule_slots WHERE job_id = ? AND due_at = ?`,
		oldRuns:  `DELETE FROM schedule_runs WHERE job_id = ? AND started_at = ?`,
	} {
		rows, err := tx.Query(ctx, query, before, limit-int(all))
		keys, err := db.All(rows, err, func(row db.Row) (k key, err error) { return k, row.Scan(&k.job, &k.at) })
		if err != nil {
			return 0, err
		}
		for _, k := range keys {
			if _, err := tx.Exec(ctx, remove, k.job, k.at); err != nil {
				return 0, err
			}
		}
		all += int64(len(keys))
	}
	if all > 0 {
		return all, nil
	}
	_, err := tx.Exec(ctx, `
		DELETE FROM schedule_jobs WHERE NOT present AND changed_at < ?
			AND NOT EXISTS (SELECT 1 FROM schedule_slots WHERE job_id = schedule_jobs.id)`, before)
	return 0, err
}
