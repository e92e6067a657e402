-- +goose Up

-- The board. Owned by task.
CREATE TABLE tasks (
	id             TEXT PRIMARY KEY,
	number         BIGINT NOT NULL UNIQUE, -- the n of TASK-n, never reused
	title          TEXT NOT NULL,
	description    TEXT NOT NULL,
	status         TEXT NOT NULL CHECK (status IN ('backlog', 'todo', 'in_progress', 'review', 'done')),
	priority       TEXT NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
	type           TEXT NOT NULL,
	tags           TEXT NOT NULL, -- JSON array
	assignee_id    TEXT REFERENCES users (id),
	reporter_id    TEXT REFERENCES users (id), -- null: the service itself
	blocked_reason TEXT,
	blocked_since  TIMESTAMP,
	blocked_by     TEXT, -- the name of who said so
	session_key    TEXT,
	branch         TEXT,
	pr_url         TEXT,
	origin         TEXT, -- where it comes from when not from a person's hand, such as standup:2026-11-20
	due_at         TIMESTAMP,
	done_at        TIMESTAMP,
	moved_at       TIMESTAMP NOT NULL, -- when it came into its column
	created_at     TIMESTAMP NOT NULL,
	updated_at     TIMESTAMP NOT NULL,
	version        BIGINT NOT NULL
);
CREATE INDEX tasks_by_number ON tasks (number DESC);
CREATE INDEX tasks_of_assignee ON tasks (assignee_id, number DESC);
CREATE INDEX tasks_of_status ON tasks (status, number DESC);

CREATE TABLE task_counter (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	last BIGINT NOT NULL
);
INSERT INTO task_counter (one, last) VALUES (1, 0);

-- +goose Down
DROP TABLE task_counter;
DROP TABLE tasks;
