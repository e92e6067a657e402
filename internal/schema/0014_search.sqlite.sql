-- +goose Up

-- What can be searched for. Owned by search, which makes the words itself, so
-- that both engines find the same. Of texts that are older than this table,
-- capitals beyond ASCII are found only once they are changed.
CREATE TABLE search_texts (
	id         INTEGER PRIMARY KEY AUTOINCREMENT, -- of the words; the newest is the greatest
	task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
	comment_id TEXT UNIQUE REFERENCES comments (id) ON DELETE CASCADE -- null: the task itself
);
CREATE UNIQUE INDEX search_texts_of_task ON search_texts (task_id) WHERE comment_id IS NULL;
CREATE INDEX search_texts_with_task ON search_texts (task_id);

CREATE VIRTUAL TABLE search_words USING fts5 (
	title, body, content='', contentless_delete=1, detail=column, prefix='2 3', tokenize='ascii'
);

-- +goose StatementBegin
CREATE TRIGGER search_texts_gone AFTER DELETE ON search_texts BEGIN
	DELETE FROM search_words WHERE rowid = OLD.id;
END;
-- +goose StatementEnd

INSERT INTO search_texts (task_id) SELECT id FROM tasks ORDER BY number;
INSERT INTO search_texts (task_id, comment_id) SELECT task_id, id FROM comments ORDER BY created_at, id;
INSERT INTO search_words (rowid, title, body)
	SELECT s.id, 'task ' || t.number || ' ' || t.title, t.description FROM search_texts s JOIN tasks t ON t.id = s.task_id WHERE s.comment_id IS NULL;
INSERT INTO search_words (rowid, title, body)
	SELECT s.id, '', c.body FROM search_texts s JOIN comments c ON c.id = s.comment_id;

-- +goose Down
DROP TABLE search_words;
DROP TABLE search_texts;
