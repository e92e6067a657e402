-- +goose Up

-- Requests that made something and may be sent again. Owned by platform/once.
CREATE TABLE idempotency_keys (
	name   TEXT PRIMARY KEY, -- a digest of caller, route and key
	digest TEXT NOT NULL,    -- of what was sent; only who knows the key can compute it
	made   TEXT NOT NULL,    -- what names the thing that was made
	at     TIMESTAMP NOT NULL
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);

-- +goose Down
DROP TABLE idempotency_keys;
