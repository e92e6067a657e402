-- +goose Up

-- Sessions whose run sends no more events, until an hour after the run ended. Owned by session.
CREATE TABLE stalled_runs (
	session_key TEXT PRIMARY KEY,
	stalled     BOOLEAN NOT NULL, -- false after another event or the end of the run
	last_sign   TIMESTAMP NOT NULL -- last event that any replica received
);
