package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/gateway"
	"wardroom/internal/mirror"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/money"
	"wardroom/internal/task"
)

// Runtime is the part of the gateway client that the ledger uses.
type Runtime interface {
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
	RawTurns(ctx context.Context, sessionKey string, limit int) ([]gateway.Turn, error)
	TurnsBefore(ctx context.Context, sessionKey string, limit int, offset, total, seq int64) (gateway.TurnPage, error)
	Models(ctx context.Context) ([]gateway.Model, error)
	Usage(ctx context.Context) (gateway.SessionUsage, error)
}

// Service keeps the ledger. Its exported fields must not change once Run has been called.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Zone    *time.Location // the default time zone of reports
	// Patience is the timeout for one request to the runtime.
	Patience time.Duration
	Lists    *mirror.Sessions // the runtime's sessions
	// Events tells the live streams of every process whenever the ledger changes, at most once a
	// second.
	Events *event.Service
	Tasks  *task.Service // their cards show the cost of their runs

	// Changed is session.Service.LedgerGrown. It is called in every process after every change to the
	// ledger, the prices, or what is stored about a transcript. It must not block.
	Changed func()
	// Read is session.Service.WatchLoops. It is called in the transaction that stores how far a
	// transcript has been read, with its last turns: at least those of the run in progress.
	Read func(ctx context.Context, tx *db.Tx, of *gateway.Session, turns []gateway.Turn) error
	// Grew is limit.Service.Evaluate. It is called in the transaction in which the usage of a run grows,
	// or in which usage is added that no single run accounts for, after the change has been counted.
	Grew func(ctx context.Context, tx *db.Tx, r Run, inProgress bool) error
	// Urgent is limit.Service.Urgent. It reports whether runs in progress must be read as soon as
	// possible, because a limit is close.
	Urgent func(Unread) bool

	wake     mirror.Signal
	messages messages
	models   models
}

// topic names the database notification about changes to the ledger; ledger names its row in usage_state.
const topic, ledger = "usage", "ledger"

// Note adds the usage in a run's answer to the ledger, in the caller's transaction, and reports
// whether the run was new. Later calls for the same run have no effect, and its transcript replaces
// the usage as soon as it has been read. A run without usage is not added. Note does not record an
// event, because the caller's own event about the task announces the change.
func (s *Service) Note(ctx context.Context, tx *db.Tx, r Run) (bool, error) {
	r.attribute(trigger{asked: true})
	isNew, err := s.note(ctx, tx, r, Answered)
	if isNew {
		_, err = s.spent(ctx, tx, r.TaskKey)
	}
	return isNew, err
}

// spent updates the cards of tasks that have new usage, and returns the subjects for the events
// about these tasks.
func (s *Service) spent(ctx context.Context, tx *db.Tx, keys ...string) ([]event.Subject, error) {
	var subjects []event.Subject
	slices.Sort(keys) // prevents deadlocks between transactions
	for _, key := range slices.Compact(keys) {
		if key == "" {
			continue
		}
		sums, err := s.OfTask(ctx, tx, key)
		if err != nil {
			return nil, err
		}
		spend := task.Spend{CostUSD: sums.CostUSD, Tokens: task.Tokens(sums.Tokens), Unpriced: sums.Unpriced}
		of, ok, err := s.Tasks.SetSpend(ctx, tx, key, spend)
		if err != nil {
			return nil, fmt.Errorf("update the cost of %s: %w", key, err)
		}
		if ok {
			subjects = append(subjects, of)
		}
	}
	return subjects, nil
}

// recordSpent is like spent, but also records an event for each task that spent returns.
func (s *Service) recordSpent(ctx context.Context, tx *db.Tx, keys []string) error {
	subjects, err := s.spent(ctx, tx, keys...)
	for _, of := range subjects {
		if err == nil {
			err = event.Record(actor.With(ctx, actor.System), tx, s.Now(), event.Activity, "task.spent", of, map[string]any{})
		}
	}
	return err
}

