-- +goose Up

-- Sessions whose run sends no more events, until an hour after the run ended. Owned by session, like all tables in
-- this file.
CREATE TABLE stalled_runs (
	session_key TEXT PRIMARY KEY,
	stalled     BOOLEAN NOT NULL, -- false after another event or the end of the run
	last_sign   TIMESTAMP NOT NULL -- last event that any replica received
);

-- Who sent a message to an agent through Wardroom, because the runtime does not know Wardroom's users. The
-- text is in the runtime and in the archive.
CREATE TABLE session_messages (
	run_id      TEXT PRIMARY KEY, -- the ID with which the runtime has the message
	session_key TEXT NOT NULL,
	sender_id   TEXT NOT NULL,
	sender_name TEXT NOT NULL, -- when it was sent, because accounts can be deleted
	sent_at     TIMESTAMP NOT NULL
);
