-- +goose Up

-- Requests that created something and may be sent again. Owned by platform/once.
CREATE TABLE idempotency_keys (
	name   TEXT PRIMARY KEY, -- hash of the caller, the route and the key
	digest TEXT NOT NULL,    -- hash of the request body, which only a client with the key can compute
	made   TEXT NOT NULL,    -- identifies what was created
	at     TIMESTAMP NOT NULL
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);
