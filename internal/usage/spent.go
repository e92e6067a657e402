package usage

import (
	"context"
	"fmt"
	"time"

	"wardroom/internal/platform/db"
)

// Scope selects the usage with some names in a dimension, such as that of one agent. The zero Scope
// selects all usage.
type Scope struct {
	By    Group // agent, model, job or task
	Names []string
}

func (s *Service) selectionOf(of Scope) selection {
	return selection{engine: s.DB.Engine(), dimension: string(of.By), only: of.Names}
}

// condition returns an SQL condition on the rows of the ledger and of runs in progress.
func (of Scope) condition() (sql string, args []any) {
	for _, name := range of.Names {
		args = append(args, name)
	}
	return "TRUE" + inCondition(columnOf[string(of.By)], of.Names), args
}

// Spent is the usage of some runs, with what limits count beyond Sums.
type Spent struct {
	Sums
	Calls int64         // of models
	Took  time.Duration // how long the runs lasted in all
}

func (a amounts) spent() Spent {
	return Spent{a.sums(), a.calls, time.Duration(a.took) * time.Millisecond}
}

// SpentIn returns the usage of the ended runs in each of the periods, which end before their To.
func (s *Service) SpentIn(ctx context.Context, q db.Queryer, of Scope, periods []Period) ([]Spent, error) {
	intervals := make([]interval, len(periods))
	for i, p := range periods {
		intervals[i] = interval{p.From.UnixMilli(), p.To.UnixMilli()}
	}
	used, err := s.selectionOf(of).addUp(ctx, q, intervals)
	all := make([]Spent, len(used))
	for i, a := range used {
		all[i] = a.spent()
	}
	return all, err
}

// SpentSoFar returns the usage of the ended runs since a time together with that of the runs in
// progress.
func (s *Service) SpentSoFar(ctx context.Context, q db.Queryer, of Scope, since time.Time) (Spent, error) {
	x := s.selectionOf(of)
	ended, err := x.addUp(ctx, q, []interval{{since.UnixMilli(), always}})
	if err != nil {
		return Spent{}, err
	}
	condition, args := of.condition()
	going, err := sumInProgress(ctx, q, condition, args...)
	return ended[0].plus(going).spent(), err
}

// SpentByRun returns the usage of one run in the scope, ended or in progress.
func (s *Service) SpentByRun(ctx context.Context, q db.Queryer, of Scope, runID string) (Spent, error) {
	condition, args := of.condition()
	condition, args = "run_id = ? AND "+condition, append([]any{runID}, args...)
	var ended amounts
	err := q.QueryRow(ctx,
		`SELECT `+addedUp+` FROM (SELECT `+rowAmounts+` FROM usage_ledger WHERE `+condition+`) AS entries`,
		args...).Scan(ended.pointers()...)
	if err != nil {
		return Spent{}, fmt.Errorf("sum the usage of run %s: %w", runID, err)
	}
	going, err := sumInProgress(ctx, q, condition, args...)
	return ended.plus(going).spent(), err
}

// FollowedSince returns when Wardroom began to follow the runtime. The ledger has all usage since
// then. The time is zero before.
func (s *Service) FollowedSince(ctx context.Context, q db.Queryer) (at time.Time, err error) {
	_, since, err := begins(ctx, q)
	if since != nil {
		at = since.Time
	}
	return at, err
}

// sumInProgress sums the stored usage of the runs in progress that match an SQL condition.
func sumInProgress(ctx context.Context, q db.Queryer, condition string, args ...any) (a amounts, err error) {
	err = q.QueryRow(ctx,
		`SELECT `+addedUp+` FROM (SELECT `+rowAmounts+` FROM `+inProgress+` WHERE `+condition+`) AS entries`, args...).
		Scan(a.pointers()...)
	if err != nil {
		return a, fmt.Errorf("sum the usage of runs in progress: %w", err)
	}
	return a, nil
}

// InProgress reports whether a run has used tokens and has not ended.
func (s *Service) InProgress(ctx context.Context, runID string) (going bool, err error) {
	err = s.DB.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM usage_going WHERE run_id = ?)`, runID).Scan(&going)
	if err != nil {
		return false, fmt.Errorf("look for run %s among those in progress: %w", runID, err)
	}
	return going, nil
}

// SessionsInProgress returns the keys of the sessions with a run in progress that has used tokens.
func (s *Service) SessionsInProgress(ctx context.Context, q db.Queryer, of Scope) ([]string, error) {
	condition, args := of.condition()
	rows, err := q.Query(ctx, `SELECT DISTINCT session_key FROM usage_going WHERE `+condition+` ORDER BY session_key`,
		args...)
	keys, err := db.All(rows, err, func(r db.Row) (key string, err error) { return key, r.Scan(&key) })
	if err != nil {
		return nil, fmt.Errorf("list the sessions in progress: %w", err)
	}
	return keys, nil
}

// Quantity is what RunsOver compares.
type Quantity string

// The quantities, as SQL sums up a run.
const (
	NanoDollars  Quantity = "SUM(COALESCE(cost_nano, 0))"
	Volume       Quantity = "SUM(input + output + cache_read + cache_write + other)" // tokens of all classes
	Calls        Quantity = "SUM(calls)"
	Milliseconds Quantity = "SUM(took)"
)

// RunsOver counts the runs that ended since a time and used at least an amount.
func (s *Service) RunsOver(
	ctx context.Context, q db.Queryer, of Scope, since time.Time, by Quantity, amount int64,
) (n int, err error) {
	condition, args := of.condition()
	args = append(append([]any{since.UnixMilli()}, args...), amount)
	err = q.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT run_id FROM usage_ledger WHERE at >= ? AND runs > 0 AND `+
		condition+`
		GROUP BY run_id HAVING `+string(by)+` >= ?) AS runs`, args...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count runs: %w", err)
	}
	return n, nil
}

// StartOfDay returns the first moment of a day in a zone, also if the clocks skip midnight.
func StartOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	return startOfDay(year, month, day, zone)
}
