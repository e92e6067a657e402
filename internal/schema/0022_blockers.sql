-- +goose Up

-- What holds participants up, over the days. Owned by standup. One that is open
-- is found again by its task, else by its words; the index keeps it from being
-- open twice.
CREATE TABLE standup_blockers (
	id           TEXT PRIMARY KEY,
	team         TEXT NOT NULL,   -- the key of the team that meets
	agents       TEXT NOT NULL,   -- JSON array: who named it, on the last day that anybody did
	text         TEXT NOT NULL,   -- in their last words
	task         BIGINT,          -- the number of the task that it names first
	board        TEXT NOT NULL,   -- how the board has that task: blocked, open, done, archived or gone; empty without one
	first_seen   TEXT NOT NULL,   -- days, in the timezone of their standups
	last_seen    TEXT NOT NULL,
	days         TEXT NOT NULL,   -- JSON array: those on which it was named, at most the last hundred
	status       TEXT NOT NULL CHECK (status IN ('open', 'ended')),
	cause        TEXT,            -- under which it is in the inbox
	escalated_on TEXT,            -- the day since which it is there
	ended_at     TIMESTAMP,
	ended_why    TEXT,
	ended_in     TEXT,            -- the standup that ended it, when one did
	standup_id   TEXT NOT NULL,   -- the last one that it was named in; it may be deleted since
	created_at   TIMESTAMP NOT NULL,
	updated_at   TIMESTAMP NOT NULL
);
CREATE UNIQUE INDEX standup_blockers_open ON standup_blockers (team, task) WHERE status = 'open' AND task IS NOT NULL;
CREATE INDEX standup_blockers_of_team ON standup_blockers (team, status);
CREATE INDEX standup_blockers_ended ON standup_blockers (team, ended_at);
CREATE INDEX standup_blockers_ended_in ON standup_blockers (ended_in) WHERE ended_in IS NOT NULL;

-- What a standup has done outside of its record, so that holding it once more
-- does not do it twice. Owned by standup.
CREATE TABLE standup_effects (
	standup_id TEXT NOT NULL REFERENCES standups (id) ON DELETE CASCADE,
	seq        INTEGER NOT NULL,
	kind       TEXT NOT NULL CHECK (kind IN ('comment', 'escalation', 'old_blocker', 'task')),
	subject    TEXT NOT NULL, -- the key of a task; the cause of an item of the inbox
	words      TEXT NOT NULL, -- what it said, by which it is recognised
	team       TEXT NOT NULL,
	date       TEXT NOT NULL, -- of the standup
	at         TIMESTAMP NOT NULL,
	PRIMARY KEY (standup_id, seq)
);
CREATE INDEX standup_effects_of_team ON standup_effects (team, kind, date);

-- +goose Down
DROP TABLE standup_effects;
DROP TABLE standup_blockers;
