-- +goose Up

-- Owned by standup, like all tables in this file. A column that is null has the value from the settings.
CREATE TABLE teams (
	id               TEXT PRIMARY KEY,
	key              TEXT NOT NULL UNIQUE, -- never changes
	name             TEXT NOT NULL,
	facilitator      TEXT, -- agent ID
	participants     TEXT, -- JSON array of agent IDs
	timezone         TEXT,
	agent_timeout_ms BIGINT,
	deadline_ms      BIGINT,
	archived_at      TIMESTAMP,
	created_at       TIMESTAMP NOT NULL,
	updated_at       TIMESTAMP NOT NULL,
	version          BIGINT NOT NULL
);

CREATE TABLE standups (
	id               TEXT PRIMARY KEY,
	team             TEXT NOT NULL, -- key of the team
	date             TEXT NOT NULL, -- such as 2026-11-20, in timezone
	timezone         TEXT NOT NULL,
	title            TEXT NOT NULL,
	status           TEXT NOT NULL CHECK (status IN ('running', 'completed', 'error')),
	phase            TEXT NOT NULL,
	facilitator      TEXT NOT NULL, -- agent ID
	attempt          INTEGER NOT NULL, -- number of times the standup was started
	trigger_kind     TEXT NOT NULL, -- who started it last: agent or user
	blockers         TEXT NOT NULL, -- JSON array, as in the API, like the next two
	action_items     TEXT NOT NULL,
	escalations      TEXT NOT NULL,
	decisions        TEXT NOT NULL DEFAULT '[]', -- what people decided since the team's last standup: JSON array, as in the API
	summary          TEXT,
	digest           TEXT,
	error_code       TEXT,
	error_detail     TEXT,
	agent_timeout_ms BIGINT, -- of the last attempt, like the next one; null before the first
	deadline_ms      BIGINT,
	deadline_at      TIMESTAMP, -- when the running standup must end
	roll             TEXT NOT NULL DEFAULT '', -- summary of the reports for lists: a line for each, with agent ID, status and name
	created_at       TIMESTAMP NOT NULL,
	started_at       TIMESTAMP,
	completed_at     TIMESTAMP,
	updated_at       TIMESTAMP NOT NULL,
	version          BIGINT NOT NULL
);
CREATE UNIQUE INDEX standups_of_team ON standups (team, date);
CREATE INDEX standups_of_day ON standups (date, team);
CREATE INDEX standups_of_status ON standups (status, date, team);

CREATE TABLE standup_reports (
	standup_id   TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	agent_id     TEXT NOT NULL,
	place        INTEGER NOT NULL, -- position in the order in which the agents are asked
	name         TEXT NOT NULL,
	status       TEXT NOT NULL CHECK (status IN ('pending', 'asked', 'answered', 'timed_out', 'failed', 'missing')),
	yesterday    TEXT,
	today        TEXT,
	blockers     TEXT,
	text         TEXT,
	other        TEXT,
	evidence     TEXT NOT NULL, -- JSON
	claims       TEXT NOT NULL, -- JSON: statements in the report that the board contradicts
	omitted      TEXT NOT NULL DEFAULT '[]', -- JSON: finished work that the report does not mention
	asked_at     TIMESTAMP,
	answered_at  TIMESTAMP,
	submitted_at TIMESTAMP, -- when the report was submitted by hand; null if the agent was asked for it
	submitted_by TEXT, -- name of the submitter
	cost_nano    BIGINT, -- in nano-dollars; null if unknown
	PRIMARY KEY (standup_id, agent_id)
);
CREATE INDEX standup_reports_of_agent ON standup_reports (agent_id, answered_at) WHERE status = 'answered';
CREATE INDEX standup_reports_missed ON standup_reports (agent_id, asked_at) WHERE status IN ('timed_out', 'failed');
CREATE INDEX standup_reports_by_agent ON standup_reports (agent_id, standup_id); -- IDs grow with time

