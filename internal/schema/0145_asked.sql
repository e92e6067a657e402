-- +goose Up

-- The table of approvals again, for questions that agents ask through Wardroom: they can wait without an end, be withdrawn, and
-- have an answer that Wardroom delivers. The columns are those of before, except where a comment says otherwise.
CREATE TABLE approvals_new (
	id           TEXT PRIMARY KEY, -- the runtime's ID, or Wardroom's for a question asked through it
	kind         TEXT NOT NULL CHECK (kind IN ('exec', 'plugin', 'question')),
	question     BOOLEAN NOT NULL,
	state        TEXT NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'answered', 'skipped', 'expired', 'aborted', 'lost', 'withdrawn')),
	agent_id     TEXT NOT NULL,
	session_key  TEXT NOT NULL,
	run_id       TEXT NOT NULL,
	task_key     TEXT NOT NULL,
	command      TEXT NOT NULL,
	body         TEXT NOT NULL,
	shown        TEXT NOT NULL,
	created_at   TIMESTAMP NOT NULL,
	expires_at   TIMESTAMP, -- null if it waits until it is answered
	decision     TEXT NOT NULL,
	answers      TEXT NOT NULL,
	decider_id   TEXT NOT NULL,
	decider_name TEXT NOT NULL,
	decider_role TEXT NOT NULL,
	claimed_until TIMESTAMP,
	ended_at     TIMESTAMP,
	author_id    TEXT NOT NULL DEFAULT '', -- the account that asked through Wardroom; empty for requests of the runtime, like the next three
	content      TEXT NOT NULL DEFAULT '', -- digest of the author and the question, to recognize a repeated one
	delivery     TEXT NOT NULL DEFAULT '' CHECK (delivery IN ('', 'due', 'sent', 'failed')), -- of the answer to the agent's session
	delivery_note TEXT NOT NULL DEFAULT '' -- why the answer is still due, or failed
);
INSERT INTO approvals_new (id, kind, question, state, agent_id, session_key, run_id, task_key, command, body, shown, created_at, expires_at,
	decision, answers, decider_id, decider_name, decider_role, claimed_until, ended_at)
SELECT id, kind, question, state, agent_id, session_key, run_id, task_key, command, body, shown, created_at, expires_at,
	decision, answers, decider_id, decider_name, decider_role, claimed_until, ended_at FROM approvals;
DROP TABLE approvals;
ALTER TABLE approvals_new RENAME TO approvals;
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