// note adds a run to the ledger, and reports whether that changed its tokens or its cost. A run that is
// in the ledger already stays as it is, unless it was Answered and this is its transcript.
func (s *Service) note(ctx context.Context, tx *db.Tx, r Run, kind Kind) (bool, error) {
	if r.RunID == "" {
		return false, errors.New("note usage: the run has no ID")
	}
	// A day that has not come must not get the cost of a run that has ended.
	if now := s.Now(); r.EndedAt.IsZero() || r.EndedAt.After(now.Add(maxAhead)) {
		r.EndedAt = now
	}
	used := s.credible(ctx, r)
	if len(used) == 0 {
		return false, nil
	}
	known, err := hasRun(ctx, tx, r.RunID, r.SessionID)
	if err != nil || known && kind == Answered {
		return false, err
	}
	if known {
		return s.replace(ctx, tx, r, used, kind)
	}
	if kind == Answered && !slices.ContainsFunc(used, func(p Part) bool { return p.Calls > 0 }) {
		if used, err = atLeastInProgress(ctx, tx, r, used); err != nil {
			return false, fmt.Errorf("note usage: read the usage of a run in progress: %w", err)
		}
	}
	return true, s.write(ctx, tx, r, used, kind)
}

// maxAhead is by how much the runtime's clock can be ahead of Wardroom's.
const maxAhead = 24 * time.Hour

// credible returns the parts of a run that used something.
func (s *Service) credible(ctx context.Context, r Run) []Part {
	return r.used(func(p Part) bool {
		if !plausible(p.Tokens, p.Cost) {
			s.Log.WarnContext(ctx, "ignored implausible usage of a run", "run", r.RunID, "model", p.Model)
			return false
		}
		return p.Tokens != (Tokens{}) || p.Cost != nil && *p.Cost != 0
	})
}

// replace replaces the usage in a run's answer by that in its transcript, if the answer is all that the
// ledger has. It keeps a larger answer if the transcript is not complete. It reports whether tokens or cost
// have changed.
func (s *Service) replace(ctx context.Context, tx *db.Tx, r Run, used []Part, kind Kind) (bool, error) {
	was, err := answered(ctx, tx, r.RunID)
	if err != nil || len(was) == 0 || len(used) == 0 {
		return false, err
	}
	parts := make([]Part, 0, len(was))
	for _, o := range was {
		if o.kind == Answered {
			parts = append(parts, o.Part)
		}
	}
	if (r.Partial || kind == Answered) && tokens(used) < tokens(parts) {
		return false, nil
	}
	same := slices.EqualFunc(parts, used, func(a, b Part) bool {
		return a.Provider == b.Provider && a.Model == b.Model && a.Tokens == b.Tokens && compareCost(a.Cost, b.Cost) == 0
	})
	if same && kind == Answered {
		return false, nil
	}
	for _, o := range was {
		if err := remove(ctx, tx, o); err != nil {
			return false, err
		}
	}
	o := was[0].Run
	r.AgentID, r.Source, r.JobID, r.TaskKey, r.StandupID = o.AgentID, o.Source, o.JobID, o.TaskKey, o.StandupID
	return !same, s.write(ctx, tx, r, used, kind)
}

