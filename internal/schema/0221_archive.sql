-- +goose Up

-- The runtime's sessions when Wardroom last read them, so that they stay when the runtime deletes them. Secrets are
-- masked before anything is stored. Owned by archive, like all tables in this file.
CREATE TABLE archive_sessions (
	id            TEXT PRIMARY KEY,
	session_key   TEXT NOT NULL,
	transcript_id TEXT NOT NULL, -- from the runtime; after a reset it differs, and the session gets another row
	agent_id      TEXT NOT NULL,
	kind          TEXT NOT NULL,
	label         TEXT NOT NULL,
	status        TEXT NOT NULL,
	model         TEXT NOT NULL,
	parent_key    TEXT NOT NULL,
	last_message  TEXT NOT NULL,
	active        BOOLEAN NOT NULL,
	began_at      TIMESTAMP, -- first message, or first run that Wardroom saw
	started_at    TIMESTAMP, -- start of the last run
	ended_at      TIMESTAMP, -- end of the last run
	last_at       TIMESTAMP NOT NULL, -- last activity
	version       BIGINT NOT NULL, -- identifies the state of the transcript
	as_of         TIMESTAMP NOT NULL, -- when the runtime last reported it; while it is present, archive_state has the time
	present       BOOLEAN NOT NULL, -- whether the runtime still has it
	ended         TEXT NOT NULL, -- rests, finished, deleted or reset; empty before it is archived
	archived_at   TIMESTAMP, -- null before it is archived
	coverage      TEXT NOT NULL, -- none, partial or whole: how much of the transcript is stored
	read_version  BIGINT NOT NULL, -- version up to which the transcript is stored; -1 if not at all
	last_seq      BIGINT NOT NULL, -- last stored message
	messages      BIGINT NOT NULL,
	purged        BOOLEAN NOT NULL, -- retention deleted the transcript while the runtime still had the session
	UNIQUE (session_key, transcript_id)
);
CREATE INDEX archive_sessions_by_time ON archive_sessions (last_at, id) WHERE archived_at IS NOT NULL;
CREATE INDEX archive_sessions_of_agent ON archive_sessions (agent_id, last_at, id);
CREATE INDEX archive_sessions_of_kind ON archive_sessions (kind, last_at, id);
CREATE INDEX archive_sessions_of_status ON archive_sessions (status, last_at, id);
CREATE INDEX archive_sessions_present ON archive_sessions (last_at, id) WHERE present;
CREATE INDEX archive_sessions_present_of_agent ON archive_sessions (agent_id, last_at, id) WHERE present;

-- The messages of each transcript, in order, several per row.
CREATE TABLE archive_parts (
	session_id TEXT NOT NULL REFERENCES archive_sessions (id) ON DELETE CASCADE,
	part       BIGINT NOT NULL, -- from 0
	first      BIGINT NOT NULL, -- number of messages in earlier parts
	messages   BIGINT NOT NULL,
	size       BIGINT NOT NULL, -- bytes before compression
	data       BYTEA NOT NULL, -- a line of JSON per message, compressed with DEFLATE (RFC 1951)
	PRIMARY KEY (session_id, part)
);

-- The start and the end of each transcript's text, for the search.
CREATE TABLE archive_texts (
	session_id TEXT PRIMARY KEY REFERENCES archive_sessions (id) ON DELETE CASCADE,
	head       TEXT NOT NULL,
	tail       TEXT NOT NULL
);

-- Which process archives, in one row.
CREATE TABLE archive_state (
	name    TEXT PRIMARY KEY,
	owner   TEXT NOT NULL,
	until   TIMESTAMP, -- by the database's clock; null if no process does
	read_at TIMESTAMP -- when the runtime last reported all its sessions
);
INSERT INTO archive_state (name, owner, until, read_at) VALUES ('archive', '', NULL, NULL);
