-- +goose Up

-- What each run used, for the evidence of the next standup. Null where the
-- runtime has not told: runs of before, and runs that ended without saying it.
-- Owned by standup.
ALTER TABLE standup_questions ADD COLUMN input_tokens BIGINT;
ALTER TABLE standup_questions ADD COLUMN output_tokens BIGINT;
ALTER TABLE standup_questions ADD COLUMN cache_read_tokens BIGINT;
ALTER TABLE standup_questions ADD COLUMN cache_write_tokens BIGINT;
ALTER TABLE standup_questions ADD COLUMN other_tokens BIGINT; -- in the runtime's total and in none of the four
CREATE INDEX standup_questions_of_agent ON standup_questions (agent_id, asked_at);

ALTER TABLE standup_reports ADD COLUMN omitted TEXT NOT NULL DEFAULT '[]'; -- JSON: what was finished and the report does not name
ALTER TABLE standup_reports ADD COLUMN filed_at TIMESTAMP; -- null: it was asked for
ALTER TABLE standup_reports ADD COLUMN filed_by TEXT; -- the name of who filed it
CREATE INDEX standup_reports_of_agent ON standup_reports (agent_id, answered_at) WHERE status = 'answered';

-- What an agent has reported on its tasks is read in the log.
CREATE INDEX events_of_reports ON events (actor_id, at) WHERE kind = 'task.reported';

-- +goose Down
DROP INDEX events_of_reports;
DROP INDEX standup_reports_of_agent;
ALTER TABLE standup_reports DROP COLUMN filed_by;
ALTER TABLE standup_reports DROP COLUMN filed_at;
ALTER TABLE standup_reports DROP COLUMN omitted;
DROP INDEX standup_questions_of_agent;
ALTER TABLE standup_questions DROP COLUMN other_tokens;
ALTER TABLE standup_questions DROP COLUMN cache_write_tokens;
ALTER TABLE standup_questions DROP COLUMN cache_read_tokens;
ALTER TABLE standup_questions DROP COLUMN output_tokens;
ALTER TABLE standup_questions DROP COLUMN input_tokens;
