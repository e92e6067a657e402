-- +goose Up

-- What lists filter and sort by. A row's last column in each index is what
-- tells rows apart in that order, so that the next page begins where the last
-- one ended without sorting anything.

-- Written with the title and the priority they are made of. Databases compare
-- capitals differently, so what is searched is kept in lower case. Of tasks
-- that are older than this, letters beyond ASCII may stay as they are until the
-- task is changed: SQLite's lower() leaves them alone.
ALTER TABLE tasks ADD COLUMN search TEXT NOT NULL DEFAULT ''; -- key and title
ALTER TABLE tasks ADD COLUMN priority_rank INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET search = 'task-' || CAST(number AS TEXT) || ' ' || LOWER(title),
	priority_rank = CASE priority WHEN 'urgent' THEN 3 WHEN 'high' THEN 2 WHEN 'medium' THEN 1 ELSE 0 END;
CREATE INDEX tasks_by_update ON tasks (updated_at, number);
CREATE INDEX tasks_by_creation ON tasks (created_at, number);
CREATE INDEX tasks_by_rank ON tasks (priority_rank, number);
CREATE INDEX tasks_of_type ON tasks (type, number);
CREATE INDEX tasks_of_reporter ON tasks (reporter_id, number);
CREATE INDEX tasks_blocked ON tasks (number) WHERE blocked_reason IS NOT NULL;
CREATE INDEX tasks_of_status_by_update ON tasks (status, updated_at, number);

ALTER TABLE users ADD COLUMN name_key TEXT NOT NULL DEFAULT ''; -- the name in lower case
UPDATE users SET name_key = LOWER(name);
CREATE INDEX users_by_name ON users (name_key, id);
CREATE INDEX users_of_role ON users (role, created_at, id);
CREATE INDEX users_of_agent ON users (agent_id, created_at, id);
CREATE INDEX users_that_left ON users (created_at, id) WHERE NOT active;

CREATE INDEX standups_of_status ON standups (status, date);

CREATE INDEX events_of_class ON events (class, id);
CREATE INDEX events_of_actor ON events (actor_id, id);
CREATE INDEX events_of_kind ON events (kind, id);

-- +goose Down
DROP INDEX events_of_kind;
DROP INDEX events_of_actor;
DROP INDEX events_of_class;
DROP INDEX standups_of_status;
DROP INDEX users_that_left;
DROP INDEX users_of_agent;
DROP INDEX users_of_role;
DROP INDEX users_by_name;
ALTER TABLE users DROP COLUMN name_key;
DROP INDEX tasks_of_status_by_update;
DROP INDEX tasks_blocked;
DROP INDEX tasks_of_reporter;
DROP INDEX tasks_of_type;
DROP INDEX tasks_by_rank;
DROP INDEX tasks_by_creation;
DROP INDEX tasks_by_update;
ALTER TABLE tasks DROP COLUMN priority_rank;
ALTER TABLE tasks DROP COLUMN search;
