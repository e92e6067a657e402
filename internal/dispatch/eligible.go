package dispatch

import (
	"context"
	"fmt"

	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// ineligible returns why a task must no longer be dispatched to the account of a dispatch, or nil if it
// still may.
func (s *Service) ineligible(ctx context.Context, q db.Queryer, d Dispatch) (*Failure, error) {
	t, err := s.Tasks.Find(ctx, q, d.taskID)
	if err != nil {
		return nil, err
	}
	u, err := s.Accounts.Resolve(ctx, q, d.userID)
	if err != nil {
		return nil, err
	}
	closed := fmt.Sprintf("account of %s is deactivated or no longer belongs to an agent.", u.Name)
	mayReport := u.Active && u.AgentID != nil
	switch given := t.AssigneeID == nil || *t.AssigneeID != d.userID; {
	case t.Status == task.Done || t.ArchivedAt != nil:
		return &Failure{Withdrawn, "The task is done or archived."}, nil
	case given && mayReport:
		return &Failure{Reassigned, "The task was reassigned before the agent started."}, nil
	case given: // nothing is left to do: the agent cannot start, and the task has another assignee
		return &Failure{Withdrawn, "The task was reassigned, and the " + closed}, nil
	case !mayReport:
		return &Failure{Deactivated, "The " + closed + " Reactivate it, or assign the task to another agent."}, nil
	}
	return nil, nil
}
