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

// Archive puts a task away: it leaves the lists, and cannot be claimed or
// changed until it is restored. One that is there already stays as it is. While
// its agent has it, only who may stop that archives it: ErrWithAgent.
func (s *Service) Archive(ctx context.Context, ref string, version *int64) (Task, error) {
	by := actor.From(ctx)
	return s.write(ctx, "archive task", func(tx *db.Tx) (Task, []note, error) {
		was, err := find(ctx, tx, ref)
		if err != nil || was.ArchivedAt != nil {
			return was, nil, err
		}
		if err := was.mayTakeBack(by); err != nil {
			return Task{}, nil, err
		}
		ended, err := s.withdraw(ctx, tx, &was, false)
		if err != nil {
			return Task{}, nil, err
		}
		now, err := tx.Clock(ctx, s.Now())
		if err != nil {
			return Task{}, nil, err
		}
		if err := was.at(version); err != nil {
			return Task{}, nil, err
		}
		if held := was.held(now); held != nil && held.By != by.ID {
			return Task{}, nil, was.free(by, now)
		}
		t := was
		if t.Claim != nil {
			t.move(Todo, s.Now(), by)
		}
		t.ArchivedAt = clock.Ptr(s.Now())
		t, notes, err := s.save(ctx, tx, was, t, "task.archived", nil)
		return t, append(notes, ended...), err
	})
}

// Restore brings a task back from the archive as it was. If it is done, the
// days until it is archived count anew. One that is not there stays as it is.
func (s *Service) Restore(ctx context.Context, ref string, version *int64) (Task, error) {
	return s.write(ctx, "restore task", func(tx *db.Tx) (Task, []note, error) {
		was, err := find(ctx, tx, ref)
		if err != nil || was.ArchivedAt == nil {
			return was, nil, err
		}
		if err := was.at(version); err != nil {
			return Task{}, nil, err
		}
		t := was
		if t.ArchivedAt = nil; t.Status == Done {
			t.archiveFrom = clock.Ptr(s.Now())
		}
		return s.save(ctx, tx, was, t, "task.restored", nil)
	})
}

// archivable is what is done, in no archive, and has been for its days.
const archivable = ` FROM tasks WHERE archive_from IS NOT NULL AND archived_at IS NULL AND archive_from < ?`

// CountArchivable tells how many tasks ArchiveDone would take in all, and since
// when the one that has waited longest is done or restored: the zero time when
// there is none.
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

// ArchiveDone archives, in a transaction of its caller's, at most limit tasks
// whose days began before that time: the day they were done, or restored. It
// says how many it took in hand; less than limit when none is left. One that
// somebody moved or restored in that moment is among them and stays.
func (s *Service) ArchiveDone(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	rows, err := tx.Query(ctx, `SELECT id`+archivable+` ORDER BY archive_from, id LIMIT ?`, before, limit)
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return 0, err
	}
	var notes []note
	for _, id := range ids {
		told, err := s.archiveOne(ctx, tx, id)
		for errors.Is(err, errRaced) {
			told, err = s.archiveOne(ctx, tx, id)
		}
		if err != nil {
			return 0, fmt.Errorf("archive task %s: %w", id, err)
		}
		notes = append(notes, told...)
	}
	return int64(len(ids)), record(ctx, tx, notes)
}

// archiveOne leaves alone what was moved, restored or deleted since it was chosen.
func (s *Service) archiveOne(ctx context.Context, tx *db.Tx, id string) ([]note, error) {
	was, err := find(ctx, tx, id)
	if errors.Is(err, ErrNotFound) || err == nil && (was.archiveFrom == nil || was.ArchivedAt != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ended, err := s.withdraw(ctx, tx, &was, false)
	if err != nil {
		return nil, err
	}
	t := was
	t.ArchivedAt = clock.Ptr(s.Now())
	_, told, err := s.save(ctx, tx, was, t, "task.archived", nil)
	return append(told, ended...), err
}

// deleted is the kind of the event that a task has been removed.
const deleted = "task.deleted"

// Delete removes a task for good. Its history stays. What depended on it, or
// was a part of it, does not any more, and that is noted there.
func (s *Service) Delete(ctx context.Context, ref string, version *int64) error {
	_, err := s.write(ctx, "delete task", func(tx *db.Tx) (Task, []note, error) {
		if err := tx.Lock(ctx, board); err != nil {
			return Task{}, nil, err
		}
		t, err := find(ctx, tx, ref)
		if err == nil {
			err = t.at(version)
		}
		if err != nil {
			return Task{}, nil, err
		}
		notes, err := s.withdraw(ctx, tx, &t, true)
		if err != nil {
			return Task{}, nil, err
		}
		untied, err := s.untie(ctx, tx, t)
		if err != nil {
			return Task{}, nil, err
		}
		notes = append(notes, untied...)
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
		gone := note{s.Now(), deleted, t, map[string]any{"title": t.Title, "status": t.Status, "assignee_id": t.AssigneeID}}
		return Task{}, append(notes, gone), nil
	})
	return err
}

// untie takes a task that goes out of those that depend on it or are parts of it.
func (s *Service) untie(ctx context.Context, tx *db.Tx, gone Task) ([]note, error) {
	rows, err := tx.Query(ctx, `SELECT id FROM tasks WHERE parent_id = ?
		UNION SELECT task_id FROM task_dependencies WHERE depends_on_id = ? ORDER BY id`, gone.ID, gone.ID)
	ids, err := db.All(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, err
	}
	var notes []note
	for _, id := range ids {
		told, err := s.untieOne(ctx, tx, id, gone)
		for errors.Is(err, errRaced) {
			told, err = s.untieOne(ctx, tx, id, gone)
		}
		if err != nil {
			return nil, err
		}
		notes = append(notes, told...)
	}
	return notes, nil
}

func (s *Service) untieOne(ctx context.Context, tx *db.Tx, id string, gone Task) ([]note, error) {
	was, err := find(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	t := was
	if same(was.ParentID, &gone.ID) {
		t.ParentID = nil
	}
	t.DependsOn = slices.DeleteFunc(slices.Clone(was.DependsOn), func(key string) bool { return key == gone.Key })
	if len(t.DependsOn) < len(was.DependsOn) && gone.Status != Done {
		t.WaitingOn--
	}
	_, told, err := s.save(ctx, tx, was, t, "task.changed", map[string]any{"deleted": gone.Key})
	return told, err
}

// History returns one page of what happened to a task, the newest first, also
// when the task itself is gone.
func (s *Service) History(ctx context.Context, ref string, want page.Want) (page.Part[event.Event], error) {
	id, err := s.idOf(ctx, ref)
	if err != nil {
		return page.Part[event.Event]{}, err
	}
	f := event.Filter{Class: event.Activity, SubjectKind: "task", SubjectID: id}
	return event.Read(ctx, s.DB, f, want)
}

// idOf is the id of a task that is or was there.
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
	err = s.DB.QueryRow(ctx, `SELECT subject_id FROM events WHERE kind = 'task.deleted' AND `+condition+` ORDER BY id DESC LIMIT 1`, arg).Scan(&id)
	if db.IsNotFound(err) {
		err = missing
	}
	return id, err
}
