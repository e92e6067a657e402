package task

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// maxBulk is how many tasks one request changes at most.
const maxBulk = 200

// bulkBatch is how many of them are changed in one transaction: enough that
// each costs little, and few enough that others do not wait long for the writer.
const bulkBatch = 25

// Outcome is what became of one task of many.
type Outcome struct {
	Task    string       `json:"task" doc:"The task as the request named it."`
	Key     *string      `json:"key" doc:"Its key; null when it was not found."`
	Version *int64       `json:"version" doc:"Its version now; null when it was not changed."`
	Error   *fault.Error `json:"-"`
}

// Bulk makes the same change to many tasks. Each of them stands for itself: what
// cannot be changed is told, and the others are changed. The outcomes are in
// the order of refs.
func (s *Service) Bulk(ctx context.Context, refs []string, c Change) ([]Outcome, error) {
	if len(refs) > maxBulk {
		var bad fault.Fields
		bad.Add("/tasks", "Give %d at most.", maxBulk)
		return nil, bad.Err()
	}
	outcomes := make([]Outcome, 0, len(refs))
	for batch := range slices.Chunk(refs, bulkBatch) {
		var done []Outcome
		err := s.DB.Tx(ctx, func(tx *db.Tx) error {
			var err error
			done, err = s.bulkIn(ctx, tx, batch, c)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("change many tasks: %w", err)
		}
		outcomes = append(outcomes, done...)
	}
	return outcomes, nil
}

// bulkIn changes a few tasks, and writes to the log last: who holds the log's
// counter must not wait for another task.
func (s *Service) bulkIn(ctx context.Context, tx *db.Tx, refs []string, c Change) ([]Outcome, error) {
	// Before any task is written, as everywhere. Others who change many would
	// else each wait for a task that the other has.
	if err := tx.Lock(ctx, board); err != nil {
		return nil, err
	}
	var notes []note
	outcomes := make([]Outcome, len(refs))
	for i, ref := range refs {
		outcomes[i].Task = ref
		t, told, err := s.updateIn(ctx, tx, ref, c, nil)
		for errors.Is(err, errRaced) {
			t, told, err = s.updateIn(ctx, tx, ref, c, nil)
		}
		switch f := fault.Of(err); {
		case f != nil:
			outcomes[i].Error = f
			if f.Code != ErrNotFound.Code {
				if t, err = find(ctx, tx, ref); err != nil {
					return nil, err
				}
				outcomes[i].Key = &t.Key
			}
		case err != nil:
			return nil, err
		default:
			notes = append(notes, told...)
			outcomes[i].Key, outcomes[i].Version = &t.Key, &t.Version
		}
	}
	return outcomes, record(ctx, tx, notes)
}
