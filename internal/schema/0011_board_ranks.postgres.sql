-- +goose Up

-- The ranks and tags of tasks that are older than their columns. The engines
-- have different functions for times and for JSON.
UPDATE tasks SET due_rank = CAST(EXTRACT(EPOCH FROM due_at) * 1000000 AS BIGINT) WHERE due_at IS NOT NULL;
UPDATE tasks SET urgency = (3 - priority_rank) * 1000000000000000000 + 100000000000000000 + due_rank;
INSERT INTO task_tags (tag, number) SELECT DISTINCT tag, number FROM tasks, JSON_ARRAY_ELEMENTS_TEXT(CAST(tasks.tags AS JSON)) AS tag;

-- PostgreSQL does not see that the rows of tasks_to_claim are in order where
-- their first column is null. SQLite does, and would choose worse with two.
CREATE INDEX tasks_to_claim_by_anyone ON tasks (urgency, position, number)
	WHERE assignee_id IS NULL AND status = 'todo' AND blocked_reason IS NULL AND waiting_on = 0 AND archived_at IS NULL;

-- +goose Down
DROP INDEX tasks_to_claim_by_anyone;
DELETE FROM task_tags;
