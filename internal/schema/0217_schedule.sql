-- +goose Up

-- The runtime's scheduled jobs when Wardroom last read them. Owned by schedule, like all tables in this file.
CREATE TABLE schedule_jobs (
	id           TEXT PRIMARY KEY, -- from the runtime
	definition   TEXT NOT NULL, -- JSON, as in the API
	present      BOOLEAN NOT NULL, -- whether the runtime still has it
	watched_from TIMESTAMP NOT NULL, -- since when it has had this schedule and been enabled; no run is expected before
	next_due     TIMESTAMP, -- first due time that is not in schedule_slots; null if no run is expected
	last_due     TIMESTAMP, -- last due time that is
	alarmed      BOOLEAN NOT NULL, -- it may have an inbox item
	changed_at   TIMESTAMP NOT NULL, -- last write of this row; a list that was read earlier is out of date
	task         TEXT, -- JSON, as in the API: the task that each run makes; null for none
	task_after   TIMESTAMP -- start of the last run whose task was made; earlier runs make none
);
CREATE INDEX schedule_jobs_due ON schedule_jobs (next_due) WHERE next_due IS NOT NULL;

-- Finished runs of these jobs, as the runtime reports them. They stay when the runtime deletes the job.
CREATE TABLE schedule_runs (
	job_id      TEXT NOT NULL,
	started_at  TIMESTAMP NOT NULL,
	ended_at    TIMESTAMP NOT NULL,
	run_id      TEXT NOT NULL, -- empty if the runtime does not report it
	session_key TEXT NOT NULL,
	status      TEXT NOT NULL, -- ok, error or skipped
	error       TEXT NOT NULL,
	summary     TEXT NOT NULL,
	manual      BOOLEAN NOT NULL, -- started by hand
	PRIMARY KEY (job_id, started_at)
);
CREATE INDEX schedule_runs_by_end ON schedule_runs (ended_at, job_id, started_at);

-- One row for each due time of a job, with its outcome.
CREATE TABLE schedule_slots (
	job_id      TEXT NOT NULL,
	due_at      TIMESTAMP NOT NULL,
	agent_id    TEXT NOT NULL, -- at the due time, like the next one
	name        TEXT NOT NULL,
	spread      BIGINT NOT NULL, -- milliseconds by which the runtime may delay the run
	deadline_at TIMESTAMP NOT NULL, -- without a run by then, the slot is missed
	state       TEXT NOT NULL CHECK (state IN ('pending', 'running', 'unknown', 'on_time', 'late', 'missed', 'failed', 'skipped')),
	reason      TEXT NOT NULL,
	started_at  TIMESTAMP, -- of its run
	judged_at   TIMESTAMP, -- start of its state; null in pending
	settled     BOOLEAN NOT NULL, -- the state is final
	look_at     TIMESTAMP, -- when to check it again without news from the runtime; null for never
	PRIMARY KEY (job_id, due_at)
);
CREATE INDEX schedule_slots_by_due ON schedule_slots (due_at, job_id);
CREATE INDEX schedule_slots_settled ON schedule_slots (due_at, job_id) WHERE settled;
CREATE INDEX schedule_slots_open ON schedule_slots (due_at, job_id) WHERE NOT settled;
CREATE INDEX schedule_slots_look ON schedule_slots (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX schedule_slots_failed ON schedule_slots (agent_id, due_at) WHERE state IN ('missed', 'failed');

-- The period whose finished runs are all known, in one row.
CREATE TABLE schedule_reading (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	known_from TIMESTAMP NOT NULL,
	known_to   TIMESTAMP NOT NULL,
	boot_id    TEXT NOT NULL DEFAULT '', -- the gateway's process at the last read
	away_from  TIMESTAMP, -- the last time without a connection, which explains runs that did not start
	away_to    TIMESTAMP,
	restarted  BOOLEAN NOT NULL DEFAULT FALSE -- the gateway was restarted during that time
);
