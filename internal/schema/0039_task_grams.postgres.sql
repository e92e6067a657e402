-- +goose Up

-- The runs of one, two and three characters in each task's key and title, by the
-- task's number, so that a text is found in them without reading every task.
-- Owned by task. Written a little later than new tasks, many at a time.
CREATE TABLE task_grams (
	number BIGINT PRIMARY KEY,
	grams  TEXT[] NOT NULL
);
-- New entries are sorted in together. Each search reads those that are not yet, so
-- that there must not be many.
CREATE INDEX task_grams_in ON task_grams USING GIN (grams) WITH (gin_pending_list_limit = 256);

CREATE TABLE task_grams_state (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	upto BIGINT NOT NULL -- the number up to which all tasks have grams
);
INSERT INTO task_grams_state (one, upto) VALUES (1, 0);

-- +goose Down
DROP TABLE task_grams_state;
DROP TABLE task_grams;
