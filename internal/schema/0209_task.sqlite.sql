-- +goose Up

-- All sequences of one to three characters in the key and title of each task, by task number, so that a text is found
-- without reading every task. New tasks are added a little later, many at a time. Owned by task.
CREATE VIRTUAL TABLE task_grams USING fts5 (grams, content='', contentless_delete=1, detail=none, tokenize='ascii');
