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

// The ledger has a run when it has ended. Until then what it has used so far is
// kept beside it, and read anew with its transcript: an agent that works for hours,
// or runs in a circle, is not seen only on the bill.

// Going is what the runs that are going have used so far. None of it is in a Report.
type Going struct {
	SoFar
	AsOf *clock.Time `json:"as_of" doc:"When the run was last read for which that is the longest ago; null without any. Each is read every twenty seconds."`
	Runs []GoingRun  `json:"runs" nullable:"false" doc:"What cost most first."`
}

// SoFar is what was used until now.
type SoFar struct {
	Tokens    Tokens      `json:"tokens"`
	CostUSD   *money.Nano `json:"cost_usd" doc:"Null when nothing of it has a price; never zero for that."`
	Estimated money.Nano  `json:"estimated_usd" doc:"The part of cost_usd that was computed with the service's own prices."`
	Complete  bool        `json:"cost_complete" doc:"False when something of it has no price: cost_usd is without that."`
}

// GoingRun is what one run has used so far.
type GoingRun struct {
	RunID      string      `json:"run_id"`
	AgentID    string      `json:"agent_id"`
	SessionKey string      `json:"session_key"`
	Source     Source      `json:"source" enum:"human,schedule,heartbeat,sub_agent,standup,task,unknown" doc:"What it is for."`
	JobID      *string     `json:"job_id"`
	TaskKey    *string     `json:"task_key"`
	StandupID  *string     `json:"standup_id"`
	Models     []string    `json:"models" nullable:"false" doc:"That it has used."`
	StartedAt  *clock.Time `json:"started_at"`
	AsOf       clock.Time  `json:"as_of" doc:"When it was read."`
	SoFar
}

// add adds what was used of one model.
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