// write adds the parts of a run to the ledger.
func (s *Service) write(ctx context.Context, tx *db.Tx, r Run, used []Part, kind Kind) error {
	for _, p := range used {
		of := row{Run: r, Part: p, kind: kind, at: r.EndedAt.UnixMilli(), runs: 1}
		if err := s.price(ctx, tx, &of); err != nil {
			return err
		}
		if err := insert(ctx, tx, of, s.Now()); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE run_id = ?`, r.RunID); err != nil {
		return fmt.Errorf("note usage: delete the usage of a run in progress: %w", err)
	}
	if err := recordGrowth(ctx, tx, len(used)); err != nil {
		return err
	}
	return s.grew(ctx, tx, r, false)
}

// atLeastInProgress returns the usage of a run that has ended: that in its answer or, if it is larger, that
// which was read while the run was in progress. It adds the calls and the time of each part, as they were read
// then. What was not read, and what belongs to no part, is added to the last part.
func atLeastInProgress(ctx context.Context, tx *db.Tx, r Run, used []Part) ([]Part, error) {
	all, err := inProgressRows(ctx, tx, r.RunID)
	read := make([]Part, len(all))
	for i, p := range all {
		read[i], read[i].Estimated = p.Part, p.price == estimated
	}
	if tokens(read) > tokens(used) {
		used = slices.Clone(read)
		for i := range used {
			used[i].Calls, used[i].Took = 0, 0
		}
	}
	last, took := &used[len(used)-1], time.Duration(0)
	for _, p := range read {
		to := last
		if i := slices.IndexFunc(used, func(u Part) bool { return u.Provider == p.Provider && u.Model == p.Model }); i >= 0 {
			to = &used[i]
		}
		to.Calls, to.Took, took = to.Calls+p.Calls, to.Took+p.Took, took+p.Took
	}
	if !r.StartedAt.IsZero() {
		last.Took = max(last.Took+r.EndedAt.Sub(r.StartedAt)-took, 0)
	}
	for i := range used {
		used[i].Calls = max(used[i].Calls, 1)
	}
	return used, err
}

func (s *Service) grew(ctx context.Context, tx *db.Tx, r Run, inProgress bool) error {
	if err := s.Grew(ctx, tx, r, inProgress); err != nil {
		return fmt.Errorf("compare the usage with the limits: %w", err)
	}
	return nil
}

// price sets the source of a row's cost, and estimates the cost if the runtime reported none or one that
// its other numbers contradict.
func (s *Service) price(ctx context.Context, tx *db.Tx, r *row) error {
	if r.Cost != nil && !r.Estimated {
		r.price = byRuntime
		return nil
	}
	prices, err := newestPrices(ctx, tx)
	if err != nil {
		return err
	}
	if cost, ok := prices.estimate(r.Provider, r.Model, r.Tokens, time.UnixMilli(r.at)); ok && plausible(r.Tokens, &cost) {
		r.Cost, r.price, r.table = &cost, estimated, &prices.Version
		return nil
	}
	if r.Cost != nil {
		r.price = estimated
		return nil
	}
	r.price, r.unpriced = unpriced, 1
	return nil
}

func (s *Service) urgent() bool { return s.Urgent(s.messages.total()) }

// Report returns the usage in a period. If the caller already has two long reads in progress, Report waits until one
// of them ends; see db.LimitReads.
func (s *Service) Report(ctx context.Context, p Period, g Group, with Extras) (r Report, err error) {
	if err := p.check(g == ByHour); err != nil {
		return Report{}, err
	}
	leave, err := s.DB.LimitReads(ctx, actor.From(ctx).ID)
	if err != nil {
		return Report{}, fmt.Errorf("wait for the caller's other reports: %w", err)
	}
	defer leave()
	err = s.DB.View(ctx, func(q db.Queryer) error {
		r, err = s.report(ctx, q, p, g, with)
		return err
	})
	return r, err
}

// OfTask returns the usage of all runs for the task with the given key.
func (s *Service) OfTask(ctx context.Context, q db.Queryer, key string) (Sums, error) {
	used, err := readRollup(ctx, q, rollupKey{dimension: string(ByTask), name: key})
	if err != nil {
		return Sums{}, fmt.Errorf("add up the usage of %s: %w", key, err)
	}
	return used.sums(), nil
}

// CurrentPrices returns the current prices for cost estimates.
func (s *Service) CurrentPrices(ctx context.Context) (Prices, error) { return newestPrices(ctx, s.DB) }

// Estimate returns the cost of tokens at a model's current price, or nil if it has none.
func (s *Service) Estimate(ctx context.Context, provider, model string, t Tokens) (*money.Nano, error) {
	prices, err := newestPrices(ctx, s.DB)
	cost, ok := prices.estimate(provider, model, t, s.Now())
	if err != nil || !ok {
		return nil, err
	}
	return &cost, nil
}

// SetPrices stores a new version of the prices. They apply to new usage and to usage that has no
// price yet; existing estimates do not change. It returns ErrStale if version is given and is not
// the current one.
func (s *Service) SetPrices(ctx context.Context, list []Price, version *int64) (Prices, error) {
	if err := checkPrices(list); err != nil {
		return Prices{}, err
	}
	by := actor.From(ctx)
	var made Prices
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		was, err := newestPrices(ctx, tx)
		if err != nil {
			return err
		}
		if version != nil && *version != was.Version {
			return ErrStale.With("The prices are now at version %d, but your change is based on version %d. Read GET /prices again and reapply your change.", was.Version, *version).Fact("version", was.Version)
		}
		made = Prices{
			Version: was.Version + 1, UpdatedAt: clock.Ptr(s.Now()), UpdatedBy: &by.Name, Prices: append([]Price{}, list...),
		}
		// Wakes the process that estimates usage without a price.
		if err := tx.Wake(ctx, topic); err != nil {
			return err
		}
		if err := insertPrices(ctx, tx, made); err != nil {
			return err
		}
		return event.Record(ctx, tx, s.Now(), event.Audit, "prices.changed",
			event.Subject{Kind: "prices", ID: fmt.Sprint(made.Version), Name: "Prices"},
			map[string]any{"version": made.Version, "before": was.Prices, "after": made.Prices})
	})
	if err != nil {
		return Prices{}, err
	}
	return made, nil
}
