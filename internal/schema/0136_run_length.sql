-- +goose Up

-- What limits count beyond tokens and dollars. The times of a run's models add up to that of the run. 0 in older rows. Owned by usage.
ALTER TABLE usage_ledger ADD COLUMN calls BIGINT NOT NULL DEFAULT 0; -- model calls
ALTER TABLE usage_ledger ADD COLUMN took BIGINT NOT NULL DEFAULT 0; -- milliseconds
ALTER TABLE usage_going ADD COLUMN calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_going ADD COLUMN took BIGINT NOT NULL DEFAULT 0; -- until it was read
