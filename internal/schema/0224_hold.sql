-- +goose Up

-- Agents that may not run. A row without released_at is in force; the newest released one remains for its history. Owned by hold.
CREATE TABLE agent_holds (
	id             TEXT PRIMARY KEY,
	agent_id       TEXT NOT NULL,
	reason         TEXT NOT NULL,
	by_id          TEXT NOT NULL,
	by_name        TEXT NOT NULL,
	since          TIMESTAMP NOT NULL,
	state          TEXT NOT NULL CHECK (state IN ('held', 'releasing', 'released')),
	runtime        TEXT NOT NULL CHECK (runtime IN ('pending', 'held', 'unavailable', 'restored')), -- what the runtime does of it
	runtime_detail TEXT NOT NULL, -- why the runtime does not do it, or not yet
	before         TEXT NOT NULL, -- JSON: what the configuration and the jobs were; empty until the hold touches the runtime
	retry_at       TIMESTAMP, -- when a job is to continue; null if nothing is left to do
	released_at    TIMESTAMP
);
CREATE UNIQUE INDEX agent_holds_in_force ON agent_holds (agent_id) WHERE released_at IS NULL;
