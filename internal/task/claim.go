package task

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// Claim says who holds a task and until when. While somebody does, nobody else
// starts or finishes it. Only a task that is in progress is held.
type Claim struct {
	By        string     `json:"by" doc:"The id of the user who holds it."`
	Name      string     `json:"name" doc:"Their name then."`
	ExpiresAt clock.Time `json:"expires_at" doc:"When it ends, unless it is renewed before."`
	Token     int64      `json:"token,omitempty" doc:"Only for the holder, when they claim: names this claim among all of the task. Send it back with reports and changes, and they are refused once the claim is lost."`
}

// How long a claim lasts before it has to be renewed.
const (
	usualLease    = 15 * time.Minute
	shortestLease = time.Second
	longestLease  = 24 * time.Hour
)

// The failures of claims.
var (
	ErrClaimed   = fault.New(fault.Conflict, "task_claimed", "Somebody else holds the task.")
	ErrClaimLost = fault.New(fault.Conflict, "claim_lost", "You do not hold the task any more.")
	ErrNotOpen   = fault.New(fault.Conflict, "task_not_open", "A task that is in review or done cannot be claimed.")
)

// starts reports whether a move into the column starts or finishes a task.
func (s Status) starts() bool { return s == InProgress || s == Review || s == Done }

// held is the claim that is in force then, or nil.
func (t Task) held(now time.Time) *Claim {
	if t.Claim == nil || !now.Before(t.Claim.ExpiresAt.Time) {
		return nil
	}
	return t.Claim
}

// seen is the task as it is shown: a claim that has ended is none, also when
// nobody has taken note of it yet.
func (t Task) seen(now time.Time) Task {
	t.Claim = t.held(now)
	return t
}

// lost reports whether somebody had a claim that ended against their will.
func (t Task) lost(by actor.Actor, now time.Time) bool {
	if t.held(now) == nil && t.Claim != nil {
		return t.Claim.By == by.ID
	}
	return t.lostBy != nil && *t.lostBy == by.ID
}

// fence refuses what somebody does who believes to hold the task by a token,
// and does not, or not any more.
func (t Task) fence(token *int64, by actor.Actor, now time.Time) error {
	held := t.held(now)
	if token == nil || held != nil && held.By == by.ID && *token == t.claimSeq {
		return nil
	}
	return t.lostClaim(now)
}

