-- +goose Up

-- Who sent a message to an agent through Wardroom, because the runtime does not know Wardroom's users. The text is in the
-- runtime and in the archive. Owned by session.
CREATE TABLE session_messages (
	run_id      TEXT PRIMARY KEY, -- the ID with which the runtime has the message
	session_key TEXT NOT NULL,
	sender_id   TEXT NOT NULL,
	sender_name TEXT NOT NULL, -- when it was sent, because accounts can be deleted
	sent_at     TIMESTAMP NOT NULL
);

-- Sessions of tasks and standups, and those made in the runtime's dashboard, had the kind custom.
UPDATE archive_sessions SET kind = 'main' WHERE kind IN ('custom', 'direct', '') AND session_key = 'agent:' || agent_id || ':main';
UPDATE archive_sessions SET kind = 'task' WHERE kind IN ('custom', 'direct', '') AND session_key LIKE 'agent:%:task:%';
UPDATE archive_sessions SET kind = 'standup' WHERE kind IN ('custom', 'direct', '') AND session_key LIKE 'agent:%:standup:%';
UPDATE archive_sessions SET kind = 'dashboard' WHERE kind IN ('custom', 'direct', '') AND session_key LIKE 'agent:%:dashboard:%';
