package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"wardroom/internal/platform/db"
	"wardroom/internal/task"
)

// tasksOf returns the labels of the tasks in cells that are grouped by task.
func tasksOf(ctx context.Context, q db.Queryer, cells []cell) (map[string]task.Label, error) {
	keys := make([]string, 0, len(cells))
	for _, c := range cells {
		if c.name != "" {
			keys = append(keys, c.name)
		}
	}
	labels, err := task.Labels(ctx, q, keys)
	if err != nil {
		return nil, fmt.Errorf("read the labels of tasks: %w", err)
	}
	return labels, nil
}

// byProject adds up cells that are grouped by task to one cell per slot and project.
func byProject(cells []cell, tasks map[string]task.Label) (sums []cell) {
	type key struct {
		slot int
		name string
	}
	at := map[key]int{}
	for _, c := range cells {
		c.name = tasks[c.name].ProjectKey
		k := key{c.slot, c.name}
		if i, ok := at[k]; ok {
			sums[i].amounts = sums[i].plus(c.amounts)
			continue
		}
		at[k] = len(sums)
		sums = append(sums, c)
	}
	return sums
}

// projects returns the usage in an interval by project, most expensive first, with the labels of its tasks.
func (of selection) projects(ctx context.Context, q db.Queryer, in interval) ([]cell, map[string]task.Label, error) {
	cells, err := of.cells(ctx, q, []interval{in})
	if err != nil {
		return nil, nil, err
	}
	tasks, err := tasksOf(ctx, q, cells)
	sums := byProject(cells, tasks)
	slices.SortFunc(sums, func(a, b cell) int { return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.name, b.name)) })
	return sums, tasks, err
}

// label names the groups of a report by task or by project, and sets the tasks' assignees.
func (r *Report) label(tasks map[string]task.Label) {
	names := map[string]string{}
	for key, t := range tasks {
		if r.Group == ByProject {
			names[t.ProjectKey] = t.ProjectName
		} else {
			names[key] = t.Title
		}
	}
	for i, g := range r.Groups {
		if g.Key == nil {
			continue
		}
		if name, ok := names[*g.Key]; ok {
			r.Groups[i].Name = &name
		}
		if who := tasks[*g.Key].AssigneeID; who != "" && r.Group == ByTask {
			r.Groups[i].AssigneeID = &who
		}
	}
}
