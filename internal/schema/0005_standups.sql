-- +goose Up

-- The daily meeting. Owned by standup.
CREATE TABLE standups (
	id            TEXT PRIMARY KEY,
	date          TEXT NOT NULL UNIQUE, -- 2026-11-20, a day in timezone
	timezone      TEXT NOT NULL,
	title         TEXT NOT NULL,
	status        TEXT NOT NULL CHECK (status IN ('running', 'completed', 'error')),
	phase         TEXT NOT NULL,
	facilitator   TEXT NOT NULL, -- an agent_id
	attempt       INTEGER NOT NULL, -- how often a meeting was started for it
	trigger_kind  TEXT NOT NULL, -- who started the last one: agent or user
	blockers      TEXT NOT NULL, -- JSON arrays, as the API shows them
	action_items  TEXT NOT NULL,
	escalations   TEXT NOT NULL,
	summary       TEXT,
	digest        TEXT,
	error_code    TEXT,
	error_detail  TEXT,
	deadline_at   TIMESTAMP, -- when the meeting that is going on must have ended
	created_at    TIMESTAMP NOT NULL,
	started_at    TIMESTAMP,
	completed_at  TIMESTAMP,
	updated_at    TIMESTAMP NOT NULL,
	version       BIGINT NOT NULL
);

CREATE TABLE standup_reports (
	standup_id  TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	agent_id    TEXT NOT NULL,
	place       INTEGER NOT NULL, -- in which order they are asked
	name        TEXT NOT NULL,
	status      TEXT NOT NULL CHECK (status IN ('pending', 'asked', 'answered', 'timed_out', 'failed', 'missing')),
	yesterday   TEXT,
	today       TEXT,
	blockers    TEXT,
	text        TEXT,
	other       TEXT,
	evidence    TEXT NOT NULL, -- JSON
	claims      TEXT NOT NULL, -- JSON: what the report says and the board does not
	asked_at    TIMESTAMP,
	answered_at TIMESTAMP,
	cost_nano   BIGINT, -- nano-dollars; null when unknown
	PRIMARY KEY (standup_id, agent_id)
);

-- Every question put to an agent, by its run id in the runtime.
CREATE TABLE standup_questions (
	run_id      TEXT PRIMARY KEY,
	standup_id  TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	agent_id    TEXT NOT NULL,
	number      INTEGER NOT NULL, -- the last part of run_id
	purpose     TEXT NOT NULL CHECK (purpose IN ('report', 'review', 'repeat')),
	session_key TEXT NOT NULL,
	boot_id     TEXT NOT NULL, -- the gateway process it was put to
	message     TEXT NOT NULL,
	state       TEXT NOT NULL CHECK (state IN ('open', 'answered', 'timed_out', 'failed', 'lost', 'dropped')),
	accepted    BOOLEAN NOT NULL, -- the gateway said that it has the question
	text        TEXT,
	cost_nano   BIGINT,
	deadline_at TIMESTAMP NOT NULL,
	asked_at    TIMESTAMP NOT NULL,
	ended_at    TIMESTAMP
);
CREATE UNIQUE INDEX standup_questions_in_order ON standup_questions (standup_id, agent_id, number);

CREATE TABLE standup_transcript (
	standup_id TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	seq        INTEGER NOT NULL,
	at         TIMESTAMP NOT NULL,
	kind       TEXT NOT NULL,
	from_id    TEXT NOT NULL, -- an agent_id, or wardroom
	to_id      TEXT NOT NULL,
	text       TEXT NOT NULL,
	PRIMARY KEY (standup_id, seq)
);

-- +goose Down
DROP TABLE standup_transcript;
DROP TABLE standup_questions;
DROP TABLE standup_reports;
DROP TABLE standups;
