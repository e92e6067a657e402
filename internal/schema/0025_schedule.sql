-- +goose Up

-- The runtime's timed jobs, as they were last seen there. Owned by schedule.
CREATE TABLE schedule_jobs (
	id           TEXT PRIMARY KEY, -- the runtime's
	definition   TEXT NOT NULL, -- JSON, as the API shows it
	present      BOOLEAN NOT NULL, -- false when the runtime has it no more
	watched_from TIMESTAMP NOT NULL, -- nothing is expected before: since when it has been enabled with its present schedule
	next_due     TIMESTAMP, -- the first time that is not in the ledger; null when none is expected
	last_due     TIMESTAMP, -- the last one that is
	alarmed      BOOLEAN NOT NULL, -- something about it may wait in the inbox
	changed_at   TIMESTAMP NOT NULL -- when this row was last written; a list that was read before has nothing to say of it
);
CREATE INDEX schedule_jobs_due ON schedule_jobs (next_due) WHERE next_due IS NOT NULL;

-- Their runs that have ended, as the runtime tells them. They stay when it
-- forgets the job. Owned by schedule.
CREATE TABLE schedule_runs (
	job_id      TEXT NOT NULL,
	started_at  TIMESTAMP NOT NULL,
	ended_at    TIMESTAMP NOT NULL,
	run_id      TEXT NOT NULL, -- empty when the runtime does not say
	session_key TEXT NOT NULL,
	status      TEXT NOT NULL, -- ok, error or skipped
	error       TEXT NOT NULL,
	summary     TEXT NOT NULL,
	manual      BOOLEAN NOT NULL, -- somebody had it run
	PRIMARY KEY (job_id, started_at)
);
CREATE INDEX schedule_runs_by_end ON schedule_runs (ended_at, job_id, started_at);

-- The slot ledger: one row for each time at which a job was to run, and what
-- became of it. Owned by schedule.
CREATE TABLE schedule_slots (
	job_id      TEXT NOT NULL,
	due_at      TIMESTAMP NOT NULL,
	agent_id    TEXT NOT NULL, -- this and the name as they were then
	name        TEXT NOT NULL,
	spread      BIGINT NOT NULL, -- milliseconds by which the runtime may move it by itself
	deadline_at TIMESTAMP NOT NULL, -- without a run by then it is missed
	state       TEXT NOT NULL CHECK (state IN ('pending', 'running', 'unknown', 'on_time', 'late', 'missed', 'failed', 'skipped')),
	reason      TEXT NOT NULL,
	started_at  TIMESTAMP, -- of its run
	judged_at   TIMESTAMP, -- when its state became what it is; null while it is pending
	settled     BOOLEAN NOT NULL, -- nothing changes any more
	look_at     TIMESTAMP, -- when to look at it again although nothing has been heard; null for never
	PRIMARY KEY (job_id, due_at)
);
CREATE INDEX schedule_slots_by_due ON schedule_slots (due_at, job_id);
CREATE INDEX schedule_slots_settled ON schedule_slots (due_at, job_id) WHERE settled;
CREATE INDEX schedule_slots_open ON schedule_slots (due_at, job_id) WHERE NOT settled;
CREATE INDEX schedule_slots_look ON schedule_slots (look_at) WHERE look_at IS NOT NULL;

-- How much is known of the runs, one row: all that ended from a time to another.
-- Owned by schedule.
CREATE TABLE schedule_reading (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	known_from TIMESTAMP NOT NULL,
	known_to   TIMESTAMP NOT NULL
);

-- +goose Down
DROP TABLE schedule_reading;
DROP TABLE schedule_slots;
DROP TABLE schedule_runs;
DROP TABLE schedule_jobs;
