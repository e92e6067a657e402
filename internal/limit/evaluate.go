package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/hold"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/usage"
)

// growth is a run whose usage has grown, or other usage if it has no ID.
type growth struct {
	usage.Run

	inProgress bool
}

// urgentTime is for how long runs are read as soon as possible after usage came close to a limit.
const urgentTime = time.Minute

// stepShare is the share of a limit after which usage is read again: from a tenth to the next one, it
// cannot pass both the half, at which Urgent begins to last, and the limit.
const stepShare = 10

// Urgent reports whether runs must be read as soon as possible: usage came close to a limit that stops
// runs or holds agents, or what has not been read is a tenth of one.
func (s *Service) Urgent(unread usage.Unread) bool {
	step := s.step.Load()
	passes := func(unread, step int64) bool { return step > 0 && unread >= step }
	return s.Now().UnixMilli() < s.urgent.Load() || step != nil &&
		(passes(unread.NanoDollars, step.NanoDollars) || passes(unread.Tokens, step.Tokens) ||
			passes(unread.Calls, step.Calls))
}

// setStep stores the smallest step of the limits that stop runs or hold agents.
func (s *Service) setStep(limits []Limit) {
	var step usage.Unread
	for _, l := range limits {
		of := map[Measure]*int64{Dollars: &step.NanoDollars, Tokens: &step.Tokens, Calls: &step.Calls}[l.Measure]
		if of == nil {
			continue // minutes pass without messages
		}
		if n := max(l.amount/stepShare, 1); l.Action != Tell && (*of == 0 || n < *of) {
			*of = n
		}
	}
	s.step.Store(&step)
}

// Evaluate compares the limits with usage that has grown, and acts on those that it crosses. It also
// raises an item for an hour with unusual spend. It
// belongs in the transaction that stores the growth, after a write that transactions with other
// growth wait for, so that no two of them can both miss a crossing.
func (s *Service) Evaluate(ctx context.Context, tx *db.Tx, run usage.Run, inProgress bool) error {
	r := growth{run, inProgress}
	ctx = actor.With(ctx, actor.System)
	if err := s.compareHour(ctx, tx, r); err != nil {
		return fmt.Errorf("compare the hour with earlier ones: %w", err)
	}
	limits, err := list(ctx, tx)
	if err != nil {
		return fmt.Errorf("list the limits: %w", err)
	}
	s.setStep(limits)
	for _, l := range limits {
		of, err := s.scopeOf(ctx, tx, l)
		if err != nil {
			return err
		}
		if !l.covers(of, r) || l.Window == PerRun && r.RunID == "" {
			continue
		}
		if r.inProgress || !r.EndedAt.Before(l.CreatedAt.Time) {
			if err := s.evaluate(ctx, tx, l, of, r); err != nil {
				return fmt.Errorf("compare usage with the limit %q: %w", l.Name, err)
			}
		}
		if l.Scope == OneRun && !r.inProgress {
			if err := s.endRun(ctx, tx, l); err != nil {
				return fmt.Errorf("end the limit %q: %w", l.Name, err)
			}
		}
	}
	return nil
}

func (s *Service) evaluate(ctx context.Context, tx *db.Tx, l Limit, of usage.Scope, r growth) error {
	now := s.Now()
	at := r.EndedAt
	if r.inProgress {
		at = now
	}
	p := l.periodAt(at, r.RunID)
	past := !p.to.IsZero() && !now.Before(p.to)
	extra, err := allowance(ctx, tx, l, p)
	if err != nil {
		return err
	}
	used, err := s.used(ctx, tx, l, of, p, past)
	if err != nil {
		return err
	}
	c := crossing{level: fullLevel, bar: l.amount + extra, used: l.Measure.of(used), at: clock.At(now)}
	if c.used >= c.bar/2 && l.Action != Tell && l.Measure != Minutes {
		s.urgent.Store(now.Add(urgentTime).UnixMilli())
	}
	if c.used < c.bar {
		// Divide first: the product could overflow.
		if c.level = warnLevel; c.used < c.bar/fullLevel*warnLevel+c.bar%fullLevel*warnLevel/fullLevel {
			return nil
		}
	}
	isNew, err := insertCrossing(ctx, tx, l, p, c)
	if err != nil {
		return err
	}
	if isNew {
		if err := s.report(ctx, tx, l, p, c, r); err != nil {
			return err
		}
	}
	if c.level != fullLevel || past {
		return nil
	}
	return s.act(ctx, tx, l, of, r, isNew)
}

