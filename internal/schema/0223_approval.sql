-- +goose Up

-- Approvals of the runtime's agents and questions, also those that agents ask through Wardroom, which wait for a person.
-- Owned by approval.
CREATE TABLE approvals (
	id            TEXT PRIMARY KEY, -- the runtime's ID, or Wardroom's for a question asked through it
	kind          TEXT NOT NULL CHECK (kind IN ('exec', 'plugin', 'question')),
	question      BOOLEAN NOT NULL, -- whether the kind is question
	state         TEXT NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'answered', 'skipped', 'expired', 'aborted', 'lost', 'withdrawn')),
	agent_id      TEXT NOT NULL,
	session_key   TEXT NOT NULL, -- may be empty
	run_id        TEXT NOT NULL, -- may be empty
	task_key      TEXT NOT NULL, -- empty if the session does not belong to a task
	command       TEXT NOT NULL, -- digest of the command, to find the earlier decisions about it; empty for questions
	body          TEXT NOT NULL, -- JSON: the request as people see it, without secrets
	shown         TEXT NOT NULL, -- digest of the request as the runtime sent it
	created_at    TIMESTAMP NOT NULL,
	expires_at    TIMESTAMP, -- null if it waits until it is answered
	decision      TEXT NOT NULL, -- allow-once, allow-always or deny; while claimed, the intended one, or answer or skip; else empty
	answers       TEXT NOT NULL, -- JSON: the answers to a question, by part
	decider_id    TEXT NOT NULL, -- of who answers or has answered, like the next two; empty if nobody or not through Wardroom
	decider_name  TEXT NOT NULL,
	decider_role  TEXT NOT NULL,
	claimed_until TIMESTAMP, -- while pending: until when the decider's answer may be on its way to the runtime
	ended_at      TIMESTAMP, -- null while pending
	author_id     TEXT NOT NULL DEFAULT '', -- the account that asked through Wardroom; empty for requests of the runtime, like the next three
	content       TEXT NOT NULL DEFAULT '', -- digest of the author and the question, to recognize a repeated one
	delivery      TEXT NOT NULL DEFAULT '' CHECK (delivery IN ('', 'due', 'sent', 'failed')), -- of the answer to the agent's session
	delivery_note TEXT NOT NULL DEFAULT '' -- why the answer is still due, or failed
);
CREATE INDEX approvals_pending ON approvals (question, created_at, id) WHERE state = 'pending';
CREATE INDEX approvals_by_time ON approvals (question, created_at, id);
CREATE INDEX approvals_of_agent ON approvals (question, agent_id, created_at, id);
CREATE INDEX approvals_of_session ON approvals (question, session_key, created_at, id);
CREATE INDEX approvals_of_task ON approvals (question, task_key, created_at, id);
CREATE INDEX approvals_of_command ON approvals (command, ended_at) WHERE decision <> '' AND ended_at IS NOT NULL;
CREATE INDEX approvals_ended ON approvals (ended_at, id) WHERE state <> 'pending';
CREATE UNIQUE INDEX approvals_asked ON approvals (content) WHERE content <> '' AND state = 'pending';
CREATE INDEX approvals_content ON approvals (content, created_at) WHERE content <> '';
CREATE INDEX approvals_due ON approvals (ended_at, id) WHERE delivery = 'due';
