package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wardroom/internal/event"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
	"wardroom/internal/platform/page"
)

// Archive archives a task. An archived task does not appear in lists, and it
// cannot be claimed or changed until it is restored. Archiving an archived task
// has no effect. Archive fails with ErrWithAgent if the task has an active
// dispatch that the caller is not allowed to end.
func (s *Service) Archive(ctx context.Context, ref string, version *int64) (Task, error) {
	by := actor.From(ctx)
	return s.write(ctx, "archive task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		old, err := find(ctx, tx, ref)
		if err != nil || old.ArchivedAt != nil {
			return old, nil, err
		}
		if err := old.mayEndDispatch(by); err != nil {
			return Task{}, nil, err
		}
		ended, err := s.withdraw(ctx, tx, &old, false)
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		if err := ErrStale.Unless(version, old.Version, "task"); err != nil {
			return Task{}, nil, err
		}
		if held := old.activeClaim(now); held != nil && held.By != by.ID {
			return Task{}, nil, old.checkHolder(by, now)
		}
		t := old
		if t.Claim != nil {
			t.move(Todo, s.Now(), by)
		}
		t.ArchivedAt = clock.Ptr(s.Now())
		t, events, err := s.save(ctx, tx, old, t, "task.archived", nil)
		return t, append(events, ended...), err
	})
}

// Restore returns an archived task to the board. If the task is done, the
// waiting period before automatic archiving starts over. Restoring a task that
// is not archived has no effect.
func (s *Service) Restore(ctx context.Context, ref string, version *int64) (Task, error) {
	return s.write(ctx, "restore task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		old, err := find(ctx, tx, ref)
		if err != nil || old.ArchivedAt == nil {
			return old, nil, err
		}
		if err := ErrStale.Unless(version, old.Version, "task"); err != nil {
			return Task{}, nil, err
		}
		t := old
		if t.ArchivedAt = nil; t.Status == Done {
			t.archiveFrom = clock.Ptr(s.Now())
		}
		return s.save(ctx, tx, old, t, "task.restored", nil)
	})
}

// archivable is the part of an SQL query that selects the tasks to archive: done tasks whose
// waiting period began before a given time.
const archivable = ` FROM tasks WHERE archive_from IS NOT NULL AND archived_at IS NULL AND archive_from < ?`

// CountArchivable returns the number of tasks that ArchiveDone would archive without a limit. It
// also returns the earliest time at which one of them became done or was restored, or the zero time
// if there are none.
func (s *Service) CountArchivable(ctx context.Context, before time.Time) (n int64, oldest time.Time, err error) {
	var first *clock.Time
	if err := s.DB.QueryRow(ctx, `SELECT COUNT(*), MIN(archive_from)`+archivable, before).Scan(&n, &first); err != nil {
		return 0, oldest, fmt.Errorf("count done tasks: %w", err)
	}
	if first != nil {
		oldest = first.Time
	}
	return n, oldest, nil
}

