-- +goose Up

-- The runtime's jobs that start standups, as they were last seen there: with
-- them a standup that did not begin is noticed while the runtime is away, too.
-- Owned by standup.
CREATE TABLE standup_schedules (
	team        TEXT PRIMARY KEY,
	job         TEXT NOT NULL, -- JSON, as the API shows it
	present     BOOLEAN NOT NULL, -- false when the runtime has it no more
	service_url TEXT NOT NULL, -- where the job's agent is told to call us
	checked_to  TIMESTAMP NOT NULL, -- its times up to here have been looked at, or are from before it was so
	checked_day TEXT NOT NULL, -- the last day of a time that was looked at; empty before the first
	seen_at     TIMESTAMP NOT NULL,
	version     BIGINT NOT NULL
);

-- +goose Down
DROP TABLE standup_schedules;
