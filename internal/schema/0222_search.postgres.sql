-- +goose Up

-- All texts that can be searched. Each word has a letter in front for the class of its text, and the words of a title
-- are there once more with another letter (internal/search/index_terms.go). So a search reads only texts of the kinds that
-- it asks for. Wardroom makes the words itself, so that both engines find the same. Owned by search.
CREATE TABLE search_texts (
	id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- grows with time
	task_id    TEXT REFERENCES tasks (id) ON DELETE CASCADE,
	comment_id TEXT UNIQUE REFERENCES comments (id) ON DELETE CASCADE, -- null: the task itself
	session_id TEXT UNIQUE REFERENCES archive_sessions (id) ON DELETE CASCADE,
	standup_id TEXT REFERENCES standups (id) ON DELETE CASCADE,
	agent_id   TEXT, -- whose report in that standup
	words      TSVECTOR NOT NULL
);
CREATE UNIQUE INDEX search_texts_of_task ON search_texts (task_id) WHERE comment_id IS NULL;
CREATE INDEX search_texts_with_task ON search_texts (task_id);
CREATE UNIQUE INDEX search_texts_of_report ON search_texts (standup_id, agent_id) WHERE standup_id IS NOT NULL;
-- The newest texts of each kind, in order.
CREATE INDEX search_texts_of_work ON search_texts (id) WHERE task_id IS NOT NULL;
CREATE INDEX search_texts_of_runs ON search_texts (id) WHERE task_id IS NULL;
CREATE INDEX search_texts_of_sessions ON search_texts (id) WHERE session_id IS NOT NULL;
CREATE INDEX search_texts_words ON search_texts USING GIN (words) WITH (fastupdate = off); -- otherwise each search also reads entries that are not sorted in
