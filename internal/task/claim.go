package task

import (
	"context"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Claim gives a user, the holder, the exclusive right to start or finish a task
// until a given time. Only tasks that are in progress have a claim.
type Claim struct {
	By        string     `json:"by" doc:"ID of the holder."`
	Name      string     `json:"name" doc:"Name of the holder when they claimed the task."`
	ExpiresAt clock.Time `json:"expires_at" doc:"When the claim ends unless renewed."`
	Token     int64      `json:"token,omitempty" doc:"Identifies this claim; returned only to the holder when claiming. Send it with reports and changes to have them refused once the claim is lost."`
}

// The default, minimum, and maximum duration of a claim.
const (
	usualLease    = 15 * time.Minute
	shortestLease = time.Second
	longestLease  = 24 * time.Hour
)

// Errors returned by the claim operations.
var (
	ErrClaimed   = fault.New(fault.Conflict, "task_claimed", "The task is claimed by another user.")
	ErrClaimLost = fault.New(fault.Conflict, "claim_lost", "Your claim on the task is no longer valid.")
	ErrNotOpen   = fault.New(fault.Conflict, "task_not_open", "Tasks in review or done cannot be claimed.")
)

// starts reports whether moving a task to this status starts or finishes the
// task.
func (s Status) starts() bool { return s == InProgress || s == Review || s == Done }

// activeClaim returns the claim unless it has expired.
func (t Task) activeClaim(now time.Time) *Claim {
	if t.Claim == nil || !clock.Holds(t.Claim.ExpiresAt.Time, now, longestLease) {
		return nil
	}
	return t.Claim
}

// withoutExpiredClaim returns the task as clients see it, without an expired
// claim. In the database, an expired claim stays until EndLeases removes it.
func (t Task) withoutExpiredClaim(now time.Time) Task {
	t.Claim = t.activeClaim(now)
	return t
}

// hasLost reports whether the given actor's claim on the task has expired or was taken away.
func (t Task) hasLost(by actor.Actor, now time.Time) bool {
	if t.activeClaim(now) == nil && t.Claim != nil {
		return t.Claim.By == by.ID
	}
	return t.lostBy != nil && *t.lostBy == by.ID
}

// checkToken fails with ErrClaimLost if a token is given that does not belong
// to the actor's current claim.
func (t Task) checkToken(token *int64, by actor.Actor, now time.Time) error {
	held := t.activeClaim(now)
	if token == nil || held != nil && held.By == by.ID && *token == t.claimSeq {
		return nil
	}
	return t.claimLostError(by, now)
}

// claimLostError returns ErrClaimLost with details about the current holder.
func (t Task) claimLostError(by actor.Actor, now time.Time) error {
	held := t.activeClaim(now)
	e := ErrClaimLost.Fact("claim", held).Fact("status", t.Status)
	if held == nil {
		return e.With("Your claim has ended and the task is unclaimed. Read the task, then claim it again to continue.")
	}
	if held.By == by.ID {
		return e.With("The token does not belong to your current claim, which is valid until %s. Send that claim's token.",
			held.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return e.With("The task is now claimed by %s, until %s. Stop working on it.", held.Name,
		held.ExpiresAt.UTC().Format(time.RFC3339))
}

// checkHolder fails if another user holds the task, or if the given actor has
// lost a claim on it.
func (t Task) checkHolder(by actor.Actor, now time.Time) error {
	held := t.activeClaim(now)
	switch {
	case held != nil && held.By == by.ID:
		return nil
	case t.hasLost(by, now):
		return t.claimLostError(by, now)
	case held != nil:
		return ErrClaimed.With("The task is claimed by %s until %s. Wait, or choose another task.", held.Name,
			held.ExpiresAt.UTC().Format(time.RFC3339)).
			Fact("claim", held)
	}
	return nil
}

// claim gives an actor a new claim on the task and moves the task to
// in_progress.
func (t *Task) claim(by actor.Actor, now, until time.Time) {
	switch {
	case t.Claim != nil && t.Claim.By != by.ID: // expired, but not removed yet
		t.lostBy = &t.Claim.By
	case t.lostBy != nil && *t.lostBy == by.ID:
		t.lostBy = nil
	}
	if t.Status != InProgress {
		t.enter(InProgress, now)
	}
	t.claimSeq++
	t.Claim = &Claim{By: by.ID, Name: by.Name, ExpiresAt: clock.At(until)}
}

// endClaim removes the claim from a task that moves to another column. If
// someone other than the claim's holder moves the task, lostBy records the
// former holder. If the holder starts or finishes an unassigned task, the task
// is assigned to the holder.
func (t *Task) endClaim(to Status, by actor.Actor) {
	old := t.Claim
	t.Claim, t.lostBy = nil, nil
	switch {
	case old == nil:
	case old.By != by.ID:
		t.lostBy = &old.By
	case to.starts() && t.AssigneeID == nil:
		t.AssigneeID = &old.By
	}
}

// lease validates the requested duration of a claim and returns it. If the
// duration is zero, lease returns the default.
func lease(d time.Duration) (time.Duration, error) {
	if d == 0 {
		return usualLease, nil
	}
	var bad fault.Fields
	if d < shortestLease || d > longestLease {
		bad.Add("/lease_seconds", "Must be between %d and %d seconds.", int(shortestLease.Seconds()),
			int(longestLease.Seconds()))
	}
	return d, bad.Err()
}

// ClaimOptions are the options for a claim, a renewal, or a release.
type ClaimOptions struct {
	Lease time.Duration // zero means 15 minutes
	Token *int64        // of the claim to renew or release; nil means any claim of the caller
	// Resume makes ClaimNext renew the claim that the caller already holds on a task that is not
	// blocked, if there is one, instead of claiming another task.
	Resume bool
}

// Claim claims a task for the caller and moves it to "in progress", or renews the caller's existing
// claim. The returned task includes the claim's token.
func (s *Service) Claim(ctx context.Context, ref string, opt ClaimOptions) (Task, error) {
	by := actor.From(ctx)
	d, err := lease(opt.Lease)
	if err != nil {
		return Task{}, err
	}
	t, err := s.write(ctx, "claim task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		old, now, err := s.findToken(ctx, tx, ref, opt.Token)
		if err != nil {
			return Task{}, nil, err
		}
		switch held := old.activeClaim(now); {
		case held != nil && held.By != by.ID:
			return Task{}, nil, old.checkHolder(by, now)
		case held != nil:
			return s.renew(ctx, tx, old, now.Add(d))
		case old.Status == Review || old.Status == Done:
			return Task{}, nil, ErrNotOpen.With("The task's status is %s. Move the task back to todo first.",
				old.Status).Fact("status", old.Status)
		}
		if err := checkDependencies(ctx, tx, old); err != nil {
			return Task{}, nil, err
		}
		return s.take(ctx, tx, old, now.Add(d))
	})
	return t.withToken(), err
}

// findToken returns a task that is not archived, and the time on the clock of claims. It fails if a
// token is given that does not belong to the caller's current claim.
func (s *Service) findToken(
	ctx context.Context, tx *db.Tx, ref string, token *int64,
) (t Task, now time.Time, err error) {
	if t, err = findOpen(ctx, tx, ref); err != nil {
		return t, now, err
	}
	if now, err = tx.Clock(ctx, s.Now()); err != nil {
		return t, now, err
	}
	return t, now, t.checkToken(token, actor.From(ctx), now)
}

// ClaimNext claims the next available task. Tasks that are assigned to the
// caller come before unassigned tasks; each group is sorted by priority, due
// time, and position. The result ok is false if no task is available.
func (s *Service) ClaimNext(ctx context.Context, opt ClaimOptions) (t Task, ok bool, err error) {
	by := actor.From(ctx)
	d, err := lease(opt.Lease)
	if err != nil {
		return Task{}, false, err
	}
	// Check without a transaction first, so that polling callers do not block
	// writers.
	if _, err := nextOrHeld(ctx, s.DB, by.ID, opt.Resume, time.Time{}); err != nil {
		if db.IsNotFound(err) {
			err = nil
		}
		return Task{}, false, err
	}
	t, err = s.write(ctx, "claim the next task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		old, err := nextOrHeld(ctx, tx, by.ID, opt.Resume, now)
		switch {
		case db.IsNotFound(err):
			return Task{}, nil, nil
		case err != nil:
			return Task{}, nil, err
		case old.Claim != nil && old.Claim.By == by.ID:
			return s.renew(ctx, tx, old, now.Add(d))
		}
		return s.take(ctx, tx, old, now.Add(d))
	})
	return t.withToken(), t.ID != "", err
}

// nextOrHeld returns the next task for a user to claim. If resume is set, a task that the user
// holds at the given time and that is not blocked comes first. If there is no such task, it fails
// with a not-found error.
func nextOrHeld(ctx context.Context, q db.Queryer, userID string, resume bool, now time.Time) (Task, error) {
	if resume {
		t, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM tasks
			WHERE claim_by = ? AND claim_until > ? AND blocked_reason IS NULL AND archived_at IS NULL ORDER BY number LIMIT 1`, userID, now))
		if !db.IsNotFound(err) {
			return t, err
		}
	}
	return nextFor(ctx, q, userID)
}

func (t Task) withToken() Task {
	if t.Claim != nil {
		c := *t.Claim
		c.Token, t.Claim = t.claimSeq, &c
	}
	return t
}

// take gives the caller a new claim on the task and stores it.
func (s *Service) take(ctx context.Context, tx *db.Tx, old Task, until time.Time) (Task, []pendingEvent, error) {
	t := old
	t.claim(actor.From(ctx), s.Now(), until)
	return s.save(ctx, tx, old, t, "task.claimed", nil)
}

// renew extends a claim. It does not change the task's version, so that an
// If-Match header with that version stays valid.
func (s *Service) renew(ctx context.Context, tx *db.Tx, old Task, until time.Time) (Task, []pendingEvent, error) {
	t, c := old, *old.Claim
	c.ExpiresAt = clock.At(until)
	t.Claim = &c
	card, err := t.card()
	if err != nil {
		return Task{}, nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE tasks SET claim_until = ?, card = ?, rest = ? WHERE id = ?`, c.ExpiresAt, card.board,
		card.rest, t.ID)
	if err != nil {
		return Task{}, nil, err
	}
	return t, []pendingEvent{{s.Now(), "task.claim_renewed", t, map[string]any{"changes": diff(old, t)}, nil}}, nil
}

// Release ends the caller's claim and moves the task back to todo. Users who
// may delete tasks can also release other users' claims. Releasing an unclaimed
// task has no effect.
func (s *Service) Release(ctx context.Context, ref string, opt ClaimOptions) (Task, error) {
	by := actor.From(ctx)
	return s.write(ctx, "release task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		old, now, err := s.findToken(ctx, tx, ref, opt.Token)
		if err != nil {
			return Task{}, nil, err
		}
		held := old.activeClaim(now)
		if held == nil {
			return old, nil, nil
		}
		if held.By != by.ID && !by.Role.May(actor.DeleteTasks) {
			return Task{}, nil, old.checkHolder(by, now)
		}
		t := old
		t.move(Todo, s.Now(), by)
		return s.save(ctx, tx, old, t, "task.released", nil)
	})
}

