-- +goose Up

-- The one log of what happened. Owned by event. Ids are numbers in commit
-- order: they come from event_counter, whose row is locked until the commit.
CREATE TABLE events (
	id           BIGINT PRIMARY KEY,
	at           TIMESTAMP NOT NULL,
	class        TEXT NOT NULL CHECK (class IN ('activity', 'audit')), -- who may read it and how long it is kept
	kind         TEXT NOT NULL, -- such as task.changed
	actor_id     TEXT NOT NULL,
	actor_name   TEXT NOT NULL, -- as it was then: history outlives accounts
	subject_kind TEXT NOT NULL, -- such as task
	subject_id   TEXT NOT NULL,
	subject_name TEXT NOT NULL, -- as it was then, such as TASK-12
	data         TEXT NOT NULL  -- JSON
);
CREATE INDEX events_of_subject ON events (subject_kind, subject_id, id);
CREATE INDEX events_by_time ON events (at);

CREATE TABLE event_counter (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	last BIGINT NOT NULL
);
INSERT INTO event_counter (one, last) VALUES (1, 0);

-- +goose Down
DROP TABLE event_counter;
DROP TABLE events;
