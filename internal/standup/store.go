package standup

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/search"
)

const columns = `id, team, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, decisions, action_items, escalations,
	summary, digest, error_code, error_detail, agent_timeout_ms, deadline_ms, deadline_at, created_at, started_at, completed_at, updated_at, version`

func scan(row db.Row) (Standup, error) {
	s := Standup{Reports: []Report{}, Transcript: []Line{}}
	var blockers, decisions, items, escalations string
	var code, detail sql.NullString
	var agentTimeout, deadline sql.NullInt64
	err := row.Scan(&s.ID, &s.Team, &s.Date, &s.Timezone, &s.Title, &s.Status, &s.Phase, &s.Facilitator, &s.Attempt,
		&s.Trigger, &blockers, &decisions, &items, &escalations, &s.Summary, &s.Digest, &code, &detail, &agentTimeout,
		&deadline, &s.DeadlineAt, &s.CreatedAt, &s.StartedAt, &s.CompletedAt, &s.UpdatedAt, &s.Version)
	if err != nil {
		return Standup{}, err
	}
	if code.Valid {
		s.Failure = &Failure{Code: code.String, Detail: detail.String}
	}
	s.agentTimeout, s.deadline = time.Duration(agentTimeout.Int64)*time.Millisecond,
		time.Duration(deadline.Int64)*time.Millisecond
	if err := json.Unmarshal([]byte(blockers), &s.Blockers); err != nil {
		return Standup{}, err
	}
	if err := json.Unmarshal([]byte(decisions), &s.Decisions); err != nil {
		return Standup{}, err
	}
	if err := json.Unmarshal([]byte(items), &s.ActionItems); err != nil {
		return Standup{}, err
	}
	return s, json.Unmarshal([]byte(escalations), &s.Escalations)
}

// values returns the standup's column values in the same order as in columns, but without the id.
func (s Standup) values() []any {
	var code, detail *string
	if s.Failure != nil {
		code, detail = &s.Failure.Code, &s.Failure.Detail
	}
	return []any{
		s.Team, s.Date, s.Timezone, s.Title, s.Status, s.Phase, s.Facilitator, s.Attempt, s.Trigger,
		encode(s.Blockers), encode(s.Decisions), encode(s.ActionItems), encode(s.Escalations), s.Summary, s.Digest, code,
		detail, limitMillis(s.agentTimeout), limitMillis(s.deadline), s.DeadlineAt, s.CreatedAt, s.StartedAt, s.CompletedAt,
		s.UpdatedAt, s.Version,
	}
}

// limitMillis returns a time limit in milliseconds, or null if the limit is zero.
func limitMillis(d time.Duration) sql.NullInt64 {
	return sql.NullInt64{Int64: d.Milliseconds(), Valid: d > 0}
}

// encode returns a list as JSON. It encodes nil as an empty list.
func encode[T any](list []T) string {
	if list == nil {
		list = []T{}
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // plain structs always encode
	}
	return string(b)
}

// insert stores a new standup. It returns false if the team already has a standup on that day.
func insert(ctx context.Context, tx *db.Tx, s Standup) (bool, error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO standups (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team, date) DO NOTHING`, append([]any{s.ID}, s.values()...)...)
	return n == 1, err
}

// update stores a standup and increments its version.
func update(ctx context.Context, tx *db.Tx, s *Standup, now time.Time) error {
	s.Version++
	s.UpdatedAt = clock.At(now)
	n, err := tx.Exec(ctx, `
		UPDATE standups SET team = ?, date = ?, timezone = ?, title = ?, status = ?, phase = ?, facilitator = ?, attempt = ?, trigger_kind = ?,
			blockers = ?, decisions = ?, action_items = ?, escalations = ?, summary = ?, digest = ?, error_code = ?, error_detail = ?,
			agent_timeout_ms = ?, deadline_ms = ?, deadline_at = ?, created_at = ?, started_at = ?, completed_at = ?, updated_at = ?, version = ?
		WHERE id = ?`, append(s.values(), s.ID)...)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

func remove(ctx context.Context, tx *db.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM standups WHERE id = ?`, id)
	return err
}

// find returns a standup without its reports and transcript.
func find(ctx context.Context, q db.Queryer, id string) (Standup, error) {
	return one(q.QueryRow(ctx, `SELECT `+columns+` FROM standups WHERE id = ?`, id))
}

// findByDay returns a team's standup on the given day.
func findByDay(ctx context.Context, q db.Queryer, team, date string) (Standup, error) {
	return one(q.QueryRow(ctx, `SELECT `+columns+` FROM standups WHERE team = ? AND date = ?`, team, date))
}

