-- +goose Up

-- All sequences of one to three characters in the key and title of each task, by task number, so that a text is found
-- without reading every task. New tasks are added a little later, many at a time. Owned by task.
CREATE TABLE task_grams (
	number BIGINT PRIMARY KEY,
	grams  TEXT[] NOT NULL
);
-- Each search also reads the entries that are not sorted into the index yet, so they must be few.
CREATE INDEX task_grams_in ON task_grams USING GIN (grams) WITH (gin_pending_list_limit = 256);

-- For PostgreSQL, the tasks without an assignee in tasks_to_claim are not in order. For SQLite they are, and it would
-- choose the wrong index if there were two.
CREATE INDEX tasks_to_claim_by_anyone ON tasks (urgency, position, number)
	WHERE assignee_id IS NULL AND status = 'todo' AND blocked_reason IS NULL AND waiting_on = 0 AND archived_at IS NULL;

-- Rows of the usual length are not split.
ALTER TABLE tasks SET (toast_tuple_target = 4080);
