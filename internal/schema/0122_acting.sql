-- +goose Up

-- What people decided since the team's last standup: JSON array, as in the API. Owned by standup.
ALTER TABLE standups ADD COLUMN decisions TEXT NOT NULL DEFAULT '[]';

-- The run that the item is about; null if none is known. Owned by inbox.
ALTER TABLE inbox_items ADD COLUMN session_key TEXT;
ALTER TABLE inbox_items ADD COLUMN run_id TEXT;

-- The gateway's process at the last read, and the last time without a connection, which explains runs that did not
-- start. Owned by schedule.
ALTER TABLE schedule_reading ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
ALTER TABLE schedule_reading ADD COLUMN away_from TIMESTAMP;
ALTER TABLE schedule_reading ADD COLUMN away_to TIMESTAMP;
ALTER TABLE schedule_reading ADD COLUMN restarted BOOLEAN NOT NULL DEFAULT FALSE; -- while it was away
