-- +goose Up

-- People and agents that may call the API. Owned by account.
CREATE TABLE users (
	id            TEXT PRIMARY KEY,
	email         TEXT NOT NULL,
	email_key     TEXT NOT NULL UNIQUE, -- lower case: two spellings are one account
	name          TEXT NOT NULL,
	role          TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'user', 'agent')),
	agent_id      TEXT CHECK ((role = 'agent') = (agent_id IS NOT NULL)),
	active        BOOLEAN NOT NULL,
	avatar_url    TEXT,
	password_hash TEXT NOT NULL,
	last_login_at TIMESTAMP,
	created_at    TIMESTAMP NOT NULL,
	updated_at    TIMESTAMP NOT NULL,
	version       BIGINT NOT NULL
);
CREATE UNIQUE INDEX users_one_owner ON users (role) WHERE role = 'owner';
CREATE UNIQUE INDEX users_one_active_agent ON users (agent_id) WHERE active AND agent_id IS NOT NULL;
CREATE INDEX users_by_creation ON users (created_at, id);

-- +goose Down
DROP TABLE users;
