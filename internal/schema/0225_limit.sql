-- +goose Up

-- Limits on what agents spend. Owned by limit, like all tables in this file.
CREATE TABLE spend_limits (
	id         TEXT PRIMARY KEY,
	scope      TEXT NOT NULL, -- all, agent, model, job or task
	scope_id   TEXT NOT NULL, -- of the agent, the model and so on; empty for all
	measure    TEXT NOT NULL, -- usd or tokens
	span       TEXT NOT NULL, -- run, hour, day, week or month
	timezone   TEXT NOT NULL,
	amount     BIGINT NOT NULL, -- nano-dollars or tokens
	act        TEXT NOT NULL, -- tell, stop or hold
	created_at TIMESTAMP NOT NULL,
	updated_at TIMESTAMP NOT NULL,
	version    BIGINT NOT NULL
);

-- What people allowed in addition, in one period of a limit.
CREATE TABLE spend_limit_allowances (
	limit_id TEXT NOT NULL,
	period   TEXT NOT NULL, -- start of the period in milliseconds since 1970, or the ID of a run
	amount   BIGINT NOT NULL,
	PRIMARY KEY (limit_id, period)
);

-- When usage crossed a level of a limit. The key lets one process act once.
CREATE TABLE spend_limit_crossings (
	limit_id TEXT NOT NULL,
	period   TEXT NOT NULL,
	level    BIGINT NOT NULL, -- 80 or 100 percent
	amount   BIGINT NOT NULL, -- of the limit, with the allowance
	used     BIGINT NOT NULL,
	at       TIMESTAMP NOT NULL,
	ends_at  TIMESTAMP, -- end of the period; null for a run
	closed   BOOLEAN NOT NULL, -- the period has ended, and its inbox item has been resolved
	PRIMARY KEY (limit_id, period, level, amount)
);
CREATE INDEX spend_limit_crossings_open ON spend_limit_crossings (ends_at) WHERE NOT closed;
