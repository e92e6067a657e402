-- +goose Up

-- Whose standups there are. Owned by standup. What is null follows the settings.
CREATE TABLE teams (
	id               TEXT PRIMARY KEY,
	key              TEXT NOT NULL UNIQUE, -- how people name it; never changes
	name             TEXT NOT NULL,
	facilitator      TEXT, -- an agent_id
	participants     TEXT, -- JSON array of agent_ids
	timezone         TEXT,
	agent_timeout_ms BIGINT,
	deadline_ms      BIGINT,
	archived_at      TIMESTAMP,
	created_at       TIMESTAMP NOT NULL,
	updated_at       TIMESTAMP NOT NULL,
	version          BIGINT NOT NULL
);
INSERT INTO teams (id, key, name, created_at, updated_at, version)
SELECT '00000000-0000-7000-8000-000000000001', 'executive', 'Executive team', at, at, 1 FROM (SELECT UNIXEPOCH() * 1000000 AS at);

-- A day has one standup of each team. SQLite cannot drop the constraint that a
-- day has only one: the table is made anew. Dropping it would delete what
-- belongs to its rows, and that cannot be switched off within a transaction, so
-- the tables that refer to it are made anew first. Renaming the new table
-- corrects what refers to it.
CREATE TABLE standups_anew (
	id            TEXT PRIMARY KEY,
	team          TEXT NOT NULL, -- its key
	date          TEXT NOT NULL, -- 2026-11-20, a day in timezone; one standup a team and day, by the index below
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
	agent_timeout_ms BIGINT, -- of the last attempt; null before the first, and in standups that are older than teams
	deadline_ms   BIGINT,
	roll          TEXT NOT NULL DEFAULT '', -- its reports in brief, for lists: a line for each with the agent's id, the status and the name
	deadline_at   TIMESTAMP, -- when the meeting that is going on must have ended
	created_at    TIMESTAMP NOT NULL,
	started_at    TIMESTAMP,
	completed_at  TIMESTAMP,
	updated_at    TIMESTAMP NOT NULL,
	version       BIGINT NOT NULL
);
INSERT INTO standups_anew (team, roll, id, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, action_items, escalations, summary,
	digest, error_code, error_detail, deadline_at, created_at, started_at, completed_at, updated_at, version)
SELECT 'executive',
	COALESCE((SELECT STRING_AGG(r.agent_id || ' ' || r.status || ' ' || r.name, CHAR(10) ORDER BY r.place) FROM standup_reports r WHERE r.standup_id = standups.id), ''),
	id, date, timezone, title, status, phase, facilitator, attempt, trigger_kind, blockers, action_items, escalations, summary,
	digest, error_code, error_detail, deadline_at, created_at, started_at, completed_at, updated_at, version FROM standups;

CREATE TABLE standup_reports_anew (
	standup_id  TEXT NOT NULL REFERENCES standups_anew (id) ON DELETE CASCADE,
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
INSERT INTO standup_reports_anew (standup_id, agent_id, place, name, status, yesterday, today, blockers, text, other, evidence, claims, asked_at, answered_at,
	cost_nano)
SELECT standup_id, agent_id, place, name, status, yesterday, today, blockers, text, other, evidence, claims, asked_at, answered_at,
	cost_nano FROM standup_reports;
DROP TABLE standup_reports;

CREATE TABLE standup_questions_anew (
	run_id      TEXT PRIMARY KEY,
	standup_id  TEXT NOT NULL REFERENCES standups_anew (id) ON DELETE CASCADE,
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
INSERT INTO standup_questions_anew (run_id, standup_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, text, cost_nano, deadline_at,
	asked_at, ended_at)
SELECT run_id, standup_id, agent_id, number, purpose, session_key, boot_id, message, state, accepted, text, cost_nano, deadline_at,
	asked_at, ended_at FROM standup_questions;
DROP TABLE standup_questions;

CREATE TABLE standup_transcript_anew (
	standup_id TEXT NOT NULL REFERENCES standups_anew (id) ON DELETE CASCADE,
	seq        INTEGER NOT NULL,
	at         TIMESTAMP NOT NULL,
	kind       TEXT NOT NULL,
	from_id    TEXT NOT NULL, -- an agent_id, or wardroom
	to_id      TEXT NOT NULL,
	text       TEXT NOT NULL,
	PRIMARY KEY (standup_id, seq)
);
INSERT INTO standup_transcript_anew (standup_id, seq, at, kind, from_id, to_id, text)
SELECT standup_id, seq, at, kind, from_id, to_id, text FROM standup_transcript;
DROP TABLE standup_transcript;

DROP TABLE standups;
ALTER TABLE standups_anew RENAME TO standups;
ALTER TABLE standup_reports_anew RENAME TO standup_reports;
ALTER TABLE standup_questions_anew RENAME TO standup_questions;
ALTER TABLE standup_transcript_anew RENAME TO standup_transcript;

CREATE UNIQUE INDEX standups_of_team ON standups (team, date);
CREATE INDEX standups_of_day ON standups (date, team);
CREATE INDEX standups_of_status ON standups (status, date, team);
CREATE UNIQUE INDEX standup_questions_in_order ON standup_questions (standup_id, agent_id, number);

-- +goose Down
DELETE FROM standups WHERE team <> 'executive';
DROP INDEX standups_of_status;
DROP INDEX standups_of_day;
DROP INDEX standups_of_team;
ALTER TABLE standups DROP COLUMN roll;
ALTER TABLE standups DROP COLUMN deadline_ms;
ALTER TABLE standups DROP COLUMN agent_timeout_ms;
ALTER TABLE standups DROP COLUMN team;
CREATE UNIQUE INDEX standups_date_key ON standups (date);
CREATE INDEX standups_of_status ON standups (status, date);
DROP TABLE teams;
