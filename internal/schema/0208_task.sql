-- +goose Up

-- Owned by task, like all tables in this file.
CREATE TABLE projects (
	id          TEXT PRIMARY KEY,
	key         TEXT NOT NULL UNIQUE, -- in capitals, such as WEB
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	archived_at TIMESTAMP,
	created_at  TIMESTAMP NOT NULL,
	updated_at  TIMESTAMP NOT NULL,
	version     BIGINT NOT NULL
);
CREATE INDEX projects_by_creation ON projects (created_at, id);
CREATE INDEX projects_by_update ON projects (updated_at, id);

CREATE TABLE tasks (
	id             TEXT PRIMARY KEY,
	number         BIGINT NOT NULL UNIQUE, -- the n of TASK-n, never reused
	title          TEXT NOT NULL,
	search         TEXT NOT NULL DEFAULT '', -- key and title in lowercase, because databases compare capitals differently
	description    TEXT NOT NULL,
	status         TEXT NOT NULL CHECK (status IN ('backlog', 'todo', 'in_progress', 'review', 'done')),
	priority       TEXT NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'urgent')),
	priority_rank  INTEGER NOT NULL DEFAULT 0,
	type           TEXT NOT NULL,
	tags           TEXT NOT NULL, -- JSON array
	assignee_id    TEXT REFERENCES users (id),
	reporter_id    TEXT REFERENCES users (id), -- null: Wardroom itself
	parent_id      TEXT REFERENCES tasks (id),
	project_id     TEXT REFERENCES projects (id),
	depends_on     TEXT NOT NULL DEFAULT '', -- task numbers from task_dependencies, so that a card is one row
	waiting_on     BIGINT NOT NULL DEFAULT 0, -- how many of them are not done
	position       TEXT NOT NULL DEFAULT '', -- digits, which all collations sort the same
	blocked_reason TEXT,
	blocked_since  TIMESTAMP,
	blocked_by     TEXT, -- name of whoever blocked it
	claim_by       TEXT REFERENCES users (id), -- who holds the claim; only in in_progress
	claim_name     TEXT, -- their name when they claimed it
	claim_until    TIMESTAMP, -- by the clock of leases
	claim_seq      BIGINT NOT NULL DEFAULT 0, -- number of claims so far: the fencing token
	claim_lost_by  TEXT, -- whose claim ended without their doing, until the task's status changes
	last_report    TEXT, -- identifies a repeated report
	session_key    TEXT,
	branch         TEXT,
	pr_url         TEXT,
	origin         TEXT, -- what created the task if not a person, such as standup:2026-11-20
	due_at         TIMESTAMP,
	due_rank       BIGINT NOT NULL DEFAULT 253402300800000000, -- due_at in microseconds since 1970; the year 10000 for none
	urgency        BIGINT NOT NULL DEFAULT 0, -- priority_rank and due_rank as one number; agents claim the lowest first
	done_at        TIMESTAMP,
	moved_at       TIMESTAMP NOT NULL, -- last change of status
	archived_at    TIMESTAMP,
	archive_from   TIMESTAMP, -- start of the days until the task is archived; null until it is done
	comment_count  BIGINT NOT NULL DEFAULT 0,
	dispatch       TEXT, -- JSON of the last dispatch, as in the API; null if there is none
	cost_nano      BIGINT, -- cost of the task's runs in the usage ledger, in nano-dollars; null if unknown
	tokens         TEXT, -- JSON, as in the API; null if no run is known
	unpriced       BIGINT NOT NULL DEFAULT 0, -- number of its runs without a price
	criteria       TEXT NOT NULL, -- JSON array, as in the API: what must be true when the task is done
	checks         TEXT NOT NULL, -- JSON array, as in the API: commands that check it
	card           TEXT NOT NULL, -- JSON of the fields that the board shows, written with each change
	rest           TEXT NOT NULL, -- JSON of the other fields
	created_at     TIMESTAMP NOT NULL,
	updated_at     TIMESTAMP NOT NULL,
	version        BIGINT NOT NULL
);
-- Lists leave out archived tasks unless a client asks for them, and most tasks are archived in the end. Therefore each
-- order and each filter has an index without them. The last column of an index tells tasks apart, so that the next
-- page starts where the last one ended.
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
CREATE INDEX tasks_of_assignee_by_update ON tasks (assignee_id, updated_at, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_assignee_by_status ON tasks (assignee_id, status, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_open_of_assignee ON tasks (assignee_id, status, updated_at, number) WHERE archived_at IS NULL AND status <> 'done';
CREATE INDEX tasks_of_reporter ON tasks (reporter_id, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_type ON tasks (type, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_project ON tasks (project_id, number) WHERE archived_at IS NULL;
CREATE INDEX tasks_of_parent ON tasks (parent_id, number) WHERE parent_id IS NOT NULL; -- also archived ones, which deleting the parent must find
CREATE INDEX tasks_without_parent ON tasks (number) WHERE parent_id IS NULL AND archived_at IS NULL;
CREATE INDEX tasks_blocked ON tasks (number) WHERE blocked_reason IS NOT NULL AND archived_at IS NULL;
CREATE INDEX tasks_archived_by_number ON tasks (number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_update ON tasks (updated_at, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_creation ON tasks (created_at, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_rank ON tasks (priority_rank, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_due ON tasks (due_rank, number) WHERE archived_at IS NOT NULL;
CREATE INDEX tasks_archived_by_position ON tasks (position, number) WHERE archived_at IS NOT NULL;
-- The next task for an agent to claim: its own, or one without an assignee.
CREATE INDEX tasks_to_claim ON tasks (assignee_id, urgency, position, number)
	WHERE status = 'todo' AND blocked_reason IS NULL AND waiting_on = 0 AND archived_at IS NULL;
CREATE INDEX tasks_claimed ON tasks (claim_until) WHERE claim_until IS NOT NULL;
CREATE INDEX tasks_of_holder ON tasks (claim_by) WHERE claim_by IS NOT NULL;
CREATE INDEX tasks_finished_by ON tasks (assignee_id, done_at) WHERE done_at IS NOT NULL;
CREATE INDEX tasks_to_archive ON tasks (archive_from) WHERE archive_from IS NOT NULL AND archived_at IS NULL;

CREATE TABLE task_counter (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	last BIGINT NOT NULL
);
INSERT INTO task_counter (one, last) VALUES (1, 0);

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

CREATE TABLE comments (
	id          TEXT PRIMARY KEY,
	task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
	author_id   TEXT REFERENCES users (id), -- null: Wardroom itself
	author_name TEXT NOT NULL, -- at the time of the comment
	body        TEXT NOT NULL, -- Markdown
	mentions    TEXT NOT NULL, -- JSON array of user IDs
	created_at  TIMESTAMP NOT NULL,
	edited_at   TIMESTAMP,
	version     BIGINT NOT NULL
);
CREATE INDEX comments_of_task ON comments (task_id, created_at, id);
CREATE INDEX comments_of_author ON comments (author_id);

-- All tasks up to this number are in task_grams.
CREATE TABLE task_grams_state (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	upto BIGINT NOT NULL
);
INSERT INTO task_grams_state (one, upto) VALUES (1, 0);
