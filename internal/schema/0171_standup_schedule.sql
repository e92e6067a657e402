-- +goose Up

-- The runtime's jobs are only in schedule_jobs. standup_schedules keeps which of them starts a team's standups.
ALTER TABLE standup_schedules ADD COLUMN job_id TEXT NOT NULL DEFAULT '';
ALTER TABLE standup_schedules DROP COLUMN job;
ALTER TABLE standup_schedules DROP COLUMN present;
ALTER TABLE standup_schedules DROP COLUMN seen_at;
ALTER TABLE standup_schedules DROP COLUMN version;
