-- +goose Up

-- What the agents' runs used and cost, one row per run and model. Rows are only added: a further row corrects a wrong
-- one, and rows stay when the runtime deletes the session. Owned by usage, like all tables in this file.
CREATE TABLE usage_ledger (
	run_id      TEXT NOT NULL, -- from the runtime; Wardroom's own for rows that are not runs
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	kind        TEXT NOT NULL, -- run; answered: a run whose transcript replaces it; reconciled: corrects the sum to the runtime's total; priced: adds a missing price
	at          BIGINT NOT NULL, -- end of the run in milliseconds since 1970, which periods use on both engines
	started_at  TIMESTAMP,
	ended_at    TIMESTAMP NOT NULL,
	noted_at    TIMESTAMP NOT NULL,
	agent_id    TEXT NOT NULL,
	session_key TEXT NOT NULL,
	session_id  TEXT NOT NULL, -- of the transcript; empty until known, and the only column that changes in other rows than answered
	source      TEXT NOT NULL, -- human, schedule, heartbeat, sub_agent, standup, task or unknown
	job_id      TEXT NOT NULL,
	task_key    TEXT NOT NULL,
	standup_id  TEXT NOT NULL,
	input       BIGINT NOT NULL, -- tokens, like the next four
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL, -- in the runtime's total but in none of the four
	cost_nano   BIGINT, -- nano-dollars; null without a price
	price       TEXT NOT NULL, -- runtime, estimated or unpriced
	price_table BIGINT, -- version in usage_prices that the estimate used
	runs        BIGINT NOT NULL, -- 1 for a run and an answered one, 0 for the other kinds
	unpriced    BIGINT NOT NULL, -- 1 without a price, negative for a row that adds missing prices
	calls       BIGINT NOT NULL, -- model calls
	took        BIGINT NOT NULL, -- milliseconds; those of a run's models add up to the time of the run
	PRIMARY KEY (run_id, provider, model)
);
CREATE INDEX usage_ledger_by_time ON usage_ledger (at);
CREATE INDEX usage_ledger_of_agent ON usage_ledger (agent_id, at);
CREATE INDEX usage_ledger_of_transcript ON usage_ledger (session_id, at);
CREATE INDEX usage_ledger_unpriced ON usage_ledger (at) WHERE unpriced > 0;
CREATE INDEX usage_ledger_of_task ON usage_ledger (task_key, agent_id) WHERE task_key <> '';

-- How far Wardroom has read each of the runtime's transcripts.
CREATE TABLE usage_transcripts (
	session_id  TEXT PRIMARY KEY,
	session_key TEXT NOT NULL,
	agent_id    TEXT NOT NULL,
	seq         BIGINT NOT NULL, -- last message whose run is in the ledger, or that belongs to no run
	version     BIGINT NOT NULL -- state of the session that was read; see gateway.Session.Version
);

-- The runtime's last totals for each transcript.
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
	rows_made   BIGINT NOT NULL, -- number of its rows of kind reconciled in the ledger
	shrunk      BOOLEAN NOT NULL, -- the total once decreased, so the runtime deletes usage that the ledger keeps
	PRIMARY KEY (session_id, provider, model)
);

-- Usage that a transcript shares with the one it was copied from. The runtime copies a session that is forked or
-- rewound together with its usage. The ledger has this usage already, but the totals of the copy include it again.
CREATE TABLE usage_inherited (
	session_id  TEXT NOT NULL, -- of the copy
	run_id      TEXT NOT NULL, -- as in the ledger
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	input       BIGINT NOT NULL, -- tokens, like the next four
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL,
	cost_nano   BIGINT NOT NULL, -- nano-dollars of what the runtime priced
	PRIMARY KEY (session_id, run_id, provider, model)
);

-- What running runs have used so far, one row per run and model. A run in the ledger is no longer here.
CREATE TABLE usage_going (
	run_id      TEXT NOT NULL,
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	read_at     TIMESTAMP NOT NULL,
	at          BIGINT NOT NULL, -- last use in milliseconds since 1970
	started_at  TIMESTAMP,
	agent_id    TEXT NOT NULL,
	session_key TEXT NOT NULL,
	session_id  TEXT NOT NULL, -- of the transcript
	source      TEXT NOT NULL, -- as in usage_ledger, like all that follow
	job_id      TEXT NOT NULL,
	task_key    TEXT NOT NULL,
	standup_id  TEXT NOT NULL,
	input       BIGINT NOT NULL,
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL,
	cost_nano   BIGINT,
	price       TEXT NOT NULL,
	calls       BIGINT NOT NULL,
	took        BIGINT NOT NULL, -- until it was read
	PRIMARY KEY (run_id, provider, model)
);
CREATE INDEX usage_going_of_transcript ON usage_going (session_id);

-- Which process writes the ledger, in one row.
CREATE TABLE usage_state (
	name  TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	until TIMESTAMP, -- by the database's clock; null if no process does
	grown BIGINT NOT NULL, -- number of rows ever added to the ledger
	since TIMESTAMP -- when Wardroom first read the runtime; earlier usage may be incomplete
);
INSERT INTO usage_state (name, owner, until, grown) VALUES ('ledger', '', NULL, 0);

-- Versions of the prices with which Wardroom estimates costs that the runtime does not report.
CREATE TABLE usage_prices (
	version BIGINT PRIMARY KEY,
	prices  TEXT NOT NULL, -- JSON, as in the API
	made_at TIMESTAMP NOT NULL,
	made_by TEXT NOT NULL -- name of the user
);
