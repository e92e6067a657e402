package task

import (
	"context"
	"errors"
	"slices"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/inbox"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
	"wardroom/internal/platform/once"
	"wardroom/internal/platform/redact"
)

// Service implements the board's operations. It must not be copied after first
// use.
type Service struct {
	DB    *db.DB
	Now   func() time.Time
	Inbox *inbox.Service
	// Zone is the time zone in which a due day ends. Default: UTC.
	Zone   *time.Location
	Redact *redact.Redactor // for the texts of agents

	// What follows is of features that use tasks, and that some changes of a task must reach in the same
	// transaction.

	// Withdraw is dispatch.Service.Withdraw: it stops the agent's work on a dispatched task. It
	// returns the ended dispatch, or nil if no dispatch was active. It records no event. It is called
	// before a task with an active dispatch is archived, and before any task that was ever dispatched
	// is deleted. In the second case, gone is true.
	Withdraw func(ctx context.Context, tx *db.Tx, t Task, gone bool) (*Dispatch, error)
	// Send is dispatch.Service.Send: it dispatches a task to its agent with a note. It returns one of
	// the faults in SendRefusals if that is not possible. A fault of the kind fault.Unavailable means
	// that no gateway is configured.
	Send         func(ctx context.Context, tx *db.Tx, id, note string) error
	SendRefusals []*fault.Error
	// EndBlockers is standup.Service.EndDecidedBlockers: it ends the standups' blockers that name a
	// task, because a person has decided what to do about it, with the text of the decision.
	EndBlockers func(ctx context.Context, tx *db.Tx, key, text string) error
	// Reported is receipt.Service.Report. It is called when an agent says that a task is done, with
	// the text of its report.
	Reported func(ctx context.Context, tx *db.Tx, t Task, text string) error
	// Judged is receipt.Service.Judge. It is called when a person approves the result of a task or
	// sends it back.
	Judged func(ctx context.Context, tx *db.Tx, taskID string, v Verdict) error

	claimEnds claimEnds
}

// Create adds a task to the board.
func (s *Service) Create(ctx context.Context, n New) (Task, error) {
	return db.Do(ctx, s.DB, "create task", func(tx *db.Tx) (Task, error) {
		return once.Do(ctx, tx, s.Now(), find, func(t Task) string { return t.ID }, func() (Task, error) {
			return s.CreateIn(ctx, tx, n)
		})
	})
}

// redact returns a text as it is stored: without secrets, if an agent wrote it.
func (s *Service) redact(ctx context.Context, text string) string {
	if actor.From(ctx).Role != actor.Agent {
		return text
	}
	return s.Redact.Text(text)
}

// redactChange is redact for the texts of a change.
func (s *Service) redactChange(ctx context.Context, c Change) Change {
	for _, text := range []**string{&c.Title, &c.Description, &c.PRURL.Value} {
		if *text != nil {
			*text = new(s.redact(ctx, **text))
		}
	}
	if b := c.Blocked.Value; b != nil {
		is := *b
		is.Reason = s.redact(ctx, b.Reason)
		c.Blocked.Value = &is
	}
	return c
}

// CreateForAgent is like CreateIn, for a task that is assigned to an agent. If the agent has no account,
// or if agentID is empty, the task is unassigned.
func (s *Service) CreateForAgent(ctx context.Context, tx *db.Tx, n New, agentID string) (Task, error) {
	if agentID != "" {
		n.Assignee = &agentID
	}
	t, err := s.CreateIn(ctx, tx, n)
	if errors.Is(err, ErrAssignee) {
		n.Assignee = nil
		t, err = s.CreateIn(ctx, tx, n)
	}
	return t, err
}

// CreateIn is like Create, but runs in the caller's transaction. Standups use
// it to turn action items into tasks.
func (s *Service) CreateIn(ctx context.Context, tx *db.Tx, n New) (Task, error) {
	now := s.Now()
	by := actor.From(ctx)
	n.Title, n.Description = s.redact(ctx, n.Title), s.redact(ctx, n.Description)
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
	if err := setRelations(ctx, tx, &t, n.change()); err != nil {
		return Task{}, err
	}
	if t.Status.starts() {
		if err := checkDependencies(ctx, tx, t); err != nil {
			return Task{}, err
		}
	}
	if err := insert(ctx, tx, &t); err != nil {
		return Task{}, err
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
	return t, s.record(ctx, tx, []pendingEvent{{now, "task.created", t, data, &Task{}}})
}

// Get returns a task by its ID or its key, such as TASK-12 or task-12.
func (s *Service) Get(ctx context.Context, ref string) (Task, error) {
	t, err := find(ctx, s.DB.Brief(), ref)
	return t.withoutExpiredClaim(s.Now()), err
}

// lookUp replaces the names in a filter with IDs.
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
		parent, err := findNamed(ctx, q, f.Parent, ErrParent)
		if err != nil {
			return f, err
		}
		f.Parent = parent.ID
	}
	if f.DependsOn != "" {
		on, err := findNamed(ctx, q, f.DependsOn, ErrDependency)
		f.DependsOn = on.ID
		return f, err
	}
	return f, nil
}

// lookUp resolves a user named in a filter to an ID. If there is no such account, it returns the
// error unknown. An email that the caller may not look up resolves to an ID that matches no
// account.
func lookUp(ctx context.Context, q db.Queryer, p Person, unknown *fault.Error) (Person, error) {
	switch p {
	case "", Nobody:
		return p, nil
	case Me:
		p = Person(actor.From(ctx).ID)
	}
	id, err := findPerson(ctx, q, string(p))
	if errors.Is(err, ErrAssignee) {
		err = unknown.With("Specify a user's ID or email, an agent_id, %q, or %q.", Me, Nobody)
	}
	return Person(id), err
}

