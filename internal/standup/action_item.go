package standup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wardroom/internal/platform/db"
	"wardroom/internal/standup/answer"
)

// This file is about action items and the tasks that are made of them.

// actionItems makes a task of each item. One that an earlier close of this
// standup made already keeps its task.
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
			item.Task = w.Task // it is on the board already
		} else if item.Task, err = c.makeTask(ctx, w); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// sameItem compares action items of different days: only marks and the case of
// letters may differ, because another day's may well be another thing.
func sameItem(a, b string) bool {
	x, y := wordingOf(a).plain, wordingOf(b).plain
	return x != "" && x == y || strings.EqualFold(a, b)
}

// makeTask is the task of an action item, made unless it was made before, by this
// standup or by one of the last days.
func (c *closing) makeTask(ctx context.Context, w answer.ActionItem) (*string, error) {
	for _, e := range c.fresh {
		if e.Kind == "task" && strings.EqualFold(e.Words, w.Title) {
			return &e.Subject, nil
		}
	}
	if e, had := c.earlierEffect("task", "", w.Title); had {
		return &e.Subject, nil
	}
	for _, e := range c.items { // what is named anew each morning until it is done is one task
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
		return nil, fmt.Errorf("make a task of an action item: %w", err)
	}
	c.addEffect("task", key, w.Title)
	return &key, nil
}

// openItems are the action items of the last days whose tasks are not done, the
// latest first.
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

// itemLines tell the facilitator what it has asked for on the days before.
func itemLines(items []effect, most int) []string {
	if len(items) == 0 {
		return nil
	}
	told := make([]string, len(items))
	for i, e := range items {
		told[i] = e.Date + ": " + e.Subject + " " + oneLine(e.Words)
	}
	return append([]string{"## action items not done yet"}, capLines(told, most)...)
}
