-- +goose Up

-- The index has each word with a letter for the class of its text in front
-- (internal/search/class.go), and the words of titles once more with another.
-- So a search reads only what it has of the kinds that are asked for.
DROP INDEX search_texts_words;
UPDATE search_texts s SET words = (
	SELECT COALESCE(array_to_tsvector(ARRAY_AGG(DISTINCT class || lexeme)), '') FROM (
		SELECT w.lexeme, w.weights, CASE
				WHEN s.session_id IS NOT NULL THEN 'hi'
				WHEN s.standup_id IS NOT NULL THEN 'g'
				WHEN s.comment_id IS NOT NULL THEN CASE WHEN t.archived_at IS NULL THEN 'e' ELSE 'f' END
				WHEN t.archived_at IS NULL THEN 'ab' ELSE 'cd' END AS classes
		FROM UNNEST(s.words) w LEFT JOIN tasks t ON t.id = s.task_id
	) found, LATERAL (SELECT SUBSTR(classes, 1, 1) AS class UNION ALL SELECT SUBSTR(classes, 2, 1) WHERE 'A' = ANY (found.weights) AND LENGTH(classes) = 2) c
);
CREATE INDEX search_texts_words ON search_texts USING GIN (words) WITH (fastupdate = off); -- else each search reads what is not sorted in yet

-- The newest texts of each side of a search, in their order.
CREATE INDEX search_texts_of_work ON search_texts (id) WHERE task_id IS NOT NULL;
CREATE INDEX search_texts_of_runs ON search_texts (id) WHERE task_id IS NULL;
CREATE INDEX search_texts_of_sessions ON search_texts (id) WHERE session_id IS NOT NULL;

-- +goose Down
DROP INDEX search_texts_of_sessions;
DROP INDEX search_texts_of_runs;
DROP INDEX search_texts_of_work;
DROP INDEX search_texts_words;
UPDATE search_texts SET words = (
	SELECT COALESCE(CAST(STRING_AGG(CONCAT('''', SUBSTR(lexeme, 2), ''':', CASE WHEN SUBSTR(lexeme, 1, 1) IN ('b', 'd', 'i') THEN '1A' ELSE '2' END), ' ') AS TSVECTOR), '')
	FROM UNNEST(words)
);
CREATE INDEX search_texts_words ON search_texts USING GIN (words) WITH (fastupdate = off);
