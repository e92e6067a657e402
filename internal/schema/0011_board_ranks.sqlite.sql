-- +goose Up

-- The ranks and tags of tasks that are older than their columns. The engines
-- have different functions for times and for JSON.
UPDATE tasks SET due_rank = due_at WHERE due_at IS NOT NULL;
UPDATE tasks SET urgency = (3 - priority_rank) * 1000000000000000000 + 100000000000000000 + due_rank;
INSERT INTO task_tags (tag, number) SELECT DISTINCT value, number FROM tasks, JSON_EACH(tasks.tags);

-- +goose Down
DELETE FROM task_tags;
