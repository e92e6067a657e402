-- +goose Up

-- An agent's open tasks, most recently changed last. It replaces the index of its tasks in progress.
DROP INDEX tasks_in_progress_of;
CREATE INDEX tasks_open_of_assignee ON tasks (assignee_id, status, updated_at, number) WHERE archived_at IS NULL AND status <> 'done';
