-- +goose Up

-- The last run of each retention policy. Owned by retention.
CREATE TABLE retention_runs (
	policy      TEXT PRIMARY KEY,
	job_id      TEXT NOT NULL,      -- job of the run, which may have been deleted
	cutoff      TIMESTAMP NOT NULL, -- what is older is deleted
	started_at  TIMESTAMP NOT NULL,
	finished_at TIMESTAMP,          -- null while it runs
	gone        BIGINT NOT NULL,    -- number of deleted rows
	failure     TEXT                -- null if it succeeded
);
