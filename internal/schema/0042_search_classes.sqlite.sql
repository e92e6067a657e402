-- +goose Up

-- The index has each word with a letter for the class of its text in front
-- (internal/search/class.go), and the words of titles once more with another.
-- So a search reads only what it has of the kinds that are asked for. Prefixes of
-- one to three characters have an index of their own.
CREATE VIRTUAL TABLE search_index USING fts5 (words, content='', contentless_delete=1, detail=none, prefix='2 3 4', tokenize='ascii');
CREATE VIRTUAL TABLE search_terms USING fts5vocab (search_index, 'instance');

CREATE VIRTUAL TABLE search_before USING fts5vocab (search_words, 'instance');
INSERT INTO search_index (rowid, words)
	SELECT doc, GROUP_CONCAT(word, ' ') FROM (
		SELECT v.doc, CASE
				WHEN s.session_id IS NOT NULL THEN CASE WHEN v.col = 'title' THEN 'i' || v.term || ' ' ELSE '' END || 'h'
				WHEN s.standup_id IS NOT NULL THEN 'g'
				WHEN s.comment_id IS NOT NULL THEN CASE WHEN t.archived_at IS NULL THEN 'e' ELSE 'f' END
				WHEN t.archived_at IS NULL THEN CASE WHEN v.col = 'title' THEN 'b' || v.term || ' ' ELSE '' END || 'a'
				ELSE CASE WHEN v.col = 'title' THEN 'd' || v.term || ' ' ELSE '' END || 'c' END || v.term AS word
		FROM search_before v CROSS JOIN search_texts s ON s.id = v.doc LEFT JOIN tasks t ON t.id = s.task_id
	) GROUP BY doc ORDER BY doc;

DROP TRIGGER search_texts_gone;
DROP TABLE search_before;
DROP TABLE search_words;

-- +goose StatementBegin
CREATE TRIGGER search_texts_gone AFTER DELETE ON search_texts BEGIN
	DELETE FROM search_index WHERE rowid = OLD.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER search_texts_gone;
CREATE VIRTUAL TABLE search_words USING fts5 (
	title, body, content='', contentless_delete=1, detail=column, prefix='2 3', tokenize='ascii'
);
INSERT INTO search_words (rowid, title, body)
	SELECT doc, COALESCE(GROUP_CONCAT(CASE WHEN SUBSTR(term, 1, 1) IN ('b', 'd', 'i') THEN SUBSTR(term, 2) END, ' '), ''),
		COALESCE(GROUP_CONCAT(CASE WHEN SUBSTR(term, 1, 1) NOT IN ('b', 'd', 'i') THEN SUBSTR(term, 2) END, ' '), '')
	FROM search_terms GROUP BY doc ORDER BY doc;
DROP TABLE search_terms;
DROP TABLE search_index;
-- +goose StatementBegin
CREATE TRIGGER search_texts_gone AFTER DELETE ON search_texts BEGIN
	DELETE FROM search_words WHERE rowid = OLD.id;
END;
-- +goose StatementEnd
