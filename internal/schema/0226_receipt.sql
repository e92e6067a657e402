-- +goose Up

-- What the runtime recorded of the work behind each report of an agent that a task is done. Owned by receipt.
CREATE TABLE receipts (
	id          TEXT PRIMARY KEY,
	task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
	agent_id    TEXT NOT NULL,
	user_id     TEXT NOT NULL, -- the agent's account
	reported_at TIMESTAMP NOT NULL,
	claim       TEXT NOT NULL, -- what the agent reported
	checks      TEXT NOT NULL, -- JSON array of the task's checks at that time
	pending     BOOLEAN NOT NULL, -- the transcripts may still grow
	source      TEXT NOT NULL, -- identifies the transcripts that the receipt was made from
	made_at     TIMESTAMP, -- null until they were first read
	grade       TEXT NOT NULL,
	body        TEXT NOT NULL, -- JSON: gaps, checks and what was seen
	verdict     TEXT NOT NULL, -- approved or sent_back; empty before
	verdict_by  TEXT NOT NULL, -- the person's name
	verdict_at  TIMESTAMP
);
CREATE INDEX receipts_of_task ON receipts (task_id, reported_at);
CREATE INDEX receipts_of_agent ON receipts (agent_id, verdict);
CREATE INDEX receipts_pending ON receipts (reported_at) WHERE pending;
