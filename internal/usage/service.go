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
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// Runtime is the part of the gateway that the ledger needs.
type Runtime interface {
	Turns(ctx context.Context, sessionKey string, limit int, offset int64) (gateway.TurnPage, error)
	RawTurns(ctx context.Context, sessionKey string, limit int) ([]gateway.Turn, error)
	TurnsBefore(ctx context.Context, sessionKey string, limit int, offset, total, seq int64) (gateway.TurnPage, error)
	Models(ctx context.Context) ([]gateway.Model, error)
}

// Service keeps the ledger. Its exported fields are not changed after Run.
type Service struct {
	DB      *db.DB
	Runtime Runtime
	Log     *slog.Logger
	Now     func() time.Time
	Zone    *time.Location // whose days are meant when nobody says
	// Patience is how long the runtime may take for one answer.
	Patience time.Duration
	// Grown, when not nil, is told that the ledger has changed, in every process
	// and at most once a second. It must not wait.
	Grown func(asOf clock.Time)
	// Changed, when not nil, is told the same at once and each time. It must not wait.
	Changed func()
	// Spent, when given, is told in the same transaction what has grown for a task,
	// by the key that its runs name. It writes what depends on that, and no event:
	// it answers what the log is to call the task, and whether there is one.
	Spent func(ctx context.Context, tx *db.Tx, taskKey string) (event.Subject, bool, error)
	// Away, when given, tells whether an error says that the database cannot be
	// used at the moment, and logs it.
	Away func(error) bool

	mirror mirror
	models models
}

// topic is what wakes those who show the ledger, and ledger the name of its state.
const topic, ledger = "usage", "ledger"

// Note puts what a run used into the ledger, in the caller's transaction, and
// says whether it was new: a run is counted once, whoever tells of it and however
// often, and what was noted first stays. A run that used nothing is not noted.
// The log hears of it only through the caller's own event about the task.
func (s *Service) Note(ctx context.Context, tx *db.Tx, r Run) (bool, error) {
	r.attribute(said{asked: true})
	isNew, err := s.note(ctx, tx, r)
	if isNew {
		_, err = s.spent(ctx, tx, r.TaskKey)
	}
	return isNew, err
}

// spent tells of tasks for which the ledger has grown, and answers what the log
// calls them.
func (s *Service) spent(ctx context.Context, tx *db.Tx, keys ...string) ([]event.Subject, error) {
	if s.Spent == nil {
		return nil, nil
	}
	var told []event.Subject
	slices.Sort(keys) // so that two who note do not wait for each other's tasks
	for _, key := range slices.Compact(keys) {
		if key == "" {
			continue
		}
		of, ok, err := s.Spent(ctx, tx, key)
		if err != nil {
			return nil, fmt.Errorf("tell what %s has cost: %w", key, err)
		}
		if ok {
			told = append(told, of)
		}
	}
	return told, nil
}

// announce is spent with an event for each task, as the last of a transaction of
// our own: whoever shows a task reads it anew.
func (s *Service) announce(ctx context.Context, tx *db.Tx, keys []string) error {
	told, err := s.spent(ctx, tx, keys...)
	for _, of := range told {
		if err == nil {
			err = event.Record(actor.With(ctx, actor.System), tx, s.Now(), event.Activity, "task.spent", of, map[string]any{})
		}
	}
	return err
}

