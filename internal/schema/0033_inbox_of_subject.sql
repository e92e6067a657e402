-- +goose Up

-- What waits for somebody about one thing, so that it is not brought up twice.
CREATE INDEX inbox_of_subject ON inbox_items (subject_id, kind);

-- +goose Down
DROP INDEX inbox_of_subject;
