-- +goose Up

-- What each policy of retention did last. Owned by retention.
CREATE TABLE retention_runs (
	policy      TEXT PRIMARY KEY,
	job_id      TEXT NOT NULL,      -- in which it did so; the job itself may be gone
	cutoff      TIMESTAMP NOT NULL, -- what is older was to go
	started_at  TIMESTAMP NOT NULL,
	finished_at TIMESTAMP,          -- null while it goes on
	gone        BIGINT NOT NULL,    -- how much has gone, counted in the transactions that did it
	failure     TEXT                -- null when it went well
);

-- The events that retention takes, the oldest first; of the others, the
-- histories of tasks and the audit, it has nothing. It is of an expression, and
-- not of "at", so that neither engine takes another index instead and reads all
-- the old events that stay, again for every few that go.
CREATE INDEX events_passing ON events ((CASE WHEN class = 'activity' AND subject_kind <> 'task' THEN at END), id)
	WHERE (CASE WHEN class = 'activity' AND subject_kind <> 'task' THEN at END) IS NOT NULL;

-- +goose Down
DROP INDEX events_passing;
DROP TABLE retention_runs;
