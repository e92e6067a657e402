-- +goose Up

-- What tasks are grouped by. Owned by task.
CREATE TABLE projects (
	id          TEXT PRIMARY KEY,
	key         TEXT NOT NULL UNIQUE, -- upper case, such as WEB
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	archived_at TIMESTAMP,
	created_at  TIMESTAMP NOT NULL,
	updated_at  TIMESTAMP NOT NULL,
	version     BIGINT NOT NULL
);

ALTER TABLE tasks ADD COLUMN parent_id TEXT REFERENCES tasks (id);
ALTER TABLE tasks ADD COLUMN project_id TEXT REFERENCES projects (id);
ALTER TABLE tasks ADD COLUMN depends_on TEXT NOT NULL DEFAULT ''; -- the numbers in task_dependencies, so that a card is one row
ALTER TABLE tasks ADD COLUMN waiting_on BIGINT NOT NULL DEFAULT 0; -- how many of them are not done
ALTER TABLE tasks ADD COLUMN position TEXT NOT NULL DEFAULT ''; -- digits, which every collation compares alike
ALTER TABLE tasks ADD COLUMN claim_by TEXT REFERENCES users (id); -- who holds it; only in in_progress
ALTER TABLE tasks ADD COLUMN claim_name TEXT; -- their name then
ALTER TABLE tasks ADD COLUMN claim_until TIMESTAMP; -- by the clock of leases
ALTER TABLE tasks ADD COLUMN claim_seq BIGINT NOT NULL DEFAULT 0; -- counts the claims: the fencing token
ALTER TABLE tasks ADD COLUMN claim_lost_by TEXT; -- whose claim ended against their will, until the task moves on
ALTER TABLE tasks ADD COLUMN last_report TEXT; -- tells a report that is sent again
ALTER TABLE tasks ADD COLUMN archived_at TIMESTAMP;
ALTER TABLE tasks ADD COLUMN archive_from TIMESTAMP; -- from when the days until it is archived count; null until it is done
ALTER TABLE tasks ADD COLUMN comment_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN due_rank BIGINT NOT NULL DEFAULT 253402300800000000; -- due_at in microseconds since 1970; the year 10000 for none
ALTER TABLE tasks ADD COLUMN urgency BIGINT NOT NULL DEFAULT 0; -- priority and due_rank as one number; the least is taken first
UPDATE tasks SET archive_from = done_at,
	position = SUBSTR('000000000000' || CAST(number AS TEXT), LENGTH(CAST(number AS TEXT)) + 1);

CREATE TABLE task_dependencies (
	task_id       TEXT NOT NULL REFERENCES tasks (id),
	depends_on_id TEXT NOT NULL REFERENCES tasks (id),
	PRIMARY KEY (task_id, depends_on_id)
);
CREATE INDEX task_dependencies_back ON task_dependencies (depends_on_id, task_id);

CREATE TABLE task_tags (
	tag    TEXT NOT NULL,
	number BIGINT NOT NULL, -- of the task
	PRIMARY KEY (tag, number)
);
CREATE INDEX task_tags_of_task ON task_tags (number);