// ArchiveDone archives done tasks in the caller's transaction. It selects at most limit tasks whose
// archiving delay began before the given time. The delay begins when a task becomes done or is
// restored. ArchiveDone returns the number of archived tasks. A number below limit means that
// no more tasks qualify.
func (s *Service) ArchiveDone(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT id`+archivable+` ORDER BY archive_from, id LIMIT ?`, before, limit)
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return 0, err
	}
	var events []pendingEvent
	for _, id := range ids {
		more, err := s.archiveOne(ctx, tx, id)
		if err != nil {
			return 0, fmt.Errorf("archive task %s: %w", id, err)
		}
		events = append(events, more...)
	}
	return int64(len(ids)), s.record(ctx, tx, events)
}

// archiveOne archives a selected task.
func (s *Service) archiveOne(ctx context.Context, tx *db.Tx, id string) ([]pendingEvent, error) {
	old, err := find(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	ended, err := s.withdraw(ctx, tx, &old, false)
	if err != nil {
		return nil, err
	}
	t := old
	t.ArchivedAt = clock.Ptr(s.Now())
	_, more, err := s.save(ctx, tx, old, t, "task.archived", nil)
	return append(more, ended...), err
}

// deleted is the event kind for the deletion of a task.
const deleted = "task.deleted"

// Delete permanently deletes a task but keeps its events. It removes the task
// from other tasks' dependencies and parent fields, and records an event for
// each task that it changes this way.
func (s *Service) Delete(ctx context.Context, ref string, version *int64) error {
	_, err := s.write(ctx, "delete task", func(tx *db.Tx) (Task, []pendingEvent, error) {
		t, err := find(ctx, tx, ref)
		if err == nil {
			err = ErrStale.Unless(version, t.Version, "task")
		}
		if err != nil {
			return Task{}, nil, err
		}
		events, err := s.withdraw(ctx, tx, &t, true)
		if err != nil {
			return Task{}, nil, err
		}
		detached, err := s.detach(ctx, tx, t)
		if err != nil {
			return Task{}, nil, err
		}
		events = append(events, detached...)
		for _, statement := range []string{
			`DELETE FROM task_dependencies WHERE task_id = ?`,
			`DELETE FROM tasks WHERE id = ?`,
		} {
			if _, err := tx.Exec(ctx, statement, t.ID); err != nil {
				return Task{}, nil, err
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM task_tags WHERE number = ?`, t.number); err != nil {
			return Task{}, nil, err
		}
		if err := dropGrams(ctx, tx, t.number); err != nil {
			return Task{}, nil, err
		}
		if t.inReview() {
			if err := s.Inbox.ResolveCause(ctx, tx, reviewCause+t.ID, actor.From(ctx).Name+" deleted it."); err != nil {
				return Task{}, nil, err
			}
		}
		gone := pendingEvent{
			s.Now(), deleted, t, map[string]any{"title": t.Title, "status": t.Status, "assignee_id": t.AssigneeID}, nil,
		}
		return Task{}, append(events, gone), nil
	})
	return err
}

// detach removes a deleted task from other tasks' dependencies and parent
// fields.
func (s *Service) detach(ctx context.Context, tx *db.Tx, gone Task) ([]pendingEvent, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM tasks WHERE parent_id = ?
		UNION SELECT task_id FROM task_dependencies WHERE depends_on_id = ? ORDER BY id`, gone.ID, gone.ID)
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, err
	}
	var events []pendingEvent
	for _, id := range ids {
		more, err := s.detachOne(ctx, tx, id, gone)
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return events, nil
}

func (s *Service) detachOne(ctx context.Context, tx *db.Tx, id string, gone Task) ([]pendingEvent, error) {
	old, err := find(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	t := old
	if same(old.ParentID, &gone.ID) {
		t.ParentID = nil
	}
	t.DependsOn = slices.DeleteFunc(slices.Clone(old.DependsOn), func(key string) bool { return key == gone.Key })
	if len(t.DependsOn) < len(old.DependsOn) && gone.Status != Done {
		t.WaitingOn--
	}
	_, more, err := s.save(ctx, tx, old, t, "task.changed", map[string]any{"deleted": gone.Key})
	return more, err
}

// History returns one page of a task's events, newest first. The task may have
// been deleted.
func (s *Service) History(ctx context.Context, ref string, want page.Want) (page.Part[event.Event], error) {
	id, err := s.idOf(ctx, ref)
	if err != nil {
		return page.Part[event.Event]{}, err
	}
	f := event.Filter{Class: event.Activity, SubjectKind: "task", SubjectID: id}
	return event.Read(ctx, s.DB, f, want)
}

// idOf returns the ID of the task with the given ID or key. The task may have
// been deleted.
func (s *Service) idOf(ctx context.Context, ref string) (string, error) {
	t, err := find(ctx, s.DB, ref)
	if err == nil {
		return t.ID, nil
	}
	missing := err
	if !errors.Is(missing, ErrNotFound) {
		return "", missing
	}
	condition, arg := `subject_kind = 'task' AND subject_id = ?`, strings.ToLower(ref)
	if number, ok := parseKey(ref); ok {
		condition, arg = `subject_name = ?`, keyOf(number)
	}
	var id string
	err = s.DB.QueryRow(ctx,
		`SELECT subject_id FROM events WHERE kind = 'task.deleted' AND `+condition+` ORDER BY id DESC LIMIT 1`, arg).Scan(&id)
	if db.IsNotFound(err) {
		err = missing
	}
	return id, err
}
