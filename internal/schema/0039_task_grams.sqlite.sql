-- +goose Up

-- The runs of one, two and three characters in each task's key and title, by the
-- task's number, so that a text is found in them without reading every task.
-- Owned by task. Written a little later than new tasks, many at a time.
CREATE VIRTUAL TABLE task_grams USING fts5 (grams, content='', contentless_delete=1, detail=none, tokenize='ascii');

CREATE TABLE task_grams_state (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	upto BIGINT NOT NULL -- the number up to which all tasks have grams
);
INSERT INTO task_grams_state (one, upto) VALUES (1, 0);

-- +goose Down
DROP TABLE task_grams_state;
DROP TABLE task_grams;
