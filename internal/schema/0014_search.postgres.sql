-- +goose Up

-- What can be searched for. Owned by search, which makes the words itself, so
-- that both engines find the same. Of texts that are older than this table,
-- PostgreSQL's parser makes the words until they are changed.
CREATE TABLE search_texts (
	id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the newest is the greatest
	task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
	comment_id TEXT UNIQUE REFERENCES comments (id) ON DELETE CASCADE, -- null: the task itself
	words      TSVECTOR NOT NULL -- those of the title have the weight A
);
CREATE UNIQUE INDEX search_texts_of_task ON search_texts (task_id) WHERE comment_id IS NULL;
CREATE INDEX search_texts_with_task ON search_texts (task_id);

INSERT INTO search_texts (task_id, words)
	SELECT id, setweight(to_tsvector('simple', 'task ' || number || ' ' || regexp_replace(title, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g')), 'A')
		|| to_tsvector('simple', regexp_replace(description, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g'))
	FROM tasks ORDER BY number;
INSERT INTO search_texts (task_id, comment_id, words)
	SELECT task_id, id, to_tsvector('simple', regexp_replace(body, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g'))
	FROM comments ORDER BY created_at, id;

CREATE INDEX search_texts_words ON search_texts USING GIN (words) WITH (fastupdate = off); -- else each search reads what is not sorted in yet

-- +goose Down
DROP TABLE search_texts;
