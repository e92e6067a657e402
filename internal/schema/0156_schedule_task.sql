-- +goose Up

-- The task that each run of a job makes. The mirror of the runtime's jobs leaves these columns alone.
ALTER TABLE schedule_jobs ADD COLUMN task TEXT; -- JSON, as in the API; null for none
ALTER TABLE schedule_jobs ADD COLUMN task_after TIMESTAMP; -- start of the last run whose task was made; earlier runs make none
