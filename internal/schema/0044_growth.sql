-- +goose Up

-- What an agent's page and its next standup read.
CREATE INDEX tasks_of_assignee_by_update ON tasks (assignee_id, updated_at, number) WHERE archived_at IS NULL;
CREATE INDEX standup_reports_missed ON standup_reports (agent_id, asked_at) WHERE status IN ('timed_out', 'failed');

-- The log is listed by class. With the class in the index, the audit of an agent
-- is found without reading all of its activity.
DROP INDEX events_of_actor;
DROP INDEX events_of_kind;
CREATE INDEX events_of_actor ON events (actor_id, class, id);
CREATE INDEX events_of_kind ON events (kind, class, id);

-- The last deletion of a task, without a sort.
DROP INDEX events_of_deleted_tasks;
CREATE INDEX events_of_deleted_tasks ON events (subject_name, id) WHERE kind = 'task.deleted';

-- +goose Down
DROP INDEX events_of_deleted_tasks;
CREATE INDEX events_of_deleted_tasks ON events (subject_name) WHERE kind = 'task.deleted';
DROP INDEX events_of_kind;
DROP INDEX events_of_actor;
CREATE INDEX events_of_kind ON events (kind, id);
CREATE INDEX events_of_actor ON events (actor_id, id);
DROP INDEX standup_reports_missed;
DROP INDEX tasks_of_assignee_by_update;
