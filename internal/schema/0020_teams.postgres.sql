-- +goose Up

-- Whose standups there are. Owned by standup. What is null follows the settings.
CREATE TABLE teams (
	id               TEXT PRIMARY KEY,
	key              TEXT NOT NULL UNIQUE, -- how people name it; never changes
	name             TEXT NOT NULL,
	facilitator      TEXT, -- an agent_id
	participants     TEXT, -- JSON array of agent_ids
	timezone         TEXT,
	agent_timeout_ms BIGINT,
	deadline_ms      BIGINT,
	archived_at      TIMESTAMP,
	created_at       TIMESTAMP NOT NULL,
	updated_at       TIMESTAMP NOT NULL,
	version          BIGINT NOT NULL
);
INSERT INTO teams (id, key, name, created_at, updated_at, version)
SELECT '00000000-0000-7000-8000-000000000001', 'executive', 'Executive team', at, at, 1 FROM (SELECT DATE_TRUNC('second', NOW() AT TIME ZONE 'UTC') AS at) AS now;

-- A day has one standup of each team.
ALTER TABLE standups ADD COLUMN team TEXT NOT NULL DEFAULT 'executive'; -- its key
ALTER TABLE standups ADD COLUMN agent_timeout_ms BIGINT; -- of the last attempt; null before the first, and in standups that are older than teams
ALTER TABLE standups ADD COLUMN deadline_ms BIGINT;
ALTER TABLE standups ADD COLUMN roll TEXT NOT NULL DEFAULT ''; -- its reports in brief, for lists: a line for each with the agent's id, the status and the name
UPDATE standups SET roll = COALESCE((SELECT STRING_AGG(r.agent_id || ' ' || r.status || ' ' || r.name, CHR(10) ORDER BY r.place) FROM standup_reports r WHERE r.standup_id = standups.id), '');
ALTER TABLE standups ALTER COLUMN team DROP DEFAULT;
ALTER TABLE standups DROP CONSTRAINT standups_date_key;
DROP INDEX standups_of_status;
CREATE UNIQUE INDEX standups_of_team ON standups (team, date);
CREATE INDEX standups_of_day ON standups (date, team);
CREATE INDEX standups_of_status ON standups (status, date, team);

-- +goose Down
DELETE FROM standups WHERE team <> 'executive';
DROP INDEX standups_of_status;
DROP INDEX standups_of_day;
DROP INDEX standups_of_team;
ALTER TABLE standups DROP COLUMN roll;
ALTER TABLE standups DROP COLUMN deadline_ms;
ALTER TABLE standups DROP COLUMN agent_timeout_ms;
ALTER TABLE standups DROP COLUMN team;
ALTER TABLE standups ADD CONSTRAINT standups_date_key UNIQUE (date);
CREATE INDEX standups_of_status ON standups (status, date);
DROP TABLE teams;