// EndLeases is a periodic job that removes expired claims and moves their tasks
// back to todo. It writes nothing if no claim has expired.
func (s *Service) EndLeases(ctx context.Context) error {
	const batch = 50 // keeps transactions short for other writers
	for {
		// Check first: otherwise an idle board would start a write transaction
		// every few seconds.
		some, err := anyClaim(ctx, s.DB)
		if err != nil || !some {
			return err
		}
		n := 0
		err = s.DB.Tx(ctx, func(tx *db.Tx) error {
			now, err := tx.Clock(ctx, s.Now())
			if err != nil {
				return err
			}
			ended, err := endedClaims(ctx, tx, now, batch)
			if err != nil {
				return err
			}
			n = len(ended)
			var events []pendingEvent
			for _, old := range ended {
				t := old
				t.move(Todo, s.Now(), actor.From(ctx))
				_, more, err := s.save(ctx, tx, old, t, "task.lease_ended", map[string]any{"held_by": old.Claim})
				if err != nil {
					return err
				}
				events = append(events, more...)
			}
			return s.record(ctx, tx, events)
		})
		if err != nil || n < batch {
			return err
		}
	}
}

// nextFor returns the next task for a user to claim. It ignores tasks that are
// assigned to the user but already dispatched. If there is no task to claim, it
// fails with a not-found error.
func nextFor(ctx context.Context, q db.Queryer, userID string) (Task, error) {
	return scan(q.QueryRow(ctx, nextQuery, userID))
}

