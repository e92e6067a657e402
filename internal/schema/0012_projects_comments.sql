-- +goose Up

-- What is said about tasks. Owned by task.
CREATE TABLE comments (
	id          TEXT PRIMARY KEY,
	task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
	author_id   TEXT REFERENCES users (id), -- null: the service itself
	author_name TEXT NOT NULL, -- as it was then
	body        TEXT NOT NULL, -- Markdown
	mentions    TEXT NOT NULL, -- JSON array of users' ids
	created_at  TIMESTAMP NOT NULL,
	edited_at   TIMESTAMP,
	version     BIGINT NOT NULL
);
CREATE INDEX comments_of_task ON comments (task_id, created_at, id);
CREATE INDEX comments_of_author ON comments (author_id);

CREATE INDEX projects_by_creation ON projects (created_at, id);
CREATE INDEX projects_by_update ON projects (updated_at, id);

-- +goose Down
DROP INDEX projects_by_update;
DROP INDEX projects_by_creation;
DROP TABLE comments;