func (s *Service) note(ctx context.Context, tx *db.Tx, r Run) (bool, error) {
	if r.RunID == "" || r.EndedAt.IsZero() {
		return false, errors.New("note usage: a run has an id and an end")
	}
	var used []Part
	for _, p := range r.Parts {
		if !believable(p.Tokens, p.Cost) {
			s.Log.WarnContext(ctx, "what the runtime says that a run used cannot be, and is left out", "run", r.RunID, "model", p.Model)
			continue
		}
		if p.Tokens != (Tokens{}) || p.Cost != nil && *p.Cost != 0 {
			used = append(used, p)
		}
	}
	if len(used) == 0 {
		return false, nil
	}
	// Two who learn of a run at once must not both find that it is not there; nor
	// may sums be compared meanwhile.
	if err := tx.Lock(ctx, topic); err != nil {
		return false, err
	}
	known, err := knows(ctx, tx, r.RunID, r.SessionID)
	if err != nil || known {
		return false, err
	}
	for _, p := range used {
		of := row{Run: r, Part: p, kind: OfRun, at: r.EndedAt.UnixMilli(), runs: 1}
		if err := s.price(ctx, tx, &of); err != nil {
			return false, err
		}
		if err := insert(ctx, tx, of, s.Now()); err != nil {
			return false, err
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM usage_going WHERE run_id = ?`, r.RunID); err != nil {
		return false, fmt.Errorf("note usage: it is not going any more: %w", err)
	}
	return true, grow(ctx, tx, len(used))
}

// price says where the price of a row comes from, and estimates it where the
// runtime has none.
func (s *Service) price(ctx context.Context, tx *db.Tx, r *row) error {
	if r.Cost != nil {
		r.price = byRuntime
		return nil
	}
	prices, err := newestPrices(ctx, tx)
	if err != nil {
		return err
	}
	if cost, ok := prices.estimate(r.Provider, r.Model, r.Tokens, time.UnixMilli(r.at)); ok && believable(r.Tokens, &cost) {
		r.Cost, r.price, r.table = &cost, estimated, &prices.Version
		return nil
	}
	r.price, r.unpriced = unpriced, 1
	return nil
}

// Report adds up what a period used; with bars also what each of at most 48 parts
// of it is made of. Of one caller two run at once, like lists; see db.LimitReads.
func (s *Service) Report(ctx context.Context, p Period, g Group, bars bool) (r Report, err error) {
	if err := p.check(g == ByHour); err != nil {
		return Report{}, err
	}
	leave, err := s.DB.LimitReads(ctx, actor.From(ctx).ID)
	if err != nil {
		return Report{}, fmt.Errorf("wait for the caller's other reports: %w", err)
	}
	defer leave()
	err = s.DB.View(ctx, func(q db.Queryer) error {
		r, err = report(ctx, q, s.DB.Engine(), p, g, bars)
		return err
	})
	return r, err
}

// OfTask is what all runs for a task used, by its key.
func (s *Service) OfTask(ctx context.Context, q db.Queryer, key string) (Sums, error) {
	used, err := rolled(ctx, q, rollupKey{dimension: string(ByTask), name: key})
	if err != nil {
		return Sums{}, fmt.Errorf("add up the usage of %s: %w", key, err)
	}
	return used.sums(), nil
}

// CurrentPrices are the prices that costs are estimated with.
func (s *Service) CurrentPrices(ctx context.Context) (Prices, error) { return newestPrices(ctx, s.DB) }

// SetPrices makes a new version of the prices. They count from now on, and for
// what is in the ledger without a price; an estimate of before stays. With a
// version it is refused when that is not the current one any more.
func (s *Service) SetPrices(ctx context.Context, list []Price, version *int64) (Prices, error) {
	if err := checkPrices(list); err != nil {
		return Prices{}, err
	}
	by := actor.From(ctx)
	var made Prices
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Lock(ctx, "prices"); err != nil {
			return err
		}
		was, err := newestPrices(ctx, tx)
		if err != nil {
			return err
		}
		if version != nil && *version != was.Version {
			return ErrStale.With("They are at version %d, and the change is based on %d. Read GET /prices and change those.", was.Version, *version).Fact("version", was.Version)
		}
		made = Prices{Version: was.Version + 1, UpdatedAt: clock.Ptr(s.Now()), UpdatedBy: &by.Name, Prices: append([]Price{}, list...)}
		// Whoever keeps the ledger estimates with them what had no price.
		if err := tx.Wake(ctx, topic); err != nil {
			return err
		}
		if err := insertPrices(ctx, tx, made); err != nil {
			return err
		}
		return event.Record(ctx, tx, s.Now(), event.Audit, "prices.changed", event.Subject{Kind: "prices", ID: fmt.Sprint(made.Version), Name: "Prices"},
			map[string]any{"version": made.Version, "before": was.Prices, "after": made.Prices})
	})
	if err != nil {
		return Prices{}, err
	}
	return made, nil
}

// away reports whether err says that the database is away.
func (s *Service) away(err error) bool { return s.Away != nil && s.Away(err) }
