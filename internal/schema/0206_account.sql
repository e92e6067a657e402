-- +goose Up

-- People and agents that may call the API. Owned by account, like all tables in this file.
CREATE TABLE users (
	id            TEXT PRIMARY KEY,
	email         TEXT NOT NULL,
	email_key     TEXT NOT NULL UNIQUE, -- in lowercase, so that spellings do not matter
	name          TEXT NOT NULL,
	name_key      TEXT NOT NULL DEFAULT '', -- in lowercase, for sorting
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
CREATE INDEX users_by_name ON users (name_key, id);
CREATE INDEX users_of_role ON users (role, created_at, id);
CREATE INDEX users_of_agent ON users (agent_id, created_at, id);
CREATE INDEX users_that_left ON users (created_at, id) WHERE NOT active;

-- Failed logins in the last hour, by account and by address.
CREATE TABLE login_failures (
	subject       TEXT PRIMARY KEY, -- a hash, because people type passwords into the wrong field
	failures      INTEGER NOT NULL, -- includes logins whose password is still being compared
	last_at       TIMESTAMP NOT NULL,
	blocked_until TIMESTAMP
);
CREATE INDEX login_failures_by_age ON login_failures (last_at);

-- Tokens that create the first owner, one for each process that printed one.
CREATE TABLE setup_tokens (
	digest     TEXT PRIMARY KEY, -- hash of the token, so that readers of this table cannot use it
	expires_at TIMESTAMP NOT NULL
);

-- API keys of agents.
CREATE TABLE api_keys (
	id            TEXT PRIMARY KEY,
	user_id       TEXT NOT NULL REFERENCES users (id),
	name          TEXT NOT NULL,
	digest        TEXT NOT NULL UNIQUE, -- hash of the key, so that readers of this table cannot use it
	hint          TEXT NOT NULL,        -- first and last characters of the key
	created_at    TIMESTAMP NOT NULL,
	expires_at    TIMESTAMP, -- null: never
	last_used_at  TIMESTAMP, -- written at most once a minute
	revoked_at    TIMESTAMP,
	tools_used_at TIMESTAMP -- when it last called the tools for agents; written at most once a minute, except by whoami
);
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at, id);

-- Browsers and programs that are signed in with a password or a link: one row for each token that works.
-- Signing out deletes the row.
CREATE TABLE sign_ins (
	id           TEXT PRIMARY KEY, -- the token's jti
	user_id      TEXT NOT NULL REFERENCES users (id),
	user_agent   TEXT NOT NULL,
	created_at   TIMESTAMP NOT NULL,
	last_used_at TIMESTAMP NOT NULL, -- written at most once an hour
	expires_at   TIMESTAMP NOT NULL
);
CREATE INDEX sign_ins_of_user ON sign_ins (user_id, created_at, id);
CREATE INDEX sign_ins_by_end ON sign_ins (expires_at);
