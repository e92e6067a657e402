-- +goose Up

-- From where an event of the audit was made. Empty for activity, which
-- everybody may read, and for what is older than this.
ALTER TABLE events ADD COLUMN via TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN address TEXT NOT NULL DEFAULT ''; -- of the caller, when there is one

-- +goose Down
ALTER TABLE events DROP COLUMN address;
ALTER TABLE events DROP COLUMN via;
