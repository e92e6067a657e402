-- +goose Up

-- The sums of these columns of the ledger. 0 for older rows. Owned by usage.
ALTER TABLE usage_rollup ADD COLUMN calls BIGINT NOT NULL DEFAULT 0; -- model calls
ALTER TABLE usage_rollup ADD COLUMN took BIGINT NOT NULL DEFAULT 0; -- milliseconds
