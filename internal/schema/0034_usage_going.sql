-- +goose Up

-- What runs that are going have used so far, a row for each run and model, as it
-- was last read. A run that is noted in the ledger is not here any more. Owned by
-- usage.
CREATE TABLE usage_going (
	run_id      TEXT NOT NULL,
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	read_at     TIMESTAMP NOT NULL,
	at          BIGINT NOT NULL, -- when it last used anything, in milliseconds since 1970
	started_at  TIMESTAMP,
	agent_id    TEXT NOT NULL,
	session_key TEXT NOT NULL,
	session_id  TEXT NOT NULL, -- of the transcript
	source      TEXT NOT NULL, -- as in usage_ledger, as what follows
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
	PRIMARY KEY (run_id, provider, model)
);
CREATE INDEX usage_going_of_transcript ON usage_going (session_id);

-- +goose Down
DROP TABLE usage_going;