// lostClaim says who holds the task instead.
func (t Task) lostClaim(now time.Time) error {
	held := t.held(now)
	e := ErrClaimLost.Fact("claim", held).Fact("status", t.Status)
	if held == nil {
		return e.With("Your claim has ended, and nobody holds the task. Read it, and claim it again to go on.")
	}
	if t.Claim != nil && t.Claim.By == held.By {
		return e.With("%s holds it until %s, by a later claim. Stop working on it.", held.Name, held.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return e.With("%s holds it until %s. Stop working on it.", held.Name, held.ExpiresAt.UTC().Format(time.RFC3339))
}

// free refuses what only the holder may do, as long as there is one, and what
// somebody does who lost the task and has not noticed.
func (t Task) free(by actor.Actor, now time.Time) error {
	held := t.held(now)
	switch {
	case held != nil && held.By == by.ID:
		return nil
	case t.lost(by, now):
		return t.lostClaim(now)
	case held != nil:
		return ErrClaimed.With("%s holds it until %s. Wait, or choose another task.", held.Name, held.ExpiresAt.UTC().Format(time.RFC3339)).
			Fact("claim", held)
	}
	return nil
}

// claim makes by the holder, and starts the task.
func (t *Task) claim(by actor.Actor, now, until time.Time) {
	switch {
	case t.Claim != nil && t.Claim.By != by.ID: // it has ended, and nobody took note of it yet
		t.lostBy = &t.Claim.By
	case t.lostBy != nil && *t.lostBy == by.ID:
		t.lostBy = nil
	}
	if t.Status != InProgress {
		t.Status, t.MovedAt = InProgress, clock.At(now)
	}
	t.claimSeq++
	t.Claim = &Claim{By: by.ID, Name: by.Name, ExpiresAt: clock.At(until)}
}

// endClaim ends the claim of a task that leaves for another column. Whose it
// was is noted when it was not they who moved it, so that they are told. A task
// that belongs to nobody belongs to whom finished it.
func (t *Task) endClaim(to Status, by actor.Actor) {
	was := t.Claim
	t.Claim, t.lostBy = nil, nil
	switch {
	case was == nil:
	case was.By != by.ID:
		t.lostBy = &was.By
	case to.starts() && t.AssigneeID == nil:
		t.AssigneeID = &was.By
	}
}

// lease is how long a claim is to last; zero is the usual time.
func lease(d time.Duration) (time.Duration, error) {
	if d == 0 {
		return usualLease, nil
	}
	var bad fault.Fields
	if d < shortestLease || d > longestLease {
		bad.Add("/lease_seconds", "It is from %d to %d seconds.", int(shortestLease.Seconds()), int(longestLease.Seconds()))
	}
	return d, bad.Err()
}

// Ask is what somebody says who claims a task, renews a claim or gives it back.
type Ask struct {
	Lease time.Duration // zero is 15 minutes
	Token *int64        // of the claim that is to be renewed or given back; nil is whatever the caller holds
}

// Claim makes the caller the holder of a task and starts it, or renews their
// claim. It answers the task with the claim's token.
func (s *Service) Claim(ctx context.Context, ref string, ask Ask) (Task, error) {
	by := actor.From(ctx)
	d, err := lease(ask.Lease)
	if err != nil {
		return Task{}, err
	}
	t, err := s.write(ctx, "claim task", func(tx *db.Tx) (Task, []note, error) {
		was, err := findOpen(ctx, tx, ref)
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		if err := was.fence(ask.Token, by, now); err != nil {
			return Task{}, nil, err
		}
		switch held := was.held(now); {
		case held != nil && held.By != by.ID:
			return Task{}, nil, was.free(by, now)
		case held != nil:
			return s.renew(ctx, tx, was, now.Add(d))
		case was.Status == Review || was.Status == Done:
			return Task{}, nil, ErrNotOpen.With("It is in %s. Move it back first.", was.Status).Fact("status", was.Status)
		}
		if err := ready(ctx, tx, was); err != nil {
			return Task{}, nil, err
		}
		return s.take(ctx, tx, was, now.Add(d))
	})
	return t.withToken(), err
}

// ClaimNext makes the caller the holder of the best task that is to do: one of
// their own before nobody's, then by priority, due time and position. Of many
// who ask at the same moment some get one that is a little further down. It
// answers false when there is none.
func (s *Service) ClaimNext(ctx context.Context, ask Ask) (t Task, ok bool, err error) {
	by := actor.From(ctx)
	d, err := lease(ask.Lease)
	if err != nil {
		return Task{}, false, err
	}
	// Who asks again and again while there is nothing to do must not keep others
	// from writing.
	if _, err := nextFor(ctx, s.DB, by.ID, 0); err != nil {
		if db.IsNotFound(err) {
			err = nil
		}
		return Task{}, false, err
	}
	tries := 0 // how often somebody else was faster
	var in *db.Tx
	t, err = s.write(ctx, "claim the next task", func(tx *db.Tx) (Task, []note, error) {
		if tx != in { // one that is done again has lost no race for a task
			in, tries = tx, 0
		}
		was, err := nextFor(ctx, tx, by.ID, crowd(tries))
		if db.IsNotFound(err) {
			was, err = nextFor(ctx, tx, by.ID, 0)
		}
		tries++
		if db.IsNotFound(err) {
			return Task{}, nil, nil
		}
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		return s.take(ctx, tx, was, now.Add(d))
	})
	return t.withToken(), t.ID != "", err
}

func (t Task) withToken() Task {
	if t.Claim != nil {
		c := *t.Claim
		c.Token, t.Claim = t.claimSeq, &c
	}
	return t
}

// take stores that the caller holds the task now.
func (s *Service) take(ctx context.Context, tx *db.Tx, was Task, until time.Time) (Task, []note, error) {
	t := was
	t.claim(actor.From(ctx), s.Now(), until)
	return s.save(ctx, tx, was, t, "task.claimed", nil)
}

// renew stores that a claim lasts longer. That is no change of the task, so
// that its version stays.
func (s *Service) renew(ctx context.Context, tx *db.Tx, was Task, until time.Time) (Task, []note, error) {
	t, c := was, *was.Claim
	c.ExpiresAt = clock.At(until)
	t.Claim = &c
	card, rest, err := t.draw()
	if err != nil {
		return Task{}, nil, err
	}
	n, err := tx.Exec(ctx, `UPDATE tasks SET claim_until = ?, card = ?, rest = ?, shown = shown + 1 WHERE id = ? AND version = ? AND shown = ?`,
		c.ExpiresAt, card, rest, t.ID, t.Version, t.shown)
	if err == nil && n == 0 {
		err = errRaced
	}
	if err != nil {
		return Task{}, nil, err
	}
	return t, []note{{s.Now(), "task.claim_renewed", t, map[string]any{"changes": diff(was, t)}}}, nil
}

// Release gives a task back, which is to do again then. Who may delete tasks
// may also take one from its holder. A task that nobody holds stays as it is.
func (s *Service) Release(ctx context.Context, ref string, ask Ask) (Task, error) {
	by := actor.From(ctx)
	return s.write(ctx, "release task", func(tx *db.Tx) (Task, []note, error) {
		was, err := findOpen(ctx, tx, ref)
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		if err := was.fence(ask.Token, by, now); err != nil {
			return Task{}, nil, err
		}
		held := was.held(now)
		if held == nil {
			return was, nil, nil
		}
		if held.By != by.ID && !by.Role.May(actor.DeleteTasks) {
			return Task{}, nil, was.free(by, now)
		}
		t := was
		t.move(Todo, s.Now(), by)
		return s.save(ctx, tx, was, t, "task.released", nil)
	})
}

// EndLeases frees the tasks whose holders have not renewed their claims, and
// puts them back to what is to do. It is timed work, and reports nothing when
// there is nothing to free.
func (s *Service) EndLeases(ctx context.Context) error {
	const batch = 50 // so that nobody waits long for the writer
	for {
		// Without this look an idle board would be written to every few seconds.
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
			var notes []note
			for _, was := range ended {
				t := was
				t.move(Todo, s.Now(), actor.From(ctx))
				_, told, err := s.save(ctx, tx, was, t, "task.lease_ended", map[string]any{"held_by": was.Claim})
				if errors.Is(err, errRaced) {
					continue // whoever changed it meanwhile has freed it, or renewed the claim
				}
				if err != nil {
					return err
				}
				notes = append(notes, told...)
			}
			return record(ctx, tx, notes)
		})
		if err != nil || n < batch {
			return err
		}
	}
}

