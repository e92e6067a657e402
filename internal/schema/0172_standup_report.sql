-- +goose Up

ALTER TABLE standup_reports RENAME COLUMN filed_at TO submitted_at;
ALTER TABLE standup_reports RENAME COLUMN filed_by TO submitted_by;
