package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/job"
	"wardroom/internal/platform/once"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/usage"
)

// of returns the part of what runs have used that a limit counts.
func (m Measure) of(u usage.Spent) int64 {
	switch m {
	case Tokens:
		t := u.Tokens
		return t.Input + t.Output + t.CacheRead + t.CacheWrite + t.Other
	case Minutes:
		return int64(u.Took / time.Minute)
	case Calls:
		return u.Calls
	}
	if u.CostUSD == nil {
		return 0
	}
	return int64(*u.CostUSD)
}

// Runtime is the part of the gateway client that this package uses.
type Runtime interface {
	StopSession(ctx context.Context, sessionKey, runID string) (ids []string, stopped bool, err error)
}

// Service keeps the limits and acts on them. Its exported fields must not change after the first
// call of a method.
type Service struct {
	DB    *db.DB
	Now   func() time.Time
	Inbox *inbox.Service
	Zone  *time.Location // default of new limits
	Jobs  *job.Queue     // runs Kind under the name KindStop

	Runtime  Runtime
	Usage    *usage.Service
	Sessions *session.Service
	Holds    *hold.Service
	Standups *standup.Service // know the agents of teams

	urgent atomic.Int64                 // until when Urgent is true, in milliseconds since 1970
	step   atomic.Pointer[usage.Unread] // see setStep; 0 for a measure without limits
	lost   map[string]time.Time         // since when limits have no run in progress; only EndPeriods uses it
}

