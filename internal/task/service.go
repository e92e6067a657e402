package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/page"
)

// Service is the board's use cases.
type Service struct {
	DB  *db.DB
	Now func() time.Time
}

// Create adds a task to the board.
func (s *Service) Create(ctx context.Context, n New) (Task, error) {
	var t Task
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		t, err = s.CreateIn(ctx, tx, n)
		return err
	})
	return t, err
}

// CreateIn is Create within a transaction of another feature, such as the
// standup whose action items become tasks.
func (s *Service) CreateIn(ctx context.Context, tx *db.Tx, n New) (Task, error) {
	now := s.Now()
	by := actor.From(ctx)
	t, err := n.make(db.NewID(), now, by)
	if err != nil {
		return Task{}, err
	}
	if by.Role != "" {
		t.ReporterID = &by.ID
	}
	if n.Assignee != nil {
		id, err := findAssignee(ctx, tx, *n.Assignee)
		if err != nil {
			return Task{}, err
		}
		t.AssigneeID = &id
	}
	if err := insert(ctx, tx, &t); err != nil {
		return Task{}, fmt.Errorf("create task: %w", err)
	}
	return t, record(ctx, tx, now, "task.created", t, map[string]any{"title": t.Title, "status": t.Status, "assignee_id": t.AssigneeID})
}

// Get returns one task, by its id or key.
func (s *Service) Get(ctx context.Context, ref string) (Task, error) {
	return find(ctx, s.DB, ref)
}

// List returns one page of the tasks that match, by their key, update,
// creation or priority. People may be named as everywhere, and may have left:
// somebody has to take over their tasks.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Task], error) {
	var part page.Part[Task]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) (err error) {
		if f.Assignee, err = lookUp(ctx, q, f.Assignee, ErrAssignee); err != nil {
			return err
		}
		if f.Reporter, err = lookUp(ctx, q, f.Reporter, ErrReporter); err != nil {
			return err
		}
		part, err = tasks.Read(ctx, q, f.where(), want)
		return err
	})
	return part, err
}

// lookUp turns the name of a person into their id, or says that there is none.
func lookUp(ctx context.Context, q db.Queryer, p Person, unknown *fault.Error) (Person, error) {
	switch p {
	case "", Nobody:
		return p, nil
	case Me:
		p = Person(actor.From(ctx).ID)
	}
	id, _, err := findAccount(ctx, q, string(p))
	if errors.Is(err, ErrAssignee) {
		err = unknown.With("Give a user's id or email, an agent_id, %s or %s.", Me, Nobody)
	}
	return Person(id), err
}

// Update makes a partial change. With a version it is refused with ErrStale
// when the task has moved on. A change that changes nothing leaves no trace.
func (s *Service) Update(ctx context.Context, ref string, c Change, version *int64) (Task, error) {
	var t Task
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		for {
			// Who lost a race reads what the winner wrote: a caller who named a
			// version is told the current one, and any other change still fits.
			if t, err = s.updateIn(ctx, tx, ref, c, version); !errors.Is(err, errRaced) {
				return err
			}
		}
	})
	if err != nil {
		return Task{}, fmt.Errorf("update task: %w", err)
	}
	return t, nil
}

func (s *Service) updateIn(ctx context.Context, tx *db.Tx, ref string, c Change, version *int64) (Task, error) {
	was, err := find(ctx, tx, ref)
	if err != nil {
		return Task{}, err
	}
	if version != nil && *version != was.Version {
		return Task{}, ErrStale.With("It is at version %d now. Read it again and repeat the change.", was.Version).
			Fact("current_version", was.Version)
	}
	t, err := s.changed(ctx, tx, was, c)
	if err != nil {
		return Task{}, err
	}
	changes := diff(was, t)
	if len(changes) == 0 {
		return was, nil
	}
	if err := update(ctx, tx, t, was.Version); err != nil {
		return Task{}, err
	}
	return t, record(ctx, tx, t.UpdatedAt.Time, "task.changed", t, map[string]any{"changes": changes})
}

// changed is was after c.
func (s *Service) changed(ctx context.Context, q db.Queryer, was Task, c Change) (Task, error) {
	now, t := s.Now(), was
	if err := t.apply(c, now, actor.From(ctx)); err != nil {
		return Task{}, err
	}
	if c.Assignee.Given {
		t.AssigneeID = nil
		if c.Assignee.Value != nil {
			id, err := findAssignee(ctx, q, *c.Assignee.Value)
			if err != nil {
				return Task{}, err
			}
			t.AssigneeID = &id
		}
	}
	t.Version, t.UpdatedAt = was.Version+1, clock.At(now)
	return t, nil
}

// Of returns what an agent has on the board, the newest first and 200 at most:
// all that is open, and what was finished since then. Its standup report is
// held against it.
func (s *Service) Of(ctx context.Context, agentID string, since time.Time) ([]Task, error) {
	const limit = 200
	return agentTasks(ctx, s.DB, agentID, since, limit)
}

func record(ctx context.Context, tx *db.Tx, at time.Time, kind string, t Task, data any) error {
	return event.Record(ctx, tx, at, event.Activity, kind, event.Subject{Kind: "task", ID: t.ID, Name: t.Key}, data)
}