// used returns the usage that counts in a period. Runs in progress count in the current one.
func (s *Service) used(
	ctx context.Context, q db.Queryer, l Limit, of usage.Scope, p period, past bool,
) (usage.Spent, error) {
	if l.Window == PerRun {
		return s.Usage.SpentByRun(ctx, q, of, p.key)
	}
	if past {
		all, err := s.Usage.SpentIn(ctx, q, of, []usage.Period{{From: p.from, To: p.to}})
		if err != nil {
			return usage.Spent{}, err
		}
		return all[0], nil
	}
	return s.Usage.SpentSoFar(ctx, q, of, p.from)
}

// scopeOf returns the usage that a limit counts. That of a team is that of the agents that are in it now. That
// of a run is selected by its ID instead.
func (s *Service) scopeOf(ctx context.Context, q db.Queryer, l Limit) (usage.Scope, error) {
	switch l.Scope {
	case All, OneRun:
		return usage.Scope{}, nil
	case Team:
		t, err := s.Standups.FindTeam(ctx, q, l.ScopeID)
		if errors.Is(err, standup.ErrTeamNotFound) {
			return usage.Scope{By: usage.ByAgent}, nil
		}
		return usage.Scope{By: usage.ByAgent, Names: append(slices.Clone(t.Participants), t.Facilitator)}, err
	}
	by := map[ScopeKind]usage.Group{Agent: usage.ByAgent, Model: usage.ByModel, Job: usage.ByJob, Task: usage.ByTask}
	return usage.Scope{By: by[l.Scope], Names: []string{l.ScopeID}}, nil
}

// covers reports whether a run may be in the scope of a limit.
func (l Limit) covers(of usage.Scope, r growth) bool {
	if l.Scope == OneRun {
		return r.RunID == l.ScopeID
	}
	switch of.By {
	case usage.ByAgent:
		return slices.Contains(of.Names, r.AgentID)
	case usage.ByJob:
		return slices.Contains(of.Names, r.JobID)
	case usage.ByTask:
		return slices.Contains(of.Names, r.TaskKey)
	}
	return true
}

func cause(limitID, period string) string { return fmt.Sprintf("limit/%s/%.100s", limitID, period) }

// cent is a US cent in nano-dollars.
const cent = 10_000_000

// report tells people about a crossing.
func (s *Service) report(ctx context.Context, tx *db.Tx, l Limit, p period, c crossing, r growth) error {
	over := max(c.used-c.bar, 0)
	if l.Measure == Dollars && over > cent {
		over = (over + cent - 1) / cent * cent // so that it is easy to read
	}
	item := inbox.NewItem{
		Cause: cause(l.ID, p.key), Kind: inbox.LimitReached, Severity: inbox.High, Subject: l.subject(), At: c.at.Time,
		Title: "Limit reached: " + l.Name,
		Detail: fmt.Sprintf("Usage is %s of %s, which is %s over the limit.", l.Measure.say(c.used),
			l.Measure.say(c.bar), l.Measure.say(over)),
	}
	kind := "limit.reached"
	if c.level == warnLevel {
		kind, item.Severity, item.Title = "limit.warned", inbox.Medium, "Limit almost reached: "+l.Name
		item.Detail = fmt.Sprintf("Usage is %s of %s.", l.Measure.say(c.used), l.Measure.say(c.bar))
	} else {
		if l.Action == Tell { // what costs goes on
			item.Severity = inbox.Urgent
		}
		item.Detail += map[Action]string{
			Tell: " The limit only tells you: runs continue.",
			Stop: " Wardroom stops the runs in its scope after each model call.",
			Hold: " Wardroom holds the agent.",
		}[l.Action]
		item.Effect = map[Action]inbox.Effect{Stop: inbox.Stopped, Hold: inbox.Held}[l.Action]
	}
	if r.SessionKey != "" {
		item.Run = &inbox.Run{SessionKey: r.SessionKey, RunID: r.RunID}
	}
	if err := s.Inbox.Raise(ctx, tx, item); err != nil {
		return err
	}
	return event.Record(ctx, tx, s.Now(), event.Audit, kind, l.subject(), map[string]any{
		"period": p.key, "level": c.level, "allowed": l.Measure.format(c.bar), "used": l.Measure.format(c.used),
		"overshoot": l.Measure.format(over), "action": l.Action, "run_id": r.RunID,
		"session_key": r.SessionKey, "agent_id": r.AgentID,
	})
}

