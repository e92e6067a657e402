package standup

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

const blockerColumns = `id, team, agents, text, task, board, first_seen, last_seen, days, status, cause, escalated_on,
	ended_at, ended_why, ended_in, decided_by, decision, standup_id, created_at`

// scanBlocker reads a row with the columns in blockerColumns.
func scanBlocker(row db.Row) (*trackedBlocker, error) {
	var l trackedBlocker
	var agents, days string
	err := row.Scan(&l.ID, &l.Team, &agents, &l.Text, &l.Task, &l.Board, &l.FirstSeen, &l.LastSeen, &days, &l.Status,
		&l.Cause, &l.EscalatedOn, &l.EndedAt, &l.EndedWhy, &l.EndedIn, &l.DecidedBy, &l.Decision, &l.StandupID, &l.CreatedAt)
	if err != nil {
		return nil, err
	}
	l.words = fold(l.Text)
	if err := json.Unmarshal([]byte(agents), &l.Agents); err != nil {
		return nil, err
	}
	return &l, json.Unmarshal([]byte(days), &l.Days)
}

// blockersFor returns the team's blockers that a standup's reports can mention. These are the open
// blockers and those that ended after the standup asked its participants. Blockers that an earlier
// attempt at the same standup ended are also included.
func blockersFor(
	ctx context.Context, q db.Queryer, team, standupID string, asked time.Time,
) ([]*trackedBlocker, error) {
	rows, err := q.Query(ctx, `
		SELECT `+blockerColumns+` FROM standup_blockers WHERE team = ? AND status = 'open'
		UNION ALL
		SELECT `+blockerColumns+` FROM standup_blockers WHERE team = ? AND status = 'ended' AND ended_at >= ?
		UNION ALL
		SELECT `+blockerColumns+` FROM standup_blockers WHERE ended_in = ? AND NOT (ended_at >= ?)
		ORDER BY first_seen, id`, team, team, asked, standupID, asked)
	return db.All(rows, err, scanBlocker)
}

// openBlockers returns a team's open blockers.
func openBlockers(ctx context.Context, q db.Queryer, team string) ([]*trackedBlocker, error) {
	rows, err := q.Query(ctx,
		`SELECT `+blockerColumns+` FROM standup_blockers WHERE team = ? AND status = 'open' ORDER BY first_seen, id`, team)
	return db.All(rows, err, scanBlocker)
}

// openBlockersWithTasks returns all teams' open blockers that name a task.
func openBlockersWithTasks(ctx context.Context, q db.Queryer) ([]*trackedBlocker, error) {
	rows, err := q.Query(ctx,
		`SELECT `+blockerColumns+
			` FROM standup_blockers WHERE status = 'open' AND task IS NOT NULL ORDER BY team, first_seen, id`)
	return db.All(rows, err, scanBlocker)
}

// openBlockersOf returns all teams' open blockers that name the task with the given number.
func openBlockersOf(ctx context.Context, q db.Queryer, number *int64) ([]*trackedBlocker, error) {
	rows, err := q.Query(ctx,
		`SELECT `+blockerColumns+
			` FROM standup_blockers WHERE status = 'open' AND task IS NOT NULL AND task = ? ORDER BY team`,
		number)
	return db.All(rows, err, scanBlocker)
}

// saveBlockers stores the changed blockers. It stores ended blockers first, because a task
// can have only one open blocker.
func saveBlockers(ctx context.Context, tx *db.Tx, blockers []*trackedBlocker, now time.Time) error {
	for _, status := range []BlockerStatus{BlockerEnded, BlockerOpen} {
		for _, l := range blockers {
			if l.Status != status || !l.changed {
				continue
			}
			_, err := tx.Exec(ctx, `
				INSERT INTO standup_blockers (`+blockerColumns+`, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET agents = excluded.agents, text = excluded.text, task = excluded.task, board = excluded.board,
					first_seen = excluded.first_seen, last_seen = excluded.last_seen, days = excluded.days, status = excluded.status,
					cause = excluded.cause, escalated_on = excluded.escalated_on, ended_at = excluded.ended_at, ended_why = excluded.ended_why,
					ended_in = excluded.ended_in, decided_by = excluded.decided_by, decision = excluded.decision, standup_id = excluded.standup_id, updated_at = excluded.updated_at`,
				l.ID, l.Team, encode(l.Agents), l.Text, l.Task, l.Board, l.FirstSeen, l.LastSeen, encode(l.Days), l.Status, l.Cause,
				l.EscalatedOn, l.EndedAt, l.EndedWhy, l.EndedIn, l.DecidedBy, l.Decision, l.StandupID,
				l.CreatedAt, clock.At(now))
			if err != nil {
				return err
			}
			l.changed = false
		}
	}
	return nil
}

// taskState is the state of a task, as far as blockers and reports are compared with it. It is zero
// for a task that does not exist.
type taskState struct {
	id, status                 string
	archived, blocked, waiting bool // waiting for other tasks
}

// board returns the state of the task on the board, as blockers are compared with it.
func (t taskState) board() string {
	switch {
	case t.id == "":
		return boardGone
	case t.status == "done":
		return boardDone
	case t.archived:
		return boardArchived
	case t.blocked:
		return boardBlocked
	}
	return boardOpen
}

