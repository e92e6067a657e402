-- +goose Up

-- What the person decided who ended the blocker; null unless ended_why is decided.
ALTER TABLE standup_blockers ADD COLUMN decided_by TEXT;
ALTER TABLE standup_blockers ADD COLUMN decision TEXT;
