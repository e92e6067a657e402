-- +goose Up

-- A text that is new after each event that can change a list of tasks.
ALTER TABLE event_counter ADD COLUMN tasks TEXT NOT NULL DEFAULT '';
