-- +goose Up

-- Long-lived credentials of agent users. Owned by account.
CREATE TABLE api_keys (
	id           TEXT PRIMARY KEY,
	user_id      TEXT NOT NULL REFERENCES users (id),
	name         TEXT NOT NULL,
	digest       TEXT NOT NULL UNIQUE, -- of the key: who reads this table cannot use it
	hint         TEXT NOT NULL,        -- how the key begins and ends
	created_at   TIMESTAMP NOT NULL,
	expires_at   TIMESTAMP, -- null is never
	last_used_at TIMESTAMP, -- written once a minute at most
	revoked_at   TIMESTAMP
);
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at, id);

-- +goose Down
DROP TABLE api_keys;
