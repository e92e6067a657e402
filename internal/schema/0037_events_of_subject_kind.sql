-- +goose Up

-- The log of all things of one kind, such as the inbox, newest first.
CREATE INDEX events_of_subject_kind ON events (subject_kind, id);

-- +goose Down
DROP INDEX events_of_subject_kind;
