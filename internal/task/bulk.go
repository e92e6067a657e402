package task

import (
	"context"
	"slices"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/fault"
)

// maxBulk is the maximum number of tasks in a bulk request.
const maxBulk = 200

// bulkBatch is the number of tasks that a bulk change updates in one
// transaction. Larger batches cost less per task, but make other writers wait
// longer.
const bulkBatch = 25

// Outcome is the result of a bulk change for one task.
type Outcome struct {
	Task    string       `json:"task" doc:"The ID or key given in the request."`
	Key     *string      `json:"key" doc:"The task's key; null if not found."`
	Version *int64       `json:"version" doc:"The task's new version; null if not changed."`
	Error   *fault.Error `json:"-"`
}

// Bulk applies the same change to each of the given tasks and returns the
// outcomes in the same order. A failure for one task does not affect the
// others.
func (s *Service) Bulk(ctx context.Context, refs []string, c Change) ([]Outcome, error) {
	if len(refs) > maxBulk {
		var bad fault.Fields
		bad.Add("/tasks", "Specify at most %d tasks.", maxBulk)
		return nil, bad.Err()
	}
	outcomes := make([]Outcome, 0, len(refs))
	for batch := range slices.Chunk(refs, bulkBatch) {
		done, err := db.Do(ctx, s.DB, "change many tasks", func(tx *db.Tx) ([]Outcome, error) {
			return s.bulkIn(ctx, tx, batch, c)
		})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, done...)
	}
	return outcomes, nil
}

// bulkIn changes all the given tasks and then records their events.
func (s *Service) bulkIn(ctx context.Context, tx *db.Tx, refs []string, c Change) ([]Outcome, error) {
	var events []pendingEvent
	outcomes := make([]Outcome, len(refs))
	for i, ref := range refs {
		outcomes[i].Task = ref
		t, more, err := s.updateIn(ctx, tx, ref, c, nil)
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
			events = append(events, more...)
			outcomes[i].Key, outcomes[i].Version = &t.Key, &t.Version
		}
	}
	return outcomes, s.record(ctx, tx, events)
}
