-- +goose Up

-- Each time a task was dispatched to its agent. Owned by dispatch.
CREATE TABLE dispatches (
	id           TEXT PRIMARY KEY,
	task_id      TEXT NOT NULL REFERENCES tasks (id),
	task_key     TEXT NOT NULL,
	agent_id     TEXT NOT NULL,
	user_id      TEXT NOT NULL, -- the agent's account, to which the task was assigned
	by_name      TEXT NOT NULL, -- who dispatched it
	session_key  TEXT NOT NULL,
	first_number INTEGER NOT NULL, -- number of the first question
	number       INTEGER NOT NULL, -- number of the current question; grows when one is lost with the gateway's process
	run_id       TEXT NOT NULL UNIQUE, -- of the current question
	message      TEXT NOT NULL, -- the question; empty after the end
	state        TEXT NOT NULL CHECK (state IN ('queued', 'started', 'ended', 'failed')),
	since        TIMESTAMP NOT NULL, -- start of the state
	waiting      TEXT, -- why it has not started
	sent         BOOLEAN NOT NULL, -- the question may have reached the gateway
	boot_id      TEXT NOT NULL, -- identifies the gateway process that accepted it; empty before
	asked_at     TIMESTAMP, -- when the gateway first accepted it
	start_by     TIMESTAMP NOT NULL, -- it fails if it has not started by then
	end_by       TIMESTAMP, -- it fails if it has not ended by then
	error_code   TEXT,
	error_detail TEXT,
	created_at   TIMESTAMP NOT NULL,
	ended_at     TIMESTAMP
);
CREATE INDEX dispatches_of_task ON dispatches (task_id, number);
CREATE INDEX dispatches_alive ON dispatches (task_id) WHERE state IN ('queued', 'started');
CREATE INDEX dispatches_failed ON dispatches (agent_id, ended_at) WHERE state = 'failed';