const (
	best = ` AND status = 'todo' AND blocked_reason IS NULL AND waiting_on = 0 AND archived_at IS NULL
		ORDER BY urgency, position, number LIMIT 1`
	notDispatched = ` AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.task_id = tasks.id AND d.state IN ('queued', 'started'))`
)

var nextQuery = `SELECT ` + columns + ` FROM tasks WHERE id = COALESCE(
		(SELECT id FROM tasks WHERE assignee_id = ?` + notDispatched + best + `),
		(SELECT id FROM tasks WHERE assignee_id IS NULL` + best + `))`

// anyClaim reports whether there is a claimed task.
func anyClaim(ctx context.Context, q db.Queryer) (some bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM tasks WHERE claim_until IS NOT NULL)`).Scan(&some)
	return some, err
}

// endedClaims returns tasks whose claim has expired, up to the given limit.
func endedClaims(ctx context.Context, q db.Queryer, now time.Time, limit int) ([]Task, error) {
	rows, err := q.Query(ctx,
		`SELECT `+columns+
			` FROM tasks WHERE claim_until IS NOT NULL AND (claim_until <= ? OR claim_until > ?) ORDER BY claim_until LIMIT ?`,
		now, now.Add(longestLease+clock.Skew), limit)
	return db.All(rows, err, scan)
}