// Going is what the runs that are going have used so far, as it was last read.
func (s *Service) Going(ctx context.Context) (Going, error) {
	g := Going{SoFar: SoFar{Complete: true}, Runs: []GoingRun{}}
	rows, err := goingRows(ctx, s.DB)
	if err != nil {
		return g, fmt.Errorf("read what is going: %w", err)
	}
	for _, r := range rows {
		if n := len(g.Runs); n == 0 || g.Runs[n-1].RunID != r.RunID { // they come by run
			g.Runs = append(g.Runs, newGoing(r))
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

func newGoing(r goingRow) GoingRun {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return GoingRun{
		RunID: r.RunID, AgentID: r.AgentID, SessionKey: r.SessionKey, Source: r.Source, Models: []string{}, AsOf: r.read, StartedAt: r.started,
		JobID: text(r.JobID), TaskKey: text(r.TaskKey), StandupID: text(r.StandupID), SoFar: SoFar{Complete: true},
	}
}

func modelName(provider, model string) string {
	if provider == "" {
		return model
	}
	return provider + "/" + model
}

// compareCost has what has no price below what costs nothing.
func compareCost(a, b *money.Nano) int {
	of := func(n *money.Nano) int64 {
		if n == nil {
			return -1
		}
		return int64(*n)
	}
	return cmp.Compare(of(a), of(b))
}

// keepGoing keeps what the run of a transcript that is going has used, instead of
// what was kept before. It says whether there is any now. The ledger must be
// locked: whoever notes the run meanwhile would find nothing to take away here.
func (s *Service) keepGoing(ctx context.Context, tx *db.Tx, sessionID string, r Run) (kept bool, err error) {
	was, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE session_id = ?`, sessionID)
	if err != nil {
		return false, fmt.Errorf("forget what was going: %w", err)
	}
	known, err := knows(ctx, tx, r.RunID, "")
	if err != nil {
		return false, err
	}
	of, err := original(ctx, tx, r)
	if err != nil {
		return false, err
	}
	if !known && of == "" {
		if kept, err = s.insertGoing(ctx, tx, r); err != nil {
			return false, err
		}
	}
	if was == 0 && !kept {
		return false, nil
	}
	return kept, changed(ctx, tx)
}

func (s *Service) insertGoing(ctx context.Context, tx *db.Tx, r Run) (kept bool, err error) {
	// What a copy has of it is less.
	if _, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE run_id = ?`, r.RunID); err != nil {
		return false, fmt.Errorf("forget what a copy has of %s: %w", r.RunID, err)
	}
	for _, p := range r.Parts {
		if !believable(p.Tokens, p.Cost) || p.Tokens == (Tokens{}) {
			continue
		}
		of := row{Run: r, Part: p, at: r.EndedAt.UnixMilli()}
		if err := s.price(ctx, tx, &of); err != nil {
			return false, err
		}
		if err := putGoing(ctx, tx, of, s.Now()); err != nil {
			return false, err
		}
		kept = true
	}
	return kept, nil
}

// learnGoing finds now and then of which transcripts something is kept: another
// process may have done so.
func (r *reader) learnGoing(ctx context.Context) error {
	if r.going != nil && r.s.Now().Sub(r.learned) < between {
		return nil
	}
	rows, err := r.s.DB.Query(ctx, `SELECT DISTINCT session_id FROM usage_going`)
	ids, err := db.All(rows, err, func(from db.Row) (id string, err error) { return id, from.Scan(&id) })
	if err != nil {
		return fmt.Errorf("find what is kept as going: %w", err)
	}
	r.going, r.learned = map[string]bool{}, r.s.Now()
	for _, id := range ids {
		r.going[id] = true
	}
	return nil
}

// forgetAfter is how long what was going is kept after it was last read, when
// nobody notes the run: its session was deleted, or cannot be read, or its totals
// come first, which take some minutes.
const forgetAfter = 5 * time.Minute

// stopped are the transcripts that something is kept of as going, and in which
// nothing is, as far as this process has heard.
func (r *reader) stopped(rows map[string]*gateway.Session) (ids []string) {
	if r.blind {
		return nil
	}
	for id := range r.going {
		if row := rows[id]; row == nil || !row.Active {
			ids = append(ids, id)
		}
	}
	return ids
}

// forgetStopped drops what was kept of them, unless somebody has read it of late.
func (r *reader) forgetStopped(ctx context.Context, rows map[string]*gateway.Session) error {
	before := clock.At(r.s.Now().Add(-forgetAfter))
	for _, id := range r.stopped(rows) {
		err := r.s.DB.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE session_id = ? AND read_at < ?`, id, before)
			if err != nil || n == 0 {
				return err
			}
			return changed(ctx, tx)
		})
		if err != nil {
			return fmt.Errorf("forget what was going: %w", err)
		}
	}
	return nil
}

// goingRow is a row of what is kept.
type goingRow struct {
	row
	started *clock.Time
	read    clock.Time
}

func goingRows(ctx context.Context, q db.Queryer) ([]goingRow, error) {
	rows, err := q.Query(ctx, `
		SELECT run_id, provider, model, read_at, started_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price
		FROM usage_going ORDER BY run_id, provider, model`)
	return db.All(rows, err, func(from db.Row) (r goingRow, err error) {
		t := &r.Tokens
		var cost *int64
		err = from.Scan(&r.RunID, &r.Provider, &r.Model, &r.read, &r.started, &r.AgentID, &r.SessionKey, &r.SessionID, &r.Source, &r.JobID, &r.TaskKey, &r.StandupID,
			&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Other, &cost, &r.price)
		if cost != nil {
			r.Cost = costOf(*cost)
		}
		return r, err
	})
}

func putGoing(ctx context.Context, tx *db.Tx, r row, now time.Time) error {
	started, cost := r.stored()
	t := r.Tokens
	_, err := tx.Exec(ctx, `
		INSERT INTO usage_going (run_id, provider, model, read_at, at, started_at, agent_id, session_key, session_id, source, job_id, task_key, standup_id,
			input, output, cache_read, cache_write, other, cost_nano, price)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.RunID, r.Provider, r.Model, clock.At(now), r.at, started, r.AgentID, r.SessionKey, r.SessionID, r.Source, r.JobID, r.TaskKey, r.StandupID,
		t.Input, t.Output, t.CacheRead, t.CacheWrite, t.Other, cost, r.price)
	if err != nil {
		return fmt.Errorf("keep what run %s has used so far: %w", r.RunID, err)
	}
	return nil
}
