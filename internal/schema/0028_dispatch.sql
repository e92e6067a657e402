-- +goose Up

-- What a card shows that changes without a version of the task.
ALTER TABLE tasks ADD COLUMN dispatch TEXT; -- JSON, as the API shows the last time it was handed to its agent; null when it never was
ALTER TABLE tasks ADD COLUMN cost_nano BIGINT; -- what its runs cost as the usage ledger has it, in nano-dollars; null when unknown
ALTER TABLE tasks ADD COLUMN tokens TEXT; -- JSON, as the API shows it; null when no run is known
ALTER TABLE tasks ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0; -- how many of its runs have no price
ALTER TABLE tasks ADD COLUMN shown BIGINT NOT NULL DEFAULT 0; -- counts the changes of these columns

UPDATE tasks SET
	cost_nano = (SELECT CAST(SUM(cost_nano) AS BIGINT) FROM usage_ledger WHERE task_key = 'TASK-' || CAST(tasks.number AS TEXT) AND task_key <> ''),
	unpriced = (SELECT CAST(COALESCE(SUM(usage_ledger.unpriced), 0) AS BIGINT) FROM usage_ledger WHERE task_key = 'TASK-' || CAST(tasks.number AS TEXT) AND task_key <> ''),
	tokens = (SELECT '{"input":' || CAST(SUM(input) AS TEXT) || ',"output":' || CAST(SUM(output) AS TEXT) || ',"cache_read":' || CAST(SUM(cache_read) AS TEXT)
			|| ',"cache_write":' || CAST(SUM(cache_write) AS TEXT) || ',"other":' || CAST(SUM(other) AS TEXT) || '}'
		FROM usage_ledger WHERE task_key = 'TASK-' || CAST(tasks.number AS TEXT) AND task_key <> '')
WHERE EXISTS (SELECT 1 FROM usage_ledger WHERE task_key = 'TASK-' || CAST(tasks.number AS TEXT) AND task_key <> '');

-- Each time a task was handed to its agent. Owned by dispatch.
CREATE TABLE dispatches (
	id           TEXT PRIMARY KEY,
	task_id      TEXT NOT NULL REFERENCES tasks (id),
	task_key     TEXT NOT NULL,
	agent_id     TEXT NOT NULL,
	user_id      TEXT NOT NULL, -- the agent's account, whose task it was
	by_name      TEXT NOT NULL, -- who handed it over
	session_key  TEXT NOT NULL,
	first_number INTEGER NOT NULL, -- the n of the first question
	number       INTEGER NOT NULL, -- and of the present one: it grows when one was lost with the gateway's process
	run_id       TEXT NOT NULL UNIQUE, -- of the present question
	message      TEXT NOT NULL, -- what the agent is told; empty once it has ended
	state        TEXT NOT NULL CHECK (state IN ('queued', 'started', 'ended', 'failed')),
	since        TIMESTAMP NOT NULL, -- when it came into its state
	waiting      TEXT, -- why it has not begun
	sent         BOOLEAN NOT NULL, -- the question may have left for the gateway
	boot_id      TEXT NOT NULL, -- of the gateway that took it; empty before
	asked_at     TIMESTAMP, -- when the gateway first took it
	start_by     TIMESTAMP NOT NULL, -- it has failed when it has not begun by then
	end_by       TIMESTAMP, -- and when it has not ended by then
	error_code   TEXT,
	error_detail TEXT,
	created_at   TIMESTAMP NOT NULL,
	ended_at     TIMESTAMP
);
CREATE INDEX dispatches_of_task ON dispatches (task_id, number);
CREATE INDEX dispatches_failed ON dispatches (agent_id, ended_at) WHERE state = 'failed';

-- Sessions whose run has stopped telling of itself, until an hour after that run
-- is over. Owned by session.
CREATE TABLE stalled_runs (
	session_key TEXT PRIMARY KEY,
	stalled     BOOLEAN NOT NULL, -- false: it has told something since, or is over
	last_sign   TIMESTAMP NOT NULL -- when it last told anything, as far as any replica knows
);

-- What one agent's page reads.
CREATE INDEX usage_ledger_of_agent ON usage_ledger (agent_id, at);
CREATE INDEX standup_reports_by_agent ON standup_reports (agent_id, standup_id); -- ids grow with time
CREATE INDEX schedule_slots_failed ON schedule_slots (agent_id, due_at) WHERE state IN ('missed', 'failed');

-- +goose Down
DROP INDEX schedule_slots_failed;
DROP INDEX standup_reports_by_agent;
DROP INDEX usage_ledger_of_agent;
DROP TABLE stalled_runs;
DROP TABLE dispatches;
ALTER TABLE tasks DROP COLUMN shown;
ALTER TABLE tasks DROP COLUMN unpriced;
ALTER TABLE tasks DROP COLUMN tokens;
ALTER TABLE tasks DROP COLUMN cost_nano;
ALTER TABLE tasks DROP COLUMN dispatch;
