-- +goose Up

-- Tokens that make the first owner, one of each process that printed one.
-- Owned by account.
CREATE TABLE setup_tokens (
	digest     TEXT PRIMARY KEY, -- of a token: who reads this table cannot use it
	expires_at TIMESTAMP NOT NULL
);

-- +goose Down
DROP TABLE setup_tokens;
