package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/list"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/page"
	"wardroom/internal/platform/patch"
)

// Service is the board's use cases. It must not be copied once used.
type Service struct {
	DB  *db.DB
	Now func() time.Time
	// Withdraw, when given, is called before a task that was ever handed to its
	// agent goes into the archive, or is deleted (gone): what the agent has of it is
	// stopped. It writes no event, and answers how the dispatch ended by that; nil
	// when none was going on.
	Withdraw func(ctx context.Context, tx *db.Tx, t Task, gone bool) (*Dispatch, error)
	// Raise and Settle, when given, bring tasks that stay blocked to whoever sees to
	// them. They write events, so nothing else of a transaction comes after them.
	Raise  func(ctx context.Context, tx *db.Tx, m Matter) error
	Settle func(ctx context.Context, tx *db.Tx, cause, why string) error

	endings endings
}

// Create adds a task to the board.
func (s *Service) Create(ctx context.Context, n New) (Task, error) {
	var t Task
	err := s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		t, err = once.Do(ctx, tx, s.Now(), find, func(t Task) string { return t.ID }, func() (Task, error) { return s.CreateIn(ctx, tx, n) })
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
	if err := s.relateNew(ctx, tx, &t, n); err != nil {
		return Task{}, err
	}
	if err := insert(ctx, tx, &t); err != nil {
		return Task{}, fmt.Errorf("create task: %w", err)
	}
	data := map[string]any{"title": t.Title, "status": t.Status, "assignee_id": t.AssigneeID}
	for name, v := range map[string]*string{"project_id": t.ProjectID, "parent_id": t.ParentID} {
		if v != nil {
			data[name] = *v
		}
	}
	if len(t.DependsOn) > 0 {
		data["depends_on"] = t.DependsOn
	}
	return t, record(ctx, tx, []note{{now, "task.created", t, data}})
}

// relateNew ties a new task to others. It may begin started or done as others may.
func (s *Service) relateNew(ctx context.Context, tx *db.Tx, t *Task, n New) error {
	if n.Project == nil && n.Parent == nil && len(n.DependsOn) == 0 {
		return nil
	}
	c := Change{}
	if n.Project != nil {
		c.Project = patch.Set(*n.Project)
	}
	if n.Parent != nil {
		c.Parent = patch.Set(*n.Parent)
	}
	if len(n.DependsOn) > 0 {
		c.DependsOn = &n.DependsOn
		if err := tx.Lock(ctx, board); err != nil {
			return err
		}
	}
	if err := relate(ctx, tx, t, c); err != nil {
		return err
	}
	if t.Status.starts() {
		return ready(ctx, tx, *t)
	}
	return nil
}

// Get returns a task by its id or its key, such as TASK-12 or task-12.
func (s *Service) Get(ctx context.Context, ref string) (Task, error) {
	t, err := find(ctx, s.DB.Brief(), ref)
	return t.seen(s.Now()), err
}

// List returns one page of the tasks that match, by their key, update,
// creation, priority, due time or position. People may be named as everywhere,
// and may have left: somebody has to take over their tasks.
func (s *Service) List(ctx context.Context, f Filter, want page.Want) (page.Part[Task], error) {
	var part page.Part[Task]
	err := list.View(ctx, s.DB, want, func(q db.Queryer) error {
		w, err := s.where(ctx, q, f, want)
		if err != nil {
			return err
		}
		part, err = tasks.Read(ctx, q, w, want)
		return err
	})
	now := s.Now()
	for i := range part.Rows {
		part.Rows[i] = part.Rows[i].seen(now)
	}
	return part, err
}

// lookUp turns the names in a filter into ids.
func (f Filter) lookUp(ctx context.Context, q db.Queryer) (_ Filter, err error) {
	if f.Assignee, err = lookUp(ctx, q, f.Assignee, ErrAssignee); err != nil {
		return f, err
	}
	if f.Reporter, err = lookUp(ctx, q, f.Reporter, ErrReporter); err != nil {
		return f, err
	}
	if f.Holder != Anybody {
		if f.Holder, err = lookUp(ctx, q, f.Holder, ErrHolder); err != nil {
			return f, err
		}
	}
	if f.Project != "" && f.Project != string(Nobody) {
		if f.Project, err = findProject(ctx, q, f.Project, false); err != nil {
			return f, err
		}
	}
	if f.Parent != "" && f.Parent != string(Nobody) {
		parent, err := named(ctx, q, f.Parent, ErrParent)
		f.Parent = parent.ID
		return f, err
	}
	return f, nil
}

// lookUp turns the name of a person in a filter into their id, or says that there is
// none. An email that the caller must not learn about is nobody's.
func lookUp(ctx context.Context, q db.Queryer, p Person, unknown *fault.Error) (Person, error) {
	switch p {
	case "", Nobody:
		return p, nil
	case Me:
		p = Person(actor.From(ctx).ID)
	}
	id, err := findPerson(ctx, q, string(p))
	if errors.Is(err, ErrAssignee) {
		err = unknown.With("Give a user's id or email, an agent_id, %s or %s.", Me, Nobody)
	}
	return Person(id), err
}

// Update makes a partial change. With a version it is refused with ErrStale
// when the task has moved on. A change that changes nothing leaves no trace.
func (s *Service) Update(ctx context.Context, ref string, c Change, version *int64) (Task, error) {
	return s.write(ctx, "update task", func(tx *db.Tx) (Task, []note, error) { return s.updateIn(ctx, tx, ref, c, version) })
}

