-- +goose Up

-- The log of all events. Owned by event, like all tables in this file.
CREATE TABLE events (
	id           BIGINT PRIMARY KEY, -- in commit order, from event_counter
	at           TIMESTAMP NOT NULL,
	class        TEXT NOT NULL CHECK (class IN ('activity', 'audit')), -- decides who may read it and how long it is kept
	kind         TEXT NOT NULL, -- such as task.changed
	actor_id     TEXT NOT NULL,
	actor_name   TEXT NOT NULL, -- at the time of the event, because accounts can be deleted
	subject_kind TEXT NOT NULL, -- such as task
	subject_id   TEXT NOT NULL,
	subject_name TEXT NOT NULL, -- at the time of the event, such as TASK-12
	data         TEXT NOT NULL, -- JSON
	via          TEXT NOT NULL DEFAULT '', -- api, command or service; empty for activity
	address      TEXT NOT NULL DEFAULT ''  -- IP address of the caller; empty for activity
);
CREATE INDEX events_of_subject ON events (subject_id, id);
CREATE INDEX events_of_subject_kind ON events (subject_kind, id);
CREATE INDEX events_of_class ON events (class, id);
CREATE INDEX events_of_kind ON events (kind, class, id);
CREATE INDEX events_of_actor ON events (actor_id, class, id, subject_kind);
CREATE INDEX events_by_time ON events (at);
-- For the history of a deleted task, which can be read by the task's key, and for an agent's reports on its tasks.
CREATE INDEX events_of_deleted_tasks ON events (subject_name, id) WHERE kind = 'task.deleted';
CREATE INDEX events_of_reports ON events (actor_id, at) WHERE kind = 'task.reported';
-- The events that retention deletes. The index uses an expression, so that neither engine chooses another index and
-- reads the old events that stay.
CREATE INDEX events_passing ON events ((CASE WHEN class = 'activity' AND subject_kind <> 'task' THEN at END), id)
	WHERE (CASE WHEN class = 'activity' AND subject_kind <> 'task' THEN at END) IS NOT NULL;

CREATE TABLE event_counter (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	last   BIGINT NOT NULL,
	purged BIGINT NOT NULL DEFAULT 0, -- highest ID that retention has deleted; a client cannot resume before it
	tasks  TEXT NOT NULL DEFAULT '' -- new after each event that can change a list of tasks
);
INSERT INTO event_counter (one, last) VALUES (1, 0);
