-- +goose Up

-- Sums of the ledger by hour and by day in UTC, and totals of tasks and transcripts. Each row of the ledger is added
-- here in its transaction. Owned by usage.
CREATE TABLE usage_rollup (
	dimension   TEXT NOT NULL, -- agent, model, source, session, job, task, standup or transcript; empty: everything
	span        BIGINT NOT NULL, -- milliseconds of an hour or a day; 0: all time
	start       BIGINT NOT NULL, -- milliseconds since 1970; 0 for all time
	name        TEXT NOT NULL, -- of the agent, the model and so on; empty for rows without one
	runs        BIGINT NOT NULL,
	unpriced    BIGINT NOT NULL,
	corrections BIGINT NOT NULL, -- number of rows that are not runs
	priced      BIGINT NOT NULL, -- number of rows with a price
	input       BIGINT NOT NULL,
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL,
	cost        BIGINT NOT NULL, -- nano-dollars
	estimated   BIGINT NOT NULL, -- the estimated part of cost
	calls       BIGINT NOT NULL, -- model calls
	took        BIGINT NOT NULL, -- milliseconds
	PRIMARY KEY (dimension, span, start, name)
) WITHOUT ROWID;
