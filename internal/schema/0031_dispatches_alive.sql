-- +goose Up

-- What is with an agent is claimed by nobody else.
CREATE INDEX dispatches_alive ON dispatches (task_id) WHERE state IN ('queued', 'started');

-- +goose Down
DROP INDEX dispatches_alive;