// findLatest returns a team's most recent standup whose day has begun in the standup's own
// time zone. It reads three standups, because at any moment up to three dates are current
// around the world.
func findLatest(ctx context.Context, q db.Queryer, team string, now time.Time) (Standup, error) {
	const earliest = 14 * time.Hour // offset of the time zone farthest ahead of UTC
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM standups WHERE team = ? AND date <= ? ORDER BY date DESC LIMIT 3`,
		team, now.UTC().Add(earliest).Format(time.DateOnly))
	all, err := db.All(rows, err, scan)
	if err != nil {
		return Standup{}, err
	}
	for _, s := range all {
		zone, unknown := clock.Zone(s.Timezone)
		if begun := unknown != nil || s.Date <= now.In(zone).Format(time.DateOnly); begun {
			return s, nil
		}
	}
	return Standup{}, ErrNotFound
}

func one(row *sql.Row) (Standup, error) {
	s, err := scan(row)
	if db.IsNotFound(err) {
		return Standup{}, ErrNotFound
	}
	return s, err
}

// findOpened returns the standups that were opened but have not been run.
func findOpened(ctx context.Context, q db.Queryer) ([]Standup, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM standups WHERE status = 'running' AND phase = 'opened'`)
	return db.All(rows, err, scan)
}

// load reads the standup's reports, transcript and cost, and the current status of its
// blockers.
func (s *Standup) load(ctx context.Context, q db.Queryer) error {
	var err error
	if s.Reports, err = reports(ctx, q, s.ID); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	if err = s.refreshBlockers(ctx, q); err != nil {
		return fmt.Errorf("blockers: %w", err)
	}
	rows, err := q.Query(ctx,
		`SELECT seq, at, kind, from_id, to_id, text FROM standup_transcript WHERE standup_id = ? ORDER BY seq`, s.ID)
	s.Transcript, err = db.All(rows, err, func(row db.Row) (l Line, err error) {
		return l, row.Scan(&l.Seq, &l.At, &l.Kind, &l.From, &l.To, &l.Text)
	})
	if err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return s.loadCost(ctx, q)
}

// ledgerCost is an SQL expression for the cost of the run that a question started,
// according to the usage ledger. The ledger also contains runs whose end the standup
// missed, such as stopped runs. The cost is null unless the whole run is priced.
const ledgerCost = `(SELECT CASE WHEN SUM(l.unpriced) = 0 THEN CAST(SUM(l.cost_nano) AS BIGINT) END
	FROM usage_ledger l WHERE l.run_id IN (q.run_id, 'priced:' || q.run_id))`

// loadCost sets the standup's cost to the total cost of its ended runs. It is taken from the usage ledger,
// or from a run's answer if the ledger has no cost for it. Runs that the runtime did not accept are ignored.
func (s *Standup) loadCost(ctx context.Context, q db.Queryer) error {
	var sum sql.NullInt64
	err := q.QueryRow(ctx, `
		SELECT COUNT(*) FILTER (WHERE cost IS NULL AND accepted AND state <> 'open'), CAST(SUM(cost) AS BIGINT)
		FROM (SELECT q.accepted, q.state, COALESCE(`+ledgerCost+`, q.cost_nano) AS cost FROM standup_questions q WHERE q.standup_id = ?) AS runs`, s.ID).Scan(&s.unpricedRuns, &sum)
	if err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	s.spent, s.CostUSD = nil, nil
	if sum.Valid {
		s.spent = new(money.Nano(sum.Int64))
	}
	if s.unpricedRuns == 0 {
		s.CostUSD = s.spent
	}
	return nil
}

const reportColumns = `agent_id, name, status, yesterday, today, blockers, text, other, evidence, claims, omitted, asked_at, answered_at, submitted_at, submitted_by, cost_nano`

func reports(ctx context.Context, q db.Queryer, standupID string) ([]Report, error) {
	rows, err := q.Query(ctx, `SELECT `+strings.TrimSuffix(reportColumns, "cost_nano")+`
		COALESCE((SELECT `+ledgerCost+` FROM standup_questions q WHERE q.standup_id = r.standup_id AND q.agent_id = r.agent_id
			AND q.purpose = 'report' AND q.state IN ('answered', 'timed_out', 'failed') ORDER BY q.number DESC LIMIT 1), r.cost_nano)
		FROM standup_reports r WHERE standup_id = ? ORDER BY place`, standupID)
	return db.All(rows, err, func(row db.Row) (Report, error) {
		var r Report
		var evidence, claims, omitted string
		err := row.Scan(&r.AgentID, &r.Name, &r.Status, &r.Yesterday, &r.Today, &r.Blockers, &r.Text, &r.Other,
			&evidence, &claims, &omitted, &r.AskedAt, &r.AnsweredAt, &r.SubmittedAt, &r.SubmittedBy, &r.CostUSD)
		if err != nil {
			return r, err
		}
		if err := json.Unmarshal([]byte(evidence), &r.Evidence); err != nil {
			return r, err
		}
		if err := json.Unmarshal([]byte(omitted), &r.Omitted); err != nil {
			return r, err
		}
		return r, json.Unmarshal([]byte(claims), &r.Claims)
	})
}

