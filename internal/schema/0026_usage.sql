-- +goose Up

-- What the agents' runs used and cost, a row for each run and model. Rows are
-- only added: what proves wrong is put right by a further row, and nothing here
-- goes when the runtime forgets a session. Owned by usage.
CREATE TABLE usage_ledger (
	run_id      TEXT NOT NULL, -- the runtime's; made up by us for rows that are not of a run
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	kind        TEXT NOT NULL, -- run; reconciled: makes us equal to the runtime's totals; priced: a price for what had none
	at          BIGINT NOT NULL, -- when it ended, in milliseconds since 1970: what periods and days are counted by, alike on both engines
	started_at  TIMESTAMP,
	ended_at    TIMESTAMP NOT NULL,
	noted_at    TIMESTAMP NOT NULL,
	agent_id    TEXT NOT NULL,
	session_key TEXT NOT NULL,
	session_id  TEXT NOT NULL, -- of the transcript; empty until it is known, and the one column that is filled in later
	source      TEXT NOT NULL, -- human, schedule, heartbeat, sub_agent, standup, task or unknown
	job_id      TEXT NOT NULL,
	task_key    TEXT NOT NULL,
	standup_id  TEXT NOT NULL,
	input       BIGINT NOT NULL, -- tokens, as the next four
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL, -- in the runtime's total and in none of the four
	cost_nano   BIGINT, -- billionths of a dollar; null without a price
	price       TEXT NOT NULL, -- runtime, estimated or unpriced
	price_table BIGINT, -- the version of the prices that it was estimated with
	runs        BIGINT NOT NULL, -- 1 for a run, 0 for the other kinds
	unpriced    BIGINT NOT NULL, -- 1 without a price, and less than nothing where one was found later
	PRIMARY KEY (run_id, provider, model)
);
CREATE INDEX usage_ledger_by_time ON usage_ledger (at);
CREATE INDEX usage_ledger_of_transcript ON usage_ledger (session_id, at);
CREATE INDEX usage_ledger_of_task ON usage_ledger (task_key) WHERE task_key <> '';
CREATE INDEX usage_ledger_of_standup ON usage_ledger (standup_id) WHERE standup_id <> '';
CREATE INDEX usage_ledger_unpriced ON usage_ledger (at) WHERE unpriced > 0;

-- How far each transcript of the runtime has been read.
CREATE TABLE usage_transcripts (
	session_id  TEXT PRIMARY KEY,
	session_key TEXT NOT NULL,
	agent_id    TEXT NOT NULL,
	seq         BIGINT NOT NULL, -- the last row of it whose run is in the ledger, or has none
	version     BIGINT NOT NULL -- the session's last change, in milliseconds since 1970, up to which all is read
);

-- What the runtime last said that a transcript used in all.
CREATE TABLE usage_told (
	session_id  TEXT NOT NULL,
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	input       BIGINT NOT NULL,
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL,
	cost_nano   BIGINT NOT NULL,
	rows_made   BIGINT NOT NULL, -- how many rows the ledger has of kind reconciled for it
	shrunk      BOOLEAN NOT NULL, -- it has said less once: it forgets, and what it lacks is not ours to take away
	PRIMARY KEY (session_id, provider, model)
);

-- Who writes what the transcripts tell, and how many rows there are.
CREATE TABLE usage_state (
	name  TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	until TIMESTAMP, -- of the database's clock; null is free
	grown BIGINT NOT NULL -- rows that the ledger ever got
);
INSERT INTO usage_state (name, owner, until, grown) VALUES ('ledger', '', NULL, 0);

-- The prices that costs are estimated with where the runtime names none, each
-- version whole.
CREATE TABLE usage_prices (
	version BIGINT PRIMARY KEY,
	prices  TEXT NOT NULL, -- JSON, as the API shows it
	made_at TIMESTAMP NOT NULL,
	made_by TEXT NOT NULL -- a name for people to read
);

-- +goose Down
DROP TABLE usage_prices;
DROP TABLE usage_state;
DROP TABLE usage_told;
DROP TABLE usage_transcripts;
DROP TABLE usage_ledger;
