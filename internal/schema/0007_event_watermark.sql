-- +goose Up

-- The highest id that retention has ever removed from events. Whoever resumes
-- from below it cannot be told all that they missed.
ALTER TABLE event_counter ADD COLUMN purged BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE event_counter DROP COLUMN purged;
