package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/gateway"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
)

// The ledger contains only runs that have ended. The usage of runs in progress is stored separately
// and updated while their transcripts are read, so that the cost of a long or looping run is
// visible before it ends.

// inProgress is the table of the runs in progress, with the columns of the ledger that it has not.
const inProgress = `(SELECT *, 1 AS runs, CASE WHEN cost_nano IS NULL THEN 1 ELSE 0 END AS unpriced FROM usage_going) AS going`

// Going is the usage so far of all runs in progress. Reports do not include it.
type Going struct {
	SoFar
	AsOf *clock.Time `json:"as_of" doc:"The oldest as_of of the listed runs; null if no run is in progress. Each run is read within seconds of a model call, and about every 20 seconds."`
	Runs []GoingRun  `json:"runs" nullable:"false" doc:"Most expensive first."`
}

// SoFar is the usage of one or more runs up to now.
type SoFar struct {
	Tokens    Tokens      `json:"tokens"`
	CostUSD   *money.Nano `json:"cost_usd" doc:"Null if none of this usage has a price; 0 only if the cost is known to be zero."`
	Estimated money.Nano  `json:"estimated_usd" doc:"The part of cost_usd that was estimated with the prices of /prices."`
	Complete  bool        `json:"cost_complete" doc:"False if some usage has no price and is not in cost_usd."`
}

// GoingRun is a run in progress with its usage so far.
type GoingRun struct {
	RunID      string      `json:"run_id"`
	AgentID    string      `json:"agent_id"`
	SessionKey string      `json:"session_key"`
	Source     Source      `json:"source" enum:"human,schedule,heartbeat,sub_agent,standup,task,unknown" doc:"What started the run."`
	JobID      *string     `json:"job_id"`
	TaskKey    *string     `json:"task_key"`
	StandupID  *string     `json:"standup_id"`
	Models     []string    `json:"models" nullable:"false" doc:"The models used so far."`
	StartedAt  *clock.Time `json:"started_at"`
	AsOf       clock.Time  `json:"as_of" doc:"When the run was last read."`
	SoFar
}

// add adds the usage of one model.
func (s *SoFar) add(r row) {
	s.Tokens = s.Tokens.plus(r.Tokens)
	if r.Cost == nil {
		s.Complete = false
		return
	}
	if s.CostUSD == nil {
		s.CostUSD = new(money.Nano)
	}
	*s.CostUSD += *r.Cost
	if r.price == estimated {
		s.Estimated += *r.Cost
	}
}

// Going returns the last known usage of all runs in progress.
func (s *Service) Going(ctx context.Context) (Going, error) {
	g := Going{SoFar: SoFar{Complete: true}, Runs: []GoingRun{}}
	rows, err := inProgressRows(ctx, s.DB, "")
	if err != nil {
		return g, fmt.Errorf("read the usage of runs in progress: %w", err)
	}
	for _, r := range rows {
		if n := len(g.Runs); n == 0 || g.Runs[n-1].RunID != r.RunID { // rows are sorted by run
			g.Runs = append(g.Runs, newGoingRun(r))
		}
		run := &g.Runs[len(g.Runs)-1]
		run.Models = append(run.Models, modelName(r.Provider, r.Model))
		run.add(r.row)
		g.add(r.row)
		if g.AsOf == nil || r.read.Before(g.AsOf.Time) {
			g.AsOf = &r.read
		}
	}
	slices.SortStableFunc(g.Runs, func(a, b GoingRun) int {
		return compareCost(b.CostUSD, a.CostUSD)
	})
	return g, nil
}

func newGoingRun(r inProgressRow) GoingRun {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return GoingRun{
		RunID: r.RunID, AgentID: r.AgentID, SessionKey: r.SessionKey, Source: r.Source, Models: []string{}, AsOf: r.read,
		StartedAt: r.started, JobID: text(r.JobID), TaskKey: text(r.TaskKey), StandupID: text(r.StandupID),
		SoFar: SoFar{Complete: true},
	}
}

func modelName(provider, model string) string {
	if provider == "" {
		return model
	}
	return provider + "/" + model
}

// compareCost compares two costs. It treats an unknown cost as less than zero.
func compareCost(a, b *money.Nano) int {
	of := func(n *money.Nano) int64 {
		if n == nil {
			return -1
		}
		return int64(*n)
	}
	return cmp.Compare(of(a), of(b))
}

