-- +goose Up

-- Background jobs that survive crashes. Owned by platform/job, like all tables in this file.
CREATE TABLE jobs (
	id          TEXT PRIMARY KEY,
	kind        TEXT NOT NULL,
	key         TEXT NOT NULL, -- what the job works on; only one job per kind and key is ready or running
	payload     TEXT NOT NULL, -- JSON
	state       TEXT NOT NULL CHECK (state IN ('ready', 'running', 'done', 'failed', 'cancelled')),
	run_at      TIMESTAMP NOT NULL,
	attempt     INTEGER NOT NULL, -- with owner, the fencing token: a write of an earlier attempt changes nothing
	failures    INTEGER NOT NULL, -- attempts that ended with an error or with their process
	owner       TEXT,
	lease_until TIMESTAMP,
	last_error  TEXT,
	created_at  TIMESTAMP NOT NULL,
	finished_at TIMESTAMP
);
CREATE UNIQUE INDEX jobs_one_alive ON jobs (kind, key) WHERE state IN ('ready', 'running');
CREATE INDEX jobs_ready ON jobs (run_at) WHERE state = 'ready';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE job_steps (
	job_id  TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	name    TEXT NOT NULL,
	result  TEXT NOT NULL, -- JSON
	done_at TIMESTAMP NOT NULL,
	PRIMARY KEY (job_id, name)
);

-- The next due time of each timer.
CREATE TABLE job_timers (
	name    TEXT PRIMARY KEY,
	next_at TIMESTAMP NOT NULL
);