// taskStates returns the tasks with the given numbers. Numbers without a task are omitted.
func taskStates(ctx context.Context, q db.Queryer, numbers []int64) (map[int64]taskState, error) {
	tasks := map[int64]taskState{}
	if len(numbers) == 0 {
		return tasks, nil
	}
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = n
	}
	rows, err := q.Query(ctx, `
		SELECT number, id, status, archived_at IS NOT NULL, blocked_reason IS NOT NULL, waiting_on > 0
		FROM tasks WHERE number IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
	_, err = db.All(rows, err, func(row db.Row) (n int64, err error) {
		var t taskState
		err = row.Scan(&n, &t.id, &t.status, &t.archived, &t.blocked, &t.waiting)
		tasks[n] = t
		return n, err
	})
	return tasks, err
}

// taskStatesByKey returns the tasks with the given keys. Keys without a task are omitted.
func taskStatesByKey(ctx context.Context, q db.Queryer, keys []string) (map[string]taskState, error) {
	var numbers []int64
	for _, k := range keys {
		if n := taskNumber(k); n != nil {
			numbers = append(numbers, *n)
		}
	}
	tasks, err := taskStates(ctx, q, numbers)
	byKey := make(map[string]taskState, len(tasks))
	for n, t := range tasks {
		byKey[*taskKey(&n)] = t
	}
	return byKey, err
}

// boardOf returns the state of each task, by task number.
func boardOf(ctx context.Context, q db.Queryer, numbers []int64) (map[int64]string, error) {
	tasks, err := taskStates(ctx, q, numbers)
	board := make(map[int64]string, len(numbers))
	for _, n := range numbers {
		board[n] = tasks[n].board()
	}
	return board, err
}

// refreshBlockers updates the blockers in a standup's record to their current status.
func (s *Standup) refreshBlockers(ctx context.Context, q db.Queryer) error {
	var ids []any
	for i := range s.Blockers {
		x := &s.Blockers[i]
		if x.ID != nil {
			ids = append(ids, *x.ID)
		}
		if x.Status == "" { // a record stored before blockers were tracked
			x.Status, x.NamedBy, x.Days = BlockerEnded, []string{x.AgentID}, []string{}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type end struct {
		id               string
		status           BlockerStatus
		why, by, verdict *string
		at               *clock.Time
	}
	rows, err := q.Query(ctx,
		`SELECT id, status, ended_why, ended_at, decided_by, decision FROM standup_blockers WHERE id IN (?`+
			strings.Repeat(`, ?`, len(ids)-1)+`)`,
		ids...)
	ends, err := db.All(rows, err, func(row db.Row) (e end, err error) {
		return e, row.Scan(&e.id, &e.status, &e.why, &e.at, &e.by, &e.verdict)
	})
	for _, e := range ends {
		for i := range s.Blockers {
			if x := &s.Blockers[i]; equalPtr(x.ID, &e.id) {
				x.Status, x.EndedWhy, x.Decision = e.status, e.why, nil
				if e.by != nil && e.verdict != nil && e.at != nil {
					x.Decision = &Verdict{By: *e.by, Text: *e.verdict, At: *e.at}
				}
			}
		}
	}
	return err
}

// effect is a change that a standup made outside its own record, such as a new task or
// inbox item.
type effect struct {
	StandupID string
	Kind      string // comment, escalation, old_blocker, task
	Subject   string // a task key, or the cause of an inbox item
	Words     string
	Date      string
	first     string // date of the first effect on the same subject, if the effect comes from Service.escalated
}

const effectColumns = `standup_id, kind, subject, words, date`

func scanEffect(row db.Row) (e effect, err error) {
	return e, row.Scan(&e.StandupID, &e.Kind, &e.Subject, &e.Words, &e.Date)
}

// effectsOf returns the changes that a standup made outside its own record, oldest first.
func effectsOf(ctx context.Context, q db.Queryer, standupID string) ([]effect, error) {
	rows, err := q.Query(ctx, `SELECT `+effectColumns+` FROM standup_effects WHERE standup_id = ? ORDER BY seq`, standupID)
	return db.All(rows, err, scanEffect)
}

// effectsSince returns up to 200 of a team's effects of the given kind since the given day, newest
// first.
func effectsSince(ctx context.Context, q db.Queryer, team, kind, from string) ([]effect, error) {
	rows, err := q.Query(ctx, `SELECT `+effectColumns+` FROM standup_effects WHERE team = ? AND kind = ? AND date >= ?
		ORDER BY date DESC, standup_id DESC, seq DESC LIMIT 200`, team, kind, from)
	return db.All(rows, err, scanEffect)
}

// putEffect stores an effect of a standup, such as a new inbox item. Only the process
// that runs the standup may call it.
func putEffect(ctx context.Context, tx *db.Tx, team string, e effect, now time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO standup_effects (standup_id, seq, kind, subject, words, team, date, at)
		VALUES (?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM standup_effects WHERE standup_id = ?), ?, ?, ?, ?, ?, ?)`,
		e.StandupID, e.StandupID, e.Kind, e.Subject, e.Words, team, e.Date, clock.At(now))
	return err
}
