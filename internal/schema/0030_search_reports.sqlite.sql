-- +goose Up

-- Reports of standups are found, too. Of those that are older than this,
-- capitals beyond ASCII are not.
ALTER TABLE search_texts ADD COLUMN standup_id TEXT REFERENCES standups (id) ON DELETE CASCADE;
ALTER TABLE search_texts ADD COLUMN agent_id TEXT; -- whose report of that standup it is
INSERT INTO search_texts (standup_id, agent_id)
	SELECT standup_id, agent_id FROM standup_reports WHERE status = 'answered' AND text IS NOT NULL ORDER BY answered_at, standup_id, place;
INSERT INTO search_words (rowid, title, body)
	SELECT s.id, '', r.text FROM search_texts s JOIN standup_reports r ON r.standup_id = s.standup_id AND r.agent_id = s.agent_id;
CREATE UNIQUE INDEX search_texts_of_report ON search_texts (standup_id, agent_id) WHERE standup_id IS NOT NULL;

-- +goose Down
DELETE FROM search_texts WHERE standup_id IS NOT NULL;
DROP INDEX search_texts_of_report;
ALTER TABLE search_texts DROP COLUMN agent_id;
ALTER TABLE search_texts DROP COLUMN standup_id;
