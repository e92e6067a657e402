-- +goose Up

-- What lists answer of a task, as JSON, written with every change of it: the
-- fields that a board shows, and those after the description. Null until the
-- program has written it once.
ALTER TABLE tasks ADD COLUMN card TEXT;
ALTER TABLE tasks ADD COLUMN rest TEXT;
CREATE INDEX tasks_without_card ON tasks (number) WHERE card IS NULL;

-- What each person is working on.
CREATE INDEX tasks_in_progress_of ON tasks (assignee_id, updated_at, number) WHERE status = 'in_progress' AND archived_at IS NULL;

-- +goose Down
DROP INDEX tasks_in_progress_of;
DROP INDEX tasks_without_card;
ALTER TABLE tasks DROP COLUMN rest;
ALTER TABLE tasks DROP COLUMN card;