-- Every question to an agent, by its run ID in the runtime.
CREATE TABLE standup_questions (
	run_id             TEXT PRIMARY KEY,
	standup_id         TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	agent_id           TEXT NOT NULL,
	number             INTEGER NOT NULL, -- last part of run_id
	purpose            TEXT NOT NULL CHECK (purpose IN ('report', 'review', 'repeat')),
	session_key        TEXT NOT NULL,
	boot_id            TEXT NOT NULL, -- identifies the gateway process that got the question
	message            TEXT NOT NULL,
	state              TEXT NOT NULL CHECK (state IN ('open', 'answered', 'timed_out', 'failed', 'lost', 'dropped')),
	accepted           BOOLEAN NOT NULL, -- whether the gateway confirmed the question
	text               TEXT,
	cost_nano          BIGINT,
	input_tokens       BIGINT, -- null if the runtime did not report it, like the next four
	output_tokens      BIGINT,
	cache_read_tokens  BIGINT,
	cache_write_tokens BIGINT,
	other_tokens       BIGINT, -- in the runtime's total but in none of the four
	deadline_at        TIMESTAMP NOT NULL,
	asked_at           TIMESTAMP NOT NULL,
	ended_at           TIMESTAMP
);
CREATE UNIQUE INDEX standup_questions_in_order ON standup_questions (standup_id, agent_id, number);
CREATE INDEX standup_questions_of_agent ON standup_questions (agent_id, asked_at);

CREATE TABLE standup_transcript (
	standup_id TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	seq        INTEGER NOT NULL,
	at         TIMESTAMP NOT NULL,
	kind       TEXT NOT NULL,
	from_id    TEXT NOT NULL, -- agent ID, or wardroom
	to_id      TEXT NOT NULL,
	text       TEXT NOT NULL,
	PRIMARY KEY (standup_id, seq)
);

-- Blockers of participants over several days. An open blocker is matched by its task, or else by its text. The unique
-- index prevents two open blockers of a team for the same task.
CREATE TABLE standup_blockers (
	id           TEXT PRIMARY KEY,
	team         TEXT NOT NULL, -- key of the team
	agents       TEXT NOT NULL, -- JSON array: who reported it on last_seen
	text         TEXT NOT NULL, -- as last reported
	task         BIGINT,        -- number of the first task that it names
	board        TEXT NOT NULL, -- that task's state: blocked, open, done, archived or gone; empty without a task
	first_seen   TEXT NOT NULL, -- a day in the timezone of the standup, like the next one
	last_seen    TEXT NOT NULL,
	days         TEXT NOT NULL, -- JSON array of the days on which it was reported, at most the last 100
	status       TEXT NOT NULL CHECK (status IN ('open', 'ended')),
	cause        TEXT,          -- cause of its inbox item
	escalated_on TEXT,          -- day on which the item was raised
	ended_at     TIMESTAMP,
	ended_why    TEXT,
	decided_by   TEXT,          -- the person who decided to end it, like the next one; null unless ended_why is decided
	decision     TEXT,
	ended_in     TEXT,          -- ID of the standup that ended it, if one did
	standup_id   TEXT NOT NULL, -- last standup in which it was reported, which may have been deleted
	created_at   TIMESTAMP NOT NULL,
	updated_at   TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX standup_blockers_open ON standup_blockers (team, task) WHERE status = 'open' AND task IS NOT NULL;
CREATE INDEX standup_blockers_of_team ON standup_blockers (team, status);
CREATE INDEX standup_blockers_ended ON standup_blockers (team, ended_at);
CREATE INDEX standup_blockers_ended_in ON standup_blockers (ended_in) WHERE ended_in IS NOT NULL;

-- What a standup has changed elsewhere, so that running it again does not repeat it.
CREATE TABLE standup_effects (
	standup_id TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	seq        INTEGER NOT NULL,
	kind       TEXT NOT NULL CHECK (kind IN ('comment', 'escalation', 'old_blocker', 'task')),
	subject    TEXT NOT NULL, -- key of a task, or cause of an inbox item
	words      TEXT NOT NULL, -- its text, by which it is recognized
	team       TEXT NOT NULL,
	date       TEXT NOT NULL, -- of the standup
	at         TIMESTAMP NOT NULL,
	PRIMARY KEY (standup_id, seq)
);
CREATE INDEX standup_effects_of_team ON standup_effects (team, kind, date);

-- Which job of the runtime starts a team's standups. The jobs are in schedule_jobs.
CREATE TABLE standup_schedules (
	team        TEXT PRIMARY KEY,
	job_id      TEXT NOT NULL,
	service_url TEXT NOT NULL, -- the address of Wardroom that the job gives to the agent
	checked_to  TIMESTAMP NOT NULL, -- due times up to this one have been checked
	checked_day TEXT NOT NULL -- day of the last due time that was checked; empty before the first
);
