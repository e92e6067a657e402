-- +goose Up

-- Since when the runtime is followed: of what was before it the ledger has only
-- what the runtime still had. Null before it ever was.
ALTER TABLE usage_state ADD COLUMN since TIMESTAMP;
UPDATE usage_state SET since = (SELECT MIN(noted_at) FROM usage_ledger);

-- +goose Down
ALTER TABLE usage_state DROP COLUMN since;
