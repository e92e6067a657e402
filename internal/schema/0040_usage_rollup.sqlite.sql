-- +goose Up

-- Sums of the ledger by hour and by day of UTC, and of tasks and
-- transcripts as a whole. Written with each row of the ledger, in the same
-- transaction. 0041 fills it. Owned by usage.
CREATE TABLE usage_rollup (
	dimension   TEXT NOT NULL, -- agent, model, source, session, job, task, standup or transcript; empty: everything
	span        BIGINT NOT NULL, -- milliseconds of an hour or a day; 0: from the first row to the last
	start       BIGINT NOT NULL, -- milliseconds since 1970; 0 where span is 0
	name        TEXT NOT NULL, -- of the agent, the model and so on; empty for rows that have none
	runs        BIGINT NOT NULL,
	unpriced    BIGINT NOT NULL,
	corrections BIGINT NOT NULL, -- rows that are not runs
	priced      BIGINT NOT NULL, -- rows with a price
	input       BIGINT NOT NULL,
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL,
	cost        BIGINT NOT NULL, -- billionths of a dollar
	estimated   BIGINT NOT NULL, -- the part of cost that was estimated
	PRIMARY KEY (dimension, span, start, name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE usage_rollup;
