-- +goose Up

-- An assignee's tasks in some statuses, which may be few among many that are done.
CREATE INDEX tasks_of_assignee_by_status ON tasks (assignee_id, status, number) WHERE archived_at IS NULL;

-- An agent's current sessions, which are few among all that it ever had.
CREATE INDEX archive_sessions_present_of_agent ON archive_sessions (agent_id, last_at, id) WHERE present;

-- With the kind of subject in the index, only matching events of an actor are read.
DROP INDEX events_of_actor;
CREATE INDEX events_of_actor ON events (actor_id, class, id, subject_kind);

-- +goose Down
DROP INDEX events_of_actor;
CREATE INDEX events_of_actor ON events (actor_id, class, id);
DROP INDEX archive_sessions_present_of_agent;
DROP INDEX tasks_of_assignee_by_status;