// List returns all limits with their headroom.
func (s *Service) List(ctx context.Context) ([]Limit, error) {
	var all []Limit
	err := s.DB.View(ctx, func(q db.Queryer) (err error) {
		if all, err = list(ctx, q); err != nil {
			return err
		}
		for i := range all {
			if all[i], err = s.withHeadroom(ctx, q, all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the limits: %w", err)
	}
	return all, nil
}

// Get returns a limit with its headroom.
func (s *Service) Get(ctx context.Context, id string) (l Limit, err error) {
	err = s.DB.View(ctx, func(q db.Queryer) error {
		if l, err = find(ctx, q, id); err != nil {
			return err
		}
		l, err = s.withHeadroom(ctx, q, l)
		return err
	})
	return l, err
}

func (s *Service) withHeadroom(ctx context.Context, q db.Queryer, l Limit) (Limit, error) {
	l.Allowed, l.Measurable = l.Amount, true
	if l.Window == PerRun && l.Scope != OneRun {
		return l, nil
	}
	bar, used, err := s.measure(ctx, q, l, "")
	if err != nil {
		return l, err
	}
	text := l.Measure.format(l.Measure.of(used))
	l.Used, l.Allowed, l.Unpriced = &text, l.Measure.format(bar), used.Unpriced
	l.usedRatio = float64(l.Measure.of(used)) / float64(bar)
	l.Measurable = l.Measure != Dollars || used.Unpriced == 0
	if l.Window != PerRun {
		l.ResetsAt = clock.Ptr(l.periodAt(s.Now(), "").to)
	}
	return l, nil
}

// Create adds a limit. It applies from now on.
func (s *Service) Create(ctx context.Context, n New) (Limit, error) {
	made, _, err := s.newLimit(ctx, n, db.NewID())
	if err != nil {
		return Limit{}, err
	}
	if made.Scope == OneRun {
		if going, err := s.inProgress(ctx, made.ScopeID); err != nil || !going {
			return Limit{}, ErrNoRun.With("Wardroom finds no run %q in progress. Use the active_run_id of an active session.",
				made.ScopeID)
		}
	}
	err = s.DB.Tx(ctx, func(tx *db.Tx) error {
		made, err = once.Do(ctx, tx, s.Now(), find, func(l Limit) string { return l.ID }, func() (Limit, error) {
			return made, s.create(ctx, tx, made)
		})
		return err
	})
	if err != nil {
		return Limit{}, err
	}
	return s.Get(ctx, made.ID)
}

// newLimit builds a limit from a request, and returns it with its scope.
func (s *Service) newLimit(ctx context.Context, n New, id string) (l Limit, of usage.Scope, err error) {
	if l, err = newLimit(n, id, s.Zone.String(), s.Now()); err != nil {
		return l, of, err
	}
	if of, err = s.scopeOf(ctx, s.DB, l); err == nil && l.Scope == Team && len(of.Names) == 0 {
		var bad fault.Fields
		bad.Add("/scope_id", "Use the key of a team, such as executive.")
		err = bad.Err()
	}
	return l, of, err
}

func (s *Service) create(ctx context.Context, tx *db.Tx, l Limit) error {
	all, err := list(ctx, tx)
	if err != nil {
		return err
	}
	if len(all) >= maxLimits {
		return ErrTooMany.With("There can be at most %d limits. Delete one first.", maxLimits)
	}
	if err := insert(ctx, tx, l); err != nil {
		return err
	}
	return s.record(ctx, tx, "limit.created", l, map[string]any{
		"scope": l.Scope, "scope_id": l.ScopeID, "measure": l.Measure, "amount": l.Amount, "window": l.Window,
		"action": l.Action,
	})
}

// Change updates a limit. It never releases an agent that the limit holds.
func (s *Service) Change(ctx context.Context, id string, c Change, version *int64) (Limit, error) {
	return s.changeIn(ctx, id, func(tx *db.Tx, l Limit) error {
		if err := ErrStale.Unless(version, l.Version, "The limit"); err != nil {
			return err
		}
		before := l
		var bad fault.Fields
		if c.Amount != nil {
			l.setAmount(*c.Amount, &bad)
		}
		if c.Action != nil {
			l.Action = *c.Action
		}
		if err := bad.Err(); err != nil {
			return err
		}
		l, err := l.complete()
		if err != nil {
			return err
		}
		l.UpdatedAt, l.Version = clock.At(s.Now()), l.Version+1
		if ok, err := update(ctx, tx, l); err != nil || !ok {
			return errors.Join(err, ErrStale)
		}
		if err := s.settle(ctx, tx, l, before.Action == Hold, "The limit was changed."); err != nil {
			return err
		}
		return s.record(ctx, tx, "limit.changed", l, map[string]any{
			"amount": [2]string{before.Amount, l.Amount}, "action": [2]Action{before.Action, l.Action},
		})
	})
}

// Allow raises a limit for the current period only, or for the run that reached it last.
func (s *Service) Allow(ctx context.Context, id, amount string) (Limit, error) {
	return s.changeIn(ctx, id, func(tx *db.Tx, l Limit) error {
		n := l.Measure.parse(amount)
		if n < 1 || n > maxQuantity {
			var bad fault.Fields
			bad.Add("/amount", "Use a number above 0, such as 2.")
			return bad.Err()
		}
		p := l.periodAt(s.Now(), "")
		if p.key == "" {
			key, err := lastPeriod(ctx, tx, id)
			if err != nil {
				return err
			}
			if p.key = key; key == "" {
				return ErrNoPeriod.With("Change the amount of the limit instead.")
			}
		}
		if err := addAllowance(ctx, tx, l, p, n); err != nil {
			return err
		}
		if err := s.settle(ctx, tx, l, l.Action == Hold, "More was allowed."); err != nil {
			return err
		}
		return s.record(ctx, tx, "limit.allowed", l, map[string]any{"amount": l.Measure.format(n), "period": p.key})
	})
}

func (s *Service) changeIn(ctx context.Context, id string, change func(*db.Tx, Limit) error) (Limit, error) {
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		l, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		return change(tx, l)
	})
	if err != nil {
		return Limit{}, err
	}
	return s.Get(ctx, id)
}

// settle resolves the inbox item of the current period if usage is below the limit again. The item
// stays if it is about a held agent.
func (s *Service) settle(ctx context.Context, tx *db.Tx, l Limit, holds bool, why string) error {
	key, err := lastPeriod(ctx, tx, l.ID)
	if err != nil || key == "" || holds {
		return err
	}
	bar, used, err := s.measure(ctx, tx, l, key)
	if err != nil || l.Measure.of(used) >= bar {
		return err
	}
	return s.Inbox.ResolveCause(ctx, tx, cause(l.ID, key), why)
}

// Delete deletes a limit. It never releases an agent that the limit holds.
func (s *Service) Delete(ctx context.Context, id string, version *int64) error {
	return s.DB.Tx(ctx, func(tx *db.Tx) error {
		l, err := find(ctx, tx, id)
		if err == nil {
			err = ErrStale.Unless(version, l.Version, "The limit")
		}
		if err != nil {
			return err
		}
		if key, err := lastPeriod(ctx, tx, id); err != nil {
			return err
		} else if key != "" && l.Action != Hold {
			if err := s.Inbox.ResolveCause(ctx, tx, cause(id, key), "The limit was deleted."); err != nil {
				return err
			}
		}
		if err := remove(ctx, tx, id); err != nil {
			return err
		}
		return s.record(ctx, tx, "limit.deleted", l, nil)
	})
}

func (s *Service) record(ctx context.Context, tx *db.Tx, kind string, l Limit, data map[string]any) error {
	return event.Record(ctx, tx, s.Now(), event.Audit, kind, l.subject(), data)
}

// previewDays is the number of days that Preview examines.
const previewDays = 30

// Preview returns what a limit would have done in the last 30 days, according to the ledger.
func (s *Service) Preview(ctx context.Context, n New) (Preview, error) {
	now := s.Now()
	l, of, err := s.newLimit(ctx, n, "")
	if err != nil {
		return Preview{}, err
	}
	release, err := s.DB.LimitReads(ctx, actor.From(ctx).ID)
	if err != nil {
		return Preview{}, fmt.Errorf("wait for the caller's other reports: %w", err)
	}
	defer release()
	result, since := Preview{Days: previewDays}, now.AddDate(0, 0, -previewDays)
	if l.Scope == OneRun {
		used, err := s.Usage.SpentByRun(ctx, s.DB, of, l.ScopeID)
		if l.Measure.of(used) >= l.amount {
			result.Reached = 1
		}
		return result, err
	}
	if l.Window == PerRun {
		result.Reached, err = s.runsOver(ctx, of, since, l)
		return result, err
	}
	var periods []usage.Period
	for at := since; !at.After(now); {
		p := l.periodAt(at, "")
		periods = append(periods, usage.Period{From: p.from, To: p.to})
		at = p.to
	}
	used, err := s.Usage.SpentIn(ctx, s.DB, of, periods)
	for _, u := range used {
		if l.Measure.of(u) >= l.amount {
			result.Reached++
		}
	}
	return result, err
}

// runsOver counts the runs since a time that reached the amount of a limit.
func (s *Service) runsOver(ctx context.Context, of usage.Scope, since time.Time, l Limit) (int, error) {
	by, amount := map[Measure]usage.Quantity{
		Dollars: usage.NanoDollars, Tokens: usage.Volume, Calls: usage.Calls, Minutes: usage.Milliseconds,
	}[l.Measure], l.amount
	if l.Measure == Minutes {
		amount *= time.Minute.Milliseconds()
	}
	return s.Usage.RunsOver(ctx, s.DB, of, since, by, amount)
}

// inProgress reports whether a run has used tokens and has not ended, or can be the one that an active
// session does not name.
func (s *Service) inProgress(ctx context.Context, runID string) (bool, error) {
	going, err := s.Usage.InProgress(ctx, runID)
	if err != nil || going {
		return going, err
	}
	all, err := s.Sessions.Overview(ctx, s.Now())
	return slices.ContainsFunc(all, func(one session.Session) bool {
		return one.Active && (one.ActiveRunID == nil || *one.ActiveRunID == runID)
	}), err
}
