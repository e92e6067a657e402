-- +goose Up

-- Browsers and programs that are signed in with a password or a link: one row for each token that works. Signing out deletes
-- the row. Owned by account.
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
