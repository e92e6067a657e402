-- +goose Up

-- All texts that can be searched. Wardroom makes the words itself, so that both engines find the same. Owned by search.
CREATE TABLE search_texts (
	id         INTEGER PRIMARY KEY AUTOINCREMENT, -- row ID in search_index; grows with time
	task_id    TEXT REFERENCES tasks (id) ON DELETE CASCADE,
	comment_id TEXT UNIQUE REFERENCES comments (id) ON DELETE CASCADE, -- null: the task itself
	session_id TEXT UNIQUE REFERENCES archive_sessions (id) ON DELETE CASCADE,
	standup_id TEXT REFERENCES standups (id) ON DELETE CASCADE,
	agent_id   TEXT -- whose report in that standup
);
CREATE UNIQUE INDEX search_texts_of_task ON search_texts (task_id) WHERE comment_id IS NULL;
CREATE INDEX search_texts_with_task ON search_texts (task_id);
CREATE UNIQUE INDEX search_texts_of_report ON search_texts (standup_id, agent_id) WHERE standup_id IS NOT NULL;

-- Each word has a letter in front for the class of its text, and the words of a title are there once more with another
-- letter (internal/search/index_terms.go). So a search reads only texts of the kinds that it asks for. Prefixes of one to
-- three characters have their own index.
CREATE VIRTUAL TABLE search_index USING fts5 (words, content='', contentless_delete=1, detail=none, prefix='2 3 4', tokenize='ascii');
CREATE VIRTUAL TABLE search_terms USING fts5vocab (search_index, 'instance');

-- +goose StatementBegin
CREATE TRIGGER search_texts_gone AFTER DELETE ON search_texts BEGIN
	DELETE FROM search_index WHERE rowid = OLD.id;
END;
-- +goose StatementEnd