// write runs fn in a transaction and then notes what it has done in the log.
// Who lost a race reads what the winner wrote: a caller who named a version is
// told the current one, and any other change still fits.
func (s *Service) write(ctx context.Context, what string, fn func(*db.Tx) (Task, []note, error)) (Task, error) {
	var t Task
	err := s.DB.Tx(ctx, func(tx *db.Tx) error {
		for {
			done, notes, err := fn(tx)
			if errors.Is(err, errRaced) {
				continue
			}
			if err != nil {
				return err
			}
			t = done
			return record(ctx, tx, notes)
		}
	})
	if err != nil {
		return Task{}, fmt.Errorf("%s: %w", what, err)
	}
	return t.seen(s.Now()), nil
}

func (s *Service) updateIn(ctx context.Context, tx *db.Tx, ref string, c Change, version *int64) (Task, []note, error) {
	was, err := find(ctx, tx, ref)
	if err == nil && c.reaches(was) {
		if err := tx.Lock(ctx, board); err != nil {
			return Task{}, nil, err
		}
		was, err = find(ctx, tx, was.ID)
	}
	if err != nil {
		return Task{}, nil, err
	}
	if err := was.at(version); err != nil {
		return Task{}, nil, err
	}
	t, err := s.changed(ctx, tx, was, c)
	if err != nil {
		return Task{}, nil, err
	}
	return s.save(ctx, tx, was, t, "task.changed", nil)
}

// at refuses a task that is not at the version that the caller has seen.
func (t Task) at(version *int64) error {
	if version == nil || *version == t.Version {
		return nil
	}
	return ErrStale.With("It is at version %d now. Read it again and repeat the change.", t.Version).Fact("current_version", t.Version)
}

// changed is was after c.
func (s *Service) changed(ctx context.Context, tx *db.Tx, was Task, c Change) (Task, error) {
	t, by := was, actor.From(ctx)
	if was.ArchivedAt != nil {
		return Task{}, ErrArchived.With("Restore %s first.", was.Key).Fact("archived_at", was.ArchivedAt)
	}
	now := s.Now()
	if was.Claim != nil || was.lostBy != nil || c.ClaimToken != nil {
		var err error
		if now, err = tx.Clock(ctx, now); err != nil {
			return Task{}, err
		}
	}
	if err := was.fence(c.ClaimToken, by, now); err != nil {
		return Task{}, err
	}
	if err := t.apply(c, s.Now(), by); err != nil {
		return Task{}, err
	}
	if c.Assignee.Given {
		t.AssigneeID = nil
		if c.Assignee.Value != nil {
			id, err := findAssignee(ctx, tx, *c.Assignee.Value)
			if err != nil {
				return Task{}, err
			}
			t.AssigneeID = &id
		}
	}
	if t.endsQueued(was) {
		if err := was.mayTakeBack(by); err != nil {
			return Task{}, err
		}
	}
	if err := relate(ctx, tx, &t, c); err != nil {
		return Task{}, err
	}
	if t.Status != was.Status && t.Status.starts() {
		if err := was.free(by, now); err != nil {
			return Task{}, err
		}
		if err := ready(ctx, tx, t); err != nil {
			return Task{}, err
		}
	}
	if c.Position != nil {
		var err error
		if t.Position, err = place(ctx, tx, t, *c.Position); err != nil {
			return Task{}, err
		}
	}
	return t, nil
}

// save stores what t has and was had not, and says what to note of it. Data are
// further facts of the event. Nothing is written when nothing differs.
func (s *Service) save(ctx context.Context, tx *db.Tx, was, t Task, kind string, data map[string]any) (Task, []note, error) {
	changes := diff(was, t)
	if len(changes) == 0 && len(data) == 0 {
		return was, nil, nil
	}
	now := s.Now()
	t.Version, t.UpdatedAt = was.Version+1, clock.At(now)
	if err := update(ctx, tx, was, t); err != nil {
		return Task{}, nil, err
	}
	if data == nil {
		data = map[string]any{}
	}
	data["changes"] = changes
	if !slices.Equal(was.Tags, t.Tags) {
		if err := tag(ctx, tx, t); err != nil {
			return Task{}, nil, err
		}
	}
	if !slices.Equal(was.DependsOn, t.DependsOn) {
		if err := tie(ctx, tx, t); err != nil {
			return Task{}, nil, err
		}
	}
	if (was.Status == Done) != (t.Status == Done) {
		freed, err := shift(ctx, tx, t)
		if err != nil {
			return Task{}, nil, err
		}
		if len(freed) > 0 && t.Status == Done {
			data["unblocked"] = freed
		}
	}
	return t, []note{{now, kind, t, data}}, nil
}

// Of returns what an agent has on the board, the newest first and 200 at most:
// all that is open, and what was finished since then. Its standup report is
// held against it.
func (s *Service) Of(ctx context.Context, agentID string, since time.Time) ([]Task, error) {
	const limit = 200
	return agentTasks(ctx, s.DB, agentID, since, limit)
}

// note is what is to be said in the log once everything is written.
type note struct {
	at   time.Time
	kind string
	task Task
	data any
}

// record writes the notes to the log. Nothing else may be written after it.
func record(ctx context.Context, tx *db.Tx, notes []note) error {
	for _, n := range notes {
		about := event.Subject{Kind: "task", ID: n.task.ID, Name: n.task.Key}
		if err := event.Record(ctx, tx, n.at, event.Activity, n.kind, about, n.data); err != nil {
			return err
		}
		if n.kind != deleted && n.kind != commentDeleted {
			continue
		}
		// Once more for the audit: who takes something away for good answers for it.
		if err := event.Record(ctx, tx, n.at, event.Audit, n.kind, about, n.data); err != nil {
			return err
		}
	}
	return nil
}