// Update applies a partial update to a task. If version is set but is not the task's current
// version, Update fails with ErrStale. If nothing changes, it writes nothing.
func (s *Service) Update(ctx context.Context, ref string, c Change, version *int64) (Task, error) {
	return s.write(ctx, "update task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		return s.updateIn(ctx, tx, ref, c, version)
	})
}

// write runs fn in a transaction and then records the events that fn returned.
func (s *Service) write(ctx context.Context, what string, fn func(*db.Tx) (Task, []pendingEvent, error)) (Task, error) {
	t, err := db.Do(ctx, s.DB, what, func(tx *db.Tx) (Task, error) {
		t, events, err := fn(tx)
		if err != nil {
			return t, err
		}
		return t, s.record(ctx, tx, events)
	})
	return t.withoutExpiredClaim(s.Now()), err
}

func (s *Service) updateIn(
	ctx context.Context, tx *db.Tx, ref string, c Change, version *int64,
) (Task, []pendingEvent, error) {
	old, err := find(ctx, tx, ref)
	if err != nil {
		return Task{}, nil, err
	}
	if err := ErrStale.Unless(version, old.Version, "task"); err != nil {
		return Task{}, nil, err
	}
	t, err := s.changed(ctx, tx, old, c)
	if err != nil {
		return Task{}, nil, err
	}
	return s.save(ctx, tx, old, t, "task.changed", nil)
}

// changed applies the change c to the task old and returns the result. It fails if the caller may
// not make the change.
func (s *Service) changed(ctx context.Context, tx *db.Tx, old Task, c Change) (Task, error) {
	t, by := old, actor.From(ctx)
	if err := old.checkArchived(); err != nil {
		return Task{}, err
	}
	now := s.Now()
	if old.Claim != nil || old.lostBy != nil || c.ClaimToken != nil {
		var err error
		if now, err = tx.Clock(ctx, now); err != nil {
			return Task{}, err
		}
	}
	if err := old.checkToken(c.ClaimToken, by, now); err != nil {
		return Task{}, err
	}
	if err := t.apply(s.redactChange(ctx, c), s.Now(), by); err != nil {
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
	if t.cancelsQueued(old) {
		if err := old.mayEndDispatch(by); err != nil {
			return Task{}, err
		}
	}
	if err := setRelations(ctx, tx, &t, c); err != nil {
		return Task{}, err
	}
	if t.Status != old.Status && t.Status.starts() {
		if err := old.checkHolder(by, now); err != nil {
			return Task{}, err
		}
		if err := checkDependencies(ctx, tx, t); err != nil {
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

// save stores the changes from old to t. It returns the stored task and the event to record, which
// contains the changes and the entries in data. If nothing changed and data is empty, save does
// nothing.
func (s *Service) save(
	ctx context.Context, tx *db.Tx, old, t Task, kind string, data map[string]any,
) (Task, []pendingEvent, error) {
	changes := diff(old, t)
	if len(changes) == 0 && len(data) == 0 {
		return old, nil, nil
	}
	now := s.Now()
	t.Version, t.UpdatedAt = old.Version+1, clock.At(now)
	if err := update(ctx, tx, old, t); err != nil {
		return Task{}, nil, err
	}
	if data == nil {
		data = map[string]any{}
	}
	data["changes"] = changes
	if err := s.noteReview(ctx, tx, old, t, kind, data); err != nil {
		return Task{}, nil, err
	}
	if !slices.Equal(old.Tags, t.Tags) {
		if err := writeTags(ctx, tx, t); err != nil {
			return Task{}, nil, err
		}
	}
	if !slices.Equal(old.DependsOn, t.DependsOn) {
		if err := writeDependencies(ctx, tx, t); err != nil {
			return Task{}, nil, err
		}
	}
	if (old.Status == Done) != (t.Status == Done) {
		freed, err := updateWaiting(ctx, tx, t)
		if err != nil {
			return Task{}, nil, err
		}
		if len(freed) > 0 && t.Status == Done {
			data["unblocked"] = freed
		}
	}
	return t, []pendingEvent{{now, kind, t, data, &old}}, nil
}

// Of returns up to 200 tasks of an agent, newest first: open tasks, tasks done
// since the given time, and tasks that the agent has claimed. A standup compares
// the agent's report with them.
func (s *Service) Of(ctx context.Context, agentID string, since time.Time) ([]Task, error) {
	const limit = 200
	return agentTasks(ctx, s.DB, agentID, since, limit)
}

// pendingEvent is an event to record at the end of a transaction.
type pendingEvent struct {
	at   time.Time
	kind string
	task Task
	data map[string]any
	old  *Task // the task before a change of its fields
}

// record writes the events to the event log, each followed by what the change does to the inbox, so that
// the log is in the order of its times.
func (s *Service) record(ctx context.Context, tx *db.Tx, events []pendingEvent) error {
	for _, n := range events {
		about := event.Subject{Kind: "task", ID: n.task.ID, Name: n.task.Key}
		if err := event.Record(ctx, tx, n.at, event.Activity, n.kind, about, n.data); err != nil {
			return err
		}
		if n.old != nil {
			if err := s.trackReview(ctx, tx, *n.old, n.task, n.kind, n.data); err != nil {
				return err
			}
		}
		if n.kind != deleted && n.kind != commentDeleted {
			continue
		}
		// Deletions are recorded in the audit log, too.
		if err := event.Record(ctx, tx, n.at, event.Audit, n.kind, about, n.data); err != nil {
			return err
		}
	}
	return nil
}
