package standup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
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
	known, err := taskStates(ctx, c.tx, named)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		item := ActionItem{Title: w.Title, Assignee: w.Assignee}
		if w.Task != nil && known[*w.Task] != "" {
			item.Task = w.Task // the task already exists
		} else if item.Task, err = c.makeTask(ctx, w); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// sameItem reports whether two action items from different days are equal, ignoring
// punctuation and case. Similar items do not match, because they may be different work.
func sameItem(a, b string) bool {
	x, y := wordingOf(a).plain, wordingOf(b).plain
	return x != "" && x == y || strings.EqualFold(a, b)
}

// makeTask returns the key of the task for an action item. It reuses a task that this standup has
// already created for the item, or a task for the same item from the last knownDays days that is
// still open. Otherwise it creates a task.
func (c *closing) makeTask(ctx context.Context, w answer.ActionItem) (*string, error) {
	for _, e := range c.fresh {
		if e.Kind == "task" && strings.EqualFold(e.Words, w.Title) {
			return &e.Subject, nil
		}
	}
	if e, had := c.earlierEffect("task", "", w.Title); had {
		return &e.Subject, nil
	}
	for _, e := range c.items { // an item that is repeated daily until it is done gets one task
		if sameItem(e.Words, w.Title) {
			return &e.Subject, nil
		}
	}
	assignee := ""
	if w.Assignee != nil {
		assignee = *w.Assignee
	}
	key, err := c.MakeTask(ctx, c.tx, w.Title, assignee, c.row.origin())
	if err != nil {
		return nil, fmt.Errorf("create task for action item: %w", err)
	}
	c.addEffect("task", key, w.Title)
	return &key, nil
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
	numbers := make([]int64, 0, len(all))
	for _, e := range all {
		if n := taskNumber(e.Subject); n != nil {
			numbers = append(numbers, *n)
		}
	}
	board, err := boardOf(ctx, q, numbers)
	if err != nil {
		return nil, fmt.Errorf("read tasks of action items: %w", err)
	}
	return slices.DeleteFunc(all, func(e effect) bool {
		n := taskNumber(e.Subject)
		return n == nil || board[*n] != boardOpen && board[*n] != boardBlocked
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