// putReport stores a report at its position in the standup. It also updates the search index, which
// contains only answered reports.
func putReport(ctx context.Context, tx *db.Tx, standupID string, place int, r Report) error {
	evidence, err := json.Marshal(r.Evidence)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO standup_reports (standup_id, place, `+reportColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (standup_id, agent_id) DO UPDATE SET place = excluded.place, name = excluded.name, status = excluded.status,
			yesterday = excluded.yesterday, today = excluded.today, blockers = excluded.blockers, text = excluded.text, other = excluded.other,
			evidence = excluded.evidence, claims = excluded.claims, omitted = excluded.omitted, asked_at = excluded.asked_at,
			answered_at = excluded.answered_at, submitted_at = excluded.submitted_at, submitted_by = excluded.submitted_by, cost_nano = excluded.cost_nano`,
		standupID, place, r.AgentID, r.Name, r.Status, r.Yesterday, r.Today, r.Blockers, r.Text, r.Other,
		string(evidence), encode(r.Claims), encode(r.Omitted), r.AskedAt, r.AnsweredAt, r.SubmittedAt,
		r.SubmittedBy, (*int64)(r.CostUSD))
	if err != nil {
		return err
	}
	if r.Status == Answered && r.Text != nil {
		err = search.PutReport(ctx, tx, search.ReportText{StandupID: standupID, AgentID: r.AgentID, Body: *r.Text})
	} else {
		err = search.DropReport(ctx, tx, standupID, r.AgentID) // no longer answered: it is asked for again
	}
	if err != nil {
		return err
	}
	return updateRoll(ctx, tx, standupID)
}

// appendLine appends an entry to the transcript.
func appendLine(ctx context.Context, tx *db.Tx, standupID string, at time.Time, kind, from, to, text string) error {
	var last int
	err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(seq), 0) FROM standup_transcript WHERE standup_id = ?`,
		standupID).Scan(&last)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx,
		`INSERT INTO standup_transcript (standup_id, seq, at, kind, from_id, to_id, text) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		standupID, last+1, clock.At(at), kind, from, to, text)
	return err
}

// questionState says whether a question is open, or how it ended.
type questionState string

const (
	questionOpen     questionState = "open"
	questionAnswered questionState = "answered"
	questionTimedOut questionState = "timed_out"
	questionFailed   questionState = "failed"
	questionLost     questionState = "lost"    // the runtime lost its run, and it is asked again
	questionDropped  questionState = "dropped" // the agent submitted its report first, or the standup ended
)

// question is a question to an agent. The gateway identifies a question by its run ID.
type question struct {
	RunID      string
	AgentID    string
	Number     int
	Purpose    string // report, review, or repeat for a second review question
	SessionKey string
	BootID     string // the gateway process that it was last sent to
	Message    string
	State      questionState
	Accepted   bool // whether the gateway accepted the run
	Text       *string
	Tokens     *Tokens // nil if unknown
	CostNano   *int64
	DeadlineAt clock.Time
	AskedAt    clock.Time
	EndedAt    *clock.Time
}

const questionColumns = `run_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, text, cost_nano, deadline_at, asked_at, ended_at,
	input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, other_tokens`

func questions(ctx context.Context, q db.Queryer, standupID string) ([]question, error) {
	rows, err := q.Query(ctx,
		`SELECT `+questionColumns+` FROM standup_questions WHERE standup_id = ? ORDER BY asked_at, run_id`, standupID)
	return db.All(rows, err, scanQuestion)
}

func scanQuestion(row db.Row) (q question, err error) {
	var in, out, read, write, other sql.NullInt64
	err = row.Scan(&q.RunID, &q.AgentID, &q.Number, &q.Purpose, &q.SessionKey, &q.BootID, &q.Message, &q.State,
		&q.Accepted, &q.Text, &q.CostNano, &q.DeadlineAt, &q.AskedAt, &q.EndedAt, &in, &out, &read, &write, &other)
	if in.Valid {
		q.Tokens = &Tokens{in.Int64, out.Int64, read.Int64, write.Int64, other.Int64}
	}
	return q, err
}

// storedState returns the stored state of a question, or "" if there is no such question.
func storedState(ctx context.Context, q db.Queryer, runID string) (state questionState, err error) {
	err = q.QueryRow(ctx, `SELECT state FROM standup_questions WHERE run_id = ?`, runID).Scan(&state)
	if db.IsNotFound(err) {
		return "", nil
	}
	return state, err
}

func putQuestion(ctx context.Context, tx *db.Tx, standupID string, q question) error {
	var in, out, read, write, other *int64
	if t := q.Tokens; t != nil {
		in, out, read, write, other = &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO standup_questions (standup_id, `+questionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run_id) DO UPDATE SET boot_id = excluded.boot_id, state = excluded.state, accepted = excluded.accepted,
			text = excluded.text, cost_nano = excluded.cost_nano, deadline_at = excluded.deadline_at, ended_at = excluded.ended_at,
			input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cache_read_tokens = excluded.cache_read_tokens,
			cache_write_tokens = excluded.cache_write_tokens, other_tokens = excluded.other_tokens`,
		standupID, q.RunID, q.AgentID, q.Number, q.Purpose, q.SessionKey, q.BootID, q.Message, q.State, q.Accepted,
		q.Text, q.CostNano, q.DeadlineAt, q.AskedAt, q.EndedAt, in, out, read, write, other)
	return err
}
