-- +goose Up

-- The history of one thing is found by its id alone, too. Ids are not shared by
-- things of different kinds, so that the kind before it gave nothing.
DROP INDEX events_of_subject;
CREATE INDEX events_of_subject ON events (subject_id, id);

-- +goose Down
DROP INDEX events_of_subject;
CREATE INDEX events_of_subject ON events (subject_kind, subject_id, id);