// act stops or holds what a limit has to stop. It is called for each growth while the limit is
// reached, so that runs that start later are stopped after their first model call.
func (s *Service) act(ctx context.Context, tx *db.Tx, l Limit, of usage.Scope, r growth, isNew bool) (err error) {
	if l.Action == Tell {
		return nil
	}
	if l.Action == Hold && r.AgentID != "" && (isNew || r.inProgress) {
		if err = s.hold(ctx, tx, r.AgentID, "Limit reached: "+l.Name); err != nil {
			return err
		}
	}
	sessions := []string{}
	if l.Window == PerRun && r.inProgress {
		sessions = append(sessions, r.SessionKey)
	} else if l.Window != PerRun {
		if sessions, err = s.Usage.SessionsInProgress(ctx, tx, of); err != nil {
			return err
		}
	}
	for _, key := range sessions {
		_, err := s.Jobs.Enqueue(ctx, tx, KindStop, l.ID+" "+key, stopping{LimitID: l.ID, Session: key, RunID: r.RunID})
		if err != nil {
			return err
		}
	}
	return nil
}

// hold holds an agent, unless it is held already, so that the reason of a person stays.
func (s *Service) hold(ctx context.Context, tx *db.Tx, agentID, reason string) error {
	h, err := s.Holds.Find(ctx, tx, agentID)
	if err != nil || h != nil && h.State == hold.Held {
		return err
	}
	return s.Holds.HoldIn(ctx, tx, agentID, reason)
}

// endRun deletes a limit on one run, which has ended. Its inbox item stays if the run was stopped or the agent is
// held, so that people see why.
func (s *Service) endRun(ctx context.Context, tx *db.Tx, l Limit) error {
	bar, used, err := s.measure(ctx, tx, l, l.ScopeID)
	if err != nil {
		return err
	}
	if l.Action == Tell || l.Measure.of(used) < bar {
		if err := s.Inbox.ResolveCause(ctx, tx, cause(l.ID, l.ScopeID), "The run has ended."); err != nil {
			return err
		}
	}
	if err := remove(ctx, tx, l.ID); err != nil {
		return err
	}
	data := map[string]any{"run_id": l.ScopeID, "used": l.Measure.format(l.Measure.of(used))}
	return s.record(ctx, tx, "limit.ended", l, data)
}

// lostAfter is how long a run must not be in progress until the limit on it ends without the ledger, which does not
// contain runs without usage. The usage of others is stored earlier.
const lostAfter = time.Minute

// endLostRuns ends the limits on runs that are no longer in progress although no usage was stored at their end. If
// the runs in progress are unknown, it does so later.
func (s *Service) endLostRuns(ctx context.Context) error {
	all, err := list(ctx, s.DB)
	if err != nil {
		return fmt.Errorf("list the limits: %w", err)
	}
	lost := map[string]time.Time{}
	for _, l := range all {
		if l.Scope != OneRun {
			continue
		}
		if going, err := s.inProgress(ctx, l.ScopeID); going || err != nil {
			continue
		}
		since, before := s.lost[l.ID]
		if !before {
			since = s.Now()
		}
		if lost[l.ID] = since; s.Now().Sub(since) < lostAfter {
			continue
		}
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			if l, err := find(ctx, tx, l.ID); err == nil {
				return s.endRun(ctx, tx, l)
			} else if !errors.Is(err, ErrNotFound) {
				return err
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("end the limit %q: %w", l.Name, err)
		}
	}
	s.lost = lost
	return nil
}

// EndPeriods ends the limits on single runs that have ended, and resolves the inbox items of periods that have ended.
// An item about a held agent stays, because the agent is still held.
func (s *Service) EndPeriods(ctx context.Context) error {
	ctx = actor.With(ctx, actor.System)
	if err := s.endLostRuns(ctx); err != nil {
		return err
	}
	all, err := endedPeriods(ctx, s.DB, clock.At(s.Now()))
	if err != nil {
		return fmt.Errorf("list ended periods of limits: %w", err)
	}
	for _, e := range all {
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			l, err := find(ctx, tx, e.limitID)
			if err != nil {
				return err
			}
			if l.Action != Hold {
				if err := s.Inbox.ResolveCause(
					ctx, tx, cause(e.limitID, e.period), "The period of the limit has ended.",
				); err != nil {
					return err
				}
			}
			return closePeriod(ctx, tx, e)
		})
		if err != nil {
			return fmt.Errorf("end a period of a limit: %w", err)
		}
	}
	return nil
}
