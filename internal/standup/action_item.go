package standup

import (
	"context"
	"fmt"
	"slices"

	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
	"wardroom/internal/task"
)

// This file creates tasks for the facilitator's action items.

// actionItems returns the action items with their tasks. It creates a task for each
// item that has none yet.
func (c *closing) actionItems(ctx context.Context, wanted []answer.ActionItem) ([]ActionItem, error) {
	items := []ActionItem{}
	var named []string
	for _, w := range wanted {
		if w.Task != nil {
			named = append(named, *w.Task)
		}
	}
	known, err := taskStatesByKey(ctx, c.tx, named)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		item := ActionItem{Title: w.Title, Assignee: w.Assignee}
		if w.Task != nil && known[*w.Task].id != "" {
			item.Task = w.Task // the task already exists
		} else if item.Task, err = c.makeTask(ctx, w); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// makeTask returns the key of the task for an action item. It reuses a task that this standup has
// already created for the item, or a task for the same item from the last knownDays days that is
// still open. Otherwise it creates a task.
func (c *closing) makeTask(ctx context.Context, w answer.ActionItem) (*string, error) {
	for _, e := range slices.Concat(c.fresh, c.done, c.items) {
		// an item that is repeated daily until it is done gets one task
		if e.Kind == "task" && fold(e.Words) == fold(w.Title) {
			return &e.Subject, nil
		}
	}
	assignee := ""
	if w.Assignee != nil {
		assignee = *w.Assignee
	}
	t, err := c.Tasks.CreateForAgent(ctx, c.tx, task.New{Title: w.Title, Origin: c.row.origin()}, assignee)
	if err != nil {
		return nil, fmt.Errorf("create task for action item: %w", err)
	}
	c.addEffect("task", t.Key, w.Title)
	return &t.Key, nil
}

// openItems returns the action items from the last knownDays days whose tasks are still open, newest first.
func (s *Service) openItems(ctx context.Context, q db.Queryer, row Standup) ([]effect, error) {
	from, err := row.lately()
	if err != nil {
		return nil, err
	}
	all, err := effectsSince(ctx, q, row.Team, "task", from)
	if err != nil {
		return nil, fmt.Errorf("read action items: %w", err)
	}
	keys := make([]string, len(all))
	for i, e := range all {
		keys[i] = e.Subject
	}
	tasks, err := taskStatesByKey(ctx, q, keys)
	if err != nil {
		return nil, fmt.Errorf("read tasks of action items: %w", err)
	}
	return slices.DeleteFunc(all, func(e effect) bool {
		is := tasks[e.Subject].board()
		return is != boardOpen && is != boardBlocked
	}), nil
}

// itemLines formats the open action items as lines for the question that asks for the review.
func itemLines(items []effect, most int) []string {
	if len(items) == 0 {
		return nil
	}
	told := make([]string, len(items))
	for i, e := range items {
		told[i] = e.Date + ": " + e.Subject + " " + oneLine(e.Words)
	}
	return append([]string{"## open action items"}, capLines(told, most)...)
}
