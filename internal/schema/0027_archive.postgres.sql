-- +goose Up

-- The sessions of the runtime as they were last known, and what was said in
-- those that ended or rest, so that it is there when the runtime has forgotten
-- it. Secrets are masked before anything is written here. Owned by archive.
CREATE TABLE archive_sessions (
	id            TEXT PRIMARY KEY,
	session_key   TEXT NOT NULL,
	transcript_id TEXT NOT NULL, -- the runtime's; another one after a reset, which is another row here
	agent_id      TEXT NOT NULL,
	kind          TEXT NOT NULL,
	label         TEXT NOT NULL,
	status        TEXT NOT NULL,
	model         TEXT NOT NULL,
	parent_key    TEXT NOT NULL,
	last_message  TEXT NOT NULL,
	active        BOOLEAN NOT NULL,
	began_at      TIMESTAMP, -- its first message, or the first run that we saw
	started_at    TIMESTAMP, -- its last run
	ended_at      TIMESTAMP, -- the same
	last_at       TIMESTAMP NOT NULL, -- when anything last happened in it
	version       BIGINT NOT NULL, -- its last change, in milliseconds since 1970, by the runtime's clock
	as_of         TIMESTAMP NOT NULL, -- when the runtime was last heard to have it so; while it has it, archive_state knows better
	present       BOOLEAN NOT NULL, -- the runtime has it
	ended         TEXT NOT NULL, -- rests, finished, deleted or reset; empty before it is archived
	archived_at   TIMESTAMP, -- when it was last archived; null when it is only known
	coverage      TEXT NOT NULL, -- none, partial or whole: how much of its transcript is here
	read_version  BIGINT NOT NULL, -- up to which version the transcript is here; -1 is not at all
	last_seq      BIGINT NOT NULL, -- of the last message that is here
	messages      BIGINT NOT NULL,
	purged        BOOLEAN NOT NULL, -- its transcript went by retention while the runtime still had it
	UNIQUE (session_key, transcript_id)
);
CREATE INDEX archive_sessions_by_time ON archive_sessions (last_at, id) WHERE archived_at IS NOT NULL;
CREATE INDEX archive_sessions_of_agent ON archive_sessions (agent_id, last_at, id);
CREATE INDEX archive_sessions_of_kind ON archive_sessions (kind, last_at, id);
CREATE INDEX archive_sessions_of_status ON archive_sessions (status, last_at, id);
CREATE INDEX archive_sessions_present ON archive_sessions (last_at, id) WHERE present;

-- The messages of a transcript in portions, in their order.
CREATE TABLE archive_parts (
	session_id TEXT NOT NULL REFERENCES archive_sessions (id) ON DELETE CASCADE,
	part       BIGINT NOT NULL, -- from 0
	first      BIGINT NOT NULL, -- how many messages are before it
	messages   BIGINT NOT NULL,
	size       BIGINT NOT NULL, -- bytes of the JSON
	data       BYTEA NOT NULL, -- a line of JSON for each message, deflated (RFC 1951)
	PRIMARY KEY (session_id, part)
);

-- The texts of a transcript that it is found by: its beginning and its end.
CREATE TABLE archive_texts (
	session_id TEXT PRIMARY KEY REFERENCES archive_sessions (id) ON DELETE CASCADE,
	head       TEXT NOT NULL,
	tail       TEXT NOT NULL
);

-- Who archives, and when the runtime last told all its sessions.
CREATE TABLE archive_state (
	name    TEXT PRIMARY KEY,
	owner   TEXT NOT NULL,
	until   TIMESTAMP, -- of the database's clock; null is free
	read_at TIMESTAMP
);
INSERT INTO archive_state (name, owner, until, read_at) VALUES ('archive', '', NULL, NULL);

-- Archived sessions are found, too.
ALTER TABLE search_texts ALTER COLUMN task_id DROP NOT NULL;
ALTER TABLE search_texts ADD COLUMN session_id TEXT UNIQUE REFERENCES archive_sessions (id) ON DELETE CASCADE;

-- +goose Down
DELETE FROM search_texts WHERE session_id IS NOT NULL;
ALTER TABLE search_texts DROP COLUMN session_id;
ALTER TABLE search_texts ALTER COLUMN task_id SET NOT NULL;
DROP TABLE archive_state;
DROP TABLE archive_texts;
DROP TABLE archive_parts;
DROP TABLE archive_sessions;