// crowd is how many of the best tasks to leave to others: none at first. Of
// those who have lost a race for a task, not all go for the next one; each
// takes one of the next few. On PostgreSQL sixteen agents get twice as many
// tasks in the same time as when they stand in line for a lock.
func crowd(tries int) int {
	return rand.IntN(min(2*tries+1, 16)) //nolint:gosec // G404: chance, not a secret
}

// nextFor is the best task that somebody may claim, after so many that are
// better. What was handed to its agent is with that already. It answers that nothing was found when there is none.
func nextFor(ctx context.Context, q db.Queryer, userID string, skip int) (Task, error) {
	return scan(q.QueryRow(ctx, nextQuery, userID, skip, skip))
}

const (
	best = ` AND status = 'todo' AND blocked_reason IS NULL AND waiting_on = 0 AND archived_at IS NULL
		ORDER BY urgency, position, number LIMIT 1 OFFSET ?`
	apart     = ` AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.task_id = tasks.id AND d.state IN ('queued', 'started'))`
	nextQuery = `SELECT ` + columns + ` FROM tasks WHERE id = COALESCE(
		(SELECT id FROM tasks WHERE assignee_id = ?` + apart + best + `),
		(SELECT id FROM tasks WHERE assignee_id IS NULL` + best + `))`
)

// anyClaim reports whether anybody holds anything.
func anyClaim(ctx context.Context, q db.Queryer) (some bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM tasks WHERE claim_until IS NOT NULL)`).Scan(&some)
	return some, err
}

// endedClaims are tasks whose claim has ended.
func endedClaims(ctx context.Context, q db.Queryer, now time.Time, limit int) ([]Task, error) {
	rows, err := q.Query(ctx, `SELECT `+columns+` FROM tasks WHERE claim_until IS NOT NULL AND claim_until <= ? ORDER BY claim_until LIMIT ?`, now, limit)
	return db.All(rows, err, scan)
}