// storeInProgress replaces the stored usage of a transcript's run in progress, and reports whether
// there was any usage to store. The method note deletes the rows written here if it is called
// for the same run. If the run's answer is in the ledger, storeInProgress raises it to what has been read, and
// reports that it has grown.
func (s *Service) storeInProgress(
	ctx context.Context, tx *db.Tx, sessionID string, r Run,
) (kept, grown bool, err error) {
	was, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE session_id = ?`, sessionID)
	if err != nil {
		return false, false, fmt.Errorf("delete the usage of a run in progress: %w", err)
	}
	known, err := hasRun(ctx, tx, r.RunID, "")
	if err != nil {
		return false, false, err
	}
	of, err := findOriginal(ctx, tx, r)
	if err != nil {
		return false, false, err
	}
	switch {
	case of != "":
	case known:
		grown, err = s.replace(ctx, tx, r, s.credible(ctx, r), Answered)
	default:
		kept, err = s.insertInProgress(ctx, tx, r)
	}
	if err != nil {
		return false, false, err
	}
	if was == 0 && !kept {
		return false, grown, nil
	}
	if err := notifyChanged(ctx, tx); err != nil || !kept {
		return kept, grown, err
	}
	return kept, grown, s.grew(ctx, tx, r, true)
}

func (s *Service) insertInProgress(ctx context.Context, tx *db.Tx, r Run) (kept bool, err error) {
	// Replace rows that came from a copy of the transcript, because they have less usage.
	if _, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE run_id = ?`, r.RunID); err != nil {
		return false, fmt.Errorf("delete the usage of %s in a copy: %w", r.RunID, err)
	}
	used := r.used(func(p Part) bool { return plausible(p.Tokens, p.Cost) && p.Tokens != (Tokens{}) })
	for i, p := range used {
		if i == len(used)-1 && !r.StartedAt.IsZero() {
			p.Took += max(s.Now().Sub(latest(r.StartedAt, r.EndedAt)), 0)
		}
		of := row{Run: r, Part: p, at: r.EndedAt.UnixMilli()}
		if err := s.price(ctx, tx, &of); err != nil {
			return false, err
		}
		if err := insertInProgressRow(ctx, tx, of, s.Now()); err != nil {
			return false, err
		}
		kept = true
	}
	return kept, nil
}

// loadInProgress loads the IDs of the transcripts for which the usage of a run in progress is
// stored. It reloads them once per idleInterval, because other processes store such usage, too.
func (r *reader) loadInProgress(ctx context.Context) error {
	if r.going != nil && r.s.Now().Sub(r.learned) < idleInterval {
		return nil
	}
	rows, err := r.s.DB.Query(ctx, `SELECT DISTINCT session_id FROM usage_going`)
	ids, err := db.All(rows, err, func(from db.Row) (id string, err error) { return id, from.Scan(&id) })
	if err != nil {
		return fmt.Errorf("list the transcripts of runs in progress: %w", err)
	}
	r.going, r.learned = map[string]bool{}, r.s.Now()
	for _, id := range ids {
		r.going[id] = true
	}
	return nil
}

// forgetAfter is how long to keep the usage of a run in progress after its transcript was last
// read. It applies only to runs that never reach the ledger. This happens if the session was
// deleted or became unreadable, or if the session's totals arrived first.
const forgetAfter = 5 * time.Minute

// stopped returns the IDs of transcripts that have stored in-progress usage but, according to
// the latest session list, no active run.
func (r *reader) stopped(rows map[string]*gateway.Session) (ids []string) {
	if r.unlisted {
		return nil
	}
	for id := range r.going {
		if row := rows[id]; row == nil || !row.Active {
			ids = append(ids, id)
		}
	}
	return ids
}

// deleteStopped deletes the stored usage of transcripts that no longer have an active run. It keeps
// usage that was read less than forgetAfter ago.
func (r *reader) deleteStopped(ctx context.Context, rows map[string]*gateway.Session) error {
	before := clock.At(r.s.Now().Add(-forgetAfter))
	for _, id := range r.stopped(rows) {
		err := r.s.DB.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE session_id = ? AND read_at < ?`, id, before)
			if err != nil || n == 0 {
				return err
			}
			return notifyChanged(ctx, tx)
		})
		if err != nil {
			return fmt.Errorf("delete the usage of a run in progress: %w", err)
		}
	}
	return nil
}

// inProgressRow is a row of the table usage_going.
type inProgressRow struct {
	row
	started *clock.Time
	read    clock.Time
}

// inProgressRows returns the usage of a run in progress, or of all if runID is empty.
func inProgressRows(ctx context.Context, q db.Queryer, runID string) ([]inProgressRow, error) {
	condition, args := ``, []any(nil)
	if runID != "" {
		condition, args = `WHERE run_id = ?`, []any{runID}
	}
	rows, err := q.Query(ctx, `
		SELECT run_id, provider, model, read_at, started_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price, calls, took
		FROM usage_going `+condition+` ORDER BY run_id, provider, model`, args...)
	return db.All(rows, err, func(from db.Row) (r inProgressRow, err error) {
		t := &r.Tokens
		var cost *int64
		var took int64
		err = from.Scan(&r.RunID, &r.Provider, &r.Model, &r.read, &r.started, &r.AgentID, &r.SessionKey, &r.SessionID,
			&r.Source, &r.JobID, &r.TaskKey, &r.StandupID, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &cost,
			&r.price, &r.Calls, &took)
		r.Took = time.Duration(took) * time.Millisecond
		if cost != nil {
			r.Cost = costOf(*cost)
		}
		return r, err
	})
}

func insertInProgressRow(ctx context.Context, tx *db.Tx, r row, now time.Time) error {
	started, cost := r.stored()
	t := r.Tokens
	_, err := tx.Exec(ctx, `
		INSERT INTO usage_going (run_id, provider, model, read_at, at, started_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price, calls, took)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.RunID, r.Provider, r.Model, clock.At(now), r.at, started, r.AgentID, r.SessionKey, r.SessionID, r.Source, r.JobID,
		r.TaskKey, r.StandupID, t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other, cost, r.price,
		r.Calls, r.Took.Milliseconds())
	if err != nil {
		return fmt.Errorf("store the usage so far of run %s: %w", r.RunID, err)
	}
	return nil
}