-- Lists leave the archive out unless it is asked for, and most tasks end up in
-- it. So each order and each filter has an index of what is not in it.
DROP INDEX tasks_by_number;
DROP INDEX tasks_of_assignee;
DROP INDEX tasks_of_status;
DROP INDEX tasks_by_update;
DROP INDEX tasks_by_creation;
DROP INDEX tasks_by_rank;
DROP INDEX tasks_of_type;
DROP INDEX tasks_of_reporter;
DROP INDEX tasks_blocked;
DROP INDEX tasks_of_status_by_update;
CREATE INDEX tasks_by_number ON tasks (number) WHERE archived_at IS NULL;
CREATE INDEX tasks_by_update ON tasks (updated_at, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_by_creation ON tasks (created_at, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_by_rank ON tasks (priority_rank, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_by_due ON tasks (due_rank, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_by_position ON tasks (position, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_status ON tasks (status, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_status_by_update ON tasks (status, updated_at, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_status_by_position ON tasks (status, position, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_assignee ON tasks (assignee_id, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_reporter ON tasks (reporter_id, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_type ON tasks (type, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_project ON tasks (project_id, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_parent ON tasks (parent_id, number) WHERE parent_id IS NOT NULL; -- also archived ones: a parent cannot go without them
CREATE INDEX tasks_without_parent ON tasks (number) WHERE parent_id IS NULL AND archived_at IS NULL;
CREATE INDEX tasks_blocked ON tasks (number) WHERE blocked_reason IS NOT NULL AND archived_at IS NULL;
CREATE INDEX tasks_archived_by_number ON tasks (number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_update ON tasks (updated_at, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_creation ON tasks (created_at, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_rank ON tasks (priority_rank, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_due ON tasks (due_rank, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_position ON tasks (position, number) WHERE archived_at IS NOT NULL;

-- The best task to claim, of one's own or of nobody's.
CREATE INDEX tasks_to_claim ON tasks (assignee_id, urgency, position, number)
	WHERE status = 'todo' AND blocked_reason IS NULL AND waiting_on = 0 AND archived_at IS NULL;
CREATE INDEX tasks_claimed ON tasks (claim_until) WHERE claim_until IS NOT NULL;
CREATE INDEX tasks_of_holder ON tasks (claim_by) WHERE claim_by IS NOT NULL;
CREATE INDEX tasks_finished_by ON tasks (assignee_id, done_at) WHERE done_at IS NOT NULL;
CREATE INDEX tasks_to_archive ON tasks (archive_from) WHERE archive_from IS NOT NULL AND archived_at IS NULL;

-- The history of a task is also found by its key when the task is gone.
CREATE INDEX events_of_deleted_tasks ON events (subject_name) WHERE kind = 'task.deleted';

-- +goose Down
DROP INDEX events_of_deleted_tasks;
DROP INDEX tasks_to_archive;
DROP INDEX tasks_finished_by;
DROP INDEX tasks_of_holder;
DROP INDEX tasks_claimed;
DROP INDEX tasks_to_claim;
DROP INDEX tasks_archived_by_position;
DROP INDEX tasks_archived_by_due;
DROP INDEX tasks_archived_by_rank;
DROP INDEX tasks_archived_by_creation;
DROP INDEX tasks_archived_by_update;
DROP INDEX tasks_archived_by_number;
DROP INDEX tasks_blocked;
DROP INDEX tasks_without_parent;
DROP INDEX tasks_of_parent;
DROP INDEX tasks_of_project;
DROP INDEX tasks_of_type;
DROP INDEX tasks_of_reporter;
DROP INDEX tasks_of_assignee;
DROP INDEX tasks_of_status_by_position;
DROP INDEX tasks_of_status_by_update;
DROP INDEX tasks_of_status;
DROP INDEX tasks_by_position;
DROP INDEX tasks_by_due;
DROP INDEX tasks_by_rank;
DROP INDEX tasks_by_creation;
DROP INDEX tasks_by_update;
DROP INDEX tasks_by_number;
DROP TABLE task_tags;
DROP TABLE task_dependencies;
ALTER TABLE tasks DROP COLUMN urgency;
ALTER TABLE tasks DROP COLUMN due_rank;
ALTER TABLE tasks DROP COLUMN comment_count;
ALTER TABLE tasks DROP COLUMN archive_from;
ALTER TABLE tasks DROP COLUMN archived_at;
ALTER TABLE tasks DROP COLUMN last_report;
ALTER TABLE tasks DROP COLUMN claim_lost_by;
ALTER TABLE tasks DROP COLUMN claim_seq;
ALTER TABLE tasks DROP COLUMN claim_until;
ALTER TABLE tasks DROP COLUMN claim_name;
ALTER TABLE tasks DROP COLUMN claim_by;
ALTER TABLE tasks DROP COLUMN position;
ALTER TABLE tasks DROP COLUMN waiting_on;
ALTER TABLE tasks DROP COLUMN depends_on;
ALTER TABLE tasks DROP COLUMN project_id;
ALTER TABLE tasks DROP COLUMN parent_id;
DROP TABLE projects;
CREATE INDEX tasks_by_number ON tasks (number DESC);
CREATE INDEX tasks_of_assignee ON tasks (assignee_id, number DESC);
CREATE INDEX tasks_of_status ON tasks (status, number DESC);
CREATE INDEX tasks_by_update ON tasks (updated_at, number);
CREATE INDEX tasks_by_creation ON tasks (created_at, number);
CREATE INDEX tasks_by_rank ON tasks (priority_rank, number);
CREATE INDEX tasks_of_type ON tasks (type, number);
CREATE INDEX tasks_of_reporter ON tasks (reporter_id, number);
CREATE INDEX tasks_blocked ON tasks (number) WHERE blocked_reason IS NOT NULL;
CREATE INDEX tasks_of_status_by_update ON tasks (status, updated_at, number);
