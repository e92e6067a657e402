-- +goose Up

-- Texts are compared in another form than before (internal/platform/plaintext). In the background, Wardroom replaces the words of all
-- texts in the search index up to this ID, the newest first. Owned by search.
CREATE TABLE search_state (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	upto BIGINT NOT NULL
);
INSERT INTO search_state (one, upto) SELECT 1, COALESCE(MAX(id), 0) FROM search_texts;

-- Likewise the forms of all tasks' titles and tags. Until then, these tasks are searched one by one.
UPDATE task_grams_state SET upto = 0;
