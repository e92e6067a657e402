-- +goose Up

-- Reports of standups are found, too. Of those that are older than this,
-- PostgreSQL's parser makes the words.
ALTER TABLE search_texts ADD COLUMN standup_id TEXT REFERENCES standups (id) ON DELETE CASCADE;
ALTER TABLE search_texts ADD COLUMN agent_id TEXT; -- whose report of that standup it is
INSERT INTO search_texts (standup_id, agent_id, words)
	SELECT standup_id, agent_id, to_tsvector('simple', regexp_replace(text, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g'))
	FROM standup_reports WHERE status = 'answered' AND text IS NOT NULL ORDER BY answered_at, standup_id, place;
CREATE UNIQUE INDEX search_texts_of_report ON search_texts (standup_id, agent_id) WHERE standup_id IS NOT NULL;

-- +goose Down
DELETE FROM search_texts WHERE standup_id IS NOT NULL;
DROP INDEX search_texts_of_report;
ALTER TABLE search_texts DROP COLUMN agent_id;
ALTER TABLE search_texts DROP COLUMN standup_id;
